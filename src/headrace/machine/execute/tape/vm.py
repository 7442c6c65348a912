"""The compiled machine: runs tables of instructions on raw addresses; import it only when a tape is played.

A row is [function, n0, n1, n2, n3, n4, n, then of result, first and second operand: address, strides of the
six dimensions in bytes]. The innermost dimension is contiguous, or has stride 0 in an operand. Every function
computes what the functions of `arithmetic.py` do: f16 in f32 with one rounding an op, sums of rows in the
order of NumPy's pairwise summation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from headrace.machine.execute import functions
from headrace.machine.execute.functions import STAMP, _exp_f32, _sigmoid, _tanh
from headrace.machine.execute.half import _extend, _truncate, compiled

LONGEST_SUM = 8192
"""Elements of the longest row whose sum the machine computes."""


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@intrinsic
def _as_int(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def _as_float(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _move(_: Any, target: Any, source: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, start = (builder.inttoptr(x, cgutils.voidptr_t) for x in arguments[:2])
        cgutils.raw_memmove(builder, to, start, arguments[2], 1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


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


@register_jitable
def _f32(address: int, n: int) -> Any:
    return carray(_pointer(address), n, np.float32)


@register_jitable
def _u16(address: int, n: int) -> Any:
    return carray(_pointer(address), n, np.uint16)


# ---- scalar functions --------------------------------------------------------------------------------------
@numba.njit(error_model="numpy")
def _add(a: Any, b: Any) -> Any:
    return a + b


@numba.njit(error_model="numpy")
def _sub(a: Any, b: Any) -> Any:
    return a - b


@numba.njit(error_model="numpy")
def _mul(a: Any, b: Any) -> Any:
    return a * b


@numba.njit(error_model="numpy")
def _div(a: Any, b: Any) -> Any:
    return a / b


@numba.njit(error_model="numpy")
def _max(a: Any, b: Any) -> Any:
    greater = a if a > b else b
    same = _as_float(_as_int(a) & _as_int(b))
    found = same if a == b else greater
    return a + b if (a != a) | (b != b) else found


@numba.njit(error_model="numpy")
def _min(a: Any, b: Any) -> Any:
    lesser = a if a < b else b
    same = _as_float(_as_int(a) | _as_int(b))
    found = same if a == b else lesser
    return a + b if (a != a) | (b != b) else found


# ---- loops over contiguous elements ------------------------------------------------------------------------
def _binary_f32(f: Any) -> Any:
    """The loop of a function of two operands, either of which may be one element."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _f32(o, n)
        if sa != 0 and sb != 0:
            x, y = _f32(a, n), _f32(b, n)
            for k in range(n):
                out[k] = f(x[k], y[k])
        elif sa != 0:
            x, y0 = _f32(a, n), _f32(b, 1)[0]
            for k in range(n):
                out[k] = f(x[k], y0)
        elif sb != 0:
            x0, y = _f32(a, 1)[0], _f32(b, n)
            for k in range(n):
                out[k] = f(x0, y[k])
        else:
            z = f(_f32(a, 1)[0], _f32(b, 1)[0])
            for k in range(n):
                out[k] = z

    return loop


def _binary_f16(f: Any) -> Any:
    """The loop of a function of two operands, either of which may be one element."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _u16(o, n)
        if sa != 0 and sb != 0:
            x, y = _u16(a, n), _u16(b, n)
            for k in range(n):
                out[k] = _truncate(f(_extend(x[k]), _extend(y[k])))
        elif sa != 0:
            x, y0 = _u16(a, n), _extend(_u16(b, 1)[0])
            for k in range(n):
                out[k] = _truncate(f(_extend(x[k]), y0))
        elif sb != 0:
            x0, y = _extend(_u16(a, 1)[0]), _u16(b, n)
            for k in range(n):
                out[k] = _truncate(f(x0, _extend(y[k])))
        else:
            z = _truncate(f(_extend(_u16(a, 1)[0]), _extend(_u16(b, 1)[0])))
            for k in range(n):
                out[k] = z

    return loop


def _binary_narrow(f: Any) -> Any:
    """The loop of a function of two f32 operands, either of which may be one element, with an f16 result."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _u16(o, n)
        if sa != 0 and sb != 0:
            x, y = _f32(a, n), _f32(b, n)
            for k in range(n):
                out[k] = _truncate(f(x[k], y[k]))
        elif sa != 0:
            x, y0 = _f32(a, n), _f32(b, 1)[0]
            for k in range(n):
                out[k] = _truncate(f(x[k], y0))
        elif sb != 0:
            x0, y = _f32(a, 1)[0], _f32(b, n)
            for k in range(n):
                out[k] = _truncate(f(x0, y[k]))
        else:
            z = _truncate(f(_f32(a, 1)[0], _f32(b, 1)[0]))
            for k in range(n):
                out[k] = z

    return loop


