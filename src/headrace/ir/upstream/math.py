"""math: ops xDSL lacks."""

from __future__ import annotations

from abc import ABC
from typing import Any

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, TensorType, VectorType, i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
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
from headrace.ir.upstream.flags import NO_FASTMATH, parse_flags, print_flags
from headrace.ir.upstream.patch import element

FASTMATH = ("fastmath",)


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """1 - erf(x)."""

    name = "math.erfc"
    traits = traits_def(Pure())


class _Test(IRDLOperation, ABC):
    """A question about floats, answered in i1 of the same shape."""

    operand = operand_def(AnyAttr())
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        flags = parse_flags(parser, FASTMATH)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(name, kind)],
            properties={"fastmath": NO_FASTMATH} | properties | flags,
            attributes=attributes,
            result_types=[_truth(kind)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        print_flags(printer, self.properties, FASTMATH)
        syntax.print_attr_dict(printer, self, FASTMATH)
        syntax.print_types(printer, [self.operand.type])

    def verify_(self) -> None:
        if not isinstance(element(self.operand.type), AnyFloat):
            raise VerifyException(f"operand must be of floats, but is {self.operand.type}")
        if self.result.type != _truth(self.operand.type):
            raise VerifyException(f"result must have type {_truth(self.operand.type)}")


def _truth(kind: Any) -> Attribute:
    if isinstance(kind, TensorType):
        return TensorType(i1, kind.get_shape())
    if isinstance(kind, VectorType):
        return VectorType(i1, kind.get_shape())
    return i1


@irdl_op_definition
class IsNaNOp(_Test):
    name = "math.isnan"


@irdl_op_definition
class IsInfOp(_Test):
    name = "math.isinf"


@irdl_op_definition
class IsFiniteOp(_Test):
    name = "math.isfinite"


@irdl_op_definition
class IsNormalOp(_Test):
    name = "math.isnormal"


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """`math.clampf %x to [%low, %high] : f32`."""

    name = "math.clampf"
    value = operand_def(AnyAttr())
    min = operand_def(AnyAttr())
    max = operand_def(AnyAttr())
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        value = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        bounds = syntax.names(parser, parser.Delimiter.SQUARE)
        flags = parse_flags(parser, FASTMATH)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(u, kind) for u in (value, *bounds)],
            properties={"fastmath": NO_FASTMATH} | properties | flags,
            attributes=attributes,
            result_types=[kind],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.value], " ", " to [")
        syntax.print_values(printer, [self.min, self.max], "", "]")
        print_flags(printer, self.properties, FASTMATH)
        syntax.print_attr_dict(printer, self, FASTMATH)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if any(v.type != self.result.type for v in self.operands):
            raise VerifyException("operands and result must have one type")
        if not isinstance(element(self.result.type), AnyFloat):
            raise VerifyException("operands must be of floats")


@irdl_op_definition
class SinCosOp(IRDLOperation):
    """(sine, cosine)."""

    name = "math.sincos"
    operand = operand_def(AnyAttr())
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    sin = result_def(AnyAttr())
    cos = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        flags = parse_flags(parser, FASTMATH)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(name, kind)],
            properties={"fastmath": NO_FASTMATH} | properties | flags,
            attributes=attributes,
            result_types=[kind, kind],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        print_flags(printer, self.properties, FASTMATH)
        syntax.print_attr_dict(printer, self, FASTMATH)
        syntax.print_types(printer, [self.operand.type])

    def verify_(self) -> None:
        if not isinstance(element(self.operand.type), AnyFloat):
            raise VerifyException(f"operand must be of floats, but is {self.operand.type}")
        if {self.sin.type, self.cos.type} != {self.operand.type}:
            raise VerifyException("operand and results must have one type")


OPS: tuple[type[Any], ...] = (ErfcOp, IsNaNOp, IsInfOp, IsFiniteOp, IsNormalOp, ClampFOp, SinCosOp)
