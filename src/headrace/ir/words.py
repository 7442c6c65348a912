"""Attributes that are one word of a fixed list, spelt `#dialect<mnemonic word>`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from headrace.ir import syntax


class WordAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """Base: a subclass names its `WORDS` (a StrEnum); `#dialect.mnemonic<word>` is read as well."""

    value: StringAttr
    WORDS: ClassVar[Any]

    def __init__(self, value: str | StringAttr):
        super().__init__(value if isinstance(value, StringAttr) else StringAttr(str(value)))

    @property
    def data(self) -> str:
        """The word."""
        return str(self.value.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if syntax.at(parser, "<"):
            with parser.in_angle_brackets():
                return (StringAttr(parser.parse_str_enum(cls.WORDS).value),)
        return (StringAttr(parser.parse_str_enum(cls.WORDS).value),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.data)
