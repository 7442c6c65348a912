"""MLIR types and attributes by the names our data uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerType, MemRefType, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import AttrSizedOperandSegments

from headrace.ir.construct import construct
from headrace.ir.context import context
from headrace.ir.ktdf import FifoSlotType
from headrace.ir.ktdp.spaces import memory_space
from headrace.ir.parser import TextParser


@cache
def element(dtype: str) -> Any:
    """Return the MLIR type of an element type name."""
    floats = {"f16": builtin.f16, "bf16": builtin.bf16, "f32": builtin.f32, "f64": builtin.f64}
    if dtype in floats:
        return floats[dtype]
    if dtype == "index":
        return builtin.IndexType()
    if dtype.startswith("i") and dtype[1:].isdigit():
        return IntegerType(int(dtype[1:]))
    return attribute(dtype)


@cache
def attribute(text: str) -> Any:
    """Return the attribute or type a text spells."""
    parser = TextParser(context(), text, "<type>")
    return parser.parse_optional_type() or parser.parse_attribute()


@cache
def tensor(shape: tuple[int, ...], dtype: str) -> Any:
    """Return tensor<shape x dtype>."""
    return TensorType(element(dtype), shape)


@cache
def buffer(shape: tuple[int, ...], dtype: str) -> Any:
    """Return the type of a scratchpad buffer."""
    return MemRefType(element(dtype), shape, memory_space=memory_space("ct_local"))


@cache
def view(shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
    """Return the type of a view of device memory."""
    return MemRefType(element(dtype), shape)


@cache
def windows(shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> Any:
    """Return the type of a scratchpad buffer walked by other strides."""
    layout = builtin.StridedLayoutAttr(strides, 0)
    return MemRefType(element(dtype), shape, layout, memory_space("ct_local"))


@cache
def slot(source: str, target: str, count: int, dtype: str) -> Any:
    """Return the type of a FIFO slot between two unit kinds."""
    return FifoSlotType(
        builtin.StringAttr(source), builtin.StringAttr(target), builtin.IntAttr(count), element(dtype)
    )


def dense(values: Sequence[int]) -> Any:
    """Return array<i64: values>."""
    return _dense(tuple(values))


@cache
def _dense(values: tuple[int, ...]) -> Any:
    return builtin.DenseArrayBase.from_list(builtin.i64, values)


@cache
def one_group(rank: int) -> Mapping[str, Any]:
    """Return the property of an op that joins all of so many dims to one, or makes them of one."""
    dims = builtin.ArrayAttr([builtin.IntegerAttr(k, builtin.i64) for k in range(rank)])
    return {"reassociation": builtin.ArrayAttr([dims])}


@cache
def _segments(counts: tuple[int, ...]) -> Attribute:
    return builtin.DenseArrayBase.from_list(builtin.i32, counts)


@cache
def affine_map(dims: int, *results: AffineExpr) -> Any:
    """Return the map of so many dims to these results."""
    return builtin.AffineMapAttr(AffineMap(dims, 0, results))


@cache
def _op(name: str) -> tuple[Any, bool]:
    """The class of an op, and whether it counts its operands in segments."""
    found = context().get_op(name)
    options = found.get_irdl_definition().options
    return found, any(isinstance(option, AttrSizedOperandSegments) for option in options)


def make(
    name: str,
    operands: Sequence[SSAValue] = (),
    results: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    *,
    segments: tuple[int, ...] = (),
    body: Block | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> Any:
    """Return a new op as our context spells it; what it is given is not checked.

    `segments` counts the operands of each group of an op that has several of any length; `body` is the block
    of its region.
    """
    kind, is_segmented = _op(name)
    properties = properties or {}
    assert is_segmented == bool(segments), name
    if segments:
        properties = {**properties, "operandSegmentSizes": _segments(segments)}
    regions = () if body is None else (Region(body),)
    return construct(kind, operands, results, properties, attributes or {}, regions)


def subview(source: Any, sizes: tuple[int, ...]) -> Any:
    """Return the type of a box of a memref, its strides unknown."""
    layout = builtin.StridedLayoutAttr([None] * len(sizes), None)
    return MemRefType(source.element_type, sizes, layout, source.memory_space)
