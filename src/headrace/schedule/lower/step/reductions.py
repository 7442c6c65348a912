"""Row reductions and contractions of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir.affine import AffineDimExpr, AffineExpr

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.lower.emit.ops import affine_map
from headrace.schedule.lower.step.nest import Nest, element_type, tensor_shape
from headrace.schedule.lower.step.vectors import ONE_LANE, Fixed, Lanes, Shape, Value

if TYPE_CHECKING:
    from headrace.schedule.lower.step.steps import Step

NAMED: dict[str, tuple[str, str]] = {
    "linalg.add": ("arith.addf", "arith.addi"),
    "linalg.sub": ("arith.subf", "arith.subi"),
    "linalg.mul": ("arith.mulf", "arith.muli"),
    "linalg.div": ("arith.divf", "arith.divsi"),
    "linalg.max": ("arith.maximumf", "arith.maxsi"),
    "linalg.min": ("arith.minimumf", "arith.minsi"),
    "linalg.exp": ("math.exp", "math.exp"),
    "linalg.log": ("math.log", "math.log"),
    "linalg.abs": ("math.absf", "math.absi"),
    "linalg.sqrt": ("math.sqrt", "math.sqrt"),
    "linalg.rsqrt": ("math.rsqrt", "math.rsqrt"),
    "linalg.tanh": ("math.tanh", "math.tanh"),
    "linalg.erf": ("math.erf", "math.erf"),
    "linalg.negf": ("arith.negf", "arith.negf"),
    "linalg.floor": ("math.floor", "math.floor"),
    "linalg.ceil": ("math.ceil", "math.ceil"),
    "linalg.reciprocal": ("spyreop.reciprocal", "spyreop.reciprocal"),
    "linalg.select": ("arith.select", "arith.select"),
    "linalg.matmul": ("", ""),
    "linalg.batch_matmul": ("", ""),
    "linalg.map": ("", ""),
    "linalg.copy": ("", ""),
    "linalg.broadcast": ("", ""),
    "linalg.transpose": ("", ""),
}

COMBINERS = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minsi": "min",
    "arith.andi": "and0",
    "arith.ori": "or0",
}
IDENTITIES: dict[str, float] = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}
WIDENING = {"arith.extf", "arith.extsi", "arith.extui"}
NARROWING = {"arith.truncf", "arith.trunci"}


@dataclass(frozen=True)
class Combination:
    """result = narrow(widen(accumulator) (+) term): the combiner, the term's value, the type it combines
    in.
    """

    combiner: str
    term: Any
    dtype: str


def combination(op: Any, position: int, count: int) -> Combination:
    """Return how a body combines into output `position`; HeadraceError if it is no reduction."""
    block = op.regions[0].block
    accumulator = block.args[count + position]
    value = block.last_op.operands[position]
    while getattr(value.owner, "name", "") in NARROWING:
        value = value.owner.operands[0]
    found = value.owner
    name = COMBINERS.get(getattr(found, "name", ""))
    if name is not None:
        left, right = (_widened(v) for v in found.operands)
        for mine, other in ((left, found.operands[1]), (right, found.operands[0])):
            if mine is accumulator:
                return Combination(name, other, element_type(value.type))
    hint = "combine with addf, mulf, maximumf, minimumf, their integer kin, andi or ori"
    raise HeadraceError(Diagnostic("not a reduction a vector unit computes", location(op), op.name, hint))


def _widened(value: Any) -> Any:
    """The value behind exact casts."""
    while getattr(value.owner, "name", "") in WIDENING:
        value = value.owner.operands[0]
    return value


def reduce_row(step: Step, op: Any, nest: Nest, position: int) -> Value:
    """Return the combination of all lanes of a row with the initial value: scan, last lane, one more
    combine.
    """
    emit = step.emit
    how = combination(op, position, len(nest.inputs))
    block = op.regions[0].block
    if position == 0:
        for arg, value, amap in zip(block.args, nest.inputs, nest.maps, strict=False):
            step.values[arg] = step.operand(value, amap, nest)
        for inner in block.ops:
            if inner is not block.last_op and not _depends_on(inner, block.args[len(nest.inputs) :]):
                step.inner(inner, nest)
    term = step.get(how.term)
    assert term is not None
    row = emit.flat(emit.lanes(term, nest.shape))
    wide = _accumulator(how)
    row = emit.cast(row, wide)
    last = emit.lane(emit.scan(how.combiner, row), row.shape[0] - 1)
    initial = step.get(nest.outputs[position])
    if initial is not None and not _is_identity(initial, how.combiner):
        start = emit.cast(emit.lanes(initial, ONE_LANE), wide)
        last = emit.binary(how.combiner, start, last)
    return emit.cast(last, element_type(op.results[position].type))


def _accumulator(how: Combination) -> str:
    """The type a row is combined in: sums and products of narrow floats in f32."""
    narrow = is_float(how.dtype) and itemsize(how.dtype) < 4
    return "f32" if narrow and how.combiner in ("add", "mul") else how.dtype


def _is_identity(value: Value, combiner: str) -> bool:
    if not isinstance(value, Fixed):
        return False
    if is_float(value.dtype):
        return combiner in IDENTITIES and float(value.value) == IDENTITIES[combiner]
    bits = 8 * itemsize(value.dtype) - 1
    neutral = {"add": 0, "mul": 1, "max": -(1 << bits), "min": (1 << bits) - 1, "or0": 0, "and0": -1}
    if value.dtype == "i1":
        neutral = {"or0": 0, "and0": 1}
    return int(value.value) == neutral.get(combiner)


def _depends_on(op: Any, accumulators: Any) -> bool:
    return any(v in accumulators or _comes_from(v, accumulators) for v in op.operands)


def _comes_from(value: Any, accumulators: Any) -> bool:
    owner = value.owner
    if not hasattr(owner, "operands"):
        return value in accumulators
    return any(v in accumulators or _comes_from(v, accumulators) for v in owner.operands)


def is_contraction(op: Any, nest: Nest) -> bool:
    """True if the op sums products of two operands over dims neither keeps alone."""
    if op.name in ("linalg.matmul", "linalg.batch_matmul"):
        return True
    if op.name != "linalg.generic" or len(nest.inputs) != 2 or len(op.results) != 1 or not nest.reduced:
        return False
    if not nest.walked:
        return False
    block = op.regions[0].block
    total = block.last_op.operands[0].owner
    if getattr(total, "name", "") not in ("arith.addf", "arith.addi"):
        return False
    factors = [
        v.owner for v in total.operands if getattr(v.owner, "name", "") in ("arith.mulf", "arith.muli")
    ]
    if len(factors) != 1 or block.args[2] not in total.operands:
        return False
    return {_widened(v) for v in factors[0].operands} == set(block.args[:2])


def contraction(step: Step, op: Any, nest: Nest) -> Value:
    """Return the sum of products: both factors over the whole index space, the sum by a map that drops
    dims.
    """
    emit = step.emit
    axes = [
        [e.position for e in nest.axes(v, m) if isinstance(e, AffineDimExpr)]
        for v, m in zip(nest.inputs, nest.maps, strict=False)
    ]
    full = sorted(set(axes[0]) | set(axes[1]) | set(nest.walked))
    space = next((a for a in reversed(axes) if sorted(a) == full), full) or [0]
    shape: Shape = tuple(nest.extents[d] for d in space)
    spread = []
    for value, own in zip(nest.inputs, axes, strict=True):
        lanes = step.lanes(value)
        if own != space:
            exprs = [AffineExpr.dimension(space.index(d)) for d in own] or [AffineExpr.constant(0)]
            lanes = emit.select(lanes, exprs, shape)
        spread.append(lanes)
    out_shape, dtype = tensor_shape(op.results[0].type)
    kept = tuple(AffineExpr.dimension(space.index(d)) for d in nest.walked) or (AffineExpr.constant(0),)
    properties = {"reduction_map": affine_map(len(space), kept)}
    initial = step.get(nest.outputs[0])
    if initial is None or _is_identity(initial, "add"):
        return emit.op("vectorchain.multiply", spread, out_shape, dtype, properties)
    start: Lanes = emit.cast(emit.lanes(initial, out_shape), dtype)
    return emit.op("vectorchain.multiply_and_accumulate", [*spread, start], out_shape, dtype, properties)
