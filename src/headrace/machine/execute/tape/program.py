"""A tape made ready to play: what nobody needs left out, values given places, tables of instructions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.tape.products import folded
from headrace.machine.execute.tape.record import CONSTANTS, DEVICE, VALUES, Kernel, Op, Recorder
from headrace.machine.execute.tape.slabs import slabs
from headrace.machine.execute.tape.views import Array, Dims, NotRecordable, View, elementwise

DIMS = 5
COLUMNS = 1 + DIMS + 3 * (1 + DIMS)
FUNCTIONS = {
    name: k
    for k, name in enumerate(
        (
            "move", "widen", "narrow", "exp", "neg", "row_max", "row_sum",
            "add_f32", "sub_f32", "mul_f32", "div_f32", "max_f32", "min_f32",
            "add_f16", "sub_f16", "mul_f16", "div_f16", "max_f16", "min_f16",
        )
    )
}  # fmt: skip
"""What the compiled machine knows (`vm.py`), by its number there."""
_ALIGNMENT = 64
MOST_VALUE_BYTES = 1 << 27
"""Bytes of values at one time above which a run is not played from a tape."""
_PARTS = (64, 32)
"""Parts that rows are cut into: the instances of a team."""
_SHORTEST = 256
"""Elements below which a row is not cut."""
_MOST_ROWS = 24
Row = tuple[str, Dims, tuple[View, ...]]


@dataclass
class Segment:
    """Rows for the compiled machine, or a function on arrays."""

    rows: list[Row] = field(default_factory=list)
    kernel: Kernel | None = None
    views: tuple[View, ...] = ()


@dataclass
class Prepared:
    """The segments of a tape in order, and the bytes of every region but device memory that they touch."""

    segments: list[Segment]
    sizes: list[int]
    constants: bytes


def prepare(recorder: Recorder) -> Prepared | None:
    """The tape of a recorded run; None if it takes too much memory."""
    ops, kept = folded(recorder, _needed(recorder.ops))
    places, total = _placed(ops, kept, recorder)
    scratch = len(recorder.memories)
    plain: list[Op] = []
    for number in kept:
        plain += slabs(ops[number], scratch) if ops[number].function == "product" else [ops[number]]
    beyond = max((v.ends[1] for op in plain for v in (op.out, *op.inputs) if v.region == scratch), default=0)
    total += beyond
    if total > MOST_VALUE_BYTES:
        return None

    def placed(view: View) -> View:
        if view.region != VALUES:
            return view
        start, place = places(view)
        return View(VALUES, view.offset - start + place, view.shape, view.strides, view.dtype)

    segments = [Segment()]
    for op in plain:
        views = tuple(placed(v) for v in (op.out, *op.inputs))
        row = _row(op, views)
        if row is not None:
            if segments[-1].kernel is not None:
                segments.append(Segment())
            segments[-1].rows.append(row)
        elif op.copied is not None:
            segments.append(Segment([], _assign, _of_copy(op.copied.dims, views)))
        else:
            assert op.kernel is not None
            if op.function in FUNCTIONS and not op.function.startswith("row_"):
                views = _of_copy(elementwise(views), views)
            elif op.function in FUNCTIONS and len(views[1].shape) != len(views[0].shape):
                raise NotRecordable
            segments.append(Segment([], op.kernel, views))
    sizes = [0] * len(recorder.memories)
    for segment in segments:
        for view in (v for views in (segment.views, *(r[2] for r in segment.rows)) for v in views):
            if view.region not in (DEVICE, VALUES, CONSTANTS, scratch):
                sizes[view.region] = max(sizes[view.region], recorder.memories[view.region].size_bytes)
    sizes[VALUES] = total - beyond + _ALIGNMENT
    sizes.append(beyond)
    return Prepared(segments, sizes, bytes(recorder.constants) or bytes(_ALIGNMENT))


def _needed(ops: Sequence[Op]) -> list[int]:
    """The ops that write device memory and all they read, in order."""
    wanted = [op.out.region == DEVICE for op in ops]
    for number in range(len(ops) - 1, -1, -1):
        if wanted[number]:
            for other in ops[number].needs:
                wanted[other] = True
    return [k for k, want in enumerate(wanted) if want]


def _placed(ops: Mapping[int, Op], kept: Sequence[int], recorder: Recorder) -> tuple[Any, int]:
    """(view -> start of its value on the tape and its place in memory, bytes in all)."""
    last: dict[int, int] = {}
    for number in kept:
        last[number] = number
        for other in ops[number].needs:
            last[other] = number
    ending: dict[int, list[int]] = {}
    for number, end in last.items():
        ending.setdefault(end, []).append(number)
    free: dict[int, list[int]] = {}
    at: dict[int, int] = {}
    sizes: dict[int, int] = {}
    total = 0
    for number in kept:
        out = ops[number].out
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


def _row(op: Op, views: tuple[View, ...]) -> Row | None:
    """The op for the compiled machine, if its innermost dimension is one the machine can run."""
    if op.function not in FUNCTIONS:
        return None
    out, *inputs = views
    if op.function == "move":
        assert op.copied is not None
        dims = op.copied.dims
    elif op.function.startswith("row_"):
        found = _rows(out, inputs[0])
        return (op.function, found, views) if found is not None and len(found) <= DIMS else None
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
    return op.function, dims, views


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
            (play, self._table(s.rows)) if s.kernel is None else (s.kernel, self._arrays(s.views))
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

    def _table(self, rows: Sequence[Row]) -> tuple[Array, Array]:
        grouped = list(_grouped(rows))
        flat = [row for group in grouped for row in group]
        table = np.zeros((len(flat), COLUMNS), np.int64)
        for r, (function, dims, views) in enumerate(flat):
            table[r, 0] = FUNCTIONS[function]
            table[r, 1 : 1 + DIMS] = [d[0] for d in dims]
            for k, v in enumerate(views):
                at = (1 + DIMS) * (k + 1)
                table[r, at] = self._bases[v.region] + v.offset
                table[r, at + 1 : at + 1 + DIMS] = [d[k + 1] for d in dims]
        return table, np.cumsum([0, *map(len, grouped)], dtype=np.int64)


# ---- groups ------------------------------------------------------------------------------------------------
def _grouped(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows in groups that are run part by part, so that what passes between them stays in the cache.

    A part is that of one instance. Rows stay together as long as no part needs or destroys bytes of another.
    """
    group: list[Row] = []
    for row in rows:
        split = _split(row, group[0][1][0][0]) if group else None
        if split is not None and len(group) < _MOST_ROWS and all(_is_apart(split, other) for other in group):
            group.append(split)
            continue
        if group:
            yield group
        parts = next((p for p in _PARTS if _split(row, p) is not None), 1)
        start = _split(row, parts)
        group = [_padded(row) if start is None else start]
    if group:
        yield group


