"""Gathers and scatters through an index memref."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, MemRefType, StringAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.agen import base
from headrace.ir.agen.base import VECTOR, Side

_MAPS = ("indirect_map", "direct_map")


def _sides(parser: Parser) -> tuple[Side, Side, list[Any]]:
    """`indirect:%i[…] direct:%d[…] (multicast_info = %g)?`."""
    indirect, direct = base.labelled(parser, "indirect"), base.labelled(parser, "direct")
    return indirect, direct, base.multicast(parser)


def _print_sides(printer: Printer, op: Any) -> None:
    base.print_side(printer, op.indirect, op.indirect_map, op.indirect_indices, "indirect:")
    base.print_side(printer, op.direct, op.direct_map, op.direct_indices, "direct:")
    base.print_multicast(printer, op.multicast_info)


def _check_sides(op: Any, kind: str) -> None:
    base.check_operands("indirect_map", op.indirect_map, op.indirect_indices)
    base.check_operands("direct_map", op.direct_map, op.direct_indices)
    base.check_subscripts("indirect", op.indirect_map, op.indirect)
    base.check_subscripts("direct", op.direct_map, op.direct)
    elements, order = op.properties.get(f"{kind}_set"), op.properties.get(f"{kind}_order")
    base.check_set(kind, elements, order, op.direct_map)


@irdl_op_definition
class IndirectVectorLoadOp(IRDLOperation):
    """One vector whose position in `direct` is shifted by what `indirect` holds."""

    name = "agen.indirect_vector_load"
    indirect = operand_def(MemRefType)
    direct = operand_def(MemRefType)
    indirect_indices = var_operand_def(IndexType)
    direct_indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    indirect_map = prop_def(AffineMapAttr)
    direct_map = prop_def(AffineMapAttr)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    result = result_def(VECTOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        indirect, direct, multicast = _sides(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        index_value = parser.resolve_operand(indirect.memref, parser.parse_type())
        parser.parse_punctuation(",")
        value = parser.resolve_operand(direct.memref, parser.parse_type())
        parser.parse_punctuation(",")
        return cls.build(
            operands=[index_value, value, indirect.indices(parser), direct.indices(parser), multicast],
            properties=properties | {"indirect_map": indirect.map, "direct_map": direct.map},
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        _print_sides(printer, self)
        printer.print_string("\n")
        syntax.print_attr_dict(printer, self, _MAPS)
        syntax.print_types(printer, [self.indirect.type, self.direct.type, self.result.type], "\n : ")

    def verify_(self) -> None:
        _check_sides(self, "load")


@irdl_op_definition
class IndirectVectorStoreOp(IRDLOperation):
    """Writes one vector to a position of `direct` shifted by what `indirect` holds."""

    name = "agen.indirect_vector_store"
    value = operand_def(VECTOR)
    indirect = operand_def(MemRefType)
    direct = operand_def(MemRefType)
    indirect_indices = var_operand_def(IndexType)
    direct_indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    indirect_map = prop_def(AffineMapAttr)
    direct_map = prop_def(AffineMapAttr)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        value = parser.parse_unresolved_operand()
        indirect, direct, multicast = _sides(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        found = base.resolve(parser, [value, indirect.memref, direct.memref])
        return cls.build(
            operands=[*found, indirect.indices(parser), direct.indices(parser), multicast],
            properties=properties | {"indirect_map": indirect.map, "direct_map": direct.map},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.value], " ")
        _print_sides(printer, self)
        printer.print_string("\n")
        syntax.print_attr_dict(printer, self, _MAPS)
        syntax.print_types(printer, [self.value.type, self.indirect.type, self.direct.type], "\n : ")

    def verify_(self) -> None:
        _check_sides(self, "store")


@irdl_op_definition
class CompositeIndirectLoadOp(IRDLOperation):
    """A gather: for every time step the body runs with a vector found through the index memref."""

    name = "agen.composite_indirect_load"
    indirect = operand_def(MemRefType)
    direct = operand_def(MemRefType)
    indirect_indices = var_operand_def(IndexType)
    direct_indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    time_symbols = var_operand_def(IndexType)
    indirect_map = prop_def(AffineMapAttr)
    direct_map = prop_def(AffineMapAttr)
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
        indirect, direct, multicast = _sides(parser)
        symbols = base.time_symbols(parser)
        vector = base.load_iv(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        region = parser.parse_region([vector])
        found = base.resolve(parser, [indirect.memref, direct.memref])
        return cls.build(
            operands=[*found, indirect.indices(parser), direct.indices(parser), multicast, symbols],
            properties=properties | {"indirect_map": indirect.map, "direct_map": direct.map},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        _print_sides(printer, self)
        base.print_time_symbols(printer, self.time_symbols, " ")
        base.print_vector_argument(printer, self, ", load_iv")
        base.print_body(printer, self, _MAPS)
        syntax.print_types(printer, [self.indirect.type, self.direct.type])

    def verify_(self) -> None:
        _check_sides(self, "load")
        base.check_yield(self, is_store=False)


@irdl_op_definition
class CompositeIndirectStoreOp(IRDLOperation):
    """A scatter: for every time step the vector the body yields goes where the index memref says."""

    name = "agen.composite_indirect_store"
    indirect = operand_def(MemRefType)
    direct = operand_def(MemRefType)
    indirect_indices = var_operand_def(IndexType)
    direct_indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    time_symbols = var_operand_def(IndexType)
    indirect_map = prop_def(AffineMapAttr)
    direct_map = prop_def(AffineMapAttr)
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
        indirect, direct, multicast = _sides(parser)
        symbols = base.time_symbols(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        region = parser.parse_region()
        found = base.resolve(parser, [indirect.memref, direct.memref])
        return cls.build(
            operands=[*found, indirect.indices(parser), direct.indices(parser), multicast, symbols],
            properties=properties | {"indirect_map": indirect.map, "direct_map": direct.map},
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        _print_sides(printer, self)
        base.print_time_symbols(printer, self.time_symbols, "\n ")
        base.print_body(printer, self, _MAPS)
        syntax.print_types(printer, [self.indirect.type, self.direct.type])

    def verify_(self) -> None:
        _check_sides(self, "store")
        base.check_yield(self, is_store=True)


# Operand groups of composite_indirect_load_and_store in order, with the labels of their text.
_FOUR = (
    ("indirect_src", "indirect_src_map"),
    ("direct_src", "direct_src_map"),
    ("indirect_dst", "indirect_dst_map"),
    ("direct_dst", "direct_dst_map"),
)


@irdl_op_definition
class CompositeIndirectLoadAndStoreOp(IRDLOperation):
    """Memory to memory, either side or both through an index memref."""

    name = "agen.composite_indirect_load_and_store"
    indirect_src = opt_operand_def(MemRefType)
    direct_src = operand_def(MemRefType)
    indirect_dst = opt_operand_def(MemRefType)
    direct_dst = operand_def(MemRefType)
    indirect_src_indices = var_operand_def(IndexType)
    direct_src_indices = var_operand_def(IndexType)
    indirect_dst_indices = var_operand_def(IndexType)
    direct_dst_indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    time_symbols = var_operand_def(IndexType)
    indirect_src_map = opt_prop_def(AffineMapAttr)
    direct_src_map = prop_def(AffineMapAttr)
    indirect_dst_map = opt_prop_def(AffineMapAttr)
    direct_dst_map = prop_def(AffineMapAttr)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    time_set = prop_def(AffineSetAttr)
    time_order = prop_def(AffineMapAttr)
    load_indirect_time_addr_map = opt_prop_def(AffineMapAttr)
    load_direct_time_addr_map = prop_def(AffineMapAttr)
    store_indirect_time_addr_map = opt_prop_def(AffineMapAttr)
    store_direct_time_addr_map = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    region = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        sides: dict[str, Side] = {}
        for label, _ in _FOUR:
            if label.startswith("direct") or syntax.at(parser, label):
                sides[label] = base.labelled(parser, label)
        multicast = base.multicast(parser)
        symbols = base.time_symbols(parser)
        vector = base.load_iv(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        region = parser.parse_region([vector])
        values = base.resolve(parser, [s.memref for s in sides.values()])
        memrefs = dict(zip(sides, values, strict=True))
        properties |= {amap: sides[label].map for label, amap in _FOUR if label in sides}
        return cls.build(
            operands=[
                *([memrefs[label]] if label in memrefs else [] for label, _ in _FOUR),
                *(sides[label].indices(parser) if label in sides else [] for label, _ in _FOUR),
                multicast,
                symbols,
            ],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def _given(self) -> list[tuple[str, Any, Any, Any]]:
        """(label, memref, map, indices) of the sides present."""
        found = ((label, getattr(self, label), getattr(self, amap)) for label, amap in _FOUR)
        return [
            (label, m, amap, getattr(self, f"{label}_indices")) for label, m, amap in found if m is not None
        ]

    def print(self, printer: Printer) -> None:
        for label, memref, amap, indices in self._given():
            base.print_side(printer, memref, amap, indices, f"{label}:")
        printer.print_string("\n")
        base.print_multicast(printer, self.multicast_info)
        base.print_time_symbols(printer, self.time_symbols, " ")
        base.print_vector_argument(printer, self, ", load_iv")
        base.print_body(printer, self, tuple(amap for _, amap in _FOUR))
        syntax.print_types(printer, [m.type for _, m, _, _ in self._given()])

    def verify_(self) -> None:
        for label, memref, amap, indices in self._given():
            if amap is None:
                raise VerifyException(f"'{label}_map' is missing")
            base.check_operands(f"{label}_map", amap, indices)
            base.check_subscripts(label, amap, memref)
        base.check_set("load", self.load_set, self.load_order, self.direct_src_map)
        base.check_set("store", self.store_set, self.store_order, self.direct_dst_map)
        base.check_yield(self, is_store=False)
