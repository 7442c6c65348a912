"""Functions of floats."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    FloatAttr,
    f32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
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

from headrace.ir import syntax
from headrace.ir.spyreop.types import DF16Type


class UnaryOp(IRDLOperation, ABC):
    """`%x attr-dict : type`."""

    input = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    ALLOWED: ClassVar[tuple[type, ...]] = (Float16Type, DF16Type, Float32Type)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(name, kind)], result_types=[kind], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        check_float(self, self.ALLOWED)


def check_float(op: Any, allowed: tuple[type, ...]) -> None:
    kind = op.results[0].type
    if any(v.type != kind for v in op.operands):
        raise VerifyException("operands and result must have one type")
    if not isinstance(kind, allowed):
        raise VerifyException(f"is not defined for {kind}")


@irdl_op_definition
class ExpOp(UnaryOp):
    name = "spyreop.exp"


@irdl_op_definition
class SqrtOp(UnaryOp):
    name = "spyreop.sqrt"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    name = "spyreop.rsqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    name = "spyreop.reciprocal"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    name = "spyreop.sigmoid"


@irdl_op_definition
class SiluOp(UnaryOp):
    name = "spyreop.silu"


@irdl_op_definition
class GeluOp(UnaryOp):
    name = "spyreop.gelu"
    ALLOWED: ClassVar[tuple[type, ...]] = (Float16Type, DF16Type)


@irdl_op_definition
class RealDivOp(IRDLOperation):
    name = "spyreop.realdiv"
    lhs = operand_def(AnyAttr())
    rhs = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = syntax.names(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = [parser.resolve_operand(u, kind) for u in found]
        return cls.create(operands=operands, result_types=[kind], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        check_float(self, (Float16Type, DF16Type, Float32Type))


@irdl_op_definition
class SoftplusOp(IRDLOperation):
    """log(1 + exp(beta x)) / beta, the identity above `threshold`."""

    name = "spyreop.softplus"
    input = operand_def(AnyAttr())
    beta = prop_def(FloatAttr)
    threshold = prop_def(FloatAttr)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        for key in ("beta", "threshold"):
            parser.parse_keyword(key)
            properties[key] = FloatAttr(float(parser.parse_number()), f32)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(name, kind)],
            properties=properties,
            attributes=attributes,
            result_types=[kind],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.input], " ")
        for key in ("beta", "threshold"):
            printer.print_string(f" {key} ")
            printer.print_float(getattr(self, key).value.data, f32)
        syntax.print_attr_dict(printer, self, ("beta", "threshold"))
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        check_float(self, (Float16Type, DF16Type))
        if self.beta.value.data == 0 or self.beta.type != f32:
            raise VerifyException(
                "attribute 'beta' failed to satisfy constraint: 32-bit float attribute which is non-zero"
            )
