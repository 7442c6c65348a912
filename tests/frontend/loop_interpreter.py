"""A NumPy interpreter of loop programs: the oracle for what Inductor recorded, independent of KTIR and the
machine.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

from headrace.frontend.launcher import LoopKernel
from headrace.frontend.memory import host_alias

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


def cast(value: Any, dtype: str, use_compute_types: bool = True) -> Array:
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


def _truncated_division(a: Any, b: Any) -> Array:
    if np.issubdtype(np.result_type(a, b), np.floating):
        return np.trunc(np.true_divide(a, b))
    return (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)


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
    "tanh": np.tanh,
    "erf": _torch(torch.erf),
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

NAMES = {
    "__builtins__": {},
    "min": lambda *a: functools.reduce(np.minimum, a),
    "max": lambda *a: functools.reduce(np.maximum, a),
    "math": math,
    "int": int,
    "float": float,
    "abs": abs,
    "inf": math.inf,
}


@functools.cache
def _code(expression: str) -> Any:
    return compile(expression, "<index>", "eval")


def evaluate(expression: str, values: dict[str, Any]) -> Any:
    """An index expression or extent as an integer or an array over the loop domain."""
    return eval(_code(str(expression)), NAMES, values)


def interpret(kernel: LoopKernel, tensors: Sequence[torch.Tensor]) -> tuple[None, None]:
    """Runs a kernel on the bytes of its tensors: an engine for `launcher.engine_override`."""
    Interpreter(kernel.program, tensors).run()
    return None, None


class Interpreter:
    """One run of one program; `values` holds the loop symbols (as index arrays) and every SSA value."""

    def __init__(self, program: dict[str, Any], tensors: Sequence[torch.Tensor]) -> None:
        assert not program["sizes"]
        self.program = program
        self.buffers: dict[str, tuple[Array, str]] = {}
        for (name, _, dtype), tensor in zip(program["args"], tensors, strict=True):
            assert str(tensor.dtype) == f"torch.{dtype}", (name, dtype, tensor.dtype)
            self.buffers[name] = (_bytes_from(tensor).view(STORED[dtype]), dtype)
        for name, (count, dtype) in program["temps"].items():
            elements = int(count)
            self.buffers[name] = (np.zeros(elements, STORED[dtype]), dtype)

    def run(self) -> None:
        """Runs the nests in order."""
        for loop in self.program["loops"]:
            self._run_nest(loop)

    def _run_nest(self, loop: dict[str, Any]) -> None:
        values: dict[str, Any] = {}
        dims = [(symbol, int(extent)) for symbol, extent in loop["iter"] + loop["red"]]
        self.outer = len(loop["iter"])
        self.shape = tuple(extent for _, extent in dims)
        if 0 in self.shape[: self.outer]:
            return
        for k, (symbol, extent) in enumerate(dims):
            values[symbol] = np.arange(extent).reshape([-1 if j == k else 1 for j in range(len(dims))])
        with np.errstate(all="ignore"):
            self._run_block(loop["body"], values, None)

    def _run_block(self, block: list[Any], values: dict[str, Any], mask: Any) -> None:
        for result, op, *operands in block:
            special = getattr(self, f"_op_{op}", None)
            if special is not None:
                value = special(operands, values, mask)
            else:
                value = self._pointwise(op, [self._value(x, values) for x in operands])
            if isinstance(result, tuple):
                values.update(zip(result, value, strict=True))
            elif result is not None:
                values[result] = value

    def _value(self, operand: Any, values: dict[str, Any]) -> Any:
        known = values.get(operand, operand) if isinstance(operand, str) else operand
        return np.float32(np.nan) if isinstance(known, str) and known == "nan" else known

    def _pointwise(self, op: str, operands: list[Any]) -> Any:
        operands = operands if op == "dot" else [_full(x) for x in operands]
        value = OPS[op](*operands)
        is_double = any(getattr(x, "dtype", None) == np.float64 for x in operands)
        if getattr(value, "dtype", None) == np.float64 and not is_double:
            return value.astype(np.float32)
        return value

    def _op_load(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        data, dtype = self.buffers[operands[0]]
        index = np.asarray(evaluate(operands[1], values))
        index = index if mask is None else np.where(mask, index, 0)
        return data[index].astype(computed_type(dtype))

    def _op_store(self, operands: list[Any], values: dict[str, Any], mask: Any) -> None:
        name, index_text, source, mode = operands
        data, dtype = self.buffers[name]
        index, value = np.asarray(evaluate(index_text, values)), _full(self._value(source, values))
        shape = np.broadcast_shapes(index.shape, np.shape(value), self.shape)
        index, value = np.broadcast_to(index, shape), np.broadcast_to(value, shape)
        if mode == "atomic_add":
            total = data.astype(computed_type(dtype))
            np.add.at(total, index.ravel(), value.ravel())
            data[...] = total.astype(STORED[dtype])
        else:
            data[index] = value.astype(STORED[dtype])

    def _op_store_reduction(self, operands: list[Any], values: dict[str, Any], mask: Any) -> None:
        name, index_text, source = operands
        data, dtype = self.buffers[name]
        shape = self.shape[: self.outer] + (1,) * (len(self.shape) - self.outer)
        index = np.broadcast_to(np.asarray(evaluate(index_text, values)), shape)
        data[index] = np.broadcast_to(np.asarray(self._value(source, values)).astype(STORED[dtype]), shape)

    def _op_constant(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        return np.asarray(float("nan") if operands[0] == "nan" else operands[0], computed_type(operands[1]))

    def _op_index_expr(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        return cast(evaluate(operands[0], values), operands[1])

    _op_value_expr = _op_index_expr

    def _op_to_dtype(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        return cast(_full(self._value(operands[0], values)), operands[1], operands[2])

    def _op_to_dtype_bitcast(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        value, dtype, source = operands
        bits = np.ascontiguousarray(np.asarray(self._value(value, values)).astype(STORED[source]))
        return bits.view(STORED[dtype]).astype(computed_type(dtype))

    def _op_indirect(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        value, size_text, is_checked, wraps = operands
        index = np.asarray(self._value(value, values)).astype(np.int64)
        size = int(evaluate(size_text, values))
        index = np.where(index < 0, index + size, index) if wraps else index
        outside = (index < 0) | (index >= size)
        if is_checked and np.any(outside if mask is None else outside & mask):
            raise IndexError(f"{self.program['name']}: index out of bounds [0, {size})")
        return np.where(outside, 0, index)

    def _op_check_bounds(self, operands: list[Any], values: dict[str, Any], mask: Any) -> None:
        index, size = np.asarray(evaluate(operands[0], values)), int(evaluate(operands[1], values))
        outside = ((index < 0) if operands[2] else False) | ((index >= size) if operands[3] else False)
        if np.any(outside if mask is None else outside & mask):
            raise IndexError(f"{self.program['name']}: index out of bounds [0, {size})")

    def _op_assert(self, operands: list[Any], values: dict[str, Any], mask: Any) -> None:
        holds = np.asarray(self._value(operands[0], values))
        if not np.all(holds if mask is None else holds | ~mask):
            raise RuntimeError(f"{self.program['name']}: {operands[1]}")

    def _op_masked(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Array:
        condition_name, block, result, other = operands
        condition = np.asarray(self._value(condition_name, values))
        inner = dict(values)
        self._run_block(block, inner, condition if mask is None else condition & mask)
        value = np.asarray(self._value(result, inner))
        return np.where(condition, value, np.asarray(self._value(other, values)).astype(value.dtype))

    def _op_reduction(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        dtype, _, kind, source = operands
        sources = source if isinstance(source, (tuple, list)) else [source]
        inputs = [self._value(x, values) for x in sources]
        if kind == "dot" and isinstance(inputs[0], Product):
            return self._contract(inputs[0])
        full = [np.broadcast_to(_full(x), self.shape) for x in inputs]
        axes = tuple(range(self.outer, len(self.shape)))
        return _reduce(kind, full, axes, computed_type(dtype), math.prod(self.shape[self.outer :]))

    def _contract(self, product: Product) -> Array:
        letters = "abcdefghijklmnop"[: len(self.shape)]
        names = [
            "".join(c for c, n in zip(letters, x.shape, strict=True) if n != 1)
            for x in (product.a, product.b)
        ]
        used = set(names[0]) | set(names[1])
        kept = [c for k, c in enumerate(letters) if k < self.outer and c in used]
        flat = [x.reshape([n for n in x.shape if n != 1]) for x in (product.a, product.b)]
        total = np.einsum(f"{names[0]},{names[1]}->{''.join(kept)}", *flat, optimize=True)
        for k in range(self.outer, len(self.shape)):  # dims neither operand depends on
            total = total if letters[k] in used else total * self.shape[k]
        return total.reshape([n if letters[k] in kept else 1 for k, n in enumerate(self.shape)])


def _full(value: Any) -> Any:
    return value.a * value.b if isinstance(value, Product) else value


def _bytes_from(tensor: torch.Tensor) -> Array:
    """The bytes of the storage from the tensor's first element on."""
    storage = tensor.untyped_storage()
    count = storage.nbytes() - tensor.storage_offset() * tensor.dtype.itemsize
    raw = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    raw.set_(storage, tensor.storage_offset() * tensor.dtype.itemsize, [count], [1])
    return host_alias(raw).numpy()


def _reduce(kind: str, inputs: list[Array], axes: tuple[int, ...], dtype: Any, count: int) -> Any:
    """The reduction of arrays over `axes`, which are kept with extent 1."""
    x, keep = inputs[0], {"axis": axes, "keepdims": True}
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
    raise NotImplementedError(kind)
