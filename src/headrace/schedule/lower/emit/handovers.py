"""Signals between units of different cores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Attribute
from xdsl.ir import Block

from headrace.schedule.lower.emit.ops import INDEX, body, make, text
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.tree import Handover


def hand_over(item: Handover, program: ProgramValues, cores: Sequence[int]) -> None:
    """Emit what this unit sends and waits for: the nearest cores further on first. Of a unit that every
    corelet has one of, each sends.
    """
    if program.kind == item.sender:
        peers = {c: [b for a, b in item.pairs if a == c] for c in cores}
        _signals("dataflow.sync_send", (item.receiver, 0), peers, item.label, program)
    if program.kind == item.receiver:
        device = program.function.device
        peers = {c: [a for a, b in item.pairs if b == c] for c in cores}
        for corelet in range(device.corelets if device.unit(item.sender).per == "corelet" else 1):
            _signals("dataflow.sync_recv", (item.sender, corelet), peers, item.label, program)


def _signals(
    name: str, end: tuple[str, int], peers: dict[int, list[int]], label: str, program: ProgramValues
) -> None:
    """One signal a core and round to or from a unit kind of a corelet; cores with fewer peers than others
    skip the last rounds.
    """
    kind, corelet = end
    total = 1 + max(c for core, others in peers.items() for c in (core, *others))
    for core, others in peers.items():
        others.sort(key=lambda other: (other - core) % total)
    rounds = max(len(others) for others in peers.values())
    marks: dict[str, Attribute] = {"dbgName": text(label)}
    for k in range(rounds):
        known = next(others[k] for others in peers.values() if len(others) > k)
        chosen = [peers[c][k] if len(peers[c]) > k else known for c, _ in program.instances]
        peer = program.mapped([program.function.unit(kind, (c, corelet)) for c in chosen], kind.lower())
        signal = make(name, [peer], (), marks)
        counts = [int(len(peers[c]) > k) for c, _ in program.instances]
        if all(counts):
            program.emit(signal)
            continue
        bounds = [
            program.function.constant(0),
            program.mapped([program.function.constant(n) for n in counts]),
        ]
        block = Block(arg_types=[INDEX])
        block.add_ops([signal, make("scf.yield")])
        program.emit(make("scf.for", [*bounds, program.function.constant(1)], (), {}, [body(block)]))
