"""The `ktdf_lowering` dialect: what a set of units executes, and where sets of units meet."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator

from headrace.ir import syntax


@irdl_op_definition
class ExecuteOnOp(IRDLOperation):
    """Only the programs of `units` contain the body."""

    name = "ktdf_lowering.execute_on"
    units = var_operand_def(IndexType)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        units = syntax.index_values(parser, syntax.optional_names(parser))
        region = syntax.braced_region(parser)
        return cls.create(operands=units, regions=[region], attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.units, " ", " " if self.units else "")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self)


@irdl_op_definition
class SignalOp(IRDLOperation):
    """A meeting point of the listed units."""

    name = "ktdf_lowering.signal"
    units = var_operand_def(IndexType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        units = syntax.index_values(parser, syntax.optional_names(parser))
        return cls.create(operands=units, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        if self.units:
            syntax.print_values(printer, self.units, " ")
        syntax.print_attr_dict(printer, self)


KtdfLowering = Dialect("ktdf_lowering", [ExecuteOnOp, SignalOp], [])
