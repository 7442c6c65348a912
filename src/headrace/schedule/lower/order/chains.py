"""Order that channels give for free: a box is read into a channel and written back from the values that come
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from headrace.schedule.lower.index import Expr, Var, entries, substitute, times
from headrace.schedule.lower.order.accesses import Access, Range
from headrace.schedule.lower.tree import Apply, Block, Loop, Node, PointLoop, Stage, trips


class Chains:
    """The accesses of a control tree that follow each other through channels."""

    def __init__(self, block: Block, accesses: Sequence[Access]) -> None:
        self.block = block
        self._linked: dict[object, bool] = {}
        self._reads: dict[object, list[Access]] = {}
        for access in accesses:
            if not access.is_write:
                self._reads.setdefault((access.unit, access.path, access.key), []).append(access)

    def holds(self, read: Access, write: Access) -> bool:
        """True if message m of the write is computed from message m of the read, and the m-th boxes are the
        same.

        Both stages belong to one pipeline, side by side, their point loops run alike, every box is touched in
        one iteration only, and each unit on the way takes and gives one message an iteration. Then no signal
        is needed, and one would deadlock. So it is for a read of more than what is written if a later one of
        the same iteration is of that.
        """
        if not _touches_alike(read, write):
            return False
        if read.size == write.size:
            return self._is_linked(read, write)
        stage = self._reads.get((read.unit, read.path, read.key), [])
        place = next((k for k, access in enumerate(stage) if access is read), len(stage))
        later = (one for one in stage[place + 1 :] if one.points == read.points and one.size == write.size)
        return any(_touches_alike(one, write) and self._is_linked(one, write) for one in later)

    def _is_linked(self, read: Access, write: Access) -> bool:
        counts = tuple(point.count for point in read.points)
        key = (read.path, write.path, counts)
        if key not in self._linked:
            self._linked[key] = _is_linked(self.block, read, write)
        return self._linked[key]


def _touches_alike(read: Access, write: Access) -> bool:
    if read.is_write or not write.is_write or read.pipeline != write.pipeline or read.path >= write.path:
        return False
    if read.path[:-1] != write.path[:-1]:
        return False
    if read.memory != write.memory or len(read.points) != len(write.points):
        return False
    renamed = {w.var: Expr(0, ((r.var, 1),)) for r, w in zip(read.points, write.points, strict=True)}
    if any(not _alike(r, w, renamed) for r, w in zip(read.points, write.points, strict=True)):
        return False
    lows = [substitute(low, renamed) if low is not None else None for low in write.low]
    inside = zip(read.low, read.size, lows, write.size, strict=True)
    if not all(_is_inside(*dims) for dims in inside):
        return False
    return all(_moves_apart(read, point) for point in read.points)


def _is_inside(low: Expr | None, size: Expr | None, first: Expr | None, extent: Expr | None) -> bool:
    """Whether the second run, from `first` on, lies in the one from `low` on, along a dim."""
    if low == first and size == extent:
        return True
    if low is None or size is None or first is None or extent is None:
        return False
    ahead, over = first - low, (low + size) - (first + extent)
    return all(e.is_number and min(entries(e.const)) >= 0 for e in (ahead, over))


def _alike(read: Range, write: Range, renamed: dict[Var, Expr]) -> bool:
    return (
        read.low == substitute(write.low, renamed)
        and read.count == substitute(write.count, renamed)
        and read.step == write.step
    )


def _moves_apart(access: Access, point: Range) -> bool:
    """True if one more iteration of the loop leaves the box behind along some dim."""
    for low, size in zip(access.low, access.size, strict=True):
        if low is None or size is None or not size.is_number or not point.step.is_number:
            continue
        for atom, c in low.terms:
            if atom == point.var:
                step = times(c, point.step.const)
                pace = [abs(x) for x in entries(step)]
                if min(pace) >= max(entries(size.const)):
                    return True
    return False


def _is_linked(block: Block, read: Access, write: Access) -> bool:
    """True if channels lead from the reader through computing stages with equal loops to the writer."""
    stages = [s for s in _siblings(block, read.path) if s.pipeline == read.pipeline]
    known = {stage.unit: stage for stage in stages}
    counts = [point.count for point in read.points]
    reached, frontier = {read.unit}, [read.unit]
    while frontier:
        unit = frontier.pop()
        for stage in known.values():
            if stage.unit not in reached and _takes(stage, unit, counts):
                reached.add(stage.unit)
                frontier.append(stage.unit)
    return write.unit in reached or any(_takes(known[write.unit], unit, counts) for unit in reached)


def _siblings(block: Block, path: tuple[int, ...]) -> list[Stage]:
    for position in path[:-1]:
        item = block[position]
        assert isinstance(item, Loop)
        block = item.body
    return [item for item in block if isinstance(item, Stage)]


def _takes(stage: Stage, unit: str, counts: list[Expr]) -> bool:
    """True if the stage receives from `unit` once an iteration of a nest with these trips; the innermost
    loops may be written out, beside others.
    """
    return _received(stage.body, unit, counts)


def _received(nodes: Sequence[Node], unit: str, counts: list[Expr]) -> bool:
    here = sum(not isinstance(node, PointLoop) and _receives(node, unit) for node in nodes)
    written_out = prod(c.const if c.is_number and isinstance(c.const, int) else 0 for c in counts)
    if written_out and here >= written_out:
        return True
    loops = [node for node in nodes if isinstance(node, PointLoop)]
    if written_out and any(_takes_all(node, unit, written_out) for node in loops):
        return True
    alike = [n for n in loops if counts and trips(n.low, n.high, n.step) == counts[0]]
    return any(_received(node.body, unit, counts[1:]) for node in alike)


def _takes_all(loop: PointLoop, unit: str, count: int) -> bool:
    """Whether a loop receives from `unit` once an iteration, as often as `count` at least."""
    times = trips(loop.low, loop.high, loop.step)
    inside = [node for node in loop.body if not isinstance(node, PointLoop)]
    is_long = times.is_number and isinstance(times.const, int) and times.const >= count
    return is_long and sum(_receives(node, unit) for node in inside) == 1


def _receives(node: Node, unit: str) -> bool:
    if isinstance(node, Apply):
        name = getattr(node.op, "name", "")
        return name == "ktdf.read_from_fifo" and _source(node.op) == unit
    source = getattr(node, "source", None)
    return getattr(source, "source", None) == unit


def _source(op: object) -> str:
    slot = op.fifo_slot.type.src  # type: ignore[attr-defined]
    return str(getattr(slot, "data", slot))
