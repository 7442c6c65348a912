"""The sum and the greatest element of a row in f32, compiled; sums in the order of NumPy's pairwise ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from headrace.machine.execute.tape.raw import _as_float, _f32, _pointer

LONGEST_SUM = 8192
"""Elements of the longest row whose sum is computed."""


def _sum_of_blocks(blocks: int) -> Any:
    """The pairwise sum of so many times 128 elements, a power of two, as one function of their address.

    The eight partial sums of every block, all blocks at a time, then the halves of each: what lies in a
    vector is added even lanes to odd ones, until one element is left.
    """

    @intrinsic
    def total(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.FloatType(), 8)
            start = builder.inttoptr(arguments[0], kind.as_pointer())

            def loaded(k: int) -> Any:
                return builder.load(builder.gep(start, [ir.Constant(ir.IntType(64), k)]), align=4)

            def picked(a: Any, b: Any, lanes: Sequence[int]) -> Any:
                mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
                return builder.shuffle_vector(a, b, mask)

            parts = [loaded(16 * block) for block in range(blocks)]
            for k in range(1, 16):
                parts = [builder.fadd(p, loaded(16 * block + k)) for block, p in enumerate(parts)]
            while len(parts) > 1:
                lanes = range(2 * parts[0].type.count)
                parts = [picked(a, b, lanes) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            whole = parts[0]
            while whole.type.count > 1:
                even, odd = (range(k, whole.type.count, 2) for k in (0, 1))
                whole = builder.fadd(picked(whole, whole, even), picked(whole, whole, odd))
            return builder.extract_element(whole, ir.Constant(ir.IntType(32), 0))

        return types.float32(types.int64), generate

    return total


_sum_exactly_128 = _sum_of_blocks(1)


@numba.njit(error_model="numpy")
def _row_max(o: int, a: int, n: int) -> None:
    """By the bits as integers, which LLVM turns into vector code; NaN where there is one, +0 above -0.

    Signed, floats that are not negative lie above all others, in their order; negative ones lie the other way
    round. NaNs lie beyond infinity, negative ones if the bits are unsigned.
    """
    x, u = carray(_pointer(a), n, np.int32), carray(_pointer(a), n, np.uint32)
    most, farthest = np.int32(-(1 << 31)), np.uint32(0)
    for k in range(n):
        most = max(most, x[k])
        farthest = max(farthest, u[k])
    if most < 0:
        most = np.int32((1 << 31) - 1)
        for k in range(n):
            most = min(most, x[k])
    is_nan = (farthest > np.uint32(0xFF800000)) | (most > np.int32(0x7F800000))
    _f32(o, 1)[0] = np.float32(np.nan) if is_nan else _as_float(most)


@numba.njit(error_model="numpy")
def _sum_128(address: int, first: int, n: int) -> Any:
    """Eight partial sums, as NumPy has them below 129 elements."""
    if n == 128:
        return _sum_exactly_128(address + 4 * first)
    x = _f32(address + 4 * first, n)
    first = 0
    if n < 8:
        few = np.float32(-0.0)
        for k in range(first, first + n):
            few += x[k]
        return few
    r0, r1, r2, r3 = x[first], x[first + 1], x[first + 2], x[first + 3]
    r4, r5, r6, r7 = x[first + 4], x[first + 5], x[first + 6], x[first + 7]
    end = first + n - n % 8
    for k in range(first + 8, end, 8):
        r0 += x[k]
        r1 += x[k + 1]
        r2 += x[k + 2]
        r3 += x[k + 3]
        r4 += x[k + 4]
        r5 += x[k + 5]
        r6 += x[k + 6]
        r7 += x[k + 7]
    total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for k in range(end, first + n):
        total += x[k]
    return total


def _halves(smaller: Any, least: int) -> Any:
    """The pairwise sum of up to twice as many elements, at once up to `least`.

    No recursion, which cannot be kept on disk.
    """

    @numba.njit(error_model="numpy")
    def halves(x: int, first: int, n: int) -> Any:
        if n <= least:
            return smaller(x, first, n)
        half = n // 2
        half -= half % 8
        return smaller(x, first, half) + smaller(x, first + half, n - half)

    return halves


def _up_to(size: int, exactly: Any, least: int, smaller: Any) -> Any:
    """The pairwise sum of up to `size` elements, of so many at once; `smaller` sums up to `least`."""

    smaller = _halved(size, least, smaller)

    @numba.njit(error_model="numpy")
    def total(address: int, first: int, n: int) -> Any:
        if n == size:
            return exactly(address + 4 * first)
        return smaller(address, first, n)

    return total


def _halved(size: int, least: int, smaller: Any) -> Any:
    """The pairwise sum of up to `size` elements; `smaller` sums up to `least`."""
    for _ in range((size // least).bit_length()):  # once more than it takes: halves are rounded to eights
        smaller = _halves(smaller, least)
    return smaller


_pairwise = _up_to(512, _sum_of_blocks(4), 128, _sum_128)
_pairwise = _halved(LONGEST_SUM, 1024, _up_to(1024, _sum_of_blocks(8), 512, _pairwise))
