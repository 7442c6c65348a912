"""Tile ids, run-time arguments, memory views, load and store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I32,
    AffineSetAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.ktdp.spaces import MemorySpaceAttr, SpyreMemorySpaceAttr, memory_space
from headrace.ir.ktdp.types import AccessTileType, ExtractKind, RuntimeArgType
from headrace.ir.syntax import INDEX


@irdl_op_definition
class RegionTerminatorOp(IRDLOperation):
    """Ends the hidden region of an indirect access tile; never written by hand."""

    name = "ktdp.region_terminator"
    assembly_format = "attr-dict"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class GetComputeTileIdOp(IRDLOperation):
    """This tile's coordinate along each dim of the grid."""

    name = "ktdp.get_compute_tile_id"
    ids = var_result_def(IndexType)
    assembly_format = "attr-dict `:` type(results)"
    traits = traits_def(Pure())

    def __init__(self, n: int = 1):
        super().__init__(result_types=[[INDEX] * n])

    def verify_(self) -> None:
        if not self.results:
            raise VerifyException("must return at least one index (num tile-grid dims >= 1)")


@irdl_op_definition
class ConstructMemoryViewOp(IRDLOperation):
    """Strided view of memory from element address `offset`; `coordinate_set` names the global coordinates
    it holds.
    """

    name = "ktdp.construct_memory_view"
    offset = operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    memory_space = prop_def(MemorySpaceAttr | SpyreMemorySpaceAttr)
    coordinate_set = prop_def(AffineSetAttr)
    result = result_def(MemRefType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Any) -> Any:
        offset = parser.parse_operand(INDEX)
        groups = []
        for keyword in ("sizes", "strides"):
            parser.parse_punctuation(",")
            parser.parse_keyword(keyword)
            parser.parse_punctuation(":")
            groups.append(subscripts.index_sizes(parser))
        (sizes, static_sizes), (strides, static_strides) = groups
        place = parser.pos
        properties, attributes = syntax.attr_dict(parser, cls)
        space = properties.setdefault("memory_space", memory_space("global"))
        if not isinstance(space, MemorySpaceAttr | SpyreMemorySpaceAttr):
            hint = "write #ktdp.memory_space<global> or #ktdp.memory_space<ct_local>"
            parser.refuse(f"{space} is no memory space", hint, place)
        parser.parse_punctuation(":")
        result = parser.parse_type()
        if parser.parse_optional_punctuation("->"):  # older spelling `: index -> memref<…>`
            result = parser.parse_type()
        properties |= {"static_sizes": static_sizes, "static_strides": static_strides}
        # Some producers leave out the memory space, which is global then, and the set: the whole box.
        if "coordinate_set" not in properties:
            properties["coordinate_set"] = _box(static_sizes)
        return cls.build(
            operands=[offset, syntax.index_values(parser, sizes), syntax.index_values(parser, strides)],
            properties=properties,
            attributes=attributes,
            result_types=[result],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.offset], " ", ", sizes: ")
        subscripts.print_index_sizes(printer, self.sizes, self.static_sizes)
        printer.print_string(", strides: ")
        subscripts.print_index_sizes(printer, self.strides, self.static_strides)
        syntax.print_attr_dict(printer, self, ("static_sizes", "static_strides"))
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        sizes, strides = self.static_sizes.get_values(), self.static_strides.get_values()
        if len(sizes) != len(strides):
            raise VerifyException("static_sizes and static_strides must have equal length")
        for what, static, dynamic in (("size", sizes, self.sizes), ("stride", strides, self.strides)):
            if static.count(DYNAMIC_INDEX) != len(dynamic):
                raise VerifyException(
                    f"number of dynamic {what} operands does not match kDynamic entries in static_{what}s"
                )
        if self.result.type.get_num_dims() != len(sizes):
            raise VerifyException("result memref rank does not match sizes/strides length")
        _verify_extents(sizes, strides)


def _verify_extents(sizes: Sequence[int], strides: Sequence[int]) -> None:
    """No static extent is negative, and the last element's position fits an index."""
    known = [(n, s) for n, s in zip(sizes, strides, strict=True) if DYNAMIC_INDEX not in (n, s)]
    negative = [n for n in sizes if n < 0 and n != DYNAMIC_INDEX]
    if negative:
        raise VerifyException(f"size {negative[0]} is negative")
    if sum((n - 1) * abs(s) for n, s in known if n) >= 1 << 63:
        raise VerifyException(f"sizes {list(sizes)} with strides {list(strides)} reach past 64 bits")


