"""The text most vectorchain ops share: operands, mask, attributes, types."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from headrace.ir import syntax
from headrace.ir.dataflow import CustomVectorType


class VectorOp(IRDLOperation, ABC):
    """`%a, %b[%mask : type] {…} : types of the operands…, type of the result`."""

    ARITY: ClassVar[int]
    DEFAULTS: ClassVar[dict[str, Attribute]] = {}

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = [parser.parse_unresolved_operand()]
        for separator in cls.separators():
            parser.parse_punctuation(separator)
            found.append(parser.parse_unresolved_operand())
        mask = parse_mask(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        return finish(parser, cls, found, mask, cls.DEFAULTS | properties, attributes)

    @classmethod
    def separators(cls) -> tuple[Any, ...]:
        return (",",) * (cls.ARITY - 1)

    def print(self, printer: Printer) -> None:
        values = list(self.operands[: self.ARITY])
        syntax.print_values(printer, values[:1], " ")
        for separator, value in zip(self.separators(), values[1:], strict=True):
            syntax.print_values(printer, [value], f"{separator} " if separator == "," else f" {separator} ")
        print_mask(printer, self.operands[self.ARITY :])
        hidden = [k for k, v in self.DEFAULTS.items() if self.properties.get(k) == v]
        syntax.print_attr_dict(printer, self, hidden)
        syntax.print_types(printer, [*(v.type for v in values), self.results[0].type])


def parse_mask(parser: Parser) -> list[SSAValue]:
    """`[%mask : type]` if present."""
    if parser.parse_optional_punctuation("[") is None:
        return []
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    value = parser.resolve_operand(name, parser.parse_type())
    parser.parse_punctuation("]")
    return [value]


def print_mask(printer: Printer, mask: Any) -> None:
    if mask:
        syntax.print_values(printer, mask, "[")
        syntax.print_types(printer, [m.type for m in mask])
        printer.print_string("]")


def finish(
    parser: Parser,
    cls: type[IRDLOperation],
    found: list[UnresolvedOperand],
    mask: list[SSAValue],
    properties: Any,
    attributes: Any,
) -> Any:
    """Reads `: types` and makes the op."""
    operands, result = typed(parser, found)
    return cls.create(
        operands=[*operands, *mask], properties=properties, attributes=attributes, result_types=[result]
    )


def typed(parser: Parser, found: list[UnresolvedOperand]) -> tuple[list[SSAValue], Attribute]:
    """The operands and the type of the result, from `: types of the operands…, type of the result`."""
    parser.parse_punctuation(":")
    start = parser.pos
    types = syntax.types(parser)
    if len(types) != len(found) + 1:
        parser.raise_error(f"expected {len(found) + 1} types (operands, result), but got {len(types)}", start)
    return list(parser.resolve_operands(found, types[:-1], start)), types[-1]


def lane_count(kind: Any) -> int:
    return int(kind.num.data) if isinstance(kind, CustomVectorType) else int(kind.element_count())
