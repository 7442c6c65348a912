"""Construction of DFIR ops and attributes by name, with everything reusable made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet

from headrace.ir.affine import add, canonical_set, mul
from headrace.ir.construct import construct
from headrace.ir.context import context
from headrace.ir.parser import TextParser

INDEX = IndexType()
DYNAMIC = -(2**63)


@cache
def op_class(name: str) -> Any:
    """Return the class of an op."""
    return context().get_op(name)


def make(
    name: str,
    operands: Sequence[SSAValue] = (),
    results: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Return a new op; nothing is checked, `properties` are what the generic form prints in <{...}>."""
    made: Operation = construct(
        op_class(name), operands, results, properties or {}, attributes or {}, regions
    )
    return made


@cache
def attribute(text: str) -> Attribute:
    """Return the attribute a text stands for."""
    return TextParser(context(), text, "<attribute>").parse_attribute()


@cache
def scalar(dtype: str) -> Attribute:
    """Return the element type of an MLIR name."""
    return TextParser(context(), dtype, "<type>").parse_type()


@cache
def vector(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return a vector type."""
    return VectorType(scalar(dtype), list(shape))


@cache
def memref(dtype: str, shape: tuple[int | None, ...]) -> Any:
    """Return a memref type; a dynamic extent is None."""
    return MemRefType(scalar(dtype), [DYNAMIC if e is None else e for e in shape])


@cache
def segments(*counts: int) -> Attribute:
    """Return an operandSegmentSizes property."""
    return DenseArrayBase.from_list(i32, list(counts))


@cache
def int32(value: int) -> Attribute:
    """Return an i32 attribute."""
    return IntegerAttr(value, i32)


@cache
def text(value: str) -> Attribute:
    """Return a string attribute."""
    return StringAttr(value)


@cache
def dense(value: float | int | bool, dtype: str, shape: tuple[int, ...]) -> Attribute:
    """Return a splat constant attribute."""
    return DenseIntOrFPElementsAttr.from_list(vector(dtype, shape), [value])


@cache
def affine_map(dims: int, results: tuple[AffineExpr, ...], symbols: int = 0) -> Attribute:
    """Return an affine map attribute."""
    return AffineMapAttr(AffineMap(dims, symbols, results))


@cache
def permutation(order: tuple[int, ...]) -> Attribute:
    """Return the map (d0, ...) -> (d_order0, d_order1, ...)."""
    return affine_map(len(order), tuple(AffineExpr.dimension(d) for d in order))


def identity(rank: int) -> Attribute:
    """Return the identity map."""
    return permutation(tuple(range(rank)))


@cache
def strided(strides: tuple[int, ...]) -> Attribute:
    """Return a layout map: the sum of index x stride."""
    total = AffineExpr.constant(0)
    for d, stride in enumerate(strides):
        total = add(total, mul(AffineExpr.dimension(d), AffineExpr.constant(stride)))
    return affine_map(len(strides), (total,))


@cache
def box(sizes: tuple[int | str, ...], symbols: int = 0) -> Attribute:
    """Return the set 0 <= d_k < size_k; a size "s0" is symbol 0; size 1 is written d_k == 0."""
    constraints = []
    for k, size in enumerate(sizes):
        d = AffineExpr.dimension(k)
        if size == 1:
            constraints.append(AffineConstraintExpr(AffineConstraintKind.eq, d, AffineExpr.constant(0)))
            continue
        last = (
            AffineExpr.symbol(int(size[1:])) - 1 if isinstance(size, str) else AffineExpr.constant(size - 1)
        )
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, d, AffineExpr.constant(0)))
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, -d + last, AffineExpr.constant(0)))
    return AffineSetAttr(canonical_set(AffineSet(len(sizes), symbols, tuple(constraints))))


def body(block: Block) -> Region:
    """Return a region of one block."""
    return Region([block])