def _box(static_sizes: DenseArrayBase) -> AffineSetAttr:
    """The index box of the sizes; dynamic sizes become symbols in order."""
    from xdsl.ir.affine import (
        AffineConstantExpr,
        AffineConstraintKind,
        AffineDimExpr,
        AffineSet,
        AffineSymExpr,
    )

    from headrace.ir.affine import canonical_set, constraint, sub

    rows, symbols = [], 0
    for i, n in enumerate(static_sizes.get_values()):
        end: AffineSymExpr | AffineConstantExpr = AffineConstantExpr(n)
        if n == DYNAMIC_INDEX:
            end, symbols = AffineSymExpr(symbols), symbols + 1
        d = AffineDimExpr(i)
        rows += [
            constraint(AffineConstraintKind.ge, d),
            constraint(AffineConstraintKind.ge, sub(end, d), AffineConstantExpr(1)),
        ]
    return AffineSetAttr(canonical_set(AffineSet(len(static_sizes), symbols, tuple(rows))))


@irdl_op_definition
class ConstructDistributedMemoryViewOp(IRDLOperation):
    """One global index space made of partitions, each where its own `coordinate_set` says."""

    name = "ktdp.construct_distributed_memory_view"
    memrefs = var_operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "`(` ($memrefs^ `:` type($memrefs))? `)` attr-dict `:` type(results)"

    def verify_(self) -> None:
        result = self.result.type
        for m in self.memrefs:
            if m.type.element_type != result.element_type:
                raise VerifyException("all input memrefs must have the same element type as the result")
            if m.type.get_num_dims() != result.get_num_dims():
                raise VerifyException("all input memrefs must have the same rank as the result")


@irdl_op_definition
class LoadOp(IRDLOperation):
    """A fresh tensor with the elements the access tile names."""

    name = "ktdp.load"
    access_tile = operand_def(AccessTileType)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        tile = parser.resolve_operand(name, syntax.short_type(parser, AccessTileType))
        parser.parse_punctuation("->")
        return cls.create(operands=[tile], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.access_tile], " ")
        syntax.print_attr_dict(printer, self)
        printer.print_string(" : ")
        syntax.print_short_type(printer, self.access_tile.type)
        syntax.print_types(printer, [self.result.type], " -> ")

    def verify_(self) -> None:
        if self.access_tile.type.get_shape() != self.result.type.get_shape():
            raise VerifyException("access tile shape must match result tensor shape")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes a tensor to the elements the access tile names."""

    name = "ktdp.store"
    data_tile = operand_def(TensorType)
    access_tile = operand_def(AccessTileType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        data = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        tile = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        data_value = parser.resolve_operand(data, parser.parse_type())
        parser.parse_punctuation(",")
        tile_value = parser.resolve_operand(tile, syntax.short_type(parser, AccessTileType))
        return cls.create(operands=[data_value, tile_value], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.data_tile.type])
        printer.print_string(", ")
        syntax.print_short_type(printer, self.access_tile.type)

    def verify_(self) -> None:
        if self.access_tile.type.get_shape() != self.data_tile.type.get_shape():
            raise VerifyException("data tile shape must match access tile shape")


@irdl_op_definition
class RuntimeArgExtractOp(IRDLOperation):
    """The value of a run-time argument, or its granularity or upper bound."""

    name = "ktdp.runtime_arg_extract"
    kind = prop_def(IntegerAttr[I32])
    input = operand_def(RuntimeArgType)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @property
    def extract_kind(self) -> ExtractKind:
        found: ExtractKind = list(ExtractKind)[self.kind.value.data]
        return found

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        kind = parser.parse_str_enum(ExtractKind)
        parser.parse_keyword("from")
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, syntax.short_type(parser, RuntimeArgType))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("->")
        return cls.create(
            operands=[value],
            result_types=[parser.parse_type()],
            properties={"kind": IntegerAttr(list(ExtractKind).index(kind), i32)},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.extract_kind.value} from ")
        syntax.print_values(printer, [self.input], "", " : ")
        syntax.print_short_type(printer, self.input.type)
        syntax.print_attr_dict(printer, self, ("kind",))
        syntax.print_types(printer, [self.result.type], " -> ")

    def verify_(self) -> None:
        if self.kind.value.data not in range(3):
            raise VerifyException(f"kind must be 0, 1 or 2, but is {self.kind.value.data}")
        kind, argument, result = self.extract_kind, self.input.type, self.result.type
        if kind is ExtractKind.value:
            if result != argument.underlying:
                raise VerifyException(
                    f"result type ({result}) must match runtime_arg underlying type "
                    f"({argument.underlying}) when extracting value"
                )
            return
        if isinstance(getattr(argument, kind.value), NoneAttr):
            raise VerifyException(f"cannot extract {kind.value} from runtime_arg that doesn't have one")
        if not isinstance(result, IndexType):
            raise VerifyException(f"result type must be index when extracting {kind.value}, but got {result}")
