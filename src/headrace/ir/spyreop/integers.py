"""Integers and addresses."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax


class IntegerOp(IRDLOperation, ABC):
    """Two integers, printed without a type."""

    KIND: ClassVar[IntegerType]
    lhs = operand_def(IntegerType)
    rhs = operand_def(IntegerType)
    result = result_def(IntegerType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operands = [parser.resolve_operand(u, cls.KIND) for u in syntax.names(parser)]
        attributes = parser.parse_optional_attr_dict()
        return cls.create(operands=operands, result_types=[cls.KIND], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)

    def verify_(self) -> None:
        if {v.type for v in (*self.operands, self.result)} != {self.KIND}:
            raise VerifyException(f"operands and result must have type {self.KIND}")


@irdl_op_definition
class AddI32Op(IntegerOp):
    name = "spyreop.addi32toi32"
    KIND: ClassVar[IntegerType] = i32


@irdl_op_definition
class AddI64Op(IntegerOp):
    name = "spyreop.addi64toi64"
    KIND: ClassVar[IntegerType] = i64


@irdl_op_definition
class MulI32Op(IntegerOp):
    name = "spyreop.muli32toi32"
    KIND: ClassVar[IntegerType] = i32


@irdl_op_definition
class Idx32ToAddrOp(IRDLOperation):
    """base + stride * index; base and stride are numbers (older spelling) or operands."""

    name = "spyreop.idx32toaddr"
    index = operand_def(IntegerType | IndexType)
    dynamic = var_operand_def(AnyAttr())
    base = opt_prop_def(IntegerAttr)
    stride = opt_prop_def(IntegerAttr)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        index = parser.resolve_operand(parser.parse_unresolved_operand(), i32)
        properties: dict[str, Attribute] = {}
        dynamic: list[SSAValue] = []
        for key in ("base", "stride"):
            parser.parse_keyword(key)
            name = parser.parse_optional_unresolved_operand()
            if name is None:
                properties[key] = syntax.integer(parser.parse_integer())
            else:
                dynamic.append(parser.resolve_operand(name, i64))
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=[index, *dynamic], properties=properties, attributes=attributes, result_types=[i64]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.index], " ")
        rest = iter(self.dynamic)
        for key in ("base", "stride"):
            number = getattr(self, key)
            text = syntax.value_name(printer, next(rest)) if number is None else str(number.value.data)
            printer.print_string(f" {key} {text}")
        syntax.print_attr_dict(printer, self, ("base", "stride"))

    def verify_(self) -> None:
        numbers = (self.base is not None) + (self.stride is not None)
        if numbers + len(self.dynamic) != 2:
            raise VerifyException("base and stride must both be given, as numbers or as operands")
