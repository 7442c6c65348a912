"""Types and attributes of ktdf: tokens, FIFO slots, the kinds of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!ktdf.token`: pure order between stages of one pipeline."""

    name = "ktdf.token"


@irdl_attr_definition
class FifoSlotType(ParametrizedAttribute, TypeAttribute):
    """`!ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>`: exactly `num` elements pass before the next slot is
    used.
    """

    name = "ktdf.fifo.slot"
    src: Attribute
    dest: Attribute
    num: IntAttr
    element_type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            src = parser.parse_attribute()
            parser.parse_punctuation("->")
            dest = parser.parse_attribute()
            parser.parse_punctuation(",")
            start = parser.pos
            is_negative = parser.parse_optional_punctuation("-") is not None
            dims, element = parser.parse_ranked_shape()
            if len(dims) != 1:
                parser.raise_error("a fifo slot has one extent, as in 64xf16", start, parser.pos)
        return (src, dest, IntAttr(-dims[0] if is_negative else dims[0]), element)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.src)
            printer.print_string(" -> ")
            printer.print_attribute(self.dest)
            number = "?" if self.num.data == DYNAMIC_INDEX else str(self.num.data)
            printer.print_string(f", {number}x")
            printer.print_attribute(self.element_type)


class LoopKind(StrEnum):
    parallel_loop = "parallel_loop"
    reduction_loop = "reduction_loop"


@irdl_attr_definition
class LoopTypeAttr(EnumAttribute[LoopKind]):
    """`#ktdf.loop_type<parallel_loop>`, the `loop_type` of an `scf.for`."""

    name = "ktdf.loop_type"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(LoopKind)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.value}>")
