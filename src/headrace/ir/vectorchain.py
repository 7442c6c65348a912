"""The `vectorchain` dialect: what a compute unit does with vectors."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    I32,
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from headrace.ir import syntax
from headrace.ir.dataflow import CustomVectorType
from headrace.ir.words import WordAttr

VECTOR = VectorType | CustomVectorType

# -- attributes ---------------------------------------------------------------------------------------------


class BinaryOperator(StrEnum):
    and0 = "and0"
    or0 = "or0"
    xnor = "xnor"
    and_not = "and_not"
    min = "min"
    max = "max"
    abs_min = "abs_min"
    abs_max = "abs_max"
    add = "add"
    mul = "mul"
    sub = "sub"
    mul_div2 = "mul_div2"


class CompareOperator(StrEnum):
    compare_eq = "compare_eq"
    compare_neq = "compare_neq"
    compare_lt = "compare_lt"
    compare_le = "compare_le"
    compare_gt = "compare_gt"
    compare_ge = "compare_ge"


class ExpEstimate(StrEnum):
    a = "a"
    b = "b"


class EstimateVersion(StrEnum):
    slope = "slope"
    offset = "offset"


class EvalOrder(StrEnum):
    left_to_right = "left_to_right"
    right_to_left = "right_to_left"


@irdl_attr_definition
class BinaryOperatorAttr(WordAttr):
    name = "vectorchain.binary_operator"
    WORDS: ClassVar = BinaryOperator


@irdl_attr_definition
class CompareOperatorAttr(WordAttr):
    name = "vectorchain.element_wise_compare_operator"
    WORDS: ClassVar = CompareOperator


@irdl_attr_definition
class ExpEstimateAttr(WordAttr):
    name = "vectorchain.exp_estimate"
    WORDS: ClassVar = ExpEstimate


@irdl_attr_definition
class EstimateVersionAttr(WordAttr):
    name = "vectorchain.estimate_versions"
    WORDS: ClassVar = EstimateVersion


@irdl_attr_definition
class EvalOrderAttr(WordAttr):
    name = "vectorchain.eval_order"
    WORDS: ClassVar = EvalOrder


# -- the common form ---------------------------------------------------------------------------------------


class VectorOp(IRDLOperation, ABC):
    """`%a, %b[%mask : type] {…} : types of the operands…, type of the result`."""

    ARITY: ClassVar[int]
    DEFAULTS: ClassVar[dict[str, Attribute]] = {}

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = [parser.parse_unresolved_operand()]
        for separator in cls.separators():
            parser.parse_punctuation(separator)
            found.append(parser.parse_unresolved_operand())
        mask = parse_mask(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        return finish(parser, cls, found, mask, cls.DEFAULTS | properties, attributes)

    @classmethod
    def separators(cls) -> tuple[Any, ...]:
        return (",",) * (cls.ARITY - 1)

    def print(self, printer: Printer) -> None:
        values = list(self.operands[: self.ARITY])
        syntax.print_values(printer, values[:1], " ")
        for separator, value in zip(self.separators(), values[1:], strict=True):
            syntax.print_values(printer, [value], f"{separator} " if separator == "," else f" {separator} ")
        print_mask(printer, self.operands[self.ARITY :])
        hidden = [k for k, v in self.DEFAULTS.items() if self.properties.get(k) == v]
        syntax.print_attr_dict(printer, self, hidden)
        syntax.print_types(printer, [*(v.type for v in values), self.results[0].type])


def parse_mask(parser: Parser) -> list[SSAValue]:
    """`[%mask : type]` if present."""
    if parser.parse_optional_punctuation("[") is None:
        return []
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    value = parser.resolve_operand(name, parser.parse_type())
    parser.parse_punctuation("]")
    return [value]


def print_mask(printer: Printer, mask: Any) -> None:
    if mask:
        syntax.print_values(printer, mask, "[")
        syntax.print_types(printer, [m.type for m in mask])
        printer.print_string("]")


def finish(
    parser: Parser,
    cls: type[IRDLOperation],
    found: list[UnresolvedOperand],
    mask: list[SSAValue],
    properties: Any,
    attributes: Any,
) -> Any:
    """Reads `: types` and makes the op."""
    parser.parse_punctuation(":")
    start = parser.pos
    types = syntax.types(parser)
    if len(types) != len(found) + 1:
        parser.raise_error(f"expected {len(found) + 1} types (operands, result), but got {len(types)}", start)
    operands = parser.resolve_operands(found, types[:-1], start)
    return cls.create(
        operands=[*operands, *mask], properties=properties, attributes=attributes, result_types=[types[-1]]
    )


def _lanes(kind: Any) -> int:
    return int(kind.num.data) if isinstance(kind, CustomVectorType) else int(kind.element_count())


# -- ops of one, two, three operands -----------------------------------------------------------------------


class UnaryOp(VectorOp, ABC):
    """One vector, an optional mask."""

    ARITY: ClassVar[int] = 1
    input = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        if _lanes(self.input.type) != _lanes(self.result.type):
            raise VerifyException(
                f"input has {_lanes(self.input.type)} elements, but the result has {_lanes(self.result.type)}"
            )


@irdl_op_definition
class CastOp(UnaryOp):
    """Converts the element type."""

    name = "vectorchain.cast"


@irdl_op_definition
class FastExpOp(UnaryOp):
    name = "vectorchain.fast_exp"


@irdl_op_definition
class FloorOp(UnaryOp):
    name = "vectorchain.floor"


@irdl_op_definition
class RecEstimateOp(UnaryOp):
    name = "vectorchain.rec_estimate"


@irdl_op_definition
class LnEstimateOp(UnaryOp):
    name = "vectorchain.ln_estimate"


@irdl_op_definition
class RsqrtEstimateOp(UnaryOp):
    name = "vectorchain.rsqrt_estimate"


@irdl_op_definition
class NegOp(UnaryOp):
    name = "vectorchain.neg"


@irdl_op_definition
class ExpEstimateOp(UnaryOp):
    name = "vectorchain.exp_estimate"
    version = prop_def(ExpEstimateAttr)


@irdl_op_definition
class SigmoidEstimateOp(UnaryOp):
    name = "vectorchain.sigmoid_estimate"
    version = prop_def(EstimateVersionAttr)


@irdl_op_definition
class TanhEstimateOp(UnaryOp):
    name = "vectorchain.tanh_estimate"
    version = prop_def(EstimateVersionAttr)


@irdl_op_definition
class SelectOp(VectorOp):
    """The elements `selection_map` names."""

    name = "vectorchain.select"
    ARITY: ClassVar[int] = 1
    input = operand_def(VECTOR)
    selection_map = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ScanWithGapOp(VectorOp):
    """O[i] = the operation over I[i - k * gap], k >= 0."""

    name = "vectorchain.scan_with_gap"
    ARITY: ClassVar[int] = 1
    input = operand_def(VECTOR)
    eval_order = prop_def(EvalOrderAttr)
    gap = prop_def(IntegerAttr[IndexType])
    reduction_op = prop_def(BinaryOperatorAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class RotateOp(VectorOp):
    """Rotates the lanes by `position`."""

    name = "vectorchain.rotate"
    ARITY: ClassVar[int] = 2
    DEFAULTS: ClassVar[dict[str, Attribute]] = {"right_shift": BoolAttr.from_bool(True)}
    input = operand_def(VECTOR)
    position = operand_def(IndexType)
    right_shift = opt_prop_def(BoolAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class BinaryOp(VectorOp):
    """Two vectors combined lane by lane (identity `op_specific_map`)."""

    name = "vectorchain.binary"
    ARITY: ClassVar[int] = 2
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    binary_op = prop_def(BinaryOperatorAttr)
    op_specific_map = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class MultiplyOp(VectorOp):
    """Products, reduced as `reduction_map` says."""

    name = "vectorchain.multiply"
    ARITY: ClassVar[int] = 2
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    reduction_map = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ElementWiseCompareOp(VectorOp):
    name = "vectorchain.element_wise_compare"
    ARITY: ClassVar[int] = 2
    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    mask = opt_operand_def(AnyAttr())
    compare_op = prop_def(CompareOperatorAttr)
    result = result_def(VectorType)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        if self.mask is None:
            return
        kind = self.mask.type
        if not isinstance(kind, VectorType) or kind.element_type != i1 or kind.get_num_dims() != 1:
            raise VerifyException("mask must be a vector of rank 1 of i1")


@irdl_op_definition
class MergeOp(VectorOp):
    """Lanes of two vectors put together by iteration spaces and access functions."""

    name = "vectorchain.merge"
    ARITY: ClassVar[int] = 2
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    iteration_space_CA = prop_def(AffineSetAttr)
    access_function_CA = prop_def(AffineMapAttr)
    access_function_A = prop_def(AffineMapAttr)
    iteration_space_CB = prop_def(AffineSetAttr)
    access_function_CB = prop_def(AffineMapAttr)
    access_function_B = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class PackOp(VectorOp):
    name = "vectorchain.pack"
    ARITY: ClassVar[int] = 2
    DEFAULTS: ClassVar[dict[str, Attribute]] = {"sign_extend": BoolAttr.from_bool(False)}
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    indices = prop_def(ArrayAttr)
    repetition = prop_def(IntegerAttr[IndexType])
    sign_extend = opt_prop_def(BoolAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class MultiplyAndAccumulateOp(VectorOp):
    """a * b + c, reduced as `reduction_map` says."""

    name = "vectorchain.multiply_and_accumulate"
    ARITY: ClassVar[int] = 3
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    acc = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    reduction_map = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ElementWiseSelectionOp(VectorOp):
    """`lhs` where `cond` holds, else `rhs`."""

    name = "vectorchain.element_wise_selection"
    ARITY: ClassVar[int] = 3
    cond = operand_def(VectorType)
    lhs = operand_def(VECTOR)
    rhs = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def separators(cls) -> tuple[Any, ...]:
        return ("?", ":")


# -- ops of their own form ---------------------------------------------------------------------------------


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
        parser.parse_punctuation(":")
        start = parser.pos
        types = syntax.types(parser)
        if len(types) != len(found) + 1:
            parser.raise_error(
                f"expected {len(found) + 1} types (operands, result), but got {len(types)}", start
            )
        values = list(parser.resolve_operands(found, types[:-1], start))
        groups: list[Any] = [values.pop(0)]
        for part in _PARTS:
            groups.append(values[: counts[part]])
            values = values[counts[part] :]
        return cls.build(
            operands=groups, properties=properties, attributes=attributes, result_types=[types[-1]]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.input], " input(", ")")
        parts = (self.variable, self.pad, [] if self.mask is None else [self.mask])
        for word, values in zip(_PARTS, parts, strict=True):
            if values:
                syntax.print_values(printer, values, f", {word}(", ")")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [*(v.type for v in self.operands), self.result.type])

    def verify_(self) -> None:
        lanes, n = _lanes(self.result.type), len(self.indices) * self.repetition.value.data
        if n != lanes:
            raise VerifyException(
                f"result does not scale with indices and repetitions: {len(self.indices)} times "
                f"{self.repetition.value.data} is not {lanes}"
            )
        if self.input.type.element_type != self.result.type.element_type:
            raise VerifyException("input and result must have the same element type")
        low, high = -(len(self.variable) + len(self.pad)), _lanes(self.input.type) - 1
        for i in self.indices:
            if not low <= i.value.data <= high:
                raise VerifyException(f"out of bounds indices element {i.value.data}, not in [{low}, {high}]")


Vectorchain = Dialect(
    "vectorchain",
    [
        SelectOp,
        MultiplyOp,
        BinaryOp,
        ElementWiseCompareOp,
        MergeOp,
        CreateAffineMaskOp,
        PackOp,
        CastOp,
        FastExpOp,
        FloorOp,
        RecEstimateOp,
        LnEstimateOp,
        RsqrtEstimateOp,
        NegOp,
        ExpEstimateOp,
        SigmoidEstimateOp,
        TanhEstimateOp,
        MultiplyAndAccumulateOp,
        ElementWiseSelectionOp,
        ConstantBitstreamOp,
        ShuffleOp,
        ScanWithGapOp,
        RotateOp,
    ],
    [BinaryOperatorAttr, CompareOperatorAttr, ExpEstimateAttr, EstimateVersionAttr, EvalOrderAttr],
)
