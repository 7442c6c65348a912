"""Contractions on arrays [instance, iteration, *vector]: BLAS in f32 where possible, einsum otherwise."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.convert import round_to, widen
from headrace.machine.image import Contract
from headrace.numbers.dtypes import is_float, numpy_dtype

Array = np.ndarray[Any, Any]


def contract(node: Contract, left: Array, right: Array, addend: Array | None) -> Array:
    """The contraction per iteration, one rounding to the result type."""
    total = _products(node, left, right)
    if addend is not None:
        total = total + _wide(addend.reshape(*addend.shape[:2], -1), node)
    return _rounded(node, total)


def accumulate(node: Contract, left: Array, right: Array, initial: Array) -> Array:
    """The contraction summed over all iterations, added to `initial`: one iteration is left."""
    steps = max(left.shape[1], right.shape[1])
    if right.shape[1] == 1:
        wide = _wide(left, node).sum(axis=1, keepdims=True) * (steps // left.shape[1])
        total = _products(node, wide, right)
    elif (order := matrix_order(node)) is not None:
        k = prod(left.shape[2:])
        rows = np.broadcast_to(left, (*left.shape[:1], steps, *left.shape[2:])).reshape(
            len(left), 1, steps * k
        )
        matrix = _as_matrix(_wide(right, node), order, left.ndim - 2).reshape(len(right), steps * k, -1)
        total = np.matmul(_wide(rows, node), matrix)
    else:
        total = _products(node, left, right).sum(axis=1, keepdims=True)
    return _rounded(node, total + _wide(initial.reshape(*initial.shape[:2], -1), node))


def _products(node: Contract, left: Array, right: Array) -> Array:
    """Sums of products in wide precision, [instance, iteration, lanes]."""
    order = matrix_order(node)
    if order is not None and right.shape[1] == 1:
        return _joined(node, left, right, order)
    a, b = _wide(left, node), _wide(right, node)
    if order is None:
        left_letters, rest = node.equation.split(",")
        right_letters, out = rest.split("->")
        found = np.einsum(f"YZ{left_letters},YZ{right_letters}->YZ{out}", *_stretched(a, b))
        return np.asarray(found.reshape(*found.shape[:2], -1))
    rows = a.reshape(*a.shape[:2], -1)
    matrix = _as_matrix(b, order, a.ndim - 2)
    return np.asarray(np.matmul(rows[:, :, None, :], matrix)[:, :, 0])


def _joined(node: Contract, left: Array, right: Array, order: tuple[int, ...]) -> Array:
    """Row vectors times one matrix per instance; instances with the same matrix go into one product."""
    k = prod(left.shape[2:])
    if _is_shared(right):
        matrix = _as_matrix(_wide(right[:1], node), order, left.ndim - 2)[0, 0]
        rows = _wide(left, node).reshape(-1, k)
        return np.asarray(np.matmul(rows, matrix)).reshape(*left.shape[:2], -1)
    matrix = _as_matrix(_wide(right, node), order, left.ndim - 2)[:, 0]
    return np.asarray(np.matmul(_wide(left, node).reshape(*left.shape[:2], k), matrix))


def _is_shared(x: Array) -> bool:
    """Whether all instances hold the same bytes, found by comparing them."""
    if len(x) < 2 or not x.flags.c_contiguous or x[0].nbytes % 8:
        return False
    words = x.reshape(len(x), -1).view(np.uint64)
    return bool((words[1] == words[0]).all() and (words[2:] == words[0]).all())


def _stretched(a: Array, b: Array) -> tuple[Array, Array]:
    lead = np.broadcast_shapes(a.shape[:2], b.shape[:2])
    return np.broadcast_to(a, (*lead, *a.shape[2:])), np.broadcast_to(b, (*lead, *b.shape[2:]))


def matrix_order(node: Contract) -> tuple[int, ...] | None:
    """Axes of the right operand as (summed…, kept…) if the left is exactly the summed ones, in that order."""
    left, rest = node.equation.split(",")
    right, out = rest.split("->")
    if set(left) & set(out) or sorted(left + out) != sorted(right):
        return None
    return tuple(right.index(letter) for letter in left + out)


def _as_matrix(right: Array, order: tuple[int, ...], summed: int) -> Array:
    """[instance, iteration, k, n] of the right operand."""
    turned = right if order == tuple(range(len(order))) else right.transpose(0, 1, *(2 + i for i in order))
    k = prod(turned.shape[2 : 2 + summed])
    return turned.reshape(*turned.shape[:2], k, -1)


def _wide(x: Array, node: Contract) -> Array:
    """f32 for floats; f64 (exact) for products of narrow integers, int64 for wide ones."""
    if x.dtype.kind in "iub":
        narrow = np.dtype(np.int16).itemsize
        is_small = max(numpy_dtype(v.dtype).itemsize for v in (node.left, node.right)) < narrow
        return x.astype(np.float64 if is_small else np.int64)
    return widen(x)


def _rounded(node: Contract, total: Array) -> Array:
    dtype = node.result.dtype
    lead = total.shape[:2]
    if is_float(dtype):
        return round_to(total, dtype).reshape(*lead, *node.result.shape)
    return total.astype(np.int64).astype(numpy_dtype(dtype)).reshape(*lead, *node.result.shape)
