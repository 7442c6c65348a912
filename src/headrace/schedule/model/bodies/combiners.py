"""How a reduction region combines: `acc (+) expr` for one of the combiners a TileGraph knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue

from headrace.numbers.dtypes import is_float
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.regions import scalar
from headrace.schedule.model.bodies.scalar_ops import attribute
from headrace.schedule.model.bodies.scalars import integer
from headrace.schedule.model.tensors import Constant, Integer

COMMUTATIVE = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minsi": "min",
    "arith.maxnumf": "max",
    "arith.minnumf": "min",
    "arith.andi": "and",
    "arith.ori": "or",
}
_I1 = {
    "arith.maxui": "or",
    "arith.minui": "and",
    "arith.maxsi": "and",
    "arith.minsi": "or",
    "arith.addi": None,
}
_CASTS = ("arith.extf", "arith.truncf", "arith.extsi", "arith.trunci")
_GREATER, _LESS = {"ogt", "oge", "sgt", "sge"}, {"olt", "ole", "slt", "sle"}


@dataclass(frozen=True)
class Combination:
    """out = out (combiner) term; `ops` of the region are accounted for, `term` enters it into a body."""

    combiner: str
    ops: tuple[Operation, ...]
    term: Callable[[Body, Callable[[SSAValue], Operand]], Operand]


def recognise(block: Block, accumulator: SSAValue, result: SSAValue) -> Combination | None:
    """The combination a region performs on one accumulator; None when it is no known one."""
    accumulator, widened = _forward(accumulator)
    result, narrowed = _back(result, block)
    op = result.owner
    if not isinstance(op, Operation) or op.parent is not block:
        return None
    uses = list(accumulator.uses)
    if op.name == "arith.select":
        found = _by_select(op, accumulator)
    else:
        found = _by_op(op, accumulator) if len(uses) == 1 and uses[0].operation is op else None
    return found and replace(found, ops=(*found.ops, *widened, *narrowed))


def _forward(value: SSAValue) -> tuple[SSAValue, list[Operation]]:
    """The value behind the casts that are its only use, and those casts."""
    casts: list[Operation] = []
    while (use := value.get_user_of_unique_use()) is not None and use.name in _CASTS:
        casts.append(use)
        value = use.results[0]
    return value, casts


def _back(value: SSAValue, block: Block) -> tuple[SSAValue, list[Operation]]:
    """The value before the casts that made it, and those casts."""
    casts: list[Operation] = []
    while isinstance(op := value.owner, Operation) and op.parent is block and op.name in _CASTS:
        casts.append(op)
        value = op.operands[0]
    return value, casts


def _by_op(op: Operation, accumulator: SSAValue) -> Combination | None:
    dtype = str(accumulator.type)
    others = [v for v in op.operands if v is not accumulator]
    combiner = _I1.get(op.name, COMMUTATIVE.get(op.name)) if dtype == "i1" else COMMUTATIVE.get(op.name)
    if combiner is not None:
        if op.name in ("arith.maxnumf", "arith.minnumf"):
            return Combination(
                combiner, (op,), lambda b, get: _without_nan(b, get(others[0]), combiner, dtype)
            )
        return Combination(combiner, (op,), lambda b, get: get(others[0]))
    if op.name == "arith.subf" and op.operands[0] is accumulator:
        return Combination("add", (op,), lambda b, get: scalar(b, "arith.negf", [get(others[0])], dtype))
    if op.name == "arith.subi" and op.operands[0] is accumulator:
        zero = integer(0, dtype)
        return Combination(
            "add", (op,), lambda b, get: scalar(b, "arith.subi", [zero, get(others[0])], dtype)
        )
    if op.name == "math.fma" and op.operands[2] is accumulator:
        return Combination(
            "add", (op,), lambda b, get: scalar(b, "arith.mulf", [get(v) for v in others], dtype)
        )
    return None


def _by_select(op: Operation, accumulator: SSAValue) -> Combination | None:
    """select(x > acc, x, acc) and its mirror images: a maximum or minimum that ignores NaN."""
    found = chosen(op, accumulator)
    if found is None or len(list(accumulator.uses)) != 2:
        return None
    combiner, compare, value = found
    dtype = str(accumulator.type)
    return Combination(combiner, (op, compare), lambda b, get: _without_nan(b, get(value), combiner, dtype))


def chosen(op: Operation, accumulator: SSAValue) -> tuple[str, Operation, SSAValue] | None:
    """(max or min, the compare, the value) of a select that keeps the larger or smaller of two values."""
    compare = op.operands[0].owner
    if not isinstance(compare, Operation) or compare.name not in ("arith.cmpf", "arith.cmpi"):
        return None
    left, right = compare.operands
    value = right if left is accumulator else left
    predicate = str(attribute(compare))
    if accumulator not in (left, right) or predicate not in _GREATER | _LESS:
        return None
    takes_value = op.operands[1] is value and op.operands[2] is accumulator
    keeps_value = op.operands[2] is value and op.operands[1] is accumulator
    strict_keep = keeps_value and not is_float(str(value.type))
    if not (takes_value or strict_keep):
        return None
    greater = (predicate in _GREATER) == (left is value)
    return ("max" if greater == takes_value else "min"), compare, value


def _without_nan(body: Body, value: Operand, combiner: str, dtype: str) -> Operand:
    """The value with NaN replaced by what never wins."""
    if not is_float(dtype):
        return value
    is_nan = scalar(body, "arith.cmpf", [value, value], "i1", "uno")
    return scalar(body, "arith.select", [is_nan, identity(combiner, dtype), value], dtype)


def identity(combiner: str, dtype: str) -> Constant | Integer:
    """The element that changes nothing."""
    if is_float(dtype):
        return Constant({"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}[combiner], dtype)
    bits = {"i8": 8, "i16": 16, "i32": 32}.get(dtype, 64)
    least, most = (0, 1) if dtype == "i1" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    ones = 1 if dtype == "i1" else -1
    return integer({"add": 0, "mul": 1, "max": least, "min": most, "or": 0, "and": ones}[combiner], dtype)
