"""What compiled code does with raw addresses: arrays and bits there, moves, prefetches, matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable


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


@register_jitable
def _f32(address: int, n: int) -> Any:
    return carray(_pointer(address), n, np.float32)


@register_jitable
def _u16(address: int, n: int) -> Any:
    return carray(_pointer(address), n, np.uint16)


@intrinsic
def _touch(_: Any, address: Any) -> Any:
    """Asks for the line of the cache at an address, which will be read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *3 * [number]])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        what = [ir.Constant(number, n) for n in (0, 2, 1)]  # to read, in the second cache, data
        builder.call(function, [builder.inttoptr(arguments[0], cgutils.voidptr_t), *what])
        return context.get_dummy_value()

    return types.none(types.int64), generate


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
