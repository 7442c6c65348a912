"""The text resources share: `@id {attributes}`, and the types of endpoints in one word."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from headrace.ir import syntax
from headrace.ir.ktdf_arch.checks import PREFIX
from headrace.ir.ktdf_arch.types import SHORT


def read_header(
    parser: Parser, cls: type[IRDLOperation]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """`(@id)? ({…} | #ALIAS)?` as (properties, attributes)."""
    name = parser.parse_optional_symbol_name()
    start = parser.pos
    if syntax.at_alias(parser):
        found = parser.parse_attribute()
        if not isinstance(found, DictionaryAttr):
            parser.raise_error("expected an attribute dictionary or an alias of one", start, parser.pos)
        given = dict(found.data)
    else:
        given = parser.parse_optional_attr_dict()
    properties, attributes = syntax.split_attributes(cls, given)
    if name is not None:
        if properties.get("id", name) != name:
            parser.raise_error(
                f"id is given twice, as @{name.data} and {properties['id']}", start, parser.pos
            )
        properties["id"] = name
    return properties, attributes


def print_header(printer: Printer, op: Any) -> None:
    if op.id is not None:
        printer.print_string(" ")
        printer.print_symbol_name(op.id)
    syntax.print_attr_dict(printer, op, ("id",))


def endpoint_type(parser: Parser) -> Attribute:
    word = parser.parse_optional_keyword_in(tuple(SHORT))
    return SHORT[word]() if word is not None else parser.parse_type()


def short(kind: Attribute) -> str:
    return str(kind.name.removeprefix(PREFIX))
