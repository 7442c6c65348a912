"""Constant folding of scalar arith and affine ops: each is decided by its own operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, OpResult, SSAValue

from headrace.ir.passes import arithmetic
from headrace.numbers.dtypes import is_float, is_known

Number = int | float


@dataclass(frozen=True)
class Folding:
    """What to fold: integers always, floats where wanted."""

    with_floats: bool = True


def fold(module: Operation, with_floats: bool = True) -> int:
    """Replaces ops of constants by constants, operands before users; returns how many."""
    how = Folding(with_floats)
    return sum(_replace(op, how) for op in list(module.walk()))


def constant(value: SSAValue) -> Number | None:
    """The number a scalar constant holds, None for any other value; i1 is 0 or -1."""
    if not isinstance(value, OpResult) or value.op.name != "arith.constant":
        return None
    attr = value.op.properties.get("value")
    if isinstance(attr, IntegerAttr):
        return arithmetic.wrapped(attr.value.data, dtype_of(value))
    return float(attr.value.data) if isinstance(attr, FloatAttr) else None


def dtype_of(value: SSAValue) -> str:
    """The type's text: a dtype's name for a scalar."""
    return str(value.type)


def make_constant(number: Number, like: OpResult, before: Operation) -> SSAValue:
    """A new constant of the type of `like`, in front of an op."""
    kind = like.type
    attr = FloatAttr(number, kind) if is_float(dtype_of(like)) else IntegerAttr(int(number), kind)  # type: ignore[arg-type,type-var]
    op = ConstantOp(attr, kind)  # type: ignore[arg-type]
    op.location = before.location
    block = before.parent
    assert block is not None
    block.insert_op_before(op, before)
    op.result.name_hint = like.name_hint
    return op.result


def _replace(op: Operation, how: Folding) -> bool:
    if len(op.results) != 1 or op.name == "arith.constant" or not is_known(dtype_of(op.results[0])):
        return False
    number = _value(op, how)
    if number is None:
        return False
    result = op.results[0]
    result.replace_all_uses_with(make_constant(number, result, op))
    op.detach()
    op.erase()
    return True


def _value(op: Operation, how: Folding) -> Number | None:
    """The number the op gives, None when it is not constant or not folded."""
    operands = [constant(v) for v in op.operands]
    if not operands or not op.name.startswith(("arith.", "affine.")):
        return None
    if op.name == "arith.select":
        return None if operands[0] is None else operands[1 if operands[0] else 2]
    given = [n for n in operands if n is not None]
    if len(given) < len(operands):
        return None
    dtype = dtype_of(op.results[0])
    if op.name in _AFFINE:
        return _affine(op, [int(n) for n in given])
    if op.name in _CASTS:
        return _CASTS[op.name](given[0], dtype_of(op.operands[0]), dtype) if _may_cast(op, how) else None
    if op.name == "arith.cmpi":
        predicate = op.properties["predicate"].value.data  # type: ignore[attr-defined]
        kind = dtype_of(op.operands[0])
        return -int(arithmetic.comparison(predicate, int(given[0]), int(given[1]), kind))
    if op.name in arithmetic.FLOATS:
        return arithmetic.floating(op.name, given, dtype) if how.with_floats else None
    return arithmetic.integer(op.name, int(given[0]), int(given[1]), dtype) if len(given) == 2 else None


def _may_cast(op: Operation, how: Folding) -> bool:
    types = [dtype_of(v) for v in (*op.operands, *op.results)]
    if not any(is_float(t) for t in types):
        return True
    return how.with_floats and "i1" not in types


_AFFINE: dict[str, Callable[..., int]] = {"affine.apply": min, "affine.min": min, "affine.max": max}


def _affine(op: Operation, operands: list[int]) -> int | None:
    amap = op.properties["map"].data  # type: ignore[attr-defined]
    try:
        found = amap.eval(operands[: amap.num_dims], operands[amap.num_dims :])
    except (ZeroDivisionError, ValueError):
        return None
    return arithmetic.wrapped(_AFFINE[op.name](found), "index")


def _whole(number: Number, source: str, dtype: str) -> Number:
    return arithmetic.wrapped(int(number), dtype)


def _whole_unsigned(number: Number, source: str, dtype: str) -> Number:
    return arithmetic.wrapped(arithmetic.unsigned(int(number), source), dtype)


_CASTS: dict[str, Callable[[Number, str, str], Number]] = {
    "arith.index_cast": _whole,
    "arith.index_castui": _whole_unsigned,
    "arith.extsi": _whole,
    "arith.extui": _whole_unsigned,
    "arith.trunci": _whole,
    "arith.sitofp": arithmetic.float_cast,
    "arith.uitofp": lambda n, source, dtype: arithmetic.float_cast(n, source, dtype, True),
    "arith.fptosi": arithmetic.float_cast,
    "arith.extf": arithmetic.float_cast,
    "arith.truncf": arithmetic.float_cast,
}
