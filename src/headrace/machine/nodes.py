"""The nodes of a decoded program: transfers, signals, vector work and control.

Nothing here refers to the IR except `where`, the place in the text, which does not count in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Literal

from headrace.ir.diagnostics import Location
from headrace.machine.boxes import Box, Indirect, Value
from headrace.machine.index import Index, Symbol

LoopKind = Literal["parallel", "reduction"]


def _where() -> Any:
    return field(default=Location(), compare=False)


@dataclass(frozen=True)
class Copy:
    """Memory to memory, one descriptor (`agen.composite_load_and_store` and its indirect form). Asynchronous.

    Both boxes have the same number of elements in a vector and the same time extents; time step by time
    step, a vector is read and then written. `group` evaluates to a number in `Image.groups`, or -1;
    `direction` is the ring direction.
    """

    source: Box
    target: Box
    lanes: int
    indirect: Indirect | None = None
    group: Index | None = None
    direction: str = ""
    where: Location = _where()


@dataclass(frozen=True)
class Stream:
    """One operand of a reader or writer: vector k of `box` is one message to or from instance `peer`."""

    box: Box
    peer: Index
    shape: tuple[int, ...]
    direction: str = ""
    where: Location = _where()

    @property
    def lanes(self) -> int:
        return prod(self.shape)

    @property
    def message_bytes(self) -> int:
        return self.lanes * self.box.itemsize


@dataclass(frozen=True)
class Read:
    """Memory to FIFOs. Streams are interleaved: `granularity` messages of each in turn, in this order."""

    streams: tuple[Stream, ...]
    granularity: int = 1
    where: Location = _where()


@dataclass(frozen=True)
class Write:
    """FIFOs to memory; the mirror image of `Read`."""

    streams: tuple[Stream, ...]
    granularity: int = 1
    where: Location = _where()


@dataclass(frozen=True)
class Signal:
    """Adds 1 to the counter (self, peer) once this unit's earlier accesses are complete; never blocks.

    `waits` stalls the unit itself until then. `peer` equal to the unit itself is a fence: no counter.
    """

    peer: Index
    tag: str = ""
    waits: bool = False
    where: Location = _where()


@dataclass(frozen=True)
class Wait:
    """Blocks until the counter (peer, self) is positive and subtracts 1."""

    peer: Index
    tag: str = ""
    where: Location = _where()


@dataclass(frozen=True)
class Receive:
    """Takes the next message from `peer`, whole; blocks while there is none."""

    peer: Index
    result: Value
    where: Location = _where()


@dataclass(frozen=True)
class Send:
    """Appends a message to the channel to `peer`."""

    peer: Index
    value: Value
    direction: str = ""
    where: Location = _where()


@dataclass(frozen=True)
class Load:
    """One vector from memory, usually the register file. `box.times` is empty."""

    box: Box
    result: Value
    where: Location = _where()


@dataclass(frozen=True)
class Store:
    """One vector to memory, usually the register file. `box.times` is empty."""

    value: Value
    box: Box
    where: Location = _where()


@dataclass(frozen=True)
class Constant:
    """A vector known from the text: raw little-endian bytes of one element (a splat) or of all."""

    result: Value
    raw: bytes
    where: Location = _where()


@dataclass(frozen=True)
class VectorOp:
    """An op on vectors; `name` is the MLIR name, `function` what it computes ("add", "exp", "ge", ...).

    `details` carries the op's remaining attributes by name; `indices` its integer operands.
    """

    name: str
    function: str
    operands: tuple[Value, ...]
    result: Value
    details: tuple[tuple[str, Any], ...] = ()
    indices: tuple[Index, ...] = ()
    where: Location = _where()

    def detail(self, name: str, default: Any = None) -> Any:
        """The attribute of this name."""
        return self._details.get(name, default)

    @cached_property
    def _details(self) -> dict[str, Any]:
        return dict(self.details)


@dataclass(frozen=True)
class Reduce:
    """A row reduction to one lane: a `scan_with_gap` (gap 1) of which only the last lane is used."""

    function: str
    operand: Value
    result: Value
    where: Location = _where()


@dataclass(frozen=True)
class Contract:
    """Multiply and sum in wide precision, one rounding: result = sum(left * right) (+ addend).

    `equation` is an einsum. `left` is the operand before its broadcast by `select`; `right` the resident
    block.
    k and n: sizes of the summed and of the kept index space of the product.
    """

    equation: str
    left: Value
    right: Value
    addend: Value | None
    result: Value
    k: int
    n: int
    where: Location = _where()


@dataclass(frozen=True)
class Extract:
    """Makes lane `lane` of a vector an integer the program can compute with (data-dependent control)."""

    value: Value
    lane: int
    symbol: Symbol
    where: Location = _where()


@dataclass(frozen=True)
class Carried:
    """A vector carried around a loop."""

    initial: Value
    argument: Value
    yielded: Value
    result: Value


@dataclass(frozen=True)
class CarriedIndex:
    """An integer carried around a loop: the slots of its value inside and after the loop."""

    initial: Index
    argument: Symbol
    yielded: Index
    result: Symbol


@dataclass(frozen=True)
class Loop:
    """for iv in range(lower, upper, step). `kind` is the promise of rule R5 (None: run iteration by
    iteration).

    `number` is unique in the program; `is_data_dependent`: its bounds come from memory, `execute` reports
    the trip counts.
    """

    number: int
    iv: Symbol
    lower: Index
    upper: Index
    step: Index
    body: tuple[Node, ...]
    kind: LoopKind | None = None
    carried: tuple[Carried, ...] = ()
    indices: tuple[CarriedIndex, ...] = ()
    is_data_dependent: bool = False
    phase: str = ""
    where: Location = _where()


@dataclass(frozen=True)
class Choice:
    """A vector that an `If` yields: `result` is `then` or `otherwise`."""

    result: Value
    then: Value
    otherwise: Value


@dataclass(frozen=True)
class ChoiceIndex:
    """An integer that an `If` yields."""

    result: Symbol
    then: Index
    otherwise: Index


@dataclass(frozen=True)
class If:
    """Runs `then` where `condition` is not 0, else `otherwise`."""

    number: int
    condition: Index
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()
    results: tuple[Choice, ...] = ()
    indices: tuple[ChoiceIndex, ...] = ()
    is_data_dependent: bool = False
    where: Location = _where()


Transfer = Copy | Read | Write
Step = Receive | Send | Load | Store | Constant | VectorOp | Reduce | Contract | Extract
Node = Transfer | Signal | Wait | Step | Loop | If


_OPS: dict[type, str] = {
    Read: "agen.composite_load",
    Write: "agen.composite_store",
    Signal: "dataflow.sync_send",
    Wait: "dataflow.sync_recv",
    Receive: "dataflow.receive",
    Send: "dataflow.send",
    Load: "agen.vector_load",
    Store: "agen.vector_store",
    Constant: "arith.constant",
    Reduce: "vectorchain.scan_with_gap",
    Contract: "vectorchain.multiply",
    Extract: "vector.extract",
    Loop: "scf.for",
    If: "scf.if",
}


def op_name(node: Node) -> str:
    """The DFIR op a node comes from."""
    match node:
        case Copy():
            kind = "load_and_store" if node.indirect is None else "indirect_load_and_store"
            return f"agen.composite_{kind}"
        case VectorOp():
            return node.name
    return _OPS[type(node)]


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node of a body, outer before inner, in program order."""
    for node in nodes:
        yield node
        if isinstance(node, Loop):
            yield from walk(node.body)
        elif isinstance(node, If):
            yield from walk(node.then)
            yield from walk(node.otherwise)
