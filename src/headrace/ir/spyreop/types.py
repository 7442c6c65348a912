"""Types of spyreop."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
)


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
