"""A NumPy interpreter of loop programs: where a kernel runs that cannot be compiled for the sizes of a
call, and the oracle for what Inductor recorded, independent of KTIR and the machine.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headrace.frontend.host.operations import (
    OPS,
    STORED,
    Array,
    Product,
    cast,
    computed_type,
    full,
    reduce,
)
from headrace.frontend.memory import host_alias

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


def interpret(program: Mapping[str, Any], tensors: Sequence[torch.Tensor]) -> None:
    """Runs a loop program without dynamic sizes on the bytes of its device tensors."""
    Interpreter(program, tensors).run()


class Interpreter:
    """One run of one program; `values` holds the loop symbols (as index arrays) and every SSA value."""

    def __init__(self, program: Mapping[str, Any], tensors: Sequence[torch.Tensor]) -> None:
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
        operands = operands if op == "dot" else [full(x) for x in operands]
        value = OPS[op](*operands)
        is_double = any(getattr(x, "dtype", None) == np.float64 for x in operands)
        if getattr(value, "dtype", None) == np.float64 and not is_double:
            return value.astype(np.float32)
        return value

    def _op_load(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        data, dtype = self.buffers[operands[0]]
        index = np.asarray(evaluate(operands[1], values))
        index = index if mask is None else np.where(mask, index, 0)
        return data[index].astype(computed_type(dtype))

    def _op_store(self, operands: list[Any], values: dict[str, Any], mask: Any) -> None:
        name, index_text, source, mode = operands
        data, dtype = self.buffers[name]
        index, value = np.asarray(evaluate(index_text, values)), full(self._value(source, values))
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

    def _op_constant(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        return np.asarray(float("nan") if operands[0] == "nan" else operands[0], computed_type(operands[1]))

    def _op_index_expr(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        return cast(evaluate(operands[0], values), operands[1])

    _op_value_expr = _op_index_expr

    def _op_to_dtype(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        return cast(full(self._value(operands[0], values)), operands[1], operands[2])

    def _op_to_dtype_bitcast(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
        value, dtype, source = operands
        bits = np.ascontiguousarray(np.asarray(self._value(value, values)).astype(STORED[source]))
        return bits.view(STORED[dtype]).astype(computed_type(dtype))

    def _op_indirect(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
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

    def _op_masked(self, operands: list[Any], values: dict[str, Any], mask: Any) -> Any:
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
        arrays = [np.broadcast_to(full(x), self.shape) for x in inputs]
        axes = tuple(range(self.outer, len(self.shape)))
        return reduce(kind, arrays, axes, computed_type(dtype), math.prod(self.shape[self.outer :]))

    def _contract(self, product: Product) -> Any:
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


def _bytes_from(tensor: torch.Tensor) -> Any:
    """The bytes of the storage from the tensor's first element on."""
    storage = tensor.untyped_storage()
    count = storage.nbytes() - tensor.storage_offset() * tensor.dtype.itemsize
    raw = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    raw.set_(storage, tensor.storage_offset() * tensor.dtype.itemsize, [count], [1])
    return host_alias(raw).numpy()
