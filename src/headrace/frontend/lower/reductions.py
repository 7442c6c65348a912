"""Reductions of a nest: one generic each; Welford in two passes, which is exact and free while the row
stays near.
"""

from __future__ import annotations

import math
from typing import Any

from headrace.frontend.lower.program import TYPES, Statement, Unsupported
from headrace.frontend.lower.scalars import Code, Typed, computed, is_float, literal
from headrace.frontend.lower.values import Combiner, Operand
from headrace.frontend.lower.writer import tensor

LOWEST = {"i8": -(2**7), "i16": -(2**15), "i32": -(2**31), "i64": -(2**63)}
HIGHEST = {"i8": 2**7 - 1, "i16": 2**15 - 1, "i32": 2**31 - 1, "i64": 2**63 - 1}


def write_reduction(nest: Any, statement: Statement) -> None:
    """Write a reduction statement; its results are in `nest.results` afterwards."""
    result, _, dtype, _, kind, value = statement
    reduced = tuple(d for d in nest.scan.dims if d in nest.scan.reduced)
    if kind == "welford_reduce":
        _welford(nest, result, value, reduced)
        return
    if kind in ("argmax", "argmin"):
        nest.results[result] = _place(nest, result, kind[3:], value, reduced)
        return
    if dtype not in TYPES:
        raise Unsupported(f"a reduction of {dtype}")
    combiner = combiner_of(kind, computed(TYPES[dtype]))
    nest.results[result] = nest.fold(value, reduced, combiner)


def combiner_of(kind: str, dtype: str) -> Combiner:
    """How a kind of reduction folds values of a type; Unsupported for kinds without a native form."""
    dtype = "i32" if dtype == "ui8" else dtype  # extremes of bytes are those of wider integers
    floats = is_float(dtype)
    match kind:
        case "sum" | "dot":
            return _binary("arith.addf" if floats else "arith.addi", "0.0" if floats else "0", dtype)
        case "prod":
            return _binary("arith.mulf" if floats else "arith.muli", "1.0" if floats else "1", dtype)
        case "any":
            return _binary("arith.ori", "false", "i1")
        case "max" if dtype == "i1":
            return _binary("arith.ori", "false", "i1")
        case "min" if dtype == "i1":
            return _binary("arith.andi", "true", "i1")
        case "max":
            return (
                _binary("arith.maximumf", "0xFF800000", dtype)
                if floats
                else _binary("arith.maxsi", literal(LOWEST[dtype], dtype), dtype)
            )
        case "min":
            return (
                _binary("arith.minimumf", "0x7F800000", dtype)
                if floats
                else _binary("arith.minsi", literal(HIGHEST[dtype], dtype), dtype)
            )
    raise Unsupported(f"reduction {kind}")


def _binary(op: str, initial: str, dtype: str) -> Combiner:
    def fold(code: Code, accumulator: Typed, value: Typed) -> Typed:
        return code.binary(op, accumulator, code.cast(value, dtype))

    return Combiner(fold, initial, dtype, op)


def _place(nest: Any, result: str, kind: str, value: Any, reduced: tuple[str, ...]) -> Operand:
    """The row-major number of the first extreme element (a NaN is one), as i64: the extreme, then the least
    number of an element equal to it. Numbers that fit are compared as i32, of which a vector holds more.
    """
    value, number = value if isinstance(value, tuple | list) else (value, None)
    is_short = number is None and math.prod(nest.scan.extents[d] for d in reduced) < 2**31
    whole, width = ("int32", "i32") if is_short else ("int64", "i64")
    dtype = nest.type_of(value)
    extreme = f"{result}.extreme"
    nest.results[extreme] = nest.fold(value, reduced, combiner_of(kind, dtype))
    nest.define(extreme, "reduction", dtype, dtype, kind, value)
    is_found = nest.define(f"{result}.equal", "eq", value, extreme)
    if is_float(dtype):
        is_nan = nest.define(f"{result}.nan", "isnan", value)
        is_found = nest.define(f"{result}.found", "logical_or", is_found, is_nan)
    if number is None:
        number = nest.define(f"{result}.number", "index_expr", "", whole)
        nest.scan.values[number] = nest.scan.number_of_reduced
    last = nest.define(f"{result}.last", "constant", HIGHEST[width], whole)
    chosen = nest.define(f"{result}.chosen", "where", is_found, number, last)
    found: Operand = nest.fold(chosen, reduced, combiner_of("min", width))
    if not is_short:
        return found
    least = nest.define(f"{result}.least", "reduction", whole, whole, "min", chosen)
    nest.results[least] = found
    wide: Operand = nest.generic(least, nest.kept, dtype="i64")
    return wide


def _welford(nest: Any, results: tuple[str, str, str], value: str, reduced: tuple[str, ...]) -> None:
    """mean = sum / n, M2 = sum of (x - mean)^2, n: the two tensors shared by equal reductions of the
    kernel.
    """
    mean, deviation, weight = results
    count = math.prod(nest.scan.extents[d] for d in reduced)
    key = ("welford", nest.structure(value), nest.kept, reduced)
    if key not in nest.kernel.hoisted:
        add = combiner_of("sum", "f32")
        middle = divided(nest.kernel.writer, nest.fold(value, reduced, add), count)
        nest.define(f"{mean}.mean", "reduction", "float32", "float32", "sum", value)
        nest.results[f"{mean}.mean"] = middle
        centred = nest.define(f"{mean}.centred", "sub", value, f"{mean}.mean")
        square = nest.define(f"{mean}.square", "square", centred)
        nest.kernel.hoisted[key] = (middle, nest.fold(square, reduced, add))
    found: tuple[Operand, Operand] = nest.kernel.hoisted[key]
    nest.results[mean], nest.results[deviation] = found
    nest.define(weight, "constant", float(count), "float32")


def divided(writer: Any, operand: Operand, count: int) -> Operand:
    """The tensor divided by a number."""
    kind = tensor(operand.shape, operand.dtype)
    divisor = writer.filled(f"{float(count)!r}", operand.shape, operand.dtype)
    name = writer.let(f"arith.divf {operand.name}, {divisor} : {kind}", "t")
    return Operand(name, operand.dims, operand.shape, operand.dtype)
