"""What a unit program does, as events: signals, and work of steps that move messages and touch boxes of
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.schedule.verify.values import Handle, Scope, Unverifiable, View


@dataclass(frozen=True)
class Signal:
    """A sync_send or sync_recv; `peer` None: a fence of the unit's own transfers."""

    kind: Literal["send", "wait", "fence"]
    peer: Handle | None
    label: str
    op: Any


@dataclass(frozen=True)
class Message:
    """One message a step: pushed to or popped from a peer."""

    kind: Literal["push", "pop"]
    peer: Handle
    elements: int
    dtype: str

    @cached_property
    def bytes(self) -> int:
        return self.elements * itemsize(self.dtype)


@dataclass(frozen=True)
class Touch:
    """A box read or written at every step: corner, extents, and per time dim (count, elements moved along
    each dim).

    `is_indirect` marks the table of a gather or scatter: its first dim may be any row.
    """

    view: View
    is_write: bool
    low: tuple[int, ...]
    extents: tuple[int, ...]
    times: tuple[tuple[int, tuple[int, ...]], ...]
    is_indirect: bool = False

    @property
    def is_empty(self) -> bool:
        """True if it moves nothing."""
        return 0 in self.extents or any(count == 0 for count, _ in self.times)

    def hull(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return (first, end) of the box over all steps, along each dim."""
        first, end = list(self.low), [a + e for a, e in zip(self.low, self.extents, strict=True)]
        for count, moves in self.times:
            for d, move in enumerate(moves):
                reach = move * (count - 1)
                first[d] += min(reach, 0)
                end[d] += max(reach, 0)
        if self.is_indirect:
            first[0], end[0] = 0, self.view.shape[0] or 1
        return tuple(first), tuple(end)


@dataclass(frozen=True)
class Work:
    """`steps` repetitions of a script of messages, with the memory they come from or go to."""

    steps: int
    script: tuple[Message, ...]
    touches: tuple[Touch, ...]
    op: Any
    group: Any = None


Event = Signal | Work


class Program:
    """The events of one unit instance; loops longer than `clip` iterations run `clip` times (None: in
    full).
    """

    def __init__(self, scope: Scope, clip: int | None) -> None:
        self.scope, self.clip = scope, clip

    def events(self, ops: Any) -> Iterator[Event]:
        """Yield the events of a block."""
        for op in ops:
            if self.scope.define(op) or op.name in IGNORED or op.name.startswith(COMPUTING):
                continue
            handler = HANDLERS.get(op.name)
            if handler is None:
                message = "cannot be followed by the checker"
                raise Unverifiable(Diagnostic(message, location(op), op.name, severity="warning"))
            yield from handler(self, op)

    def loop(self, op: Any) -> Iterator[Event]:
        """A loop; a nest of messages only is one event."""
        low, high, step = (self.scope[v] for v in (op.lb, op.ub, op.step))
        count = max(0, -(-(high - low) // step))
        folded = self.folded(op, count) if self.clip is None or "loop_type" in op.attributes else None
        if folded is not None:
            if folded.steps:
                yield folded
            return
        block = op.body.block
        carried = [self.scope.known.get(v) for v in op.iter_args]
        for k in range(count if self.clip is None else min(count, self.clip)):
            self.scope.known[block.args[0]] = low + k * step
            for arg, value in zip(block.args[1:], carried, strict=True):
                if value is not None:
                    self.scope.known[arg] = value
            yield from self.events(block.ops)
            carried = [self.scope.known.get(v) for v in block.last_op.operands]
        for result, value in zip(op.results, carried, strict=True):
            if value is not None:
                self.scope.known[result] = value

    def folded(self, op: Any, count: int) -> Work | None:
        """Return a loop as one event if its body only computes and passes messages, or is such a loop
        alone.
        """
        script: list[Message] = []
        inner: Work | None = None
        for child in op.body.block.ops:
            if child.name in MESSAGES:
                script.extend(m for m in self.messages(child))
            elif child.name == "scf.for":
                bounds = (child.lb, child.ub, child.step)
                if inner is not None or script or any(v not in self.scope.known for v in bounds):
                    return None
                low, high, step = (self.scope[v] for v in bounds)
                inner = self.folded(child, max(0, -(-(high - low) // step)))
                if inner is None:
                    return None
            elif (
                child.name not in IGNORED
                and not child.name.startswith(COMPUTING)
                and not self._is_index(child)
            ):
                return None
        if inner is not None:
            return None if script else Work(count * inner.steps, inner.script, (), op)
        return Work(count, tuple(script), (), op) if script else None

    def _is_index(self, op: Any) -> bool:
        return op.name.startswith("arith.") or op.name in ("scf.yield", "vector.broadcast")

    def branch(self, op: Any) -> Iterator[Event]:
        region = op.regions[0 if self.scope[op.cond] else 1]
        if region.blocks:
            yield from self.events(region.block.ops)

    def roles(self, op: Any) -> Iterator[Event]:
        """uniformize_regions: the region of this unit runs."""
        for region, units in op.groups() if hasattr(op, "groups") else _groups(op):
            if self.scope.me in [self.scope[u] for u in units]:
                if region.block.args:
                    self.scope.known[region.block.args[0]] = self.scope.me
                yield from self.events(region.block.ops)
                return

    def messages(self, op: Any) -> Iterator[Message]:
        if op.name == "dataflow.receive":
            yield _message("pop", self.scope[op.from_], op.result.type)
        else:
            yield _message("push", self.scope[op.to], op.data.type)

    def message(self, op: Any) -> Iterator[Event]:
        yield Work(1, tuple(self.messages(op)), (), op)

    def signal(self, op: Any) -> Iterator[Event]:
        is_send = op.name == "dataflow.sync_send"
        peer = self.scope[op.to if is_send else op.from_]
        label = op.dbgName.data if op.dbgName is not None else ""
        if peer == self.scope.me:
            yield Signal("fence", None, label, op)
        else:
            yield Signal("send" if is_send else "wait", peer, label, op)

    # -- transfers -----------------------------------------------------------------------------------------

    def touch(
        self, op: Any, is_write: bool, memref: Any, amap: Any, operands: Any, elements: Any, time_map: Any
    ) -> Touch:
        symbols = [self.scope[v] for v in getattr(op, "time_symbols", ())]
        view = self.scope[memref]
        low = self.scope.subscripts(amap, operands)
        extents = box_extents(elements, tuple(symbols), op)
        counts = box_extents(op.time_set, tuple(symbols), op) if time_map is not None else ()
        moves = [_slope(time_map, k, tuple(symbols)) for k in range(len(counts))]
        order = [e.position for e in op.time_order.data.results] if time_map is not None else []
        times = tuple((counts[k], moves[k]) for k in order)
        return Touch(view, is_write, low, extents[: len(low)], times)

    def copy(self, op: Any) -> Iterator[Event]:
        source = self.touch(op, False, op.src, op.src_map, op.src_indices, op.load_set, op.load_time_addr_map)
        target = self.touch(
            op, True, op.dst, op.dst_map, op.dst_indices, op.store_set, op.store_time_addr_map
        )
        group = self.scope[op.multicast_info] if op.multicast_info is not None else None
        if not source.is_empty:
            yield Work(1, (), (source, target), op, group)

    def indirect(self, op: Any) -> Iterator[Event]:
        touches = []
        for end, is_write, kind in (("src", False, "load"), ("dst", True, "store")):
            elements = op.properties[f"{kind}_set"]
            time_map = op.properties[f"{kind}_direct_time_addr_map"]
            memref, amap = getattr(op, f"direct_{end}"), getattr(op, f"direct_{end}_map")
            found = self.touch(
                op, is_write, memref, amap, getattr(op, f"direct_{end}_indices"), elements, time_map
            )
            index = getattr(op, f"indirect_{end}")
            if index is not None:
                found = Touch(found.view, is_write, found.low, found.extents, found.times, True)
                touches.append(self.index_touch(op, end, kind, index))
            touches.append(found)
        if not touches[0].is_empty:
            yield Work(1, (), tuple(touches), op)

    def index_touch(self, op: Any, end: str, kind: str, memref: Any) -> Touch:
        amap, operands = getattr(op, f"indirect_{end}_map"), getattr(op, f"indirect_{end}_indices")
        time_map = op.properties[f"{kind}_indirect_time_addr_map"]
        symbols = [self.scope[v] for v in op.time_symbols]
        counts = box_extents(op.time_set, tuple(symbols), op)
        times = tuple((n, _slope(time_map, k, tuple(symbols))) for k, n in enumerate(counts))
        low = self.scope.subscripts(amap, operands)
        return Touch(self.scope[memref], False, low, (1,) * len(low), times)

    def read(self, op: Any) -> Iterator[Event]:
        touch = self.touch(op, False, op.memref, op.affine_map, op.indices, op.load_set, op.time_addr_map)
        if not touch.is_empty:
            yield Work(_steps(touch), self.inner(op), (touch,), op)

    def write(self, op: Any) -> Iterator[Event]:
        touch = self.touch(op, True, op.memref, op.affine_map, op.indices, op.store_set, op.time_addr_map)
        if not touch.is_empty:
            yield Work(_steps(touch), self.inner(op), (touch,), op)

    def inner(self, op: Any) -> tuple[Message, ...]:
        return tuple(
            m for child in op.region.block.ops if child.name in MESSAGES for m in self.messages(child)
        )

    def interleave(self, op: Any) -> Iterator[Event]:
        parts = [
            event
            for child in op.region.block.ops
            if child.name != "agen.yield"
            for event in HANDLERS[child.name](self, child)
        ]
        works = [part for part in parts if isinstance(part, Work)]
        script = tuple(m for work in works for m in work.script)
        touches = tuple(t for work in works for t in work.touches)
        if works:
            yield Work(works[0].steps, script, touches, op)

    def vector_access(self, op: Any) -> Iterator[Event]:
        is_write = op.name == "agen.vector_store"
        elements = op.store_set if is_write else op.load_set
        memref = op.operands[1 if is_write else 0]
        touch = self.touch(op, is_write, memref, op.affine_map, op.indices, elements, None)
        yield Work(1, (), (touch,), op)


def _groups(op: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    at = 0
    for region, count in zip(op.regions, op.list_sizes.get_values(), strict=True):
        yield region, op.operands[at : at + count]
        at += count


def _message(kind: Literal["push", "pop"], peer: Handle, vector: Any) -> Message:
    elements = 1
    for extent in vector.get_shape():
        elements *= int(extent)
    return Message(kind, peer, elements, str(vector.element_type))


def _steps(touch: Touch) -> int:
    steps = 1
    for count, _ in touch.times:
        steps *= count
    return steps


@lru_cache(maxsize=4096)
def _slope(attr: Any, dim: int, symbols: tuple[int, ...]) -> tuple[int, ...]:
    """How one step along a time dim moves each subscript."""
    amap = attr.data
    given = list(symbols)[: amap.num_symbols]
    zero = amap.eval([0] * amap.num_dims, given)
    one = amap.eval([int(k == dim) for k in range(amap.num_dims)], given)
    return tuple(b - a for a, b in zip(zero, one, strict=True))


def box_extents(attr: Any, symbols: tuple[int, ...], op: Any) -> tuple[int, ...]:
    """Return the extents of a set 0 <= d_k < n_k, which is the only form the checker follows."""
    found = _extents(attr, symbols)
    if found is None:
        raise Unverifiable(Diagnostic("a set is no box", location(op), op.name, severity="warning"))
    return found


@lru_cache(maxsize=4096)
def _extents(attr: Any, symbols: tuple[int, ...]) -> tuple[int, ...] | None:
    found = attr.data
    given = list(symbols)[: found.num_symbols]
    rank = found.num_dims
    extents: list[int | None] = [None] * rank
    for c in found.constraints:
        base = c.lhs.eval([0] * rank, given)
        slopes = [c.lhs.eval([int(d == k) for d in range(rank)], given) - base for k in range(rank)]
        moving = [k for k, slope in enumerate(slopes) if slope]
        if len(moving) > 1 or (not moving and base < 0):
            return None
        for k in moving:
            if c.kind.name == "eq":
                extents[k] = 1
            elif slopes[k] < 0:
                limit = base // -slopes[k] + 1
                known = extents[k]
                extents[k] = limit if known is None else min(known, limit)
    return tuple(max(0, e) if e is not None else 1 for e in extents)


MESSAGES = ("dataflow.receive", "dataflow.send")
COMPUTING = ("vectorchain.", "math.", "arith.", "vector.")
IGNORED = {
    "dataflow.return",
    "scf.yield",
    "agen.yield",
    "uniform.yield",
    "func.return",
    "agen.set_transfer_mask_state",
    "dataflow.opaque",
    "symbol.create_id",
    "func.call",
}
HANDLERS = {
    "scf.for": Program.loop,
    "scf.if": Program.branch,
    "uniform.uniformize_regions": Program.roles,
    "dataflow.sync_send": Program.signal,
    "dataflow.sync_recv": Program.signal,
    "dataflow.receive": Program.message,
    "dataflow.send": Program.message,
    "agen.composite_load_and_store": Program.copy,
    "agen.composite_indirect_load_and_store": Program.indirect,
    "agen.composite_load": Program.read,
    "agen.composite_store": Program.write,
    "agen.composite_memory_interleave": Program.interleave,
    "agen.vector_load": Program.vector_access,
    "agen.vector_store": Program.vector_access,
}
