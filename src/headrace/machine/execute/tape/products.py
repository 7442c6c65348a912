"""Products on a tape: those of alike cores joined to one, those that follow each other summed over all steps.

Cores that hold the same left operand stand beside each other, those with the same right operand one above the
other; an axis along which both change is a batch. The sums stay f32 (design: products accumulate in f32), but
BLAS adds in an order of its own, so that the last bits may differ from what the engine gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from headrace.machine.execute.contractions import matrix_order
from headrace.machine.execute.tape.record import Op, Recorder
from headrace.machine.execute.tape.views import Array, Dims, NotRecordable, View, elementwise
from headrace.machine.image import Contract

_F32 = np.dtype(np.float32)
_KINDS = ("f16", "f32")
Axes = tuple[tuple[int, int], ...]
"""(extent, stride in bytes), outer first."""
Core = tuple[int, int, int]
"""An axis of instances: extent, stride in the left operand, stride in the right one."""


@dataclass(frozen=True)
class _Layout:
    """The operands as [batch…, rows…, summed…] and [batch…, summed…, columns…], (batch, rows, columns).

    `result`: the axes of what each instance sees of the joined result, [instance…, iteration, lane].
    """

    left: View
    right: View
    sizes: tuple[int, int, int]
    result: Axes


def product(
    recorder: Recorder, node: Contract, left: Array, right: Array, addend: Array | None
) -> Array | None:
    """The stand-in of a joined product in f32, [instance, iteration, lanes]; None where it cannot be one."""
    order = matrix_order(node)
    kinds = {v.dtype for v in (node.left, node.right)}
    if order is None or not kinds <= set(_KINDS) or node.result.dtype not in _KINDS or right.shape[1] != 1:
        return None
    summed, count = left.ndim - 2, max(len(left), len(right))
    matrix = right[:, 0].transpose(0, *(1 + k for k in order))
    k, n = prod(matrix.shape[1 : 1 + summed]), prod(matrix.shape[1 + summed :])
    if addend is not None and any(
        m > 1 for m, s in zip(addend.shape, (count, left.shape[1]), strict=False) if m != s
    ):
        return None
    found = []
    for x in (left, matrix):
        whole = np.broadcast_to(x, (count, *x.shape[1:]))
        found.append(recorder.resolve(recorder.view(whole), True))
    layout = _layout(found[0][0], found[1][0], count, left.shape[1], k, n)
    if layout is None:
        return None
    joined = recorder.new(layout.sizes, _F32)
    target = recorder.view(joined)
    before = None if addend is None else _earlier(recorder, addend, target, layout.result)
    inputs = (layout.left, layout.right, *([] if before is None else [before[0]]))
    needs = {op for _, ops in found for op in ops} | ({before[1]} if before else set())
    recorder.append(Op("product", target, inputs, tuple(needs)))
    apart = as_strided(joined, [m for m, _ in layout.result], [s for _, s in layout.result])
    out = recorder.new((count, left.shape[1], *node.result.shape), _F32)
    recorder.add("move", out, [apart])
    if addend is None or before is not None:
        return out
    return recorder.add(
        "add_f32", recorder.new(out.shape, _F32), [out, np.broadcast_to(addend, out.shape)], _add
    )


def _add(out: Array, a: Array, b: Array) -> None:
    np.add(a, b, out=out)


def _layout(left: View, right: View, count: int, steps: int, k: int, n: int) -> _Layout | None:
    """How to join the instances of a product; None where the axes do not fit."""
    of_left, of_right = _axes(left, (count, steps, k)), _axes(right, (count, k, n))
    if of_left is None or of_right is None:
        return None
    cores_left, iterations, summed_left = of_left
    cores_right, summed_right, lanes = of_right
    cores = _common(cores_left, cores_right, count)
    if cores is None:
        return None
    batch, rows, columns = (
        [k for k, (_, x, y) in enumerate(cores) if (bool(x), bool(y)) == held]
        for held in ((True, True), (True, False), (False, True))
    )
    height, width = steps * prod(cores[k][0] for k in rows), n * prod(cores[k][0] for k in columns)
    strides: dict[int, int] = {}
    for numbers, step in ((columns, 4 * n), (rows, 4 * width * steps), (batch, 4 * width * height)):
        for number in reversed(numbers):
            strides[number], step = step, step * cores[number][0]
    result = ((c[0], strides.get(number, 0)) for number, c in enumerate(cores))
    a = _view(left, [cores[k][:2] for k in (*batch, *rows)], iterations, summed_left)
    of_columns = [cores[k][::2] for k in columns]
    b = _view(right, [cores[k][::2] for k in batch], summed_right, of_columns, lanes)
    sizes = prod(cores[k][0] for k in batch), height, width
    return _Layout(a, b, sizes, (*result, (steps, 4 * width), (n, 4)))


def _view(x: View, *axes: Sequence[tuple[int, int]]) -> View:
    flat = [a for part in axes for a in part]
    return View(x.region, x.offset, tuple(n for n, _ in flat), tuple(s for _, s in flat), x.dtype)


def _axes(view: View, sizes: Sequence[int]) -> list[Axes] | None:
    """The axes of a view that enumerate each of `sizes`; None where one runs across."""
    rest = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n > 1]
    found: list[Axes] = []
    for size in reversed(sizes):
        part: list[tuple[int, int]] = []
        while size > 1:
            n, s = rest.pop()
            if n > size:
                if n % size:
                    return None
                rest.append((n // size, s * size))
                n = size
            elif size % n:
                return None
            part.append((n, s))
            size //= n
        found.append(tuple(reversed(part)))
    return None if rest else found[::-1]


def _common(left: Axes, right: Axes, count: int) -> list[Core] | None:
    """(extent, stride of left, stride of right) of axes that enumerate the instances of both."""
    if count == 1:
        return []
    views = [View(0, 0, tuple(n for n, _ in axes), tuple(s for _, s in axes), _F32) for axes in (left, right)]
    try:
        dims: Dims = elementwise(views)
    except NotRecordable:
        return None
    return [(d[0], d[1], d[2]) for d in dims]


def _earlier(recorder: Recorder, addend: Array, out: View, result: Axes) -> tuple[View, int] | None:
    """The joined product that an addend is, laid out as `result` says, and the op that makes it."""
    shape = tuple(n for n, _ in result)
    found, makers = recorder.resolve(recorder.view(addend), True)
    if len(makers) != 1 or prod(found.shape) != prod(shape):
        return None
    made = recorder.ops[makers[0]]
    if made.function != "product" or made.out.shape != out.shape or found.region != made.out.region:
        return None
    wanted = View(found.region, made.out.offset, shape, tuple(s for _, s in result), found.dtype)
    if found.offset != wanted.offset:
        return None
    try:
        same = all(a == b for _, a, b in elementwise([found, wanted]))
    except NotRecordable:
        return None
    return (made.out, makers[0]) if same else None


# ---- sums over all steps -----------------------------------------------------------------------------------
def folded(recorder: Recorder, kept: Sequence[int]) -> dict[int, Op]:
    """The ops that are needed, by number, with every product that only the next one needs made part of it."""
    ops: dict[int, Op] = {k: recorder.ops[k] for k in kept}
    users: dict[int, int] = {}
    for op in ops.values():
        for need in op.needs:
            users[need] = users.get(need, 0) + 1
    for number in kept:
        op = ops[number]
        if op.function != "product" or len(op.inputs) % 2 == 0:
            continue
        before = next(k for k in op.needs if ops[k].out == op.inputs[-1])
        first = ops[before]
        steps = len(first.inputs) // 2 * 2
        if users[before] != 1 or not all(recorder.is_unchanged(v, before, number) for v in first.inputs):
            continue
        inputs = (*first.inputs[:steps], *op.inputs[:-1], *first.inputs[steps:])
        needs = tuple({*(k for k in op.needs if k != before), *first.needs})
        ops[number] = Op("product", op.out, inputs, needs)
        del ops[before]
    return ops
