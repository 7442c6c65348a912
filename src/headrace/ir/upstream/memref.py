"""memref: custom syntax of casts, copy and rank."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref
from xdsl.parser import Parser
from xdsl.printer import Printer

from headrace.ir import syntax
from headrace.ir.syntax import INDEX
from headrace.ir.upstream.patch import CastLike


class MemorySpaceCastOp(CastLike, memref.MemorySpaceCastOp):
    pass


class CastOp(CastLike, memref.CastOp):
    pass


class CopyOp(memref.CopyOp):
    """`memref.copy %a, %b : t to t`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        target = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        target_value = parser.resolve_operand(target, parser.parse_type())
        return cls.create(operands=[source_value, target_value], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.source.type])
        syntax.print_types(printer, [self.destination.type], " to ")


class RankOp(memref.RankOp):
    @classmethod
    def parse(cls, parser: Parser) -> Any:
        source = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(source, parser.parse_type())
        return cls.create(operands=[value], result_types=[INDEX], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.operands[0].type])


OPS: tuple[type[Any], ...] = (MemorySpaceCastOp, CastOp, CopyOp, RankOp)
