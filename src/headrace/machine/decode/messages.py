"""Messages and signals of a unit program; one that names a group goes to, or waits for, every member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.machine.decode.reading import boolean, keyword, text
from headrace.machine.image import Node, Receive, Send, Signal, Wait

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder


def send(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`dataflow.send`."""
    value, direction, where = decoder.value(op.operands[1]), keyword(op, "dir"), location(op)
    return [Send(peer, value, direction, where) for peer in decoder.peers(op.operands[0])]


def receive(decoder: ProgramDecoder, op: Operation) -> Receive:
    """`dataflow.receive`."""
    return Receive(decoder.peer(op.operands[0]), decoder.define(op.results[0]), location(op))


def sync_send(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`dataflow.sync_send`."""
    waits, tag, where = boolean(op, "wait_immediately_for_async_transfers"), text(op, "dbgName"), location(op)
    return [Signal(peer, tag, waits, where) for peer in decoder.peers(op.operands[0])]


def sync_recv(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`dataflow.sync_recv`."""
    tag, where = text(op, "dbgName"), location(op)
    return [Wait(peer, tag, where) for peer in decoder.peers(op.operands[0])]


def rendezvous(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`dataflow.implicit_sync_on_streaming_buffer`: this unit's half of a rendezvous."""
    decoder.view(op.operands[0])
    peer, where = decoder.peer(op.operands[1]), location(op)
    return [Signal(peer, "", True, where), Wait(peer, "", where)]
