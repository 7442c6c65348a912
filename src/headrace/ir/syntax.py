"""Pieces of custom assembly formats that dialects share: operand lists, types, attributes.

Every use of a private name of the xDSL parser or printer lives here, in
subscripts.py, attribute_parser.py, parser.py or in printer.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

INDEX = IndexType()
T = TypeVar("T")
Attributes = dict[str, Attribute]


# -- looking ahead -----------------------------------------------------------------------------------------


def at(parser: Parser, text: str) -> bool:
    """True when the next token is `text`; nothing is consumed."""
    return bool(parser._current_token.text == text)


def at_word(parser: Parser) -> bool:
    """True when the next token is a bare word."""
    return bool(parser._current_token.kind is MLIRTokenKind.BARE_IDENT)


def at_alias(parser: Parser) -> bool:
    """True when the next token is `#name`."""
    return bool(parser._current_token.kind is MLIRTokenKind.HASH_IDENT)


# -- operands ----------------------------------------------------------------------------------------------


def names(parser: Parser, delimiter: Any = Parser.Delimiter.NONE) -> list[UnresolvedOperand]:
    return list(parser.parse_comma_separated_list(delimiter, parser.parse_unresolved_operand))


def optional_names(parser: Parser) -> list[UnresolvedOperand]:
    """`%a, %b` or nothing at all."""
    first = parser.parse_optional_unresolved_operand()
    if first is None:
        return []
    found = [first]
    while parser.parse_optional_punctuation(","):
        found.append(parser.parse_unresolved_operand())
    return found


def index_values(parser: Parser, operands: Iterable[UnresolvedOperand]) -> list[SSAValue]:
    return [parser.resolve_operand(u, INDEX) for u in operands]


def index_list(parser: Parser, delimiter: Any = Parser.Delimiter.PAREN) -> list[SSAValue]:
    """`(%a, %b)`, all of type index."""
    return index_values(parser, names(parser, delimiter))


def assignment(parser: Parser) -> tuple[Any, UnresolvedOperand]:
    """`%inner = %outer`: a block argument without its type and the value it starts as."""
    arg = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return arg, parser.parse_unresolved_operand()


def types(parser: Parser) -> list[Attribute]:
    return list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))


def arrow_types(parser: Parser) -> list[Attribute]:
    """What follows `->`: `t` or `(t, …)`."""
    found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if found is None else list(found)


def print_values(printer: Printer, values: Iterable[SSAValue], before: str = "", after: str = "") -> None:
    printer.print_string(before)
    printer.print_list(values, printer.print_ssa_value)
    printer.print_string(after)


def print_types(printer: Printer, found: Iterable[Attribute], before: str = " : ") -> None:
    printer.print_string(before)
    printer.print_list(found, printer.print_attribute)


def print_arrow_types(printer: Printer, found: Sequence[Attribute]) -> None:
    printer.print_string(" -> ")
    if len(found) == 1:
        printer.print_attribute(found[0])
    else:
        print_types(printer, found, "(")
        printer.print_string(")")


# -- types without their prefix ----------------------------------------------------------------------------


def short_type(parser: Parser, cls: type[ParametrizedAttribute]) -> ParametrizedAttribute:
    """A type of class `cls`, written `<…>` or with its full `!dialect.name<…>`."""
    if at(parser, "<"):
        return cls.new(cls.parse_parameters(parser))
    start = parser.pos
    found = parser.parse_type()
    if not isinstance(found, cls):
        parser.raise_error(f"expected a type !{cls.name}", start, parser.pos)
    return found


def print_short_type(printer: Printer, found: Attribute) -> None:
    found.print_parameters(printer)


# -- attributes --------------------------------------------------------------------------------------------


def attr_dict(parser: Parser, cls: type[IRDLOperation]) -> tuple[Attributes, Attributes]:
    """The optional `{…}` split into (properties of `cls`, discardable attributes)."""
    return split_attributes(cls, parser.parse_optional_attr_dict())


def split_attributes(cls: type[IRDLOperation], found: Attributes) -> tuple[Attributes, Attributes]:
    known = cls.get_irdl_definition().properties
    properties = {k: v for k, v in found.items() if k in known}
    return properties, {k: v for k, v in found.items() if k not in known}


SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def merged(op: IRDLOperation, hide: Iterable[str] = ()) -> Attributes:
    """Properties and attributes as the one dictionary of custom syntax; `hide` names those spelt
    elsewhere.
    """
    hidden = {*SEGMENTS, *hide}
    return {k: v for k, v in (op.properties | op.attributes).items() if k not in hidden}


def print_attr_dict(
    printer: Printer, op: IRDLOperation, hide: Iterable[str] = (), keyword: bool = False
) -> None:
    printer.print_op_attributes(merged(op, hide), print_keyword=keyword)


def integer(value: int) -> IntegerAttr[Any]:
    return IntegerAttr(value, i64)


def dense_list(parser: Parser, keyword: str) -> DenseArrayBase[Any]:
    """`keyword = [0, 1]` as a dense i64 array."""
    parser.parse_keyword(keyword)
    parser.parse_punctuation("=")
    found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, found)


# -- regions -----------------------------------------------------------------------------------------------


def braced_region(parser: Parser, arguments: Sequence[Any] | None = None) -> Any:
    """A region; `{}` gives one empty block, because single-block ops always have theirs."""
    region = parser.parse_region(arguments)
    if not region.blocks:
        from xdsl.ir import Block

        region.add_block(Block())
    return region


def print_braced_region(printer: Printer, op: Operation, index: int = 0, terminator: bool = True) -> None:
    """The region without its block arguments (they stand in the header of the op)."""
    printer.print_region(
        op.regions[index],
        print_entry_block_args=False,
        print_empty_block=False,
        print_block_terminators=terminator,
    )


# -- names -------------------------------------------------------------------------------------------------


def value_name(printer: Printer, value: SSAValue) -> str:
    """`%name` of a value, naming it when it has not been printed yet."""
    named = getattr(printer, "name_of", None)
    if named is not None:
        return f"%{named(value)}"
    return f"%{printer._ssa_values[value]}"


def set_name(value: SSAValue, name: str) -> None:
    """Name a value exactly so (the setter of xDSL drops numeric suffixes); numbers stay unnamed."""
    if not name[0].isdigit():
        value._name = name


def open_names(printer: Printer) -> Any:
    """Names printed from here on are free again after `close_names` (op-local variables)."""
    enter = getattr(printer, "open_scope", None)
    return enter() if enter else None


def close_names(printer: Printer, mark: Any) -> None:
    leave = getattr(printer, "close_scope", None)
    if leave:
        leave(mark)


def name_like(printer: Printer, value: SSAValue, other: SSAValue) -> None:
    """Print `value` under the name of `other` (a captured value inside an isolated region)."""
    rename = getattr(printer, "name_like", None)
    if rename:
        rename(value, other)


# -- maps of the uniform and symbol dialects ---------------------------------------------------------------


def mapping(parser: Parser) -> tuple[list[UnresolvedOperand], list[UnresolvedOperand]]:
    """`([%k -> %v], …)` as (keys, values)."""
    keys: list[UnresolvedOperand] = []
    values: list[UnresolvedOperand] = []

    def pair() -> None:
        parser.parse_punctuation("[")
        keys.append(parser.parse_unresolved_operand())
        parser.parse_punctuation("->")
        values.append(parser.parse_unresolved_operand())
        parser.parse_punctuation("]")

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
    return keys, values


def print_mapping(
    printer: Printer, keys: Iterable[SSAValue], values: Iterable[SSAValue], before: str = ""
) -> None:
    pairs = (
        f"[{value_name(printer, k)} -> {value_name(printer, v)}]" for k, v in zip(keys, values, strict=True)
    )
    printer.print_string(f"{before}(" + ", ".join(pairs) + ")")


def query(parser: Parser) -> list[SSAValue]:
    """`(map:%m, key:%k)`."""
    with parser.in_parens():
        parser.parse_keyword("map")
        parser.parse_punctuation(":")
        found = [parser.parse_operand(INDEX)]
        parser.parse_punctuation(",")
        parser.parse_keyword("key")
        parser.parse_punctuation(":")
        return [*found, parser.parse_operand(INDEX)]


def print_query(printer: Printer, found: SSAValue, key: SSAValue) -> None:
    printer.print_string(f"(map:{value_name(printer, found)}, key:{value_name(printer, key)})")
