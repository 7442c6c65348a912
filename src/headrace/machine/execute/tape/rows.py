"""Rows of the compiled machine: a function on places in memory, run along dimensions.

A place is a space and an offset of bytes: a value of the tape, which has the number of its first byte, or one
of the memories that outlive the run, which have negative numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from headrace.machine.execute.tape.record import VALUES, Kernel, Op, Recorder
from headrace.machine.execute.tape.views import Dims, NotRecordable, View, elementwise

DIMS = 6
"""Dimensions of a row: two that its group runs through, three of the row, the innermost one."""
FUNCTIONS = {
    name: k
    for k, name in enumerate(
        (
            "move", "widen", "narrow", "exp", "neg", "row_max", "row_sum",
            "add_f32", "sub_f32", "mul_f32", "div_f32", "max_f32", "min_f32",
            "add_f16", "sub_f16", "mul_f16", "div_f16", "max_f16", "min_f16",
            "rsqrt", "sqrt", "reciprocal", "sigmoid", "tanh", "abs",
            "add_narrow", "sub_narrow", "mul_narrow", "div_narrow", "max_narrow", "min_narrow", "sub_exp",
            "multiply", "multiply_add",
        )
    )
}  # fmt: skip
"""What the compiled machine knows (`vm.py`), by its number there."""
PRODUCTS = frozenset(("multiply", "multiply_add"))
"""Rows that are products of matrices: their last dimensions are rows, columns and what is summed."""
_FEW = 1 << 14
"""Elements of a row up to which it may be cut into short parts."""
_MOST_OUTER = 64
"""Stretches of a run between which parts take turns."""
_SHORTEST = 256
"""Elements in a run below which a larger row is not cut."""
Spot = tuple[int, int]
"""Space, offset in bytes."""


@dataclass(frozen=True)
class Row:
    """A function on spots: `dims` has the extent and a stride for every spot, outer first.

    `sizes`: bytes of an element of every spot, the result first. A row with a `kernel` is a function on
    arrays, `views`, which runs alone.
    """

    function: str
    dims: Dims
    spots: tuple[Spot, ...]
    sizes: tuple[int, ...]
    kernel: Kernel | None = None
    views: tuple[View, ...] = ()


def row_of(op: Op, recorder: Recorder, has_blas: bool) -> Row:
    """The op for the compiled machine, or with its kernel where the machine cannot run it."""
    views = (op.out, *op.inputs)
    spots = tuple(_spot(v, recorder) for v in views)
    sizes = tuple(int(v.dtype.itemsize) for v in views)
    dims = _dims(op.function, views, has_blas) if op.function in FUNCTIONS else None
    if dims is not None and len(dims) <= DIMS:
        if op.function == "move":
            dims, sizes = (*dims[:-1], (dims[-1][0] * sizes[0], 1, 1)), (1, 1)
        return Row(op.function, dims, spots, sizes)
    if op.copied is not None:
        return Row(op.function, (), spots, sizes, _assign, _of_copy(views))
    assert op.kernel is not None
    if op.function.startswith("row_"):
        if len(op.inputs[0].shape) != len(op.out.shape):
            raise NotRecordable
    elif op.function in FUNCTIONS and op.function not in PRODUCTS:
        views = _of_copy(views)
    return Row(op.function, (), spots, sizes, op.kernel, views)


def _spot(view: View, recorder: Recorder) -> Spot:
    if view.region != VALUES:
        return -1 - view.region, view.offset
    start = recorder.value_of(view)[0]
    return start, view.offset - start


def _dims(function: str, views: tuple[View, ...], has_blas: bool) -> Dims | None:
    """The dimensions of a function, if its innermost one is a run of elements."""
    if function in PRODUCTS:
        return _of_product(*views) if has_blas else None
    if function.startswith("row_"):
        return _of_reduction(*views)
    sizes = [v.dtype.itemsize for v in views]
    dims = elementwise(views)
    if not dims:
        dims = ((1, *sizes),)
    out, *inner = dims[-1][1:]
    is_run = out == sizes[0] and all(
        s == size or (s == 0 and function != "move" and len(views) > 2)
        for s, size in zip(inner, sizes[1:], strict=True)
    )
    return dims if is_run else None


def _of_product(out: View, a: View, b: View) -> Dims:
    (batch, m, n), k = out.shape, a.shape[2]
    return (
        (batch, out.strides[0], a.strides[0], b.strides[0]),
        (m, out.strides[1], a.strides[1], 0),
        (n, out.strides[2], 0, b.strides[2]),
        (k, 0, a.strides[2], b.strides[1]),
    )


def _of_reduction(out: View, x: View) -> Dims | None:
    """Dimensions of a row reduction: those of the results, then the lanes of a row."""
    from headrace.machine.execute.tape.sums import LONGEST_SUM

    lanes = prod(x.shape) // prod(out.shape)
    if lanes > LONGEST_SUM or x.shape[-1] != lanes or x.strides[-1] != x.dtype.itemsize:
        return None
    row = View(x.region, x.offset, x.shape[:-1], x.strides[:-1], x.dtype)
    return (*elementwise([out, row]), (lanes, 0, x.strides[-1]))


def _of_copy(views: tuple[View, ...]) -> tuple[View, ...]:
    """Views that enumerate as many elements in one shape."""
    dims = elementwise(views)
    shape = tuple(d[0] for d in dims)
    return tuple(
        View(v.region, v.offset, shape, tuple(d[k + 1] for d in dims), v.dtype) for k, v in enumerate(views)
    )


def _assign(out: object, x: object) -> None:
    out[...] = x  # type: ignore[index]


# ---- parts -------------------------------------------------------------------------------------------------
def splits(row: Row, parts: int, level: int, cuts_runs: bool) -> Iterator[Row]:
    """The row with a dimension of so many parts at `level`, in every way that leaves runs of elements.

    `cuts_runs`: its innermost dimension may be divided too.
    """
    head, dims = row.dims[:level], row.dims[level:]
    last = len(dims) - 1
    if row.function in PRODUCTS:
        if dims[0][0] == parts:
            yield row
        return
    for d in range(len(dims) if cuts_runs else last):
        n, *strides = dims[d]
        if n % parts:
            continue
        for outer in _divisors(n // parts, _MOST_OUTER if d == last else n):
            inner = n // parts // outer
            if d == last and not _may_cut(row, inner):
                break
            part = (parts, *(s * inner for s in strides))
            before = ((outer, *(s * parts * inner for s in strides)),) if outer > 1 else ()
            rest = ((inner, *strides),) if inner > 1 or d == last else ()
            yield replace(row, dims=(*head, part, *dims[:d], *before, *rest, *dims[d + 1 :]))


def _divisors(n: int, most: int) -> Iterator[int]:
    return (k for k in range(1, min(n, most) + 1) if n % k == 0)


def _may_cut(row: Row, inner: int) -> bool:
    """Whether runs of so many elements may be left of those of a row."""
    if row.function.startswith("row_") or row.function in PRODUCTS:
        return False
    return inner >= _SHORTEST or row_elements(row) <= _FEW


def row_elements(row: Row) -> int:
    """How often the function is applied."""
    return prod(d[0] for d in row.dims)


def padded(row: Row, level: int) -> Row:
    """The row with exactly `DIMS` dimensions, those from `level` on as the last ones."""
    one = (1, *(0,) * len(row.spots))
    missing = (one,) * (DIMS - len(row.dims))
    return replace(row, dims=(*row.dims[:level], *missing, *row.dims[level:]))
