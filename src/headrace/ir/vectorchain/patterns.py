"""Vectors made of patterns: masks, constants, shuffles."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    I32,
    AffineSetAttr,
    AnyFloat,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.dataflow import VECTOR
from headrace.ir.vectorchain.form import lane_count, typed


@irdl_op_definition
class CreateAffineMaskOp(IRDLOperation):
    """Lanes inside `mask_set`; `param` is the value of its symbol."""

    name = "vectorchain.create_affine_mask"
    param = opt_operand_def(IndexType)
    mask_set = prop_def(AffineSetAttr)
    result = result_def(VectorType)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        param = syntax.index_values(parser, syntax.optional_names(parser))
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(
            operands=param, properties=properties, attributes=attributes, result_types=[parser.parse_type()]
        )

    def print(self, printer: Printer) -> None:
        if self.param is not None:
            syntax.print_values(printer, [self.param], " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if self.mask_set.data.num_symbols != (self.param is not None):
            raise VerifyException(
                f"mask_set has {self.mask_set.data.num_symbols} symbols, "
                f"but {int(self.param is not None)} is given"
            )
        if self.result.type.element_type != i1:
            raise VerifyException("result must be a vector of i1")


@irdl_op_definition
class ConstantBitstreamOp(IRDLOperation):
    """A vector constant given by the raw bit pattern of each lane."""

    name = "vectorchain.constant_bitstream"
    value = prop_def(ArrayAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())

    def __init__(self, patterns: list[int], result: Attribute):
        super().__init__(
            properties={"value": ArrayAttr(syntax.integer(p) for p in patterns)}, result_types=[result]
        )

    @property
    def patterns(self) -> list[int]:
        """The bit patterns, one for each lane."""
        return [v.value.data for v in self.value]

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(properties=properties, attributes=attributes, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        if self.attributes:
            syntax.print_attr_dict(printer, self)
        else:
            printer.print_string(" {value = [" + ", ".join(f"{p:#x}" for p in self.patterns) + "]}")
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if not all(isinstance(v, IntegerAttr) for v in self.value):
            raise VerifyException("value must be an array of integers")
        kind = self.result.type
        if not isinstance(kind, VectorType):
            return
        if not isinstance(kind.element_type, IntegerType | AnyFloat):
            raise VerifyException("result must have integer or float elements")
        if len(self.value) != kind.element_count():
            raise VerifyException(f"gives {len(self.value)} patterns for {kind.element_count()} lanes")
        width = _width(kind.element_type)
        for p in self.patterns:
            if not 0 <= p < 1 << width:
                raise VerifyException(f"pattern {p:#x} does not fit {width} bits")


def _width(element: Any) -> int:
    return int(element.width.data) if isinstance(element, IntegerType) else int(element.bitwidth)


# Parts of a shuffle in order, with the words that introduce them.
_PARTS = ("variable", "pad", "mask")


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """Lane k = element `indices[k mod n]`: >= 0 of the input, -1, -2, … of the variables and then the
    pads.
    """

    name = "vectorchain.shuffle"
    input = operand_def(VECTOR)
    variable = var_operand_def(AnyAttr())
    pad = var_operand_def(AnyAttr())
    mask = opt_operand_def(AnyAttr())
    indices = prop_def(ArrayAttr)
    repetition = prop_def(IntegerAttr[I32])
    result = result_def(VECTOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        parser.parse_keyword("input")
        with parser.in_parens():
            found = [parser.parse_unresolved_operand()]
        counts = dict.fromkeys(_PARTS, 0)
        while parser.parse_optional_punctuation(","):
            part = parser.parse_keyword_in(_PARTS)
            names = syntax.names(parser, parser.Delimiter.PAREN)
            counts[part] = len(names)
            found += names
        properties, attributes = syntax.attr_dict(parser, cls)
        values, result = typed(parser, found)
        groups: list[Any] = [values.pop(0)]
        for part in _PARTS:
            groups.append(values[: counts[part]])
            values = values[counts[part] :]
        return cls.build(operands=groups, properties=properties, attributes=attributes, result_types=[result])

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.input], " input(", ")")
        parts = (self.variable, self.pad, [] if self.mask is None else [self.mask])
        for word, values in zip(_PARTS, parts, strict=True):
            if values:
                syntax.print_values(printer, values, f", {word}(", ")")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [*(v.type for v in self.operands), self.result.type])

    def verify_(self) -> None:
        lanes, n = lane_count(self.result.type), len(self.indices) * self.repetition.value.data
        if n != lanes:
            raise VerifyException(
                f"result does not scale with indices and repetitions: {len(self.indices)} times "
                f"{self.repetition.value.data} is not {lanes}"
            )
        if self.input.type.element_type != self.result.type.element_type:
            raise VerifyException("input and result must have the same element type")
        low, high = -(len(self.variable) + len(self.pad)), lane_count(self.input.type) - 1
        for i in self.indices:
            if not low <= i.value.data <= high:
                raise VerifyException(f"out of bounds indices element {i.value.data}, not in [{low}, {high}]")
