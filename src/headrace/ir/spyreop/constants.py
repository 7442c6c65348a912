"""Constants and reductions of slices."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    FloatAttr,
    TensorType,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from headrace.ir import syntax
from headrace.ir.words import WordAttr


@irdl_op_definition
class ConstantOp(IRDLOperation):
    name = "spyreop.constant"
    value = prop_def(FloatAttr)
    result = result_def(Float16Type | Float32Type)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, FloatAttr):
            parser.raise_error("expected a float constant", start, parser.pos)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties={"value": value}, attributes=attributes, result_types=[value.type])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        syntax.print_attr_dict(printer, self, ("value",))

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException("value and result must have one type")


class ReductionKind(StrEnum):
    add = "add"
    sub = "sub"
    max = "max"
    min = "min"
    mul = "mul"
    abs_max = "abs_max"


class ReductionScope(StrEnum):
    in_slice = "in_slice"
    across_slice = "across_slice"


@irdl_attr_definition
class ReductionKindAttr(WordAttr):
    name = "spyreop.reduction_kind"
    WORDS: ClassVar = ReductionKind


@irdl_attr_definition
class ReductionScopeAttr(WordAttr):
    name = "spyreop.reduction_scope"
    WORDS: ClassVar = ReductionScope


@irdl_op_definition
class SliceReductionOp(IRDLOperation):
    """Reduces the slices of a tensor; made inside a back-end."""

    name = "spyreop.slice_reduction"
    input = operand_def(TensorType)
    reduction_kind = prop_def(ReductionKindAttr)
    reduction_scope = prop_def(ReductionScopeAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.create(
            operands=[value], properties=properties, attributes=attributes, result_types=[parser.parse_type()]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.input], " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.input.type])
        syntax.print_types(printer, [self.result.type], " -> ")

    def verify_(self) -> None:
        if self.input.type.element_type != self.result.type.element_type:
            raise VerifyException(f"cannot reduce {self.input.type} to {self.result.type}")
