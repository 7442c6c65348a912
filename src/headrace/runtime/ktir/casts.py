"""Changes of the element type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.numbers.dtypes import bit_width, is_float
from headrace.runtime.ktir import operators
from headrace.runtime.ktir.types import require_dtype, type_text

if TYPE_CHECKING:
    from headrace.runtime.ktir.values import Value


def cast(value: Value, dtype: str) -> Value:
    """The value in another element type."""
    source = value.dtype
    if source == require_dtype(dtype):
        return value
    narrow = {"f16", "bf16", "f8E4M3FN"}
    if source in narrow and dtype in narrow and not (source == "f8E4M3FN"):
        return cast(cast(value, "f32"), dtype)
    if dtype == "i1" and is_float(source):
        return operators.compare("ne", value, 0.0)
    text = f"{_op(source, dtype)} {value.use()} : {value.type} to {type_text(value.shape, dtype)}"
    return value.let(text, dtype, value.shape, "as_" + dtype)


def _op(source: str, dtype: str) -> str:
    if is_float(source) and is_float(dtype):
        return "arith.extf" if bit_width(dtype) > bit_width(source) else "arith.truncf"
    if is_float(source):
        return "arith.fptosi"
    if is_float(dtype):
        return "arith.uitofp" if source == "i1" else "arith.sitofp"
    if bit_width(dtype) < bit_width(source):
        return "arith.trunci"
    return "arith.extui" if source == "i1" else "arith.extsi"