@numba.njit(error_model="numpy")
def _sub_then_exp(a: Any, b: Any) -> Any:
    return _exp_f32(a - b)


_add_narrow = _binary_narrow(_add)
_sub_narrow = _binary_narrow(_sub)
_mul_narrow = _binary_narrow(_mul)
_div_narrow = _binary_narrow(_div)
_max_narrow = _binary_narrow(_max)
_min_narrow = _binary_narrow(_min)
_sub_exp = _binary_f32(_sub_then_exp)
_add_f32 = _binary_f32(_add)
_sub_f32 = _binary_f32(_sub)
_mul_f32 = _binary_f32(_mul)
_div_f32 = _binary_f32(_div)
_max_f32 = _binary_f32(_max)
_min_f32 = _binary_f32(_min)
_add_f16 = _binary_f16(_add)
_sub_f16 = _binary_f16(_sub)
_mul_f16 = _binary_f16(_mul)
_div_f16 = _binary_f16(_div)
_max_f16 = _binary_f16(_max)
_min_f16 = _binary_f16(_min)


@numba.njit(error_model="numpy")
def _widen(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _u16(a, n)
    for k in range(n):
        out[k] = _extend(x[k])


@numba.njit(error_model="numpy")
def _narrow(o: int, a: int, n: int) -> None:
    out, x = _u16(o, n), _f32(a, n)
    for k in range(n):
        out[k] = _truncate(x[k])


@numba.njit(error_model="numpy")
def _exponential(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _f32(a, n)
    for k in range(n):
        out[k] = _exp_f32(x[k])


@numba.njit(error_model="numpy")
def _negative(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _f32(a, n)
    for k in range(n):
        out[k] = -x[k]


def _unary_f32(f: Any) -> Any:
    """The loop of a function of one operand."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, n: int) -> None:
        out, x = _f32(o, n), _f32(a, n)
        for k in range(n):
            out[k] = f(x[k])

    return loop


@numba.njit(error_model="numpy")
def _rsqrt(x: Any) -> Any:
    return np.float32(1.0 / np.sqrt(np.float64(x)))


@numba.njit(error_model="numpy")
def _sqrt(x: Any) -> Any:
    return np.sqrt(x)


@numba.njit(error_model="numpy")
def _reciprocal(x: Any) -> Any:
    return np.float32(1.0) / x


@numba.njit(error_model="numpy")
def _abs(x: Any) -> Any:
    return _as_float(_as_int(x) & np.int32(0x7FFFFFFF))


_rsqrt_loop, _sqrt_loop, _reciprocal_loop = _unary_f32(_rsqrt), _unary_f32(_sqrt), _unary_f32(_reciprocal)
_abs_loop, _sigmoid_loop, _tanh_loop = _unary_f32(_abs), _unary_f32(_sigmoid), _unary_f32(_tanh)


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


# ---- the machine -------------------------------------------------------------------------------------------
@numba.njit(error_model="numpy")
def _step(f: int, o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
    if f == 0:
        _move(o, a, n)
    elif f == 1:
        _widen(o, a, n)
    elif f == 2:
        _narrow(o, a, n)
    elif f == 3:
        _exponential(o, a, n)
    elif f == 4:
        _negative(o, a, n)
    elif f == 5:
        _row_max(o, a, n)
    elif f == 6:
        _f32(o, 1)[0] = _pairwise(a, 0, n)
    elif f == 7:
        _add_f32(o, a, b, n, sa, sb)
    elif f == 8:
        _sub_f32(o, a, b, n, sa, sb)
    elif f == 9:
        _mul_f32(o, a, b, n, sa, sb)
    elif f == 10:
        _div_f32(o, a, b, n, sa, sb)
    elif f == 11:
        _max_f32(o, a, b, n, sa, sb)
    elif f == 12:
        _min_f32(o, a, b, n, sa, sb)
    elif f == 13:
        _add_f16(o, a, b, n, sa, sb)
    elif f == 14:
        _sub_f16(o, a, b, n, sa, sb)
    elif f == 15:
        _mul_f16(o, a, b, n, sa, sb)
    elif f == 16:
        _div_f16(o, a, b, n, sa, sb)
    elif f == 17:
        _max_f16(o, a, b, n, sa, sb)
    elif f == 18:
        _min_f16(o, a, b, n, sa, sb)
    elif f == 19:
        _rsqrt_loop(o, a, n)
    elif f == 20:
        _sqrt_loop(o, a, n)
    elif f == 21:
        _reciprocal_loop(o, a, n)
    elif f == 22:
        _sigmoid_loop(o, a, n)
    elif f == 23:
        _tanh_loop(o, a, n)
    elif f == 24:
        _abs_loop(o, a, n)
    elif f == 25:
        _add_narrow(o, a, b, n, sa, sb)
    elif f == 26:
        _sub_narrow(o, a, b, n, sa, sb)
    elif f == 27:
        _mul_narrow(o, a, b, n, sa, sb)
    elif f == 28:
        _div_narrow(o, a, b, n, sa, sb)
    elif f == 29:
        _max_narrow(o, a, b, n, sa, sb)
    elif f == 30:
        _min_narrow(o, a, b, n, sa, sb)
    elif f == 31:
        _sub_exp(o, a, b, n, sa, sb)


@intrinsic
def _sgemm(_: Any, at: Any, turned: Any, m: Any, n: Any, k: Any, places: Any, steps: Any, beta: Any) -> Any:
    """`cblas_sgemm` at an address: C = A B + beta C, line by line; `places`, `steps`: of A, B and C."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, turned, m, n, k, places, steps, beta = arguments
        enum, integer, real = ir.IntType(32), ir.IntType(64), ir.FloatType()
        matrix = [cgutils.voidptr_t, integer]
        kinds = [*3 * [enum], *3 * [integer], real, *2 * matrix, real, *matrix]
        function = builder.inttoptr(where, ir.FunctionType(ir.VoidType(), kinds).as_pointer())
        ta, tb = (builder.extract_value(turned, i) for i in range(2))
        a, b, c = (builder.inttoptr(builder.extract_value(places, i), cgutils.voidptr_t) for i in range(3))
        lda, ldb, ldc = (builder.extract_value(steps, i) for i in range(3))
        lines, one = ir.Constant(enum, 101), ir.Constant(real, 1.0)
        builder.call(function, [lines, ta, tb, m, n, k, one, a, lda, b, ldb, beta, c, ldc])
        return context.get_dummy_value()

    word = types.int64
    of_three, of_two = types.UniTuple(word, 3), types.UniTuple(types.int32, 2)
    return types.none(word, of_two, word, word, word, of_three, of_three, types.float32), generate


@register_jitable
def _product(sgemm: int, t: Any, o: int, a: int, b: int) -> None:
    """The product of matrices of a row: its dimensions from the third on are rows, columns, summed."""
    m, n, k = t[4], t[5], t[6]
    row_a, step_a, row_b, step_b = t[18], t[20], t[27], t[26]
    plain_a, plain_b = (step_a == 4) | (k == 1), (step_b == 4) | (n == 1)
    turned = (np.int32(111 if plain_a else 112), np.int32(111 if plain_b else 112))
    lda = max(row_a // 4, k) if plain_a else max(step_a // 4, m)
    ldb = max(row_b // 4, n) if plain_b else max(step_b // 4, k)
    beta = np.float32(1.0 if t[0] == 33 else 0.0)
    _sgemm(sgemm, turned, m, n, k, (a, b, o), (lda, ldb, max(t[11] // 4, n)), beta)


@register_jitable
def _row(t: Any, o: int, a: int, b: int) -> None:
    for k in range(t[3]):
        for m in range(t[4]):
            for n in range(t[5]):
                _step(
                    t[0],
                    o + k * t[10] + m * t[11] + n * t[12],
                    a + k * t[17] + m * t[18] + n * t[19],
                    b + k * t[24] + m * t[25] + n * t[26],
                    t[6],
                    t[20],
                    t[27],
                )


def _machine(stamp: int) -> Any:
    """The loop of the machine; the cache on disk tells those of different `stamp` apart."""

    def play(table: Any, groups: Any, sgemm: int) -> None:
        """Runs groups of rows; those of a group, which agree in n0 and n1, take turns for every step.

        `sgemm`: where `cblas_sgemm` lies, for rows that are products.
        """
        for g in range(groups.shape[0] - 1 if stamp >= 0 else 0):
            first = groups[g]
            for i in range(table[first, 1]):
                for j in range(table[first, 2]):
                    for r in range(first, groups[g + 1]):
                        t = table[r]
                        o = t[7] + i * t[8] + j * t[9]
                        a = t[14] + i * t[15] + j * t[16]
                        b = t[21] + i * t[22] + j * t[23]
                        if t[0] >= 32:
                            _product(sgemm, t, o, a, b)
                        else:
                            _row(t, o, a, b)

    return play


def _stamp() -> int:
    """Of the files whose functions are compiled into the machine besides those of this one."""
    return crc32(Path(str(functions.__file__)).read_bytes(), STAMP)


play = compiled(_machine(_stamp()))
