"""The tensor ops: making, cutting, joining and reshaping tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from headrace.numbers.dtypes import numpy_dtype
from headrace.semantics.affine import open_grid
from headrace.semantics.body import evaluate_body
from headrace.semantics.frame import Empty, Frame, Handler, known_element_type
from headrace.semantics.intrinsics import slice_reduction

Array = np.ndarray[Any, Any]


def _empty(frame: Frame, op: Operation) -> Sequence[Any]:
    dtype = known_element_type(frame, op, op.results[0].type)
    return [Empty(_shape(frame, op), dtype)]


def _shape(frame: Frame, op: Operation) -> tuple[int, ...]:
    """The static extents of the result type, its dynamic ones from the operands in order."""
    sizes = iter(op.operands)
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    return tuple(frame.integer(next(sizes)) if n == DYNAMIC_INDEX else n for n in shape)


def _splat(frame: Frame, op: Operation) -> Sequence[Any]:
    value = frame.array(op, op.operands[0])
    sizes = iter(op.operands[1:])
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    whole = tuple(frame.integer(next(sizes)) if n == DYNAMIC_INDEX else n for n in shape)
    return [np.full(whole, value, value.dtype)]


def _from_elements(frame: Frame, op: Operation) -> Sequence[Any]:
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    dtype = numpy_dtype(known_element_type(frame, op, op.results[0].type))
    return [np.array([frame.array(op, v) for v in op.operands], dtype).reshape(shape)]


def _mixed(frame: Frame, op: Any, what: str) -> tuple[int, ...]:
    return mixed(frame, getattr(op, what), getattr(op, f"static_{what}"))


def mixed(frame: Frame, dynamic: Sequence[SSAValue], static: Any) -> tuple[int, ...]:
    """Static numbers with the dynamic ones filled in from operands."""
    values = iter(dynamic)
    return tuple(frame.integer(next(values)) if n == DYNAMIC_INDEX else int(n) for n in static.get_values())


def slices(frame: Frame, op: Operation, shape: Sequence[int]) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """The slice along every axis and its extents; an error when it leaves the tensor."""
    offsets, sizes, strides = (_mixed(frame, op, what) for what in ("offsets", "sizes", "strides"))
    for axis, (first, n, step, extent) in enumerate(zip(offsets, sizes, strides, shape, strict=True)):
        if n and not (0 <= first and 0 <= first + (n - 1) * step < extent):
            raise frame.error(
                op,
                f"elements {first}..{first + (n - 1) * step} of axis {axis} are outside {extent} elements",
            )
    cut = [_slice(first, n, step) for first, n, step in zip(offsets, sizes, strides, strict=True)]
    return tuple(cut), sizes


def _slice(first: int, n: int, step: int) -> slice:
    end = first + n * step
    return slice(first, None if end < 0 else end, step or 1)


def _extract_slice(frame: Frame, op: Operation) -> Sequence[Any]:
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    source = frame.get(op.operands[0])
    if isinstance(source, Empty):
        sizes = _mixed(frame, op, "sizes")
        return [Empty(_reduced(sizes, shape), source.dtype)]
    cut, sizes = slices(frame, op, source.shape)
    return [np.ascontiguousarray(source[cut]).reshape(_reduced(sizes, shape))]


def _reduced(sizes: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of the result: `sizes` without the unit dims its type leaves out."""
    if len(shape) == len(sizes):
        return tuple(sizes)
    if DYNAMIC_INDEX not in shape:
        return tuple(shape)
    dropped, kept = len(sizes) - len(shape), []
    for n in sizes:
        if n == 1 and dropped:
            dropped -= 1
        else:
            kept.append(n)
    return tuple(kept)


def _insert_slice(frame: Frame, op: Operation) -> Sequence[Any]:
    source, dest = frame.array(op, op.operands[0]), frame.get(op.operands[1])
    out = writable(dest)
    cut, sizes = slices(frame, op, out.shape)
    out[cut] = source.reshape(sizes)
    return [out]


def writable(value: Any) -> Array:
    """A copy to write into; what nobody has written yet reads as zeros."""
    if isinstance(value, Empty):
        return np.zeros(value.shape, numpy_dtype(value.dtype))
    return np.array(value)


def _insert(frame: Frame, op: Operation) -> Sequence[Any]:
    out = writable(frame.get(op.operands[1]))
    at = frame.integers(op.operands[2:])
    if any(not 0 <= i < n for i, n in zip(at, out.shape, strict=True)):
        raise frame.error(op, f"index {list(at)} is outside the tensor of extents {list(out.shape)}")
    out[at] = frame.array(op, op.operands[0])
    return [out]


