"""What the statements of a kernel computed on one tile until a store: the reference's side of a diff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from headrace.numbers.memory import Memory
from headrace.semantics.access import store
from headrace.semantics.control import run_block
from headrace.semantics.frame import Frame, Launch
from headrace.semantics.linalg import ELEMENTWISE
from headrace.semantics.plain import interpret_by, places, take_turns
from headrace.semantics.scalars import SCALARS
from headrace.semantics.structured import split

Array = np.ndarray[Any, Any]
Kind = Literal["pointwise", "summed", "loaded"]
_NO_VALUES = frozenset(
    ("arith.constant", "spyreop.constant", "linalg.fill", "linalg.broadcast", "linalg.transpose")
    + ("linalg.copy", "linalg.index")
)
"""Ops that move elements or make them up."""
_POINTWISE = frozenset((*SCALARS, "linalg.select", *(f"linalg.{name}" for name in ELEMENTWISE))) - _NO_VALUES


@dataclass(frozen=True)
class Computed:
    """One execution of a statement: its operands' arrays, in order, and its result's.

    Those of a pointwise one broadcast to the result's shape; "summed" is every other computation.
    """

    op: Operation
    kind: Kind
    inputs: tuple[Array, ...]
    result: Array


@dataclass(frozen=True)
class Trail:
    """What a tile computed, in order, on the way to a store; `element` is the index of the watched element in
    the tensor stored.
    """

    computed: Sequence[Computed]
    store: Operation
    element: tuple[int, ...]


class _Reached(Exception):
    """The store that was asked for has been done."""


@dataclass
class _Notes:
    """What one tile has computed; `left` bytes may still be kept."""

    tile: int
    left: int
    computed: list[Computed] = field(default_factory=list)

    def note(self, known: _Values, value: SSAValue, found: Any) -> None:
        """Keeps a value that an op computed."""
        op = value.owner
        if not isinstance(op, Operation) or not isinstance(found, np.ndarray) or self.left <= 0:
            return
        kind = _kind(op)
        if kind is None or not found.size:
            return
        names = split(op)[0] if op.name.startswith("linalg.") else op.operands
        inputs = tuple(
            np.asarray(x) for x in map(known.get, names) if isinstance(x, np.ndarray | int | float)
        )
        if kind == "pointwise" and np.broadcast_shapes((), *(x.shape for x in inputs)) != found.shape:
            return
        self.left -= found.nbytes
        self.computed.append(Computed(op, kind, inputs, np.array(found)))

    def pass_store(self, op: Operation) -> None:
        """Forgets what only an earlier store of a loop needed, unless the loop carries values on."""
        block = op.parent
        loop = op.parent_op()
        if block is not None and loop is not None and loop.name == "scf.for" and not loop.results:
            self.computed = [one for one in self.computed if not _is_within(one.op, block)]


class _Values(dict[SSAValue, Any]):
    """The values of a tile's names; every new one is noted."""

    def __init__(self, notes: _Notes) -> None:
        super().__init__()
        self._notes = notes

    def __setitem__(self, value: SSAValue, found: Any) -> None:
        super().__setitem__(value, found)
        self._notes.note(self, value, found)

    def update(self, pairs: Any = (), **_: Any) -> None:  # type: ignore[override]
        for value, found in pairs.items() if isinstance(pairs, Mapping) else pairs:
            self[value] = found


def trail(
    module: Any,
    memory: Memory,
    values: Mapping[str, Any],
    function: str | None,
    tile: int,
    number: int,
    address: int,
    limit: int = 1 << 29,
) -> Trail:
    """Return what `tile` computed until the kernel's `number`-th store (from 1), which writes byte `address`;
    at most about `limit` bytes of it.

    `memory` holds the inputs; what is in it afterwards is undefined.
    """
    notes = _Notes(tile, limit)
    reached: list[tuple[Frame, Operation]] = []
    done = 0

    def on_store(frame: Frame, op: Operation) -> None:
        nonlocal done
        done += 1
        if done == number:
            reached.append((frame, op))
            raise _Reached
        if frame.tile == tile:
            notes.pass_store(op)

    try:
        interpret_by(_engine(notes), module, memory, values, None, function, on_store)
    except _Reached:
        pass
    frame, op = reached[0]
    wanted = sources(op.operands[:1])
    computed = [one for one in notes.computed if one.op in wanted]
    return Trail(computed, op, _element(frame, op, memory, address))


def _engine(notes: _Notes) -> Callable[[Launch, FuncOp, Sequence[Any]], None]:
    """Runs all tiles of a function, one of them watched."""

    def run(launch: Launch, kernel: FuncOp, arguments: Sequence[Any]) -> None:
        notes.computed.clear()
        frames = [Frame(launch, tile, place) for tile, place in enumerate(places(launch))]
        frames[notes.tile].values = _Values(notes)
        take_turns({f.tile: run_block(f, kernel.body.block, arguments) for f in frames})

    return run


def sources(values: Iterable[SSAValue]) -> set[Operation]:
    """All ops whose results may have gone into values, through regions and around loops."""
    found: set[Operation] = set()
    seen: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(value, BlockArgument):
            pending += _passed_in(value)
            continue
        assert isinstance(owner, Operation)
        found.add(owner)
        pending += owner.operands
        for region in owner.regions:
            for block in region.blocks:
                pending += _yielded(block)
    return found


def _passed_in(argument: BlockArgument) -> Iterable[SSAValue]:
    """What a block's argument may stand for: an operand of a structured op, what a loop carries."""
    block, number = argument.block, argument.index
    parent = block.parent_op()
    if parent is None:
        return ()
    if parent.name.startswith("linalg."):
        return (parent.operands[number],)
    if parent.name == "scf.for" and number:
        return (parent.operands[number + 2], _yielded(block)[number - 1])
    return (*parent.operands, *_yielded(block))


def _yielded(block: Block) -> Sequence[SSAValue]:
    return () if block.last_op is None else block.last_op.operands


def _kind(op: Operation) -> Kind | None:
    """What kind of statement an op is; None for one that computes nothing of its own."""
    if op.name in _NO_VALUES:
        return None
    if op.name == "ktdp.load":
        return "loaded"
    if op.name in _POINTWISE:
        return "pointwise"
    is_value = op.name.startswith(("linalg.", "ktdp."))
    return "summed" if is_value and _is_summing(op) else None


def _is_summing(op: Operation) -> bool:
    """Whether a structured op combines elements; one that does not is told by the ops of its body."""
    kinds: Any = op.properties.get("iterator_types")
    if kinds is None:
        return bool(op.name != "linalg.map")
    return "reduction" in [str(kind.data.value) for kind in kinds.data]


def _is_within(op: Operation, block: Block) -> bool:
    at: Block | None = op.parent
    while at is not None:
        if at is block:
            return True
        parent = at.parent_op()
        at = None if parent is None else parent.parent
    return False


def _element(frame: Frame, op: Operation, memory: Memory, address: int) -> tuple[int, ...]:
    """The index, in the tensor that is stored, of the element that lies at an address: found by storing the
    bits of its number one by one.
    """
    values, tile = frame.array(op, op.operands[0]), frame.get(op.operands[1])
    numbers = np.arange(values.size).reshape(values.shape)
    item = values.dtype
    found = 0
    for bit in range(max(1, values.size - 1).bit_length()):
        store(tile, (numbers >> bit & 1).astype(item), False)
        found |= int(memory.bytes[address : address + item.itemsize].any()) << bit
    return tuple(int(n) for n in np.unravel_index(found, values.shape))
