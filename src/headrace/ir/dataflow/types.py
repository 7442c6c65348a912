"""Types and attributes of dataflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    IntAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from headrace.ir.words import WordAttr


class Direction(StrEnum):
    PseudoRandom = "PseudoRandom"
    CounterClockwise = "CounterClockwise"
    Clockwise = "Clockwise"
    BothWays = "BothWays"


@irdl_attr_definition
class DirectionAttr(WordAttr):
    """`#dataflow<direction Clockwise>`: the way round a ring."""

    name = "dataflow.direction"
    WORDS: ClassVar = Direction


@irdl_attr_definition
class CustomVectorType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.custom_vector<64xf16>`: a vector whose elements need not be builtin."""

    name = "dataflow.custom_vector"
    num: IntAttr
    element_type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
            if len(dims) != 1:
                parser.raise_error("a custom vector has one extent")
        return (IntAttr(dims[0]), element)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.num.data}x")
        printer.print_attribute(self.element_type)
        printer.print_string(">")


@irdl_attr_definition
class MxFloatType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.mxfp<16>`: micro-scaling float of a width in bits."""

    name = "dataflow.mxfp"
    width: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.width.data}>")

    def normal_form(self) -> Attribute:
        """The same type under its name, where it has one."""
        return _named(f"mxfp{self.width.data}") or self


@irdl_attr_definition
class MxIntType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.mxint<4>`: micro-scaling integer of a width in bits."""

    name = "dataflow.mxint"
    width: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.width.data}>")

    def normal_form(self) -> Attribute:
        """The same type under its name, where it has one."""
        return _named(f"mxint{self.width.data}") or self


class CustomName(StrEnum):
    mxfp4 = "mxfp4"
    mxfp8 = "mxfp8"
    mxint4 = "mxint4"


@irdl_attr_definition
class CustomType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.custom<mxfp4>`: the common widths under their names."""

    name = "dataflow.custom"
    kind: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_str_enum(CustomName).value),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.kind.data}>")


def _named(word: str) -> CustomType | None:
    return CustomType(StringAttr(word)) if word in CustomName.__members__ else None


VECTOR = VectorType | CustomVectorType
