"""Bodies of named linalg ops: what one element costs, written as arith and math."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.traits import MemoryEffect, MemoryReadEffect, MemoryWriteEffect

from headrace.ir.upstream import arith as ours
from headrace.ir.upstream.patch import element

Element = Callable[..., SSAValue]


def region(inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], compute: Element) -> Region:
    """A region over the elements of inputs and outputs that yields `compute(*inputs, *outputs)`, cast to
    the output's type.
    """
    types = [element(v.type) for v in (*inputs, *outputs)]
    block = Block(arg_types=types)
    with ImplicitBuilder(block):
        linalg.YieldOp(cast(compute(*block.args), types[-1]))
    return Region(block)


def cast(value: SSAValue, kind: Any) -> SSAValue:
    """`value` in the type `kind`, by the conversion MLIR's named ops use (signed)."""
    have: Any = value.type
    if have == kind:
        return value
    if isinstance(have, AnyFloat) and isinstance(kind, AnyFloat):
        op = ours.TruncFOp if have.bitwidth > kind.bitwidth else ours.ExtFOp
    elif isinstance(have, AnyFloat):
        op = ours.FPToSIOp
    elif isinstance(kind, AnyFloat):
        op = ours.SIToFPOp
    else:
        op = ours.TruncIOp if have.width.data > kind.width.data else ours.ExtSIOp
    return op.create(operands=[value], result_types=[kind]).results[0]


def either(for_float: type[Any], for_integer: type[Any]) -> Element:
    """The op for the type at hand, applied to all operands but the output."""

    def compute(*args: SSAValue) -> SSAValue:
        op = for_float if isinstance(args[-1].type, AnyFloat) else for_integer
        found: SSAValue = op(*(cast(a, args[-1].type) for a in args[:-1])).results[0]
        return found

    return compute


def multiply_add(a: SSAValue, b: SSAValue, acc: SSAValue) -> SSAValue:
    """acc + a * b in the type of acc."""
    is_float = isinstance(acc.type, AnyFloat)
    multiply, add = (arith.MulfOp, arith.AddfOp) if is_float else (arith.MuliOp, arith.AddiOp)
    product = multiply(cast(a, acc.type), cast(b, acc.type)).results[0]
    found: SSAValue = add(acc, product).results[0]
    return found


class LinalgEffects(MemoryEffect):
    """Reads and writes memrefs; on tensors no effect, so that dead ops may go."""

    @classmethod
    def get_effects(cls, op: Any) -> Any:
        if op.results or not op.operands:
            return frozenset()
        return MemoryReadEffect.get_effects(op) | MemoryWriteEffect.get_effects(op)


def result_types(outputs: Sequence[SSAValue]) -> list[Attribute]:
    """One result for each tensor output."""
    from xdsl.dialects.builtin import TensorType

    return [v.type for v in outputs if isinstance(v.type, TensorType)]
