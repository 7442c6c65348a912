"""One step of a compute unit: linalg, tensor and scalar ops on the tensors it received."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from headrace.ir.affine import canonical
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float
from headrace.schedule.lower.emit.ops import vector
from headrace.schedule.lower.evaluate import Values, evaluate, is_decided
from headrace.schedule.lower.step.nest import Nest, element_type, tensor_shape
from headrace.schedule.lower.step.pointwise import apply, element
from headrace.schedule.lower.step.reductions import (
    NAMED,
    contraction,
    is_contraction,
    reduce_row,
)
from headrace.schedule.lower.step.vectors import ONE_LANE, Coordinate, Fixed, Lanes, Shape, Value, Vectors


class Step:
    """What the SSA values of a compute stage are as vectors; `index` are its index values."""

    def __init__(self, emit: Vectors, index: Values) -> None:
        self.emit, self.index = emit, index
        self.values: dict[Any, Value | None] = {}

    # -- reading -------------------------------------------------------------------------------------------

    def get(self, value: Any) -> Value | None:
        """Return what a value holds; None for an uninitialised tensor."""
        if value in self.values:
            return self.values[value]
        if value in self.index:
            return Coordinate(self.index[value], element(element_type(value.type)))
        op = value.owner
        raise HeadraceError(Diagnostic("not a value of this stage", location(op), getattr(op, "name", "")))

    def lanes(self, value: Any) -> Lanes:
        """Return a tensor as a vector of its own shape."""
        shape, dtype = tensor_shape(value.type)
        found = self.get(value)
        return self.emit.lanes(Fixed(0, dtype) if found is None else found, shape)

    # -- ops -----------------------------------------------------------------------------------------------

    def run(self, op: Any) -> None:
        """Emit an op and note its results."""
        rule = OPS.get(op.name)
        if rule is not None:
            rule(self, op)
        elif op.name == "linalg.generic" or op.name in NAMED:
            self.structured(op)
        else:
            self.values[op.results[0]] = self.pointwise(op, [self.get(v) for v in op.operands], None)

    def pointwise(self, op: Any, operands: Sequence[Value | None], shape: Shape | None) -> Value:
        """Return the result of an op that works lane by lane."""
        is_index = not op.regions and all(v in self.index for v in op.operands)
        if is_index and is_decided(op, self.index):
            form = evaluate(op, self.index, 0, {})
            if form is not None:
                self.index[op.results[0]] = form
                return Coordinate(form, element(element_type(op.results[0].type)))
        dtype = element(element_type(op.results[0].type))
        given = [Fixed(0, dtype) if v is None else v for v in operands]
        widest = max((v.shape for v in given if isinstance(v, Lanes)), key=math.prod, default=ONE_LANE)
        return apply(self.emit, op, [self.emit.lanes(v, widest) for v in given], dtype)

    def constant(self, op: Any) -> None:
        """A number, or a tensor of numbers."""
        value, kind = op.value, op.results[0].type
        dtype = element(element_type(kind))
        if hasattr(value, "get_values") or hasattr(value, "is_splat"):
            self.values[op.results[0]] = self._dense(value, tensor_shape(kind)[0], dtype)
        else:
            self.values[op.results[0]] = Fixed(_plain(value.value.data, dtype), dtype)

    def _dense(self, attr: Any, shape: Shape, dtype: str) -> Value:
        numbers = list(attr.get_values())
        if len(set(numbers)) == 1:
            return Fixed(_plain(numbers[0], dtype), dtype)
        exact = [_plain(n, dtype) for n in numbers]
        if is_float(dtype) and not all(math.isfinite(x) for x in exact):
            raise HeadraceError(Diagnostic("a constant tensor mixes infinities with numbers"))
        value = DenseIntOrFPElementsAttr.from_list(vector(dtype, shape), exact)
        return self.emit.op("arith.constant", (), shape, dtype, {"value": value}, is_invariant=True)

    def fill(self, op: Any) -> None:
        """The same number everywhere."""
        found = self.get(op.operands[0])
        self.values[op.results[0]] = found

    def empty(self, op: Any) -> None:
        """Nothing yet."""
        self.values[op.results[0]] = None

    def same(self, op: Any) -> None:
        """The same elements in another shape."""
        found = self.get(op.operands[0])
        if isinstance(found, Lanes):
            found = self.emit.reshaped(found, tensor_shape(op.results[0].type)[0])
        self.values[op.results[0]] = found

    def slice(self, op: Any) -> None:
        """A box of a tensor at constant offsets."""
        found = self.get(op.operands[0])
        if isinstance(found, Lanes):
            offsets = [int(n) for n in op.static_offsets.get_values()]
            strides = [int(n) for n in op.static_strides.get_values()]
            sizes = [int(n) for n in op.static_sizes.get_values()]
            if any(n < 0 for n in (*offsets, *sizes)):
                raise HeadraceError(Diagnostic("a slice at a dynamic offset", location(op), op.name))
            axes = [d for d, e in enumerate(op.operands[0].type.get_shape()) if e != 1]
            kept = [d for d in axes if sizes[d] != 1]
            exprs: list[AffineExpr] = []
            for d in axes:
                walk = (
                    AffineExpr.dimension(kept.index(d)) * strides[d] if d in kept else AffineExpr.constant(0)
                )
                exprs.append(walk + offsets[d])
            shape = tuple(sizes[d] for d in kept) or ONE_LANE
            found = self.emit.select(found, [canonical(e) for e in exprs], shape)
        self.values[op.results[0]] = found

    def structured(self, op: Any) -> None:
        """A linalg op: pointwise, a row reduction or a contraction."""
        nest = Nest(op)
        if is_contraction(op, nest):
            self.values[op.results[0]] = contraction(self, op, nest)
        elif not nest.reduced:
            self._map(op, nest)
        elif not nest.walked:
            for k, result in enumerate(op.results):
                self.values[result] = reduce_row(self, op, nest, k)
        else:
            hint = "reduce one row a step"
            raise HeadraceError(Diagnostic("a step keeps and reduces dims", location(op), op.name, hint))

    def _map(self, op: Any, nest: Nest) -> None:
        if op.name == "linalg.transpose" and self._turn(op):
            return
        if op.name in MOVES:
            self.values[op.results[0]] = self.operand(nest.inputs[0], nest.maps[0], nest)
            return
        if op.name in NAMED and op.name != "linalg.map":
            operands = [self.operand(v, m, nest) for v, m in zip(nest.inputs, nest.maps, strict=False)]
            dtype = element(element_type(op.results[0].type))
            shaped = [self.emit.lanes(v, nest.shape) for v in operands if v is not None]
            self.values[op.results[0]] = apply(self.emit, _Named(op, dtype), shaped, dtype)
            return
        results = self.body(op, nest)
        for result, value in zip(op.results, results, strict=True):
            shape = tensor_shape(result.type)[0]
            if isinstance(value, Lanes) and value.shape == ONE_LANE != shape:
                value = self.emit.lanes(value, shape)
            self.values[result] = value

    def _turn(self, op: Any) -> bool:
        """Turn a block of two dims whose extents are powers of two; False for any other."""
        found = self.get(op.inputs[0])
        if not isinstance(found, Lanes) or len(found.shape) != 2 or any(n & (n - 1) for n in found.shape):
            return False
        self.values[op.results[0]] = self.emit.turned(found)
        return True

    def body(self, op: Any, nest: Nest) -> list[Value]:
        """Return what a body yields over the nest."""
        block = op.regions[0].block
        for arg, value, amap in zip(block.args, nest.operands, nest.maps, strict=False):
            self.values[arg] = self.operand(value, amap, nest)
        for inner in block.ops:
            if inner.name == "linalg.yield":
                return [self.yielded(v) for v in inner.operands]
            self.inner(inner, nest)
        raise HeadraceError(Diagnostic("a body yields nothing", location(op), op.name))

    def yielded(self, value: Any) -> Value:
        found = self.get(value)
        return Fixed(0, element_type(value.type)) if found is None else found

    def inner(self, op: Any, nest: Nest) -> None:
        """Emit an op of a body."""
        if op.name in ("arith.constant", "spyreop.constant"):
            self.constant(op)
        elif op.name == "linalg.index":
            self.values[op.results[0]] = self.coordinate(int(op.dim.value.data), nest)
        else:
            self.values[op.results[0]] = self.pointwise(op, [self.get(v) for v in op.operands], nest.shape)

    def coordinate(self, dim: int, nest: Nest) -> Value:
        """Return the lane number along a dim of the nest."""
        if dim not in nest.space:
            return Fixed(0, element("index"))
        line = self.emit.iota(nest.extents[dim])
        if len(nest.space) == 1:
            return line
        return self.emit.select(line, [AffineExpr.dimension(nest.space.index(dim))], nest.shape)

    def operand(self, value: Any, amap: Any, nest: Nest) -> Value | None:
        """Return an operand over the nest's lanes; one lane if it is the same for all."""
        found = self.get(value)
        if not isinstance(found, Lanes) or found.shape == ONE_LANE:
            return found
        axes = nest.axes(value, amap)
        exprs = [nest.in_space(e) for e in axes]
        if all(isinstance(e, AffineConstantExpr) for e in exprs):
            return self.emit.select(found, exprs, ONE_LANE)
        if exprs == [AffineExpr.dimension(k) for k in range(len(nest.space))]:
            return found
        return self.emit.select(found, exprs, nest.shape)


class _Named:
    """A named linalg op seen as the scalar op it applies."""

    def __init__(self, op: Any, dtype: str) -> None:
        floats, integers = NAMED[op.name]
        self.name = floats if is_float(dtype) else integers
        self.results, self.operands = op.results, op.operands
        self.properties: dict[str, Any] = {}
        self.location = op.location


def _plain(value: Any, dtype: str) -> float | int | bool:
    if dtype == "i1":
        return bool(value)
    return float(np.float64(value)) if is_float(dtype) else int(value)


MOVES = ("linalg.copy", "linalg.broadcast", "linalg.transpose")

OPS = {
    "arith.constant": Step.constant,
    "spyreop.constant": Step.constant,
    "linalg.fill": Step.fill,
    "tensor.empty": Step.empty,
    "tensor.expand_shape": Step.same,
    "tensor.collapse_shape": Step.same,
    "tensor.cast": Step.same,
    "tensor.reshape": Step.same,
    "tensor.extract_slice": Step.slice,
    "tensor.splat": Step.fill,
    "linalg.reduce": Step.structured,
}
