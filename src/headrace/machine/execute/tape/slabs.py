"""A product as plain ops: slabs of both operands in f32, one after the other, and BLAS adding up products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from headrace.machine.execute.blas import multiply, multiply_add
from headrace.machine.execute.tape.record import VALUES, Op, Recorder
from headrace.machine.execute.tape.views import Array, View, paired

_F32 = np.dtype(np.float32)
_LONGEST = 256
"""Elements summed in a slab: enough for BLAS to run at full speed."""
_MOST_BYTES = 1 << 22
"""Bytes of both operands of a slab, unless a single step needs more."""
Axes = tuple[tuple[int, int], ...]
Groups = tuple[Axes, Axes, Axes]
"""Axes (extent, stride) of an operand: batch, rows, columns."""


def slabs(op: Op, recorder: Recorder) -> Iterator[Op]:
    """The ops of a product; the slabs are values of the recorder."""
    batch, rows, columns = op.out.shape
    left, right = op.inputs[::2][: len(op.inputs) // 2], op.inputs[1::2]
    is_first = len(op.inputs) % 2 == 0
    if not is_first:
        yield Op("move", op.out, op.inputs[-1:], (), None, paired(op.out, op.inputs[-1]))
    depths = [prod(x.shape) // (batch * rows) for x in left]
    for start, end in _slabs(depths, 4 * batch * (rows + columns)):
        part = depths[start:end]
        a, packed = _matrix(left[start:end], (batch, rows), part, 2, recorder)
        yield from packed
        b, packed = _matrix(right[start:end], (batch, columns), part, 1, recorder)
        yield from packed
        name, kernel = ("multiply", multiply) if is_first else ("multiply_add", multiply_add)
        yield Op(name, op.out, (a, b), (), kernel)
        is_first = False


def _slabs(depths: Sequence[int], bytes_of_one: int) -> Iterator[tuple[int, int]]:
    """(first step, the one behind the last) of every slab."""
    start = deep = 0
    for k, depth in enumerate(depths):
        if k > start and (deep + depth > _LONGEST or (deep + depth) * bytes_of_one > _MOST_BYTES):
            yield start, k
            start, deep = k, 0
        deep += depth
    yield start, len(depths)


def _matrix(
    parts: Sequence[View], sizes: tuple[int, int], depths: Sequence[int], along: int, recorder: Recorder
) -> tuple[View, list[Op]]:
    """[batch, row, column] in f32 with the parts in a row along axis `along`, and the ops that pack it.

    `sizes`: of the batch and of the axis that is not summed.
    """
    deep = sum(depths)
    shape = (sizes[0], sizes[1], deep) if along == 2 else (sizes[0], deep, sizes[1])
    found = [_groups(x, sizes, d, along) for x, d in zip(parts, depths, strict=True)]
    is_turned = all(
        rows and rows[-1][1] == x.dtype.itemsize and (not columns or columns[-1][1] != x.dtype.itemsize)
        for x, (_, rows, columns) in zip(parts, found, strict=True)
    )
    inner = (4, 4 * shape[1]) if is_turned else (4 * shape[2], 4)
    strides = (4 * shape[1] * shape[2], *inner)
    at = recorder.view(recorder.new(shape, _F32)).offset
    whole = View(VALUES, at, shape, strides, _F32)
    ahead = _distance(parts, depths)
    if ahead is not None:
        batch, rows, columns = found[0]
        step = ((len(parts), ahead),)
        joined = (batch, rows, step + columns) if along == 2 else (batch, step + rows, columns)
        return whole, [_packed(whole, parts[0], joined, is_turned)]
    ops, k = [], 0
    for x, groups, depth in zip(parts, found, depths, strict=True):
        small = (sizes[0], sizes[1], depth) if along == 2 else (sizes[0], depth, sizes[1])
        piece = View(VALUES, at + k * strides[along], small, strides, _F32)
        ops.append(_packed(piece, x, groups, is_turned))
        k += depth
    return whole, ops


def _groups(x: View, sizes: tuple[int, int], depth: int, along: int) -> Groups:
    batch, rest = _cut(tuple(zip(x.shape, x.strides, strict=True)), sizes[0])
    rows, columns = _cut(rest, sizes[1] if along == 2 else depth)
    return batch, rows, columns


def _cut(axes: Axes, size: int) -> tuple[Axes, Axes]:
    """The first axes, which enumerate `size` elements, and the others."""
    k = 0
    while size > 1:
        size //= axes[k][0]
        k += 1
    return axes[:k], axes[k:]


def _distance(parts: Sequence[View], depths: Sequence[int]) -> int | None:
    """Bytes from each part to the next one, if they differ in nothing else."""
    first = parts[0]
    ahead = parts[1].offset - first.offset if len(parts) > 1 else 0
    for k, x in enumerate(parts):
        alike = View(first.region, first.offset + k * ahead, first.shape, first.strides, first.dtype)
        if x != alike or depths[k] != depths[0]:
            return None
    return ahead


def _packed(target: View, source: View, groups: Groups, is_turned: bool) -> Op:
    """The op that brings one operand into a matrix, along the bytes of both."""
    order = (0, 2, 1) if is_turned else (0, 1, 2)
    axes = [a for k in order for a in groups[k]]
    out = View(
        target.region,
        target.offset,
        tuple(target.shape[k] for k in order),
        tuple(target.strides[k] for k in order),
        target.dtype,
    )
    given = View(
        source.region, source.offset, tuple(n for n, _ in axes), tuple(s for _, s in axes), source.dtype
    )
    if source.dtype == target.dtype:
        return Op("move", out, (given,), (), None, paired(out, given))
    return Op("widen", out, (given,), (), _assigned)


def _assigned(out: Array, x: Array) -> None:
    out[...] = x
