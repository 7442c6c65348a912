"""Which scalar ops a body may hold, and what else than operands they are told."""

from __future__ import annotations

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from headrace.schedule.model.attributes import dtype_of, literal
from headrace.schedule.model.bodies.scalars import integer
from headrace.schedule.model.state import Refused
from headrace.schedule.model.tensors import Constant, Integer

_ARITH = (
    "addi subi muli divui divsi floordivsi ceildivsi ceildivui remui remsi minui maxui minsi maxsi andi ori"
    " xori shli shrui shrsi cmpi cmpf select addf subf mulf divf remf negf maximumf maxnumf minimumf minnumf"
    " bitcast index_cast index_castui fptosi fptoui sitofp uitofp extf truncf trunci extsi extui"
)
_MATH = (
    "absf absi acos acosh asin asinh atanh atan2 atan cbrt ceil copysign cos cosh erf erfc exp2 expm1 exp"
    " floor fma log10"
    " log1p log2 log powf fpowi ipowi roundeven round rsqrt sin sinh sqrt tan tanh trunc ctpop"
    " ctlz cttz isnan isinf isfinite isnormal"
)
_SPYREOP = "exp sqrt rsqrt reciprocal sigmoid silu gelu realdiv softplus addi32toi32 addi64toi64 muli32toi32"
SCALAR_OPS = frozenset(
    [f"arith.{n}" for n in _ARITH.split()]
    + [f"math.{n}" for n in _MATH.split()]
    + [f"spyreop.{n}" for n in _SPYREOP.split()]
)


def attribute(op: Operation) -> object:
    """What `Scalar.attr` says of an op: the predicate's name, softplus' (beta, threshold), else None."""
    if op.name in ("arith.cmpi", "arith.cmpf"):
        names = CMPI_COMPARISON_OPERATIONS if op.name == "arith.cmpi" else CMPF_COMPARISON_OPERATIONS
        predicate = literal(op, "predicate")
        assert isinstance(predicate, IntegerAttr)
        return names[predicate.value.data]
    if op.name == "spyreop.softplus":
        return _number(literal(op, "beta"), 1.0), _number(literal(op, "threshold"), 20.0)
    return None


def _number(attr: Attribute | None, default: float) -> float:
    return float(attr.value.data) if isinstance(attr, FloatAttr) else default


def constant(attr: Attribute | None) -> Constant | Integer | list[Constant | Integer]:
    """The scalar of an `arith.constant` or `spyreop.constant`; a list for a dense one that is no splat."""
    if isinstance(attr, IntegerAttr):
        return _scalar(attr.value.data, dtype_of(attr.type))
    if isinstance(attr, FloatAttr):
        return _scalar(attr.value.data, dtype_of(attr.type))
    if isinstance(attr, DenseIntOrFPElementsAttr):
        dtype = dtype_of(attr.type)
        count, data = attr.type.element_count(), attr.data.data
        if data == data[: len(data) // count] * count:  # a splat may be large: only one value is decoded
            return _scalar(next(iter(attr.iter_values())), dtype)
        return [_scalar(v, dtype) for v in attr.get_values()]
    raise Refused("a constant of this kind is not supported", "use a number or dense<...>")


def _scalar(value: float | int, dtype: str) -> Constant | Integer:
    if dtype == "i1":
        return integer(int(bool(value)), dtype)
    return integer(value, dtype) if isinstance(value, int) else Constant(float(value), dtype)