def _padded(row: Row) -> Row:
    """The row with exactly `DIMS` dimensions."""
    function, dims, views = row
    return function, ((1,) + (0,) * len(views),) * (DIMS - len(dims)) + dims, views


def _split(row: Row, parts: int) -> Row | None:
    """The row with a first dimension of `parts` and the others behind it."""
    function, dims, views = row
    n, *strides = dims[0]
    if n % parts or len(dims) > DIMS - 1 or (len(dims) == 1 and parts > 1 and n < parts * _SHORTEST):
        return None
    if len(dims) == 1 and function.startswith("row_"):
        return None
    inner = n // parts
    rest = ((inner, *strides), *dims[1:]) if inner > 1 or len(dims) == 1 else dims[1:]
    if len(rest) > DIMS - 1:
        return None
    outer = (parts, *(s * inner for s in strides))
    return function, (outer, *_padded((function, rest, views))[1][1:]), views


def _is_apart(one: Row, other: Row) -> bool:
    """Whether no part of a row touches what another part of the other row writes, and the other way round."""
    for k, v in enumerate(one[2]):
        for m, w in enumerate(other[2]):
            if (k and m) or v.region != w.region:
                continue
            (low, high, step), (start, end, stride) = _reach(one, k), _reach(other, m)
            parts = one[1][0][0] - 1
            if low >= end + parts * stride or start >= high + parts * step:
                continue
            if step != stride or step <= 0 or max(high, end) - min(low, start) > step:
                return False
    return True


def _reach(row: Row, k: int) -> tuple[int, int, int]:
    """(first byte, byte behind the last, step from part to part) of the first part of view `k`."""
    function, dims, views = row
    size = 1 if function == "move" else views[k].dtype.itemsize
    last = sum((d[0] - 1) * d[k + 1] for d in dims[1:])
    return views[k].offset, views[k].offset + last + size, dims[0][k + 1]
