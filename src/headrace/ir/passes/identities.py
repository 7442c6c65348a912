"""Ops that give one of their operands: x + 0, a cast there and back, a reshape undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from headrace.ir.passes.fold import constant


def same_as(op: Operation) -> SSAValue | None:
    """The value the op's only result always equals, None when there is none."""
    if len(op.results) != 1:
        return None
    rule = _RULES.get(op.name)
    found = rule(op) if rule is not None else None
    return found if found is not None and found.type == op.results[0].type else None


def neutral_number(value: SSAValue) -> float | None:
    """The number of a scalar constant, or the one a splat or fill spreads; None for anything else."""
    number = constant(value)
    source = _maker(value)
    if number is None and source is not None and source.name in ("tensor.splat", "linalg.fill"):
        return constant(source.operands[0])
    return number


def _maker(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None


def _right(number: float) -> Callable[[Operation], SSAValue | None]:
    """x op number = x; -0.0 and 0.0 differ, as they do in a float sum."""
    return lambda op: op.operands[0] if _is(op.operands[1], number) else None


def _either(number: float) -> Callable[[Operation], SSAValue | None]:
    def rule(op: Operation) -> SSAValue | None:
        a, b = op.operands
        return a if _is(b, number) else b if _is(a, number) else None

    return rule


def _is(value: SSAValue, number: float) -> bool:
    found = neutral_number(value)
    return found is not None and str(float(found)) == str(float(number))


def _alike(op: Operation) -> SSAValue | None:
    return op.operands[0] if op.operands[0] is op.operands[1] else None


def _select(op: Operation) -> SSAValue | None:
    condition, a, b = op.operands
    if a is b:
        return a
    number = neutral_number(condition)
    return None if number is None else a if number else b


def _undone(*names: str) -> Callable[[Operation], SSAValue | None]:
    """This op of an op of another name: the inner operand, if it has the type again."""

    def rule(op: Operation) -> SSAValue | None:
        inner = _maker(op.operands[0])
        return inner.operands[0] if inner is not None and inner.name in names else None

    return rule


def _reshape(op: Operation) -> SSAValue | None:
    """A reshape to its own type, or one whose inner reshape started there."""
    if op.operands[0].type == op.results[0].type:
        return op.operands[0]
    return _undone("tensor.expand_shape", "tensor.collapse_shape")(op) if _is_static(op) else None


def _is_static(op: Operation) -> bool:
    kind = op.results[0].type
    return isinstance(kind, TensorType) and -1 not in kind.get_shape()


def _transpose(op: Operation) -> SSAValue | None:
    order = integers(op, "permutation")
    if list(order) == sorted(order):
        return op.operands[0]
    inner = _maker(op.operands[0])
    if inner is not None and inner.name == "linalg.transpose":
        before = integers(inner, "permutation")
        if all(before[k] == i for i, k in enumerate(order)):
            return inner.operands[0]
    return None


def _broadcast(op: Operation) -> SSAValue | None:
    return op.operands[0] if not integers(op, "dimensions") else None


def _whole_slice(op: Operation) -> SSAValue | None:
    """A slice that takes everything; only one of the same static shape can."""
    is_plain = _is_static(op) and all(n == 1 for n in integers(op, "static_strides"))
    return op.operands[0] if is_plain and len(op.operands) == 1 else None


def _affine(op: Operation) -> SSAValue | None:
    """affine.apply of d0 -> d0."""
    amap = op.properties["map"].data  # type: ignore[attr-defined]
    is_identity = len(op.operands) == 1 and str(amap.results[0]) in ("d0", "s0")
    return op.operands[0] if len(amap.results) == 1 and is_identity else None


def integers(op: Operation, name: str) -> Sequence[int]:
    """The integers of an array attribute."""
    attr = op.properties.get(name, op.attributes.get(name))
    if isinstance(attr, DenseArrayBase):
        return tuple(int(n) for n in attr.get_values())
    assert isinstance(attr, ArrayAttr)
    return tuple(int(a.value.data) for a in attr)


_RULES: dict[str, Callable[[Operation], SSAValue | None]] = {
    "arith.addi": _either(0),
    "arith.subi": _right(0),
    "arith.muli": _either(1),
    "arith.divsi": _right(1),
    "arith.divui": _right(1),
    "arith.floordivsi": _right(1),
    "arith.ceildivsi": _right(1),
    "arith.ori": _either(0),
    "arith.xori": _either(0),
    "arith.andi": _alike,
    "arith.maxsi": _alike,
    "arith.minsi": _alike,
    "arith.maxui": _alike,
    "arith.minui": _alike,
    "arith.addf": _either(-0.0),
    "arith.subf": _right(0.0),
    "arith.mulf": _either(1.0),
    "arith.divf": _right(1.0),
    "arith.select": _select,
    "arith.truncf": _undone("arith.extf"),
    "arith.trunci": _undone("arith.extsi", "arith.extui"),
    "arith.negf": _undone("arith.negf"),
    "affine.apply": _affine,
    "affine.min": _affine,
    "affine.max": _affine,
    "tensor.expand_shape": _reshape,
    "tensor.collapse_shape": _reshape,
    "tensor.extract_slice": _whole_slice,
    "linalg.transpose": _transpose,
    "linalg.broadcast": _broadcast,
}
