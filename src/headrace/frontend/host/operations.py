"""Loop operations and reductions on NumPy arrays: stored types, the types they are computed in, and what
each operation does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch

from headrace.ir.diagnostics import HeadraceError

Array = np.ndarray[Any, Any]

STORED = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "int64": np.int64,
    "int32": np.int32,
    "int16": np.int16,
    "int8": np.int8,
    "uint8": np.uint8,
    "bool": np.bool_,
}
NARROW = {"float16", "bfloat16", "float8_e4m3fn"}


def computed_type(dtype: str) -> Any:
    """The type a value of a stored type is computed in."""
    return np.float32 if dtype in NARROW else STORED[dtype]


def cast(value: Any, dtype: str, use_compute_types: bool = True) -> Any:
    """`value` in `dtype`; narrow floats stay f32, rounded only when `use_compute_types` is false."""
    with np.errstate(all="ignore"):
        if dtype in NARROW and not (use_compute_types and dtype != "float8_e4m3fn"):
            return np.asarray(value).astype(STORED[dtype]).astype(np.float32)
        return np.asarray(value).astype(computed_type(dtype))


class Product:
    """The operands of a "dot", kept apart until the reduction contracts them."""

    def __init__(self, a: Array, b: Array) -> None:
        self.a, self.b = a, b


def _torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Array]:
    return lambda x: function(torch.from_numpy(np.ascontiguousarray(x))).numpy()


def _truncated_division(a: Any, b: Any) -> Any:
    if np.issubdtype(np.result_type(a, b), np.floating):
        return np.trunc(np.true_divide(a, b))
    quotient = np.floor_divide(a, b)
    return (quotient + ((np.less(a, 0) != np.less(b, 0)) & (quotient * b != a))).astype(quotient.dtype)


def _to_int(rounding: Any) -> Callable[[Any, str], Array]:
    return lambda x, dtype: rounding(x).astype(STORED[dtype])


OPS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mul_rn": np.multiply,
    "truediv": np.true_divide,
    "div_rn": np.true_divide,
    "floordiv": np.floor_divide,
    "truncdiv": _truncated_division,
    "int_truediv": lambda a, b: np.true_divide(a, b).astype(np.float32),
    "remainder": np.mod,
    "mod": np.fmod,
    "fmod": np.fmod,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "signbit": np.signbit,
    "tanh": np.tanh,
    "erf": _torch(torch.erf),
    "erfc": _torch(torch.erfc),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "pow": np.power,
    "fma": lambda a, b, c: a * b + c,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "floor_to_int": _to_int(np.floor),
    "ceil_to_int": _to_int(np.ceil),
    "trunc_to_int": _to_int(np.trunc),
    "round_to_int": _to_int(np.round),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "where": np.where,
    "identity": lambda x: x,
    "dot": Product,
}


def full(value: Any) -> Any:
    """A value, a product multiplied out."""
    return value.a * value.b if isinstance(value, Product) else value


def reduce(kind: str, inputs: list[Array], axes: tuple[int, ...], dtype: Any, count: int) -> Any:
    """The reduction of arrays over `axes`, which are kept with extent 1."""
    x, keep = inputs[0], dict[str, Any](axis=axes, keepdims=True)
    match kind:
        case "sum" | "dot":
            return x.sum(dtype=dtype, **keep)
        case "prod":
            return x.prod(dtype=dtype, **keep)
        case "max":
            return x.max(**keep)
        case "min":
            return x.min(**keep)
        case "any":
            return x.astype(bool).any(**keep)
        case "xor_sum":
            return np.bitwise_xor.reduce(x, **keep)
        case "argmax" | "argmin":
            outer = x.shape[: axes[0]] if axes else x.shape
            flat = x.reshape((*outer, -1))
            place = getattr(np, kind)(flat, axis=-1)
            if len(inputs) == 2:
                place = np.take_along_axis(inputs[1].reshape(flat.shape), place[..., None], -1)[..., 0]
            return place.reshape(outer + (1,) * len(axes)).astype(np.int64)
        case "welford_reduce":
            mean = x.mean(dtype=np.float32, **keep)
            return mean, ((x - mean) ** 2).sum(dtype=np.float32, **keep), np.full_like(mean, count)
        case "welford_combine":
            mean, squares, weight = inputs
            total = weight.sum(**keep)
            center = (mean * weight).sum(**keep) / total
            return center, (squares + weight * (mean - center) ** 2).sum(**keep), total
        case "online_softmax_reduce":
            largest = x.max(**keep)
            return largest, np.exp(x - largest).sum(**keep)
    raise HeadraceError(
        f"the host does not compute the reduction '{kind}'",
        hint="leave this function out of the compiled graph",
    )
