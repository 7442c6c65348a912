"""A tape made ready to play: what nobody needs left out, values given places, tables of instructions."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.tape.fused import fused
from headrace.machine.execute.tape.groups import DIMS, Row, grouped
from headrace.machine.execute.tape.products import folded
from headrace.machine.execute.tape.record import CONSTANTS, DEVICE, VALUES, Kernel, Op, Recorder
from headrace.machine.execute.tape.slabs import slabs
from headrace.machine.execute.tape.stores import direct
from headrace.machine.execute.tape.views import Array, Dims, NotRecordable, View, elementwise

COLUMNS = 1 + DIMS + 3 * (1 + DIMS)
FUNCTIONS = {
    name: k
    for k, name in enumerate(
        (
            "move", "widen", "narrow", "exp", "neg", "row_max", "row_sum",
            "add_f32", "sub_f32", "mul_f32", "div_f32", "max_f32", "min_f32",
            "add_f16", "sub_f16", "mul_f16", "div_f16", "max_f16", "min_f16",
            "rsqrt", "sqrt", "reciprocal", "sigmoid", "tanh", "abs",
            "add_narrow", "sub_narrow", "mul_narrow", "div_narrow", "max_narrow", "min_narrow", "sub_exp",
        )
    )
}  # fmt: skip
"""What the compiled machine knows (`vm.py`), by its number there."""
_FREE = frozenset(f for f in FUNCTIONS if f != "move" and not f.startswith("row_"))
"""Functions that work element by element."""
_ALIGNMENT = 64
MOST_VALUE_BYTES = 1 << 27
"""Bytes of values at one time above which a run is not played from a tape."""


@dataclass
class Segment:
    """Rows for the compiled machine, or a function on arrays."""

    rows: list[Row] = field(default_factory=list)
    kernel: Kernel | None = None
    views: tuple[View, ...] = ()


@dataclass
class Prepared:
    """The segments of a tape in order, and the bytes of every region but device memory that they touch.

    `uses`: how many views lie in a value.
    """

    segments: list[Segment]
    sizes: list[int]
    constants: bytes
    uses: dict[int, int]


def prepare(recorder: Recorder) -> Prepared | None:
    """The tape of a recorded run; None if it takes too much memory."""
    ops = direct(recorder, fused(recorder, folded(recorder, _needed(recorder.ops))), _FREE)
    places, total = _placed(ops, recorder)
    scratch = len(recorder.memories)
    plain: list[Op] = []
    for op in ops.values():
        plain += slabs(op, scratch) if op.function == "product" else [op]
    beyond = max((v.ends[1] for op in plain for v in (op.out, *op.inputs) if v.region == scratch), default=0)
    sizes = [0] * len(recorder.memories)
    sizes[VALUES] = total + _ALIGNMENT
    total += beyond
    spans = _spans(plain, recorder)
    total += sum(owners * (high - low) for low, high, owners in spans.values())
    if total > MOST_VALUE_BYTES:
        return None

    def placed(view: View) -> View:
        if view.region in spans:
            low, high, _ = spans[view.region]
            return _moved_together(view, recorder.owner_sizes[view.region], low, high)
        if view.region != VALUES:
            return view
        start, place = places(view)
        return View(VALUES, view.offset - start + place, view.shape, view.strides, view.dtype)

    segments, uses = [Segment()], Counter[int]()
    for op in plain:
        values = tuple(recorder.value_of(v)[1] if v.region == VALUES else None for v in (op.out, *op.inputs))
        uses.update(v for v in values if v is not None)
        views = tuple(placed(v) for v in (op.out, *op.inputs))
        row = _row(op, views, values)
        if row is not None:
            if segments[-1].kernel is not None:
                segments.append(Segment())
            segments[-1].rows.append(row)
        elif op.copied is not None:
            segments.append(Segment([], _assign, _of_copy(elementwise(views), views)))
        else:
            assert op.kernel is not None
            if op.function in FUNCTIONS and not op.function.startswith("row_"):
                views = _of_copy(elementwise(views), views)
            elif op.function in FUNCTIONS and len(views[1].shape) != len(views[0].shape):
                raise NotRecordable
            segments.append(Segment([], op.kernel, views))
    for region, (low, high, owners) in spans.items():
        sizes[region] = owners * (high - low)
    sizes.append(beyond)
    return Prepared(segments, sizes, bytes(recorder.constants) or bytes(_ALIGNMENT), dict(uses))


def _spans(ops: Sequence[Op], recorder: Recorder) -> dict[int, tuple[int, int, int]]:
    """(first byte, the one behind the last, owners) of what is touched of scratchpads and register files."""
    found: dict[int, tuple[int, int, int]] = {}
    for view in (v for op in ops for v in (op.out, *op.inputs)):
        size = recorder.owner_sizes[view.region] if view.region < len(recorder.memories) else 0
        if size:
            low, high, last = recorder.inside(view)
            start, end, owners = found.get(view.region, (low, high, 0))
            found[view.region] = min(start, low), max(end, high), max(owners, last + 1)
    return {
        k: (a // _ALIGNMENT * _ALIGNMENT, -(-b // _ALIGNMENT) * _ALIGNMENT, n)
        for k, (a, b, n) in found.items()
    }


def _moved_together(view: View, size: int, low: int, high: int) -> View:
    """The view of memories of `size` bytes of which only those from `low` to `high` are kept."""
    strides = tuple(s // size * (high - low) if s % size == 0 else s for s in view.strides)
    offset = view.offset // size * (high - low) + view.offset % size - low
    return View(view.region, offset, view.shape, strides, view.dtype)


def _needed(ops: Sequence[Op]) -> list[int]:
    """The ops that write device memory and all they read, in order."""
    wanted = [op.out.region == DEVICE for op in ops]
    for number in range(len(ops) - 1, -1, -1):
        if wanted[number]:
            for other in ops[number].needs:
                wanted[other] = True
    return [k for k, want in enumerate(wanted) if want]


def _placed(ops: Mapping[int, Op], recorder: Recorder) -> tuple[Any, int]:
    """(view -> start of its value on the tape and its place in memory, bytes in all)."""
    last: dict[int, int] = {}
    for number, op in ops.items():
        last[number] = number
        for other in op.needs:
            last[other] = number
    ending: dict[int, list[int]] = {}
    for number, end in last.items():
        ending.setdefault(end, []).append(number)
    free: dict[int, list[int]] = {}
    at: dict[int, int] = {}
    sizes: dict[int, int] = {}
    total = 0
    for number, op in ops.items():
        out = op.out
        if out.region == VALUES:
            size = -(-prod(out.shape) * out.dtype.itemsize // _ALIGNMENT) * _ALIGNMENT or _ALIGNMENT
            spare = free.get(size)
            if spare:
                at[number] = spare.pop()
            else:
                at[number], total = total, total + size
            sizes[number] = size
        for done in ending.get(number, ()):
            if done in at:
                free.setdefault(sizes[done], []).append(at[done])

    def place(view: View) -> tuple[int, int]:
        start, maker = recorder.value_of(view)
        return start, at[maker]

    return place, total


def _row(op: Op, views: tuple[View, ...], values: tuple[int | None, ...]) -> Row | None:
    """The op for the compiled machine, if its innermost dimension is one the machine can run."""
    if op.function not in FUNCTIONS:
        return None
    out, *inputs = views
    if op.function.startswith("row_"):
        found = _rows(out, inputs[0])
        is_fit = found is not None and len(found) <= DIMS
        return Row(op.function, found, views, values) if found is not None and is_fit else None
    else:
        dims = elementwise(views)
    if not dims:
        dims = ((1, *(v.dtype.itemsize for v in views)),)
    sizes = [v.dtype.itemsize for v in views]
    inner = dims[-1][1:]
    is_run = inner[0] == sizes[0] and all(
        s == size or (s == 0 and op.function != "move") for s, size in zip(inner[1:], sizes[1:], strict=True)
    )
    if len(views) == 2 and op.function != "move":
        is_run = is_run and inner[1] != 0
    if not is_run or len(dims) > DIMS:
        return None
    if op.function == "move":
        dims = (*dims[:-1], (dims[-1][0] * sizes[0], 1, 1))
    return Row(op.function, dims, views, values)


def _rows(out: View, x: View) -> Dims | None:
    """Dimensions of a row reduction: those of the results, then the lanes of a row."""
    from headrace.machine.execute.tape.vm import LONGEST_SUM

    lanes = prod(x.shape) // prod(out.shape)
    if lanes > LONGEST_SUM or x.shape[-1] != lanes or x.strides[-1] != x.dtype.itemsize:
        return None
    row = View(x.region, x.offset, x.shape[:-1], x.strides[:-1], x.dtype)
    return (*elementwise([out, row]), (lanes, 0, x.strides[-1]))


def _assign(out: Array, x: Array) -> None:
    out[...] = x


def _of_copy(dims: Dims, views: tuple[View, ...]) -> tuple[View, ...]:
    """Views that enumerate as many elements in one shape."""
    shape = tuple(d[0] for d in dims)
    return tuple(
        View(v.region, v.offset, shape, tuple(d[k + 1] for d in dims), v.dtype) for k, v in enumerate(views)
    )


# ---- playing -----------------------------------------------------------------------------------------------
class Player:
    """A prepared tape bound to memories; `play` runs it again."""

    def __init__(self, prepared: Prepared, device: Array) -> None:
        from headrace.machine.execute.tape.vm import play

        self._lock = threading.Lock()
        self._memories = [np.zeros(size, np.uint8) for size in prepared.sizes]
        self._memories[DEVICE] = device
        self._memories[CONSTANTS] = np.frombuffer(prepared.constants, np.uint8)
        self._bases = [int(m.__array_interface__["data"][0]) for m in self._memories]
        self._steps: list[tuple[Callable[..., None], Sequence[Array]]] = [
            (play, self._table(s.rows, prepared.uses))
            if s.kernel is None
            else (s.kernel, self._arrays(s.views))
            for s in prepared.segments
            if s.rows or s.kernel is not None
        ]

    def play(self) -> None:
        """Runs every segment."""
        with self._lock:
            for function, arrays in self._steps:
                function(*arrays)

    def _arrays(self, views: Sequence[View]) -> list[Array]:
        return [np.ndarray(v.shape, v.dtype, self._memories[v.region], v.offset, v.strides) for v in views]

    def _table(self, rows: Sequence[Row], uses: dict[int, int]) -> tuple[Array, Array]:
        groups = list(grouped(rows, uses))
        flat = [row for group in groups for row in group]
        table = np.zeros((len(flat), COLUMNS), np.int64)
        for r, row in enumerate(flat):
            table[r, 0] = FUNCTIONS[row.function]
            table[r, 1 : 1 + DIMS] = [d[0] for d in row.dims]
            for k, v in enumerate(row.views):
                at = (1 + DIMS) * (k + 1)
                table[r, at] = self._bases[v.region] + v.offset
                table[r, at + 1 : at + 1 + DIMS] = [d[k + 1] for d in row.dims]
        return table, np.cumsum([0, *map(len, groups)], dtype=np.int64)
