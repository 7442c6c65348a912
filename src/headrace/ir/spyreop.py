"""The `spyreop` dialect: intrinsics of the device, used in the bodies of `linalg.generic`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from headrace.ir import syntax
from headrace.ir.words import WordAttr

# -- types --------------------------------------------------------------------------------------------------


@irdl_attr_definition
class DF16Type(ParametrizedAttribute, TypeAttribute):
    """1 sign, 6 exponent, 9 mantissa bits."""

    name = "spyreop.df16"


@irdl_attr_definition
class FP16FusedType(ParametrizedAttribute, TypeAttribute):
    name = "spyreop.fp16_fused"


@irdl_attr_definition
class DF16FusedType(ParametrizedAttribute, TypeAttribute):
    name = "spyreop.df16_fused"


@irdl_attr_definition
class FP32FusedType(ParametrizedAttribute, TypeAttribute):
    name = "spyreop.fp32_fused"


FLOAT = Float16Type | DF16Type | Float32Type
FUSED: dict[type[Attribute], type[ParametrizedAttribute]] = {
    Float16Type: FP16FusedType,
    DF16Type: DF16FusedType,
    Float32Type: FP32FusedType,
}

# -- one or two operands of the result's type ---------------------------------------------------------------


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
        _check_float(self, self.ALLOWED)


def _check_float(op: Any, allowed: tuple[type, ...]) -> None:
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
        _check_float(self, (Float16Type, DF16Type, Float32Type))


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
        _check_float(self, (Float16Type, DF16Type))
        if self.beta.value.data == 0 or self.beta.type != f32:
            raise VerifyException(
                "attribute 'beta' failed to satisfy constraint: 32-bit float attribute which is non-zero"
            )


# -- integers and addresses --------------------------------------------------------------------------------


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


# -- normalisation -----------------------------------------------------------------------------------------


class KeywordOp(IRDLOperation, ABC):
    """`%a word %b word %c … : type`, all of one type; `WORDS` introduce the operands after the first."""

    WORDS: ClassVar[tuple[str, ...]] = ()
    OPTIONAL: ClassVar[bool] = False
    inputs = var_operand_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = [parser.parse_unresolved_operand()]
        for word in cls.WORDS:
            if cls.OPTIONAL and not syntax.at(parser, word):
                break
            parser.parse_keyword(word)
            found.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = [parser.resolve_operand(u, kind) for u in found]
        return cls.create(operands=operands, result_types=cls.results_for(kind), attributes=attributes)

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        return [kind]

    def print(self, printer: Printer) -> None:
        for word, value in zip(("", *self.WORDS), self.inputs, strict=False):
            syntax.print_values(printer, [value], f" {word} " if word else " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.inputs[0].type])

    def verify_(self) -> None:
        if len(self.inputs) != len(self.WORDS) + 1 and not (self.OPTIONAL and len(self.inputs) == 1):
            raise VerifyException(f"takes {len(self.WORDS) + 1} operands, but has {len(self.inputs)}")
        if len({v.type for v in self.inputs}) != 1:
            raise VerifyException("operands must have one type")


@irdl_op_definition
class LayerNormScaleOp(KeywordOp):
    """The scale of a normalised row, from its mean and mean of squares (or from one fused operand)."""

    name = "spyreop.layernormscale"
    WORDS: ClassVar[tuple[str, ...]] = ("squares",)
    OPTIONAL: ClassVar[bool] = True
    result = result_def(AnyAttr())


@irdl_op_definition
class LayerNormNormOp(KeywordOp):
    """Applies scale, weight and bias to a row."""

    name = "spyreop.layernormnorm"
    WORDS: ClassVar[tuple[str, ...]] = ("squares", "scale", "weight", "bias")
    result = result_def(AnyAttr())


@irdl_op_definition
class Exx2Op(KeywordOp):
    """(mean, mean of squares)."""

    name = "spyreop.exx2"
    mean = result_def(AnyAttr())
    squares = result_def(AnyAttr())

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        return [kind, kind]


class FusedOp(KeywordOp, ABC):
    """As the op of the same name without `_fused`; the result type follows from the operand's."""

    result = result_def(AnyAttr())

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        fused = FUSED.get(type(kind))
        return [fused() if fused is not None else kind]


@irdl_op_definition
class Exx2FusedOp(FusedOp):
    name = "spyreop.exx2_fused"


@irdl_op_definition
class LayerNormScaleFusedOp(FusedOp):
    name = "spyreop.layernormscale_fused"


# -- constants, reductions ---------------------------------------------------------------------------------


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


SpyreOp = Dialect(
    "spyreop",
    [
        ExpOp,
        SqrtOp,
        RsqrtOp,
        ReciprocalOp,
        SigmoidOp,
        SiluOp,
        GeluOp,
        RealDivOp,
        SoftplusOp,
        AddI32Op,
        AddI64Op,
        MulI32Op,
        Idx32ToAddrOp,
        LayerNormScaleOp,
        LayerNormNormOp,
        Exx2Op,
        Exx2FusedOp,
        LayerNormScaleFusedOp,
        ConstantOp,
        SliceReductionOp,
    ],
    [DF16Type, FP16FusedType, DF16FusedType, FP32FusedType, ReductionKindAttr, ReductionScopeAttr],
)
