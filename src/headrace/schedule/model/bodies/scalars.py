"""Scalar ops whose result is known when scheduling: integers as linear forms, floats as rounded numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np

from headrace.numbers.dtypes import bit_width, is_float, is_narrow_float, numpy_dtype
from headrace.numbers.rounding import round_to
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num, Ranges
from headrace.schedule.model.tensors import Constant, Integer

Known = Integer | Constant


def fold(op: str, args: Sequence[Known], dtype: str, attr: object, ranges: Ranges) -> Known | None:
    """The result of a scalar op on known operands; None when the op is not folded here.

    NotLinear: the result is an integer that depends on loop variables in another way than linearly.
    """
    if op == "arith.select" and isinstance(args[0], Integer):
        return _select(args[0].value, args[1], args[2])
    if all(isinstance(a, Integer) for a in args) and not is_float(dtype):
        values = [a.value for a in args if isinstance(a, Integer)]
        return _integer(op, values, args[0].dtype, dtype, attr, ranges)
    return _float(op, args, dtype, attr)


def integer(value: int, dtype: str) -> Integer:
    """A plain integer of a type."""
    return Integer(Num(value), dtype)


def _select(condition: Num, a: Known, b: Known) -> Known | None:
    if isinstance(a, Integer) and isinstance(b, Integer):
        return Integer(nm.select(condition, a.value, b.value), a.dtype)
    fixed = condition.fixed
    return None if fixed is None else (a if fixed else b)


_BINARY: dict[str, Callable[[Num, Num, Ranges], Num]] = {
    "addi": lambda a, b, r: nm.add(a, b),
    "subi": lambda a, b, r: nm.sub(a, b),
    "muli": lambda a, b, r: nm.mul(a, b),
    "floordivsi": nm.floordiv,
    "divui": lambda a, b, r: nm.floordiv(_natural(a, r), _natural(b, r), r),
    "remui": lambda a, b, r: nm.modulo(_natural(a, r), _natural(b, r), r),
    "divsi": lambda a, b, r: _truncating(a, b, r)[0],
    "remsi": lambda a, b, r: _truncating(a, b, r)[1],
    "ceildivsi": lambda a, b, r: nm.scale(nm.floordiv(nm.scale(a, -1), b, r), -1),
    "ceildivui": lambda a, b, r: nm.scale(nm.floordiv(nm.scale(_natural(a, r), -1), _natural(b, r), r), -1),
    "minsi": nm.minimum,
    "maxsi": nm.maximum,
    "minui": lambda a, b, r: nm.minimum(_natural(a, r), _natural(b, r), r),
    "maxui": lambda a, b, r: nm.maximum(_natural(a, r), _natural(b, r), r),
    "shli": lambda a, b, r: nm.mul(a, nm.number(2 ** _constant(b))),
    "shrui": lambda a, b, r: nm.floordiv(_natural(a, r), nm.number(2 ** _constant(b)), r),
    "shrsi": lambda a, b, r: nm.floordiv(a, nm.number(2 ** _constant(b)), r),
    "andi": lambda a, b, r: nm.number(operator.and_(_constant(a), _constant(b))),
    "ori": lambda a, b, r: nm.number(operator.or_(_constant(a), _constant(b))),
    "xori": lambda a, b, r: nm.number(operator.xor(_constant(a), _constant(b))),
}


def _integer(
    op: str, args: list[Num], source: str, dtype: str, attr: object, ranges: Ranges
) -> Integer | None:
    short = op.removeprefix("arith.")
    if short == "cmpi":
        a, b = (_natural(x, ranges) if str(attr).startswith("u") else x for x in args)
        return Integer(nm.compare(str(attr), a, b, ranges), dtype)
    if short in ("index_cast", "index_castui", "extui", "extsi", "trunci", "affine.apply"):
        signed_bit = source == "i1" and short in ("extsi", "index_cast")
        return _in_range(nm.scale(args[0], -1) if signed_bit else args[0], dtype, ranges, short == "trunci")
    if short in _BINARY:
        return _in_range(_BINARY[short](args[0], args[1], ranges), dtype, ranges, True)
    return None


def _in_range(value: Num, dtype: str, ranges: Ranges, wraps: bool) -> Integer:
    """The value as an integer of `dtype`: numbers wrap, linear forms must not need to."""
    width = bit_width(dtype)
    if width >= 64 or value.arg:
        return Integer(value, dtype)
    low, high = nm.bounds(value, ranges)
    least, most = (0, 1) if width == 1 else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    if np.all(np.asarray(low) >= least) and np.all(np.asarray(high) <= most):
        return Integer(value, dtype)
    if not value.is_constant or not wraps:
        raise NotLinear(tuple(value.terms))
    wrapped = np.asarray(value.const) & (2**width - 1)
    return Integer(nm.number(np.where(wrapped > most, wrapped - 2**width, wrapped)), dtype)


def _natural(value: Num, ranges: Ranges) -> Num:
    """The value, if an unsigned reading of it is the same number."""
    low, _ = nm.bounds(value, ranges)
    if np.any(np.asarray(low) < 0):
        raise NotLinear(tuple(value.terms))
    return value


def _constant(value: Num) -> nm.Const:
    if not value.is_constant:
        raise NotLinear(tuple(value.terms))
    return value.const


def _truncating(a: Num, b: Num, ranges: Ranges) -> tuple[Num, Num]:
    """Quotient toward zero and remainder with the sign of the dividend."""
    low, _ = nm.bounds(a, ranges)
    if np.all(np.asarray(low) >= 0) and b.is_constant and np.all(np.asarray(b.const) > 0):
        return nm.floordiv(a, b, ranges), nm.modulo(a, b, ranges)
    x, y = np.asarray(_constant(a)), np.asarray(_constant(b))
    quotient = np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))
    return nm.number(quotient), nm.number(x - quotient * y)


_FLOAT: dict[str, Callable[..., object]] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": np.divide,
    "arith.negf": operator.neg,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.extf": lambda x: x,
    "arith.truncf": lambda x: x,
    "arith.sitofp": lambda x: x,
    "arith.uitofp": lambda x: x,
}
_COMPARE: dict[str, Callable[..., object]] = {
    "oeq": operator.eq,
    "ogt": operator.gt,
    "oge": operator.ge,
    "olt": operator.lt,
    "ole": operator.le,
    "une": operator.ne,
}


def _float(op: str, args: Sequence[Known], dtype: str, attr: object) -> Known | None:
    values = [a.value if isinstance(a, Constant) else a.value.fixed for a in args]
    if any(v is None for v in values):
        return None
    work = np.float64 if "f64" in (dtype, args[0].dtype) else np.float32
    with np.errstate(all="ignore"):
        if op == "arith.cmpf" and str(attr) in _COMPARE:
            return integer(int(bool(_COMPARE[str(attr)](*values))), "i1")
        if op not in _FLOAT or not is_float(dtype):
            return None
        if isinstance(args[0], Integer):
            return (
                Constant(rounded(float(args[0].value.fixed or 0), dtype), dtype)
                if _is_exact(values[0])
                else None
            )
        result = _FLOAT[op](*(work(v) for v in values if v is not None))
    return Constant(rounded(result, dtype), dtype)


def _is_exact(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 2**24


def rounded(value: object, dtype: str) -> float:
    """A Python float that `dtype` can hold exactly."""
    array = np.asarray(value, dtype=np.float32 if is_narrow_float(dtype) else numpy_dtype(dtype))
    return float(round_to(array, dtype))
