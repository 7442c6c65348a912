"""Sums of products of two operands: recognised in a body, computed as matrix products, not point by point.

Operands of f16, bf16, fp8 and f32 are multiplied and summed in f32 (f64 in f64), integers exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from headrace.semantics.combiners import Combination
from headrace.semantics.nests import Domain

Array = np.ndarray[Any, Any]
TERMS_AT_ONCE = 4096
_WIDENING = frozenset({"arith.extf", "arith.extsi", "arith.extui"})


@dataclass(frozen=True)
class Product:
    """The body's term is `left` times `right`, two of its operands by number; `casts` widen them before."""

    left: int
    right: int
    is_unsigned: bool = False


def product(combination: Combination | None, num_inputs: int) -> Product | None:
    """The product a body adds up; None when it does something else or multiplies an operand by itself."""
    if combination is None or combination.kind != "add":
        return None
    op = combination.term.owner
    if not isinstance(op, Operation) or op.name not in ("arith.mulf", "arith.muli"):
        return None
    sides = [_input(v, num_inputs) for v in op.operands]
    if None in sides or sides[0] == sides[1]:
        return None
    widened = {v.owner.name for v in op.operands if isinstance(v.owner, Operation)}
    if len(widened) > 1:
        return None
    return Product(sides[0] or 0, sides[1] or 0, "arith.extui" in widened)


def _input(value: SSAValue, num_inputs: int) -> int | None:
    if isinstance(value.owner, Operation) and value.owner.name in _WIDENING:
        value = value.owner.operands[0]
    return value.index if isinstance(value, BlockArgument) and value.index < num_inputs else None


def contract(left: Array, right: Array, domain: Domain, dtype: str, apart: int = 0) -> Array:
    """Sum over the reduction dims of left * right, both with one axis per dim (extent 1 where unused).

    The result has one axis per dim, of extent 1 for reductions and for parallel dims neither operand has.
    It is f32 for floats (f64 when `dtype`, the type of the sum, is), int64 for integers (wrapping). Every
    point of the first `apart` dims is a product of its own, whose sums are taken in the order in which they
    are without those dims.
    """
    sizes = domain.extents
    summed = domain.reductions
    # A dim that only one operand has is summed with the other repeated.
    left, right = (
        np.broadcast_to(x, _stretched(x, other, summed)) for x, other in ((left, right), (right, left))
    )
    first = list(range(apart))
    inner = [d for d in domain.parallel if d >= apart]
    both = [d for d in inner if left.shape[d] > 1 and right.shape[d] > 1]
    rows = [d for d in inner if left.shape[d] > 1 and d not in both]
    columns = [d for d in inner if right.shape[d] > 1 and d not in both]
    batch, m, n = (math.prod(sizes[d] for d in dims) for dims in (both, rows, columns))
    k = math.prod(left.shape[d] for d in summed)
    lead = [batch] if batch > 1 else []
    a = _arranged(left, [*first, *both, *rows, *summed], len(sizes))
    b = _arranged(right, [*first, *both, *summed, *columns], len(sizes))
    a, b = a.reshape([*a.shape[:apart], *lead, m, k]), b.reshape([*b.shape[:apart], *lead, k, n])
    out = _matmul(a, b, np.float64 if dtype == "f64" else np.float32)
    unread = math.prod(sizes[d] for d in summed if left.shape[d] == 1)
    out = out * unread if unread > 1 else out
    return _scattered(out, [*first, *both], rows, columns, [*out.shape[:apart], *sizes[apart:]])


def _stretched(x: Array, other: Array, summed: Sequence[int]) -> tuple[int, ...]:
    return tuple(max(n, other.shape[d]) if d in summed else n for d, n in enumerate(x.shape))


def _arranged(x: Array, dims: Sequence[int], rank: int) -> Array:
    """The axes in the order of `dims`; the others, of extent 1, last."""
    rest = [d for d in range(rank) if d not in dims]
    return x.transpose([*dims, *rest])


def _scattered(
    out: Array, both: Sequence[int], rows: Sequence[int], columns: Sequence[int], sizes: Sequence[int]
) -> Array:
    order = [*both, *rows, *columns]
    rest = [d for d in range(len(sizes)) if d not in order]
    shaped = out.reshape([sizes[d] for d in order] + [1] * len(rest))
    return shaped.transpose(np.argsort([*order, *rest]))


def _matmul(a: Array, b: Array, wide: Any) -> Array:
    """Batched matrix product, K a few thousand terms at a time."""
    if a.dtype.kind in "biu":
        return _integer_matmul(a, b)
    k = a.shape[-1]
    with np.errstate(all="ignore"):
        total: Array | None = None
        for first in range(0, max(k, 1), TERMS_AT_ONCE):
            at = slice(first, first + TERMS_AT_ONCE)
            step = np.matmul(_wide(a[..., at], wide), _wide(b[..., at, :], wide))
            total = step if total is None else total + step
    assert total is not None
    return total


def _wide(x: Array, wide: Any) -> Array:
    """A copy of matrices in type `wide`, row after row or column after column as they lie in memory.

    The order of a sum in a product depends on how operands lie: nothing else may decide it.
    """
    if min(x.shape[-2:]) > 1 and 0 < x.strides[-2] < x.strides[-1]:
        return np.array(x.swapaxes(-1, -2), wide, order="C").swapaxes(-1, -2)
    return np.array(x, wide, order="C")


def _integer_matmul(a: Array, b: Array) -> Array:
    """Exact integer products: through f64 while sums stay below 2^53, in int64 (wrapping) otherwise."""
    largest = [max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0 for x in (a, b)]
    if largest[0] * largest[1] * a.shape[-1] < 2**53:
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64))
    return np.asarray(np.matmul(a.astype(np.int64), b.astype(np.int64)))
