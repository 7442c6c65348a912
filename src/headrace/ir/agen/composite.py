"""Transfers over a set of time steps."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    I32,
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.agen import base
from headrace.ir.agen.base import VECTOR, DirectionAttr, YieldOp


@irdl_op_definition
class CompositeLoadAndStoreOp(IRDLOperation):
    """For every time step: loads a vector from `src`, runs the body, writes what it yields (or the vector)
    to `dst`.
    """

    name = "agen.composite_load_and_store"
    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    src_indices = var_operand_def(IndexType)
    dst_indices = var_operand_def(IndexType)
    time_symbols = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    src_map = prop_def(AffineMapAttr)
    dst_map = prop_def(AffineMapAttr)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    time_set = prop_def(AffineSetAttr)
    time_order = prop_def(AffineMapAttr)
    load_time_addr_map = prop_def(AffineMapAttr)
    store_time_addr_map = prop_def(AffineMapAttr)
    dir = opt_prop_def(DirectionAttr)
    dbgName = opt_prop_def(StringAttr)
    region = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        src, dst = base.labelled(parser, "src"), base.labelled(parser, "dst")
        symbols = base.time_symbols(parser)
        vector = base.load_iv(parser)
        multicast = []
        if parser.parse_optional_punctuation(","):
            multicast = base.multicast(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        properties |= {"src_map": src.map, "dst_map": dst.map}
        region = parser.parse_region([vector])
        memrefs = base.resolve(parser, [src.memref, dst.memref])
        return cls.build(
            operands=[*memrefs, src.indices(parser), dst.indices(parser), symbols, multicast],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        base.print_side(printer, self.src, self.src_map, self.src_indices, "src:")
        base.print_side(printer, self.dst, self.dst_map, self.dst_indices, "dst:")
        base.print_time_symbols(printer, self.time_symbols, "\n ")
        base.print_vector_argument(printer, self, ", load_iv")
        base.print_multicast(printer, self.multicast_info, ", ")
        base.print_body(printer, self, ("src_map", "dst_map"))
        syntax.print_types(printer, [self.src.type, self.dst.type])

    def verify_(self) -> None:
        base.check_operands("src_map", self.src_map, self.src_indices)
        base.check_operands("dst_map", self.dst_map, self.dst_indices)
        base.check_subscripts("src", self.src_map, self.src)
        base.check_subscripts("dst", self.dst_map, self.dst)
        base.check_set("load", self.load_set, self.load_order, self.src_map)
        base.check_set("store", self.store_set, self.store_order, self.dst_map)
        base.check_yield(self, is_store=False)


@irdl_op_definition
class CompositeLoadOp(IRDLOperation):
    """For every time step: loads a vector and runs the body with it."""

    name = "agen.composite_load"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    time_symbols = var_operand_def(IndexType)
    affine_map = prop_def(AffineMapAttr)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    time_set = prop_def(AffineSetAttr)
    time_order = prop_def(AffineMapAttr)
    time_addr_map = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    region = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        side = base.Side(parser)
        symbols = base.time_symbols(parser)
        vector = base.vector_argument(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        region = parser.parse_region([vector])
        (memref,) = base.resolve(parser, [side.memref])
        return cls.build(
            operands=[memref, side.indices(parser), symbols],
            properties=properties | {"affine_map": side.map},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        base.print_side(printer, self.memref, self.affine_map, self.indices)
        base.print_time_symbols(printer, self.time_symbols, "\n ")
        base.print_vector_argument(printer, self, "")
        base.print_body(printer, self, ("affine_map",))
        syntax.print_types(printer, [self.memref.type])

    def verify_(self) -> None:
        base.check_operands("map", self.affine_map, self.indices)
        base.check_subscripts("load", self.affine_map, self.memref)
        base.check_set("load", self.load_set, self.load_order, self.affine_map)
        base.check_yield(self, is_store=False)


@irdl_op_definition
class CompositeStoreOp(IRDLOperation):
    """For every time step: runs the body and writes the vector it yields."""

    name = "agen.composite_store"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    input_vector = opt_operand_def(VECTOR)
    time_symbols = var_operand_def(IndexType)
    affine_map = prop_def(AffineMapAttr)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    time_set = prop_def(AffineSetAttr)
    time_order = prop_def(AffineMapAttr)
    time_addr_map = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    region = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        side = base.Side(parser)
        symbols = base.time_symbols(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        region = parser.parse_region()
        (memref,) = base.resolve(parser, [side.memref])
        return cls.build(
            operands=[memref, side.indices(parser), [], symbols],
            properties=properties | {"affine_map": side.map},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        base.print_side(printer, self.memref, self.affine_map, self.indices)
        base.print_time_symbols(printer, self.time_symbols, "\n ")
        base.print_body(printer, self, ("affine_map",))
        syntax.print_types(printer, [self.memref.type])

    def verify_(self) -> None:
        base.check_operands("map", self.affine_map, self.indices)
        base.check_subscripts("store", self.affine_map, self.memref)
        base.check_set("store", self.store_set, self.store_order, self.affine_map)
        if self.input_vector is not None:
            raise VerifyException("the form with an input vector has no text; yield the vector from the body")
        base.check_yield(self, is_store=True)


@irdl_op_definition
class CompositeMemoryInterleaveOp(IRDLOperation):
    """Runs the composite ops of its body round-robin, `granularity` time steps at a time."""

    name = "agen.composite_memory_interleave"
    granularity = opt_prop_def(IntegerAttr[I32])
    dbgName = opt_prop_def(StringAttr)
    region = region_def("single_block")
    traits = traits_def(SingleBlockImplicitTerminator(YieldOp))

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = syntax.attr_dict(parser, cls)
        region = syntax.braced_region(parser)
        if not isinstance(region.block.last_op, YieldOp):
            region.block.add_op(YieldOp.create())
        return cls.create(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attr_dict(syntax.merged(self))
        printer.print_string(" ")
        syntax.print_braced_region(printer, self, terminator=False)

    def verify_(self) -> None:
        for op in self.region.block.ops:
            if not op.name.startswith("agen.composite_") and op is not self.region.block.last_op:
                raise VerifyException(f"contains {op.name}, but may contain composite ops only")
        if self.granularity is not None and self.granularity.value.data < 1:
            raise VerifyException(f"granularity must be at least 1, but is {self.granularity.value.data}")
