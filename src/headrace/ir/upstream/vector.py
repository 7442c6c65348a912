"""vector: ops xDSL lacks and foreign DFIR or KTIR may hold."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, VectorType, i64
from xdsl.dialects.vector import CombiningKindAttr
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
from headrace.ir.upstream.patch import CastLike


@irdl_op_definition
class ShapeCastOp(CastLike, IRDLOperation):
    """The same elements in another shape."""

    name = "vector.shape_cast"
    source = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        if source.element_count() != result.element_count() or source.element_type != result.element_type:
            raise VerifyException(f"{source} and {result} must hold the same elements")


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """`vector.transpose %x, [1, 0] : t to t`."""

    name = "vector.transpose"
    vector = operand_def(VectorType)
    permutation = prop_def(DenseArrayBase.constr(i64))
    result = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, parser.parse_type())
        parser.parse_keyword("to")
        return cls.create(
            operands=[value],
            properties={"permutation": DenseArrayBase.from_list(i64, order)},
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.vector], " ")
        printer.print_string(f", {list(self.permutation.get_values())}")
        syntax.print_attr_dict(printer, self, ("permutation",))
        syntax.print_types(printer, [self.vector.type])
        syntax.print_types(printer, [self.result.type], " to ")

    def verify_(self) -> None:
        order, shape = self.permutation.get_values(), self.vector.type.get_shape()
        if sorted(order) != list(range(len(shape))):
            raise VerifyException(f"{list(order)} is not a permutation of the dimensions")
        if self.result.type.get_shape() != tuple(shape[d] for d in order):
            raise VerifyException(f"result must have shape {tuple(shape[d] for d in order)}")


@irdl_op_definition
class SplatOp(IRDLOperation):
    name = "vector.splat"
    input = operand_def(AnyAttr())
    aggregate = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_type()
        if not isinstance(kind, VectorType):
            parser.raise_error("expected a vector type", start, parser.pos)
        value = parser.resolve_operand(name, kind.element_type)
        return cls.create(operands=[value], result_types=[kind], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.input], " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.aggregate.type])

    def verify_(self) -> None:
        if self.input.type != self.aggregate.type.element_type:
            raise VerifyException("the value must have the element type of the vector")


@irdl_op_definition
class StepOp(IRDLOperation):
    """0, 1, 2, … of type index."""

    name = "vector.step"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class ExtractStridedSliceOp(CastLike, IRDLOperation):
    name = "vector.extract_strided_slice"
    source = operand_def(VectorType)
    offsets = prop_def(ArrayAttr)
    sizes = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())


@irdl_op_definition
class InsertStridedSliceOp(IRDLOperation):
    """`vector.insert_strided_slice %x, %y {offsets = …, strides = …} : t into t`."""

    name = "vector.insert_strided_slice"
    source = operand_def(VectorType)
    dest = operand_def(VectorType)
    offsets = prop_def(ArrayAttr)
    strides = prop_def(ArrayAttr)
    result = result_def(VectorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        dest = parser.parse_unresolved_operand()
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        value = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("into")
        kind: Attribute = parser.parse_type()
        into = parser.resolve_operand(dest, kind)
        return cls.create(
            operands=[value, into], properties=properties, attributes=attributes, result_types=[kind]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.source.type])
        syntax.print_types(printer, [self.dest.type], " into ")

    def verify_(self) -> None:
        if self.dest.type != self.result.type:
            raise VerifyException("result must have the type of the destination")


@irdl_op_definition
class MultiReductionOp(IRDLOperation):
    """`vector.multi_reduction <add>, %x, %acc [1] : t to t`."""

    name = "vector.multi_reduction"
    source = operand_def(VectorType)
    acc = operand_def(AnyAttr())
    kind = prop_def(CombiningKindAttr)
    reduction_dims = prop_def(DenseArrayBase.constr(i64))
    dest = result_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        kind = CombiningKindAttr(CombiningKindAttr.parse_parameter(parser))
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        acc = parser.parse_unresolved_operand()
        dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        result = parser.parse_type()
        return cls.create(
            operands=[value, parser.resolve_operand(acc, result)],
            properties={"kind": kind, "reduction_dims": DenseArrayBase.from_list(i64, dims)},
            attributes=attributes,
            result_types=[result],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.kind.print_parameter(printer)
        syntax.print_values(printer, self.operands, ", ")
        printer.print_string(f" {list(self.reduction_dims.get_values())}")
        syntax.print_attr_dict(printer, self, ("kind", "reduction_dims"))
        syntax.print_types(printer, [self.source.type])
        syntax.print_types(printer, [self.dest.type], " to ")

    def verify_(self) -> None:
        if self.acc.type != self.dest.type:
            raise VerifyException("accumulator and result must have one type")


OPS: tuple[type[Any], ...] = (
    ShapeCastOp,
    TransposeOp,
    SplatOp,
    StepOp,
    ExtractStridedSliceOp,
    InsertStridedSliceOp,
    MultiReductionOp,
)