def _reshape(frame: Frame, op: Operation) -> Sequence[Any]:
    """`expand_shape`, `collapse_shape`, `reshape`, `cast`: the same elements in another shape."""
    source = frame.get(op.operands[0])
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    if DYNAMIC_INDEX in shape:
        shape = _dynamic_shape(frame, op, source.shape)
    if isinstance(source, Empty):
        return [Empty(tuple(shape), source.dtype)]
    try:
        return [source.reshape(shape)]
    except ValueError:
        raise frame.error(op, f"a tensor of {list(source.shape)} has no {list(shape)} shape") from None


def _dynamic_shape(frame: Frame, op: Any, source: Sequence[int]) -> tuple[int, ...]:
    if op.name == "tensor.cast":
        return tuple(source)
    if op.name == "tensor.reshape":
        return tuple(int(n) for n in frame.array(op, op.operands[1]))
    if op.name == "tensor.expand_shape":
        dynamic = iter(op.dynamic_output_shape)
        static = op.static_output_shape.get_values()
        return tuple(frame.integer(next(dynamic)) if n == DYNAMIC_INDEX else n for n in static)
    groups = [[i.value.data for i in group.data] for group in op.reassociation.data]
    return tuple(int(np.prod([source[d] for d in group], dtype=np.int64)) for group in groups)


def _generate(frame: Frame, op: Operation) -> Sequence[Any]:
    """The body once, on index arrays of the whole result."""
    shape = _shape(frame, op)
    dims = open_grid(shape)
    value = evaluate_body(frame, op.regions[0].block, dims, dims)[0]
    return [np.ascontiguousarray(np.broadcast_to(value, shape))]


def _pad(frame: Frame, op: Any) -> Sequence[Any]:
    source = frame.array(op, op.operands[0])
    low, high = _mixed(frame, op, "low"), _mixed(frame, op, "high")
    shape = [a + n + b for a, n, b in zip(low, source.shape, high, strict=True)]
    dims = open_grid(shape)
    value = evaluate_body(frame, op.regions[0].block, dims, dims)[0]
    out = np.array(np.broadcast_to(value, shape), source.dtype)
    out[tuple(slice(a, a + n) for a, n in zip(low, source.shape, strict=True))] = source
    return [out]


def _dim(frame: Frame, op: Operation) -> Sequence[Any]:
    return [frame.get(op.operands[0]).shape[frame.integer(op.operands[1])]]


def _rank(frame: Frame, op: Operation) -> Sequence[Any]:
    return [len(frame.get(op.operands[0]).shape)]


def _bitcast(frame: Frame, op: Operation) -> Sequence[Any]:
    dtype = known_element_type(frame, op, op.results[0].type)
    return [frame.array(op, op.operands[0]).view(numpy_dtype(dtype))]


def _gather(frame: Frame, op: Any) -> Sequence[Any]:
    """Slices of the source at the coordinates the indices hold along `gather_dims`."""
    source, indices = frame.arrays(op)
    dims = op.gather_dims.get_values()
    at: list[Any] = [slice(None)] * source.ndim
    for k, dim in enumerate(dims):
        found = indices[..., k].astype(np.int64)
        if found.size and (found.min() < 0 or found.max() >= source.shape[dim]):
            raise frame.error(op, f"an index of dim {dim} is outside its {source.shape[dim]} elements")
        at[dim] = found
    lead = indices.ndim - 1
    moved = np.moveaxis(source, dims, range(len(dims)))[tuple(at[d] for d in dims)]
    if len(op.results[0].type.get_shape()) == lead + source.ndim:  # gathered dims stay, with extent 1
        kept = tuple(1 if d in dims else n for d, n in enumerate(source.shape))
        moved = moved.reshape(moved.shape[:lead] + kept)
    return [np.ascontiguousarray(moved)]


def _concat(frame: Frame, op: Any) -> Sequence[Any]:
    return [np.concatenate(frame.arrays(op), axis=int(op.dim.value.data))]


TENSORS: dict[str, Handler] = {
    "tensor.empty": _empty,
    "tensor.splat": _splat,
    "tensor.from_elements": _from_elements,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.insert": _insert,
    "tensor.generate": _generate,
    "tensor.pad": _pad,
    "tensor.dim": _dim,
    "tensor.rank": _rank,
    "tensor.bitcast": _bitcast,
    "tensor.gather": _gather,
    "tensor.concat": _concat,
    "spyreop.slice_reduction": slice_reduction,
    **{f"tensor.{n}": _reshape for n in ("expand_shape", "collapse_shape", "reshape", "cast")},
}
"""The handler of every tensor op, by name (`tensor.extract` is one of `SCALARS`)."""
