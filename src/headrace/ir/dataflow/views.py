"""Views of memory, calls of templates."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX


@irdl_op_definition
class GetLogicalMemoryViewOp(IRDLOperation):
    """Element (i, j, …) of the result lives at element address `start + layout_map(i, j, …)` of the
    memory.
    """

    name = "dataflow.get_logical_memory_view"
    unit = operand_def(IndexType)
    start = operand_def(IndexType)
    layout_map = prop_def(AffineMapAttr)
    result = result_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        unit = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        start = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        return cls.create(
            operands=[unit, start],
            properties=properties,
            attributes=attributes,
            result_types=[_view_type(parser)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [INDEX, INDEX, self.result.type])

    def verify_(self) -> None:
        layout, rank = self.layout_map.data, self.result.type.get_num_dims()
        if layout.num_dims != rank:
            raise VerifyException(f"layout_map has {layout.num_dims} dims, but the view has rank {rank}")
        if len(layout.results) != 1:
            raise VerifyException(
                f"layout_map must have one result (an address), but has {len(layout.results)}"
            )


def _view_type(parser: Parser) -> Attribute:
    parser.parse_punctuation(":")
    start = parser.pos
    found = syntax.types(parser)
    if len(found) != 3:
        parser.raise_error("expected the types index, index, memref", start, parser.pos)
    return found[2]


@irdl_op_definition
class GetPagedLogicalMemoryViewOp(IRDLOperation):
    """A view in pages: each index set has its own start address."""

    name = "dataflow.get_paged_logical_memory_view"
    unit = operand_def(IndexType)
    start = operand_def(IndexType)
    page_starts = var_operand_def(IndexType)
    layout_map = prop_def(AffineMapAttr)
    idx_sets = prop_def(ArrayAttr[AffineSetAttr])
    result = result_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        unit = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        start = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        sets, starts = _pages(parser)
        properties["idx_sets"] = ArrayAttr(sets)
        return cls.create(
            operands=[unit, start, *starts],
            properties=properties,
            attributes=attributes,
            result_types=[_view_type(parser)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.unit, self.start], " ")
        syntax.print_attr_dict(printer, self, ("idx_sets",))
        printer.print_string("\n  {segments =")
        for i, (s, start) in enumerate(zip(self.idx_sets, self.page_starts, strict=True)):
            printer.print_string(f"{',' if i else ''}\n    page{i}: (idx_set = ")
            printer.print_attribute(s)
            syntax.print_values(printer, [start], ", start_addr = ", ")")
        printer.print_string("}")
        syntax.print_types(printer, [INDEX, INDEX, self.result.type])

    def verify_(self) -> None:
        if len(self.idx_sets) != len(self.page_starts):
            raise VerifyException(f"{len(self.idx_sets)} pages, but {len(self.page_starts)} start addresses")


def _pages(parser: Parser) -> tuple[list[Attribute], list[Any]]:
    sets: list[Attribute] = []
    starts: list[Any] = []
    with parser.in_braces():
        parser.parse_keyword("segments")
        parser.parse_punctuation("=")
        while not syntax.at(parser, "}"):
            parser.parse_keyword(f"page{len(sets)}")
            parser.parse_punctuation(":")
            with parser.in_parens():
                parser.parse_keyword("idx_set")
                parser.parse_punctuation("=")
                sets.append(parser.parse_attribute())
                parser.parse_punctuation(",")
                parser.parse_keyword("start_addr")
                parser.parse_punctuation("=")
                starts.append(parser.parse_operand(INDEX))
            parser.parse_optional_punctuation(",")
    return sets, starts


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """Call of a template of the code generator; registers are strings such as "R0"."""

    name = "dataflow.opaque"
    func_name = prop_def(StringAttr)
    read_write_register_dictionary = prop_def(DictionaryAttr)
    read_only_register_dictionary = prop_def(DictionaryAttr)
    parameter_dictionary = prop_def(DictionaryAttr)
    dbgName = opt_prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"
