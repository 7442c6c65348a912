"""Flags of arith and math ops: what the author allows (`fastmath`) or promises (`overflow`, `exact`, `nneg`).

xDSL has some of them as properties; the others are kept as attributes under MLIR's name of the property. None
changes what we compute: the plain meaning is among those a flag allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from headrace.ir import syntax

NO_FASTMATH = FastMathFlagsAttr("none")
PROPERTY = {"fastmath": "fastmath", "overflow": "overflowFlags", "exact": "isExact", "nneg": "nonNeg"}
"""Keyword in the text -> MLIR's name of the property."""
_LISTS: dict[str, Any] = {"fastmath": FastMathFlagsAttr, "overflow": IntegerOverflowAttr}
_NONE = (NO_FASTMATH, IntegerOverflowAttr("none"))


def parse_flags(parser: Parser, keywords: Sequence[str]) -> dict[str, Attribute]:
    """`fastmath<nnan, ninf>`, `exact`, … as attributes, for the keywords an op knows."""
    found: dict[str, Attribute] = {}
    while (keyword := parser.parse_optional_keyword_in(keywords)) is not None:
        kind = _LISTS.get(keyword)
        found[PROPERTY[keyword]] = UnitAttr() if kind is None else kind(kind.parse_parameter(parser))
    return found


def print_flags(printer: Printer, given: Mapping[str, Attribute], keywords: Sequence[str]) -> None:
    """The flags among `given` that differ from the default."""
    for keyword in keywords:
        flag: Any = given.get(PROPERTY[keyword])
        if flag is None or flag in _NONE:
            continue
        printer.print_string(f" {keyword}")
        if keyword in _LISTS:
            flag.print_parameter(printer)


def hidden(keywords: Sequence[str]) -> tuple[str, ...]:
    """The attributes that `print_flags` spells."""
    return tuple(PROPERTY[k] for k in keywords)


class Flagged:
    """An op with flags that xDSL's class does not define: they are attributes, also when the generic form has
    them as properties.
    """

    FLAGS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def create(cls: Any, *, properties: Any = None, attributes: Any = None, **rest: Any) -> Any:
        known = cls.get_irdl_definition().properties
        moved = {k: v for k, v in (properties or {}).items() if k in PROPERTY.values() and k not in known}
        kept = {k: v for k, v in (properties or {}).items() if k not in moved}
        return super().create(properties=kept, attributes={**(attributes or {}), **moved}, **rest)  # type: ignore[misc]


class FlaggedBinary(Flagged):
    """`%a, %b flags attr-dict : type`."""

    @classmethod
    def parse(cls: Any, parser: Parser) -> Any:
        start = parser.pos
        names = syntax.names(parser)
        attributes = parse_flags(parser, cls.FLAGS) | parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = parser.resolve_operands(names, [kind] * 2, start)
        return cls.create(operands=operands, result_types=[kind], attributes=attributes)

    def print(self: Any, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        print_flags(printer, self.attributes, self.FLAGS)
        syntax.print_attr_dict(printer, self, hidden(self.FLAGS))
        syntax.print_types(printer, [self.result.type])
