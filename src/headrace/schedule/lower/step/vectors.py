"""Vector values of a compute program and the DFIR ops that make them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from headrace.ir.affine import canonical
from headrace.numbers.dtypes import is_float, itemsize, numpy_dtype
from headrace.schedule.lower.emit.ops import (
    affine_map,
    attribute,
    dense,
    identity,
    int32,
    make,
    scalar,
    segments,
    vector,
)
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.index import Expr

Shape = tuple[int, ...]
ONE_LANE: Shape = (1,)
LANE_TYPE = "i32"
"""Lane numbers and other index values inside a step."""

KEPT_PART = 4
"""One part in so many of the registers may hold lane numbers while rows pass."""


@dataclass(frozen=True)
class Lanes:
    """A vector; `shape` has no extents of 1 unless it is (1,)."""

    ssa: SSAValue
    shape: Shape
    dtype: str


@dataclass(frozen=True)
class Fixed:
    """The same constant in every lane."""

    value: float | int | bool
    dtype: str


@dataclass(frozen=True)
class Coordinate:
    """An index value, the same in every lane, as lanes of a type."""

    expr: Expr
    dtype: str


Value = Lanes | Fixed | Coordinate


class Vectors:
    """Emits vector ops into a unit program; constants are made once, before its loops, and so are lane
    numbers of which a part of the registers holds all. Longer ones are made where they are used.
    """

    def __init__(self, program: ProgramValues) -> None:
        self.program = program
        self._made: dict[object, SSAValue] = {}
        registers = program.function.device.unit(program.kind).registers_bytes
        self._kept_lanes = (registers or 1 << 60) // (KEPT_PART * itemsize(LANE_TYPE))

    def op(
        self,
        name: str,
        operands: Sequence[Lanes],
        shape: Shape,
        dtype: str,
        properties: dict[str, Attribute] | None = None,
        *,
        is_invariant: bool = False,
    ) -> Lanes:
        """Append an op with one vector result."""
        made = make(name, [x.ssa for x in operands], [vector(dtype, shape)], properties)
        return Lanes(self.program.emit(made, is_invariant=is_invariant).results[0], shape, dtype)

    # -- constants and splats ------------------------------------------------------------------------------

    def lanes(self, value: Value, shape: Shape) -> Lanes:
        """Return a value as a vector of the given shape: itself, or its one lane repeated."""
        if isinstance(value, Fixed):
            return self.constant(value.value, value.dtype, shape)
        if isinstance(value, Coordinate):
            return self.coordinate(value.expr, shape, value.dtype)
        if value.shape == shape or value.shape != ONE_LANE:
            return value
        return self._repeat(value, shape)

    def _repeat(self, value: Lanes, shape: Shape, *, is_invariant: bool = False) -> Lanes:
        if len(shape) > 1:
            zero = affine_map(len(shape), (AffineExpr.constant(0),))
            return self.op(
                "vectorchain.select",
                [value],
                shape,
                value.dtype,
                {"selection_map": zero},
                is_invariant=is_invariant,
            )
        properties = {
            "indices": attribute("[0 : i32]"),
            "repetition": int32(shape[0]),
            "operandSegmentSizes": segments(1, 0, 0, 0),
        }
        return self.op(
            "vectorchain.shuffle", [value], shape, value.dtype, properties, is_invariant=is_invariant
        )

    def constant(self, value: float | int | bool, dtype: str, shape: Shape) -> Lanes:
        """Return a vector constant; infinities and NaN are written as bits, whose decimal text no parser
        agrees on.
        """
        key = ("constant", repr(value), dtype, shape)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._constant(value, dtype, shape).ssa
        return Lanes(found, shape, dtype)

    def _constant(self, value: float | int | bool, dtype: str, shape: Shape) -> Lanes:
        if is_float(dtype) and not math.isfinite(_rounded(value, dtype)):
            bits = attribute(f"[{_bits(value, dtype)}]")
            one = self.op(
                "vectorchain.constant_bitstream", (), ONE_LANE, dtype, {"value": bits}, is_invariant=True
            )
            return one if shape == ONE_LANE else self._repeat(one, shape, is_invariant=True)
        exact = _rounded(value, dtype) if is_float(dtype) else int(value)
        properties = {"value": dense(exact, dtype, shape)}
        return self.op("arith.constant", (), shape, dtype, properties, is_invariant=True)

    def coordinate(self, expr: Expr, shape: Shape, dtype: str) -> Lanes:
        """Return an index value in every lane."""
        if expr.is_number and isinstance(expr.const, int):
            return self.constant(expr.const, dtype, shape)
        value = self.program.value(expr)
        cast = self.program.emit(make("arith.index_cast", [value], [scalar(dtype)]))
        spread = make("vector.broadcast", cast.results, [vector(dtype, shape)])
        return Lanes(self.program.emit(spread).results[0], shape, dtype)

    def iota(self, extent: int) -> Lanes:
        """Return 0, 1, 2, ...: the running sum of ones, less one."""
        key, shape = ("iota", extent), (extent,)
        found = self._made.get(key)
        if found is None:
            is_kept = extent <= self._kept_lanes
            ones = self.constant(1, LANE_TYPE, shape)
            total = self.scan("add", ones, is_invariant=is_kept)
            found = self.binary("sub", total, ones, is_invariant=is_kept).ssa
            if is_kept:
                self._made[key] = found
        return Lanes(found, shape, LANE_TYPE)

    # -- ops -----------------------------------------------------------------------------------------------

    def binary(self, name: str, a: Lanes, b: Lanes, *, is_invariant: bool = False) -> Lanes:
        """Return vectorchain.binary of two vectors of one shape."""
        properties = {
            "binary_op": attribute(f"#vectorchain<binary_operator {name}>"),
            "op_specific_map": identity(len(a.shape)),
        }
        return self.op("vectorchain.binary", [a, b], a.shape, a.dtype, properties, is_invariant=is_invariant)

    def unary(self, name: str, a: Lanes) -> Lanes:
        """Return an op with one operand and a result of its type."""
        return self.op(name, [a], a.shape, a.dtype)

    def cast(self, a: Lanes, dtype: str) -> Lanes:
        """Return vectorchain.cast, or the vector itself if it has the type."""
        return a if a.dtype == dtype else self.op("vectorchain.cast", [a], a.shape, dtype)

    def compare(self, name: str, a: Lanes, b: Lanes) -> Lanes:
        """Return element_wise_compare ("eq", "neq", "lt", "le", "gt" or "ge")."""
        kind = attribute(f"#vectorchain<element_wise_compare_operator compare_{name}>")
        return self.op("vectorchain.element_wise_compare", [a, b], a.shape, "i1", {"compare_op": kind})

    def choose(self, condition: Lanes, yes: Lanes, no: Lanes) -> Lanes:
        """Return condition ? yes : no in each lane."""
        return self.op("vectorchain.element_wise_selection", [condition, yes, no], yes.shape, yes.dtype)

    def select(self, a: Lanes, exprs: Sequence[AffineExpr], shape: Shape) -> Lanes:
        """Return r[i] = a[exprs(i)] for i over `shape`."""
        properties = {"selection_map": affine_map(len(shape), tuple(exprs))}
        return self.op("vectorchain.select", [a], shape, a.dtype, properties)

    def lane(self, a: Lanes, position: int) -> Lanes:
        """Return one lane of a vector of one dim."""
        return a if a.shape == ONE_LANE else self.select(a, [AffineExpr.constant(position)], ONE_LANE)

    def scan(self, name: str, a: Lanes, *, is_invariant: bool = False) -> Lanes:
        """Return the running combination of the lanes."""
        properties = {
            "eval_order": attribute("#vectorchain<eval_order left_to_right>"),
            "gap": attribute("1 : index"),
            "reduction_op": attribute(f"#vectorchain<binary_operator {name}>"),
        }
        return self.op(
            "vectorchain.scan_with_gap", [a], a.shape, a.dtype, properties, is_invariant=is_invariant
        )

    def turned(self, a: Lanes) -> Lanes:
        """Return a block of two dims, both powers of two, with its dims exchanged: by perfect shuffles, which
        take every other lane from the second half (or put it there), as many as the shorter way needs.
        """
        rows, columns = a.shape
        total = rows * columns
        half = total // 2
        order = [half * (k % 2) + k // 2 for k in range(total)]
        if columns < rows:
            order = [2 * k % total + 2 * k // total for k in range(total)]
        shape = (columns, rows)
        properties = {
            "indices": attribute(f"[{', '.join(f'{k} : i32' for k in order)}]"),
            "repetition": int32(1),
            "operandSegmentSizes": segments(1, 0, 0, 0),
        }
        for _ in range(min(rows, columns).bit_length() - 1):
            a = self.op("vectorchain.shuffle", [a], shape, a.dtype, properties)
        return a

    def flat(self, a: Lanes) -> Lanes:
        """Return the vector as one dim, row-major."""
        if len(a.shape) == 1:
            return a
        return self.reshaped(a, (math.prod(a.shape),))

    def reshaped(self, a: Lanes, shape: Shape) -> Lanes:
        """Return the same lanes in another shape, row-major."""
        if a.shape == shape:
            return a
        position: AffineExpr = AffineExpr.constant(0)
        for d, extent in enumerate(shape):
            position = position * extent + AffineExpr.dimension(d)
        exprs, step = [], math.prod(a.shape)
        for k, extent in enumerate(a.shape):
            step //= extent
            expr = position.floor_div(step) if step > 1 else position
            exprs.append(expr % extent if k else expr)
        return self.select(a, [canonical(e) for e in exprs], shape)


def _rounded(value: float | int | bool, dtype: str) -> float:
    with np.errstate(all="ignore"):
        return float(np.asarray(value, dtype=np.float64).astype(numpy_dtype(dtype)).astype(np.float64))


def _bits(value: float | int | bool, dtype: str) -> int:
    array = np.asarray([value], dtype=np.float64).astype(numpy_dtype(dtype))
    return int(array.view(f"u{array.dtype.itemsize}")[0])
