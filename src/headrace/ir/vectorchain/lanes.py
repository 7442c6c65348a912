"""Vectors combined lane by lane."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir.dataflow import VECTOR
from headrace.ir.vectorchain.form import VectorOp, lane_count
from headrace.ir.vectorchain.words import (
    BinaryOperatorAttr,
    CompareOperatorAttr,
    EstimateVersionAttr,
    EvalOrderAttr,
    ExpEstimateAttr,
)


class UnaryOp(VectorOp, ABC):
    """One vector, an optional mask."""

    ARITY: ClassVar[int] = 1
    input = operand_def(VECTOR)
    mask = opt_operand_def(AnyAttr())
    result = result_def(VECTOR)
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        given, made = lane_count(self.input.type), lane_count(self.result.type)
        if given != made:
            raise VerifyException(f"input has {given} elements, but the result has {made}")


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
