"""The enumerations of vectorchain."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.utils.str_enum import StrEnum

from headrace.ir.words import WordAttr


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
