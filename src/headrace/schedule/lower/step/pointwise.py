"""Scalar ops of KTIR bodies (arith, math, spyreop) as ops on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.schedule.lower.step.vectors import LANE_TYPE, Lanes, Vectors

Rule = Callable[[Vectors, Any, Sequence[Lanes], str], Lanes]
"""(emitter, op, operands of one shape, element type of the result) -> result."""

BINARY = {
    "arith.addf": "add",
    "arith.subf": "sub",
    "arith.mulf": "mul",
    "arith.maximumf": "max",
    "arith.minimumf": "min",
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.andi": "and0",
    "arith.ori": "or0",
    "spyreop.addi32toi32": "add",
    "spyreop.addi64toi64": "add",
    "spyreop.muli32toi32": "mul",
}

ON_BITS = {
    "arith.addi": "xor",
    "arith.subi": "xor",
    "arith.muli": "and0",
    "arith.andi": "and0",
    "arith.minui": "and0",
    "arith.maxsi": "and0",
    "arith.ori": "or0",
    "arith.maxui": "or0",
    "arith.minsi": "or0",
}
"""The same on i1: arithmetic modulo 2, signed values 0 and -1."""

UNARY = {
    "math.exp": "vectorchain.fast_exp",
    "math.log": "vectorchain.ln_estimate",
    "math.rsqrt": "vectorchain.rsqrt_estimate",
    "math.floor": "vectorchain.floor",
    "arith.negf": "vectorchain.neg",
    "spyreop.exp": "vectorchain.fast_exp",
    "spyreop.rsqrt": "vectorchain.rsqrt_estimate",
    "spyreop.reciprocal": "vectorchain.rec_estimate",
    "spyreop.sqrt": "math.sqrt",
}

CASTS = {
    "arith.extf",
    "arith.truncf",
    "arith.sitofp",
    "arith.fptosi",
    "arith.extsi",
    "arith.trunci",
    "arith.index_cast",
    "arith.index_castui",
}

ORDERED = {"oeq": "eq", "ogt": "gt", "oge": "ge", "olt": "lt", "ole": "le", "une": "neq"}
SIGNED = {"eq": "eq", "ne": "neq", "sgt": "gt", "sge": "ge", "slt": "lt", "sle": "le"}
FLOAT_PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
INTEGER_PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge".split()


def apply(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    """Return the vector an op computes lane by lane; HeadraceError if no vector op does."""
    name = op.name
    if name in RULES:
        return RULES[name](emit, op, operands, dtype)
    if dtype == "i1" and name in ON_BITS:
        return _on_bits(emit, ON_BITS[name], operands)
    if name in BINARY:
        return emit.binary(BINARY[name], *operands)
    if name in UNARY:
        return emit.unary(UNARY[name], operands[0])
    if name in CASTS:
        return _cast(emit, name, operands[0], dtype)
    if name.startswith(("arith.", "math.")) and len(op.results) == 1:
        return emit.op(name, operands, operands[0].shape, dtype, _properties(op))
    hint = "write it with arith and math ops"
    raise HeadraceError(Diagnostic("no unit computes this op on vectors", location(op), name, hint))


def _properties(op: Any) -> dict[str, Any]:
    return {k: v for k, v in op.properties.items() if k in ("predicate", "fastmath", "overflowFlags")}


def _on_bits(emit: Vectors, name: str, operands: Sequence[Lanes]) -> Lanes:
    if name == "xor":
        return emit.op("arith.xori", operands, operands[0].shape, "i1")
    return emit.binary(name, *operands)


def _cast(emit: Vectors, name: str, a: Lanes, dtype: str) -> Lanes:
    if a.dtype == "i1" and name in ("arith.extsi", "arith.sitofp"):
        return emit.op(name, [a], a.shape, dtype)
    if name == "arith.trunci" and dtype == "i1":
        return emit.op(name, [a], a.shape, dtype)
    return emit.cast(a, dtype)


def _compare_floats(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    predicate = FLOAT_PREDICATES[int(op.predicate.value.data)]
    if predicate in ORDERED:
        return emit.compare(ORDERED[predicate], *operands)
    return emit.op("arith.cmpf", operands, operands[0].shape, "i1", {"predicate": op.predicate})


def _compare_integers(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    predicate = INTEGER_PREDICATES[int(op.predicate.value.data)]
    if predicate in SIGNED and operands[0].dtype != "i1":
        return emit.compare(SIGNED[predicate], *operands)
    return emit.op("arith.cmpi", operands, operands[0].shape, "i1", {"predicate": op.predicate})


def _select(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    return emit.choose(*operands)


def _absolute(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    return emit.binary("abs_max", operands[0], operands[0])


def _ceil(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    below = emit.unary("vectorchain.floor", emit.unary("vectorchain.neg", operands[0]))
    return emit.unary("vectorchain.neg", below)


def _divide(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    return emit.op("arith.divf", operands, operands[0].shape, dtype)


def _widely(expand: Callable[[Vectors, Lanes], Lanes]) -> Rule:
    """A function of several ops: computed in f32, rounded once."""

    def rule(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
        return emit.cast(expand(emit, emit.cast(operands[0], "f32")), dtype)

    return rule


def _logistic_divisor(emit: Vectors, x: Lanes) -> Lanes:
    """1 + exp(-x)."""
    power = emit.unary("vectorchain.fast_exp", emit.unary("vectorchain.neg", x))
    return emit.binary("add", emit.constant(1.0, "f32", x.shape), power)


def _sigmoid(emit: Vectors, x: Lanes) -> Lanes:
    return emit.unary("vectorchain.rec_estimate", _logistic_divisor(emit, x))


def _silu(emit: Vectors, x: Lanes) -> Lanes:
    return emit.op("arith.divf", [x, _logistic_divisor(emit, x)], x.shape, "f32")


def _gelu(emit: Vectors, x: Lanes) -> Lanes:
    """x / 2 * (1 + erf(x / sqrt 2)), through erfc(|x| / sqrt 2) so that nothing cancels for x < 0."""
    scaled = emit.binary("mul", x, emit.constant(math.sqrt(0.5), "f32", x.shape))
    tail = emit.op("math.erfc", [emit.unary("vectorchain.neg", scaled)], x.shape, "f32")
    half = emit.binary("mul", x, emit.constant(0.5, "f32", x.shape))
    return emit.binary("mul", half, tail)


def _softplus(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    """log(1 + exp(beta x)) / beta, the identity where beta x > threshold."""
    x = emit.cast(operands[0], "f32")
    beta, threshold = float(op.beta.value.data), float(op.threshold.value.data)
    scaled = emit.binary("mul", x, emit.constant(beta, "f32", x.shape))
    grown = emit.op("math.log1p", [emit.unary("vectorchain.fast_exp", scaled)], x.shape, "f32")
    curve = emit.op("arith.divf", [grown, emit.constant(beta, "f32", x.shape)], x.shape, "f32")
    is_linear = emit.compare("gt", scaled, emit.constant(threshold, "f32", x.shape))
    return emit.cast(emit.choose(is_linear, x, curve), dtype)


def _test(name: str) -> Rule:
    """math.isnan and its kin as comparisons."""

    def rule(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
        x = operands[0]
        if name == "isnan":
            return emit.compare("neq", x, x)
        size = emit.binary("abs_max", x, x)
        infinite = emit.constant(math.inf, x.dtype, x.shape)
        return emit.compare("eq" if name == "isinf" else "lt", size, infinite)

    return rule


def _fused(emit: Vectors, op: Any, operands: Sequence[Lanes], dtype: str) -> Lanes:
    return emit.op("math.fma", operands, operands[0].shape, dtype)


RULES: dict[str, Rule] = {
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.select": _select,
    "math.absf": _absolute,
    "math.ceil": _ceil,
    "math.fma": _fused,
    "math.isnan": _test("isnan"),
    "math.isinf": _test("isinf"),
    "math.isfinite": _test("isfinite"),
    "spyreop.realdiv": _divide,
    "spyreop.sigmoid": _widely(_sigmoid),
    "spyreop.silu": _widely(_silu),
    "spyreop.gelu": _widely(_gelu),
    "spyreop.softplus": _softplus,
}


def element(dtype: str) -> str:
    """Return the vector element type for a scalar type: index values are i32 in lanes."""
    return LANE_TYPE if dtype == "index" else dtype
