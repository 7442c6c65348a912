"""The events of a unit program, op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.events import Event, Filling, Message, Signal, Touch, Work
from headrace.schedule.verify.sets import box_extents, slope
from headrace.schedule.verify.values import Handle, Scope, Unverifiable

LAST = 4
"""Iterations at the end of a loop that run in any case."""


class Program:
    """The events of one unit instance.

    Loops of more iterations than `clip` (None: none) leave out a multiple of their `period` of them: the
    first `clip` and at least the last ones, a period and not fewer than `LAST`, run, so that buffers taken in
    turns stay in turn.
    """

    def __init__(
        self, scope: Scope, clip: int | None, period: Callable[[int], int] = lambda count: 1
    ) -> None:
        self.scope, self.clip, self.period = scope, clip, period

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
        low, high, step = (self.scope[v] for v in self.of(op, _bounds))
        count = max(0, -(-(high - low) // step))
        folded = self.folded(op, count) if self.clip is None or "loop_type" in op.attributes else None
        if folded is not None:
            if folded.steps:
                yield folded
            return
        block = op.body.block
        carried = [self.scope.known.get(v) for v in op.iter_args]
        following = 0
        for k in range(count) if self.of(op, _only_signals) else self.kept(count):
            if k > following and not carried:
                yield from self.filled(op, low, step, range(following, k), self.period(count))
            following = k + 1
            self.scope.known[block.args[0]] = low + k * step
            for arg, value in zip(block.args[1:], carried, strict=True):
                if value is not None:
                    self.scope.known[arg] = value
            yield from self.events(block.ops)
            carried = [self.scope.known.get(v) for v in block.last_op.operands]
        for result, value in zip(op.results, carried, strict=True):
            if value is not None:
                self.scope.known[result] = value

    def filled(self, op: Any, low: int, step: int, left_out: range, period: int) -> Iterator[Event]:
        """What iterations that are left out write where no other iteration does, which those that run may
        read.
        """
        key = ("moving", op)
        if key not in self.scope.shared:
            found: set[Any] = set()
            if any(child.name in WRITING for child in op.body.walk()):
                once, again = (self.written(op, low + k * step) for k in (left_out[0], left_out[0] + period))
                is_alike = len(once) == len(again)
                found = {a.op for a, b in zip(once, again, strict=False) if a.touches != b.touches}
                if not is_alike:
                    found = {work.op for work in (*once, *again)}
            self.scope.shared[key] = found
        for k in left_out if self.scope.shared[key] else ():
            for work in self.written(op, low + k * step):
                if work.op in self.scope.shared[key]:
                    yield Filling(work.touches, work.op)

    def written(self, op: Any, value: int) -> list[Work]:
        """What an iteration of a loop writes to scratchpads, inner loops in full."""
        self.scope.known[op.body.block.args[0]] = value
        events = Program(self.scope, None).events(op.body.block.ops)
        works = [event for event in events if isinstance(event, Work)]
        return [work for w in works if (work := replace(w, touches=_filled(w))).touches]

    def kept(self, count: int) -> Iterator[int]:
        """The iterations that run, of so many."""
        if self.clip is None or count <= self.clip:
            yield from range(count)
            return
        first, period = self.clip, self.period(count)
        left_out = max(0, count - first - max(period, LAST)) // period * period
        if left_out:
            yield from range(first)
            yield from range(first + left_out, count)
        else:
            yield from range(count)

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
        for region, units in groups_of(op):
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
        is_send, partner, label = self.of(op, _signalled)
        peer = self.scope[partner]
        if peer == self.scope.me:
            yield Signal("fence", None, label, op)
        else:
            yield Signal("send" if is_send else "wait", peer, label, op)

    # -- transfers -----------------------------------------------------------------------------------------

    def touch(
        self, op: Any, is_write: bool, memref: Any, amap: Any, operands: Any, elements: Any, time_map: Any
    ) -> Touch:
        symbols = tuple(self.scope[v] for v in self.of(op, _symbols))
        view = self.scope[memref]
        low = self.scope.subscripts(amap, operands)
        extents, times = self.extents_of(op, elements, time_map, symbols)
        return Touch(view, is_write, low, extents[: len(low)], times)

    def extents_of(self, op: Any, elements: Any, time_map: Any, symbols: tuple[int, ...]) -> Any:
        """(box extents, times) of a transfer, which only its symbols change."""
        key = ("extents", op, elements, time_map, symbols)
        if key not in self.scope.shared:
            extents = box_extents(elements, symbols, op)
            counts = box_extents(op.time_set, symbols, op) if time_map is not None else ()
            moves = [slope(time_map, k, symbols) for k in range(len(counts))]
            order = [e.position for e in op.time_order.data.results] if time_map is not None else []
            self.scope.shared[key] = extents, tuple((counts[k], moves[k]) for k in order)
        return self.scope.shared[key]

    def of(self, op: Any, what: Callable[[Any], Any]) -> Any:
        """What the text says of an op, asked once for all its runs."""
        key = (what, op)
        if key not in self.scope.shared:
            self.scope.shared[key] = what(op)
        return self.scope.shared[key]

    def copy(self, op: Any) -> Iterator[Event]:
        sides, info = self.of(op, _copied)
        source, target = (self.touch(op, *side) for side in sides)
        group = self.scope[info] if info is not None else None
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
        times = tuple((n, slope(time_map, k, tuple(symbols))) for k, n in enumerate(counts))
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


def _filled(work: Work) -> tuple[Touch, ...]:
    """What an event writes to scratchpads."""
    return tuple(t for t in work.touches if t.is_write and t.view.memory.kind == "lx")


def _symbols(op: Any) -> tuple[Any, ...]:
    return tuple(getattr(op, "time_symbols", ()))


def _only_signals(op: Any) -> bool:
    """Whether a loop only repeats a signal: others take it one by one elsewhere, so none is left out."""
    return all(child.name in SIGNALS or child.name in IGNORED for child in op.body.block.ops)


def _bounds(op: Any) -> tuple[Any, ...]:
    return op.lb, op.ub, op.step


def _signalled(op: Any) -> tuple[bool, Any, str]:
    """(is it sent, the partner, the label) of a signal."""
    is_send = op.name == "dataflow.sync_send"
    return is_send, op.to if is_send else op.from_, op.dbgName.data if op.dbgName is not None else ""


def _copied(op: Any) -> Any:
    """What `touch` takes of both sides of a copy, and its multicast group."""
    source = (False, op.src, op.src_map, tuple(op.src_indices), op.load_set, op.load_time_addr_map)
    target = (True, op.dst, op.dst_map, tuple(op.dst_indices), op.store_set, op.store_time_addr_map)
    return (source, target), op.multicast_info


def groups_of(op: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The regions of uniformize_regions with their units."""
    if hasattr(op, "groups"):
        yield from op.groups()
        return
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


SIGNALS = ("dataflow.sync_send", "dataflow.sync_recv")
WRITING = (
    "agen.composite_load_and_store",
    "agen.composite_indirect_load_and_store",
    "agen.composite_store",
    "agen.vector_store",
)
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
