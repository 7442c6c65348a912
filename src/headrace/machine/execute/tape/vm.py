"""The compiled machine: runs tables of instructions on raw addresses; import it only when a tape is played.

A row is [function, n0, n1, n2, n3, n4, n, then of result, first and second operand: address, strides of the
six dimensions in bytes, at last how many bytes ahead of its first operand another row reads (0: none does)].
The innermost dimension is contiguous, or has stride 0 in an operand. Every function computes what those of
`arithmetic.py` do: f16 in f32 with one rounding an op, sums of rows in the order of NumPy's pairwise sums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import numba
import numpy as np
from numba.extending import register_jitable

from headrace.machine.execute import functions
from headrace.machine.execute.functions import STAMP
from headrace.machine.execute.half import compiled
from headrace.machine.execute.tape import loops, raw, sums
from headrace.machine.execute.tape.loops import (
    _abs_loop,
    _add_f16,
    _add_f32,
    _add_narrow,
    _div_f16,
    _div_f32,
    _div_narrow,
    _exponential,
    _max_f16,
    _max_f32,
    _max_narrow,
    _min_f16,
    _min_f32,
    _min_narrow,
    _mul_f16,
    _mul_f32,
    _mul_narrow,
    _narrow,
    _negative,
    _reciprocal_loop,
    _rsqrt_loop,
    _sigmoid_loop,
    _sqrt_loop,
    _sub_exp,
    _sub_f16,
    _sub_f32,
    _sub_narrow,
    _tanh_loop,
    _widen,
)
from headrace.machine.execute.tape.raw import (
    _f32,
    _move,
    _sgemm,
    _touch,
)
from headrace.machine.execute.tape.sums import (
    _pairwise,
    _row_max,
)

_LINE = 64
"""Bytes of a line of the cache."""


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
                at = o + k * t[10] + m * t[11] + n * t[12]
                x = a + k * t[17] + m * t[18] + n * t[19]
                y = b + k * t[24] + m * t[25] + n * t[26]
                if t[28] != 0:
                    for line in range(x + t[28], x + t[28] + t[6] * t[20], _LINE):
                        _touch(line)
                _step(t[0], at, x, y, t[6], t[20], t[27])


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
    files = (functions, loops, raw, sums)
    return crc32(b"".join(Path(str(m.__file__)).read_bytes() for m in files), STAMP)


play = compiled(_machine(_stamp()))
