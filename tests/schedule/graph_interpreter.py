"""A TileGraph executed statement by statement with NumPy: core after core, no scheduling, no device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.rounding import round_to, widen
from headrace.schedule.graph import (
    Axis,
    Compute,
    CoreClass,
    Insert,
    Linear,
    Load,
    Loop,
    Number,
    Out,
    PerCore,
    Reshape,
    Scalar,
    Statement,
    Store,
    TileGraph,
    View,
)
from headrace.semantics.compare import (
    CONVERSIONS,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    compare_floats,
    compare_integers,
    convert,
)
from headrace.semantics.elementwise import TESTS, float_op, integer_op

Array = np.ndarray[Any, Any]
Memory = dict[str, Array]
"""Bytes of every argument; element 0 of a view without start is byte 0."""


def run(graph: TileGraph, memory: Memory) -> None:
    """Executes the graph on the memory of its arguments."""
    for c in graph.classes:
        for number in range(len(c.cores)):
            local: Memory = {}
            _Core(c, number, memory, local).block(c.body)


@dataclass
class _Core:
    core_class: CoreClass
    number: int
    memory: Memory
    local: Memory
    variables: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    def block(self, body: Sequence[Statement]) -> None:
        for s in body:
            if isinstance(s, Load):
                self.bind(s.value, self.buffer(s.view)[self.addresses(s)])
            elif isinstance(s, Store):
                self.store(s)
            elif isinstance(s, Reshape):
                self.bind(s.value, self.arrays[s.source].reshape(self.core_class.values[s.value].shape))
            elif isinstance(s, Insert):
                self.insert(s)
            elif isinstance(s, Compute):
                self.compute(s)
            else:
                self.loop(s)

    def bind(self, name: str, array: Array) -> None:
        value = self.core_class.values[name]
        assert array.shape == value.shape, (name, array.shape, value.shape)
        assert array.dtype == numpy_dtype(value.dtype), (name, array.dtype, value.dtype)
        self.arrays[name] = array

    def number_of(self, value: Number) -> int:
        return value.values[self.number] if isinstance(value, PerCore) else value

    def linear(self, value: Linear) -> int:
        return self.number_of(value.const) + sum(c * self.variables[n] for n, c in value.terms)

    def buffer(self, view: View) -> Array:
        memory = self.memory if view.space == "global" else self.local
        if view.arg not in memory:
            memory[view.arg] = np.zeros(1 << 22, np.uint8)
        return memory[view.arg].view(numpy_dtype(view.dtype))

    def addresses(self, s: Load | Store) -> Array:
        """The element of the view's memory that every element of the value is."""
        shape = self.core_class.values[s.value].shape
        total = np.full(shape, self.linear(s.view.start), np.int64)
        indexed = {i.view_dim: i for i in s.indirect}
        for d, (origin, size, stride) in enumerate(zip(s.origin, s.view.sizes, s.view.strides, strict=True)):
            if d in indexed:
                i = indexed[d]
                at = self.linear(i.index.start) + sum(
                    self.coordinates(self.linear(o), [axis], shape, n) * step
                    for o, axis, n, step in zip(i.origin, i.axes, i.index.sizes, i.index.strides, strict=True)
                )
                coordinate = self.buffer(i.index)[at].astype(np.int64)
                assert coordinate.min() >= 0 and coordinate.max() < size
            else:
                walkers = [k for k, a in enumerate(s.axes) if a == d]
                coordinate = self.coordinates(self.linear(origin), walkers, shape, size)
            total = total + coordinate * stride
        return np.broadcast_to(total, shape)

    @staticmethod
    def coordinates(origin: int, walkers: list[int | None], shape: tuple[int, ...], size: int) -> Array:
        result = np.full((1,) * len(shape), origin, np.int64)
        for k in walkers:
            if k is not None:
                result = result + np.arange(shape[k]).reshape(
                    [-1 if j == k else 1 for j in range(len(shape))]
                )
        assert result.min() >= 0 and result.max() < size, (origin, walkers, shape, size)
        return result

    def store(self, s: Store) -> None:
        buffer, array = self.buffer(s.view), self.arrays[s.value]
        assert array.dtype == buffer.dtype
        buffer[self.addresses(s).ravel()] = array.ravel()

    def insert(self, s: Insert) -> None:
        value, source = self.core_class.values[s.value], self.arrays[s.source]
        if s.dest is None:
            result = np.full(value.shape, s.fill, numpy_dtype(value.dtype))
        else:
            result = self.arrays[s.dest].copy()
        result[tuple(slice(o, o + n) for o, n in zip(s.offsets, source.shape, strict=True))] = source
        self.bind(s.value, result)

    def loop(self, s: Loop) -> None:
        start, trip = self.linear(s.start), self.number_of(s.trip)
        for c in s.carried:
            self.arrays[c.inner] = self.arrays[c.init]
        for i in range(trip):
            self.variables[s.name] = start + i * s.step
            self.block(s.body)
            for c, array in [(c, self.arrays[c.yielded]) for c in s.carried]:
                self.arrays[c.inner] = array
        for c in s.carried:
            self.bind(c.result, self.arrays[c.inner])

    def compute(self, s: Compute) -> None:
        names = [d.name for d in s.dims]
        assert len(set(names)) == len(names)
        entries: list[Array] = []
        for scalar in s.body:
            entries.append(self.entry(s, scalar, entries, names))
        results = [self.reduced(s, o, entries[o.result], names) for o in s.outs]
        for o, array in zip(s.outs, results, strict=True):
            self.bind(o.value, array)

    def entry(self, s: Compute, scalar: Scalar, entries: list[Array], names: list[str]) -> Array:
        """The value of a body entry with one axis per dim (extent 1 where it does not depend on the dim)."""
        rank = len(names)
        if scalar.op == "const":
            return np.full((1,) * rank, scalar.attr, numpy_dtype(scalar.dtype))
        if scalar.op == "in":
            access = s.ins[scalar.attr]  # type: ignore[call-overload]
            array = self.seen(self.arrays[access.value], access.axes, s, names)
            assert array.dtype == numpy_dtype(scalar.dtype)
            if s.contraction is not None:
                return widen(array) if is_float(scalar.dtype) else array.astype(np.int64)
            return array
        if scalar.op == "index":
            dim, offset = scalar.attr  # type: ignore[misc]
            base = np.full((1,) * rank, self.linear(offset), np.int64)
            if dim is not None:
                k = names.index(dim)
                base = base + np.arange(s.dims[k].extent).reshape([-1 if j == k else 1 for j in range(rank)])
            return base.astype(numpy_dtype(scalar.dtype))
        args = [entries[a] for a in scalar.args]
        if s.contraction is not None:
            return args[0] * args[1]
        return evaluate(scalar, args, [s.body[a].dtype for a in scalar.args])

    @staticmethod
    def seen(array: Array, axes: Sequence[Axis], s: Compute, names: list[str]) -> Array:
        """An operand with one axis per dim of the nest."""
        extents = {d.name: d.extent for d in s.dims}
        walked: list[str] = []
        picked = array
        for k in range(len(axes) - 1, -1, -1):
            a = axes[k]
            if a.dim is None:
                picked = picked.take(a.offset, axis=k)
            else:
                assert a.offset + extents[a.dim] <= array.shape[k]
                picked = picked[(slice(None),) * k + (slice(a.offset, a.offset + extents[a.dim]),)]
                walked.insert(0, a.dim)
        assert len(set(walked)) == len(walked)
        order = sorted(range(len(walked)), key=lambda j: names.index(walked[j]))
        return picked.transpose(order).reshape([extents[n] if n in walked else 1 for n in names])

    def reduced(self, s: Compute, out: Out, terms: Array, names: list[str]) -> Array:
        value = self.core_class.values[out.value]
        walked = [a.dim for a in out.axes if a.dim is not None]
        full = np.broadcast_to(terms, [d.extent for d in s.dims])
        summed = tuple(k for k, d in enumerate(s.dims) if d.name not in walked)
        assert all(s.dims[k].kind == "reduction" or s.dims[k].extent == 1 for k in summed), (s, out)
        if out.combiner is None:
            assert all(s.dims[k].extent == 1 for k in summed)
            combined = full.reshape([n for k, n in enumerate(full.shape) if k not in summed])
        else:
            combined = combine(out.combiner, full, summed)
        kept = [n for k, n in enumerate(names) if k not in summed]
        combined = combined.transpose([kept.index(n) for n in walked]).reshape(value.shape)
        if out.combiner is not None:
            assert out.init is not None
            init = (
                self.arrays[out.init]
                if isinstance(out.init, str)
                else np.full(value.shape, out.init, numpy_dtype(value.dtype))
            )
            combined = combine(out.combiner, np.stack([widened(init, combined), combined]), (0,))
        return settle(combined, value.dtype)


def widened(array: Array, like: Array) -> Array:
    return array.astype(like.dtype)


def settle(array: Array, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return round_to(array, dtype) if is_float(dtype) else array.astype(numpy_dtype(dtype))


def combine(combiner: str, terms: Array, axes: tuple[int, ...]) -> Array:
    if terms.dtype.kind == "b":
        reduce = {"or": np.logical_or, "and": np.logical_and, "max": np.logical_or, "min": np.logical_and}
        return reduce[combiner].reduce(terms, axis=axes)
    if combiner in ("add", "mul"):
        wide = np.float64 if terms.dtype.kind not in "iu" else np.int64
        with np.errstate(all="ignore"):
            return {"add": np.add, "mul": np.multiply}[combiner].reduce(terms.astype(wide), axis=axes)
    if combiner in ("max", "min"):
        wide = widen(terms) if terms.dtype.kind not in "iu" else terms
        return (np.max if combiner == "max" else np.min)(wide, axis=axes)
    return (np.bitwise_or if combiner == "or" else np.bitwise_and).reduce(terms, axis=axes)


def evaluate(s: Scalar, args: list[Array], kinds: list[str]) -> Array:
    """One scalar op on arrays, by the reference's meaning of it."""
    if s.op == "arith.cmpi":
        return compare_integers(INTEGER_PREDICATES.index(str(s.attr)), *args, kinds[0])
    if s.op == "arith.cmpf":
        return compare_floats(FLOAT_PREDICATES.index(str(s.attr)), *args)
    if s.op == "arith.select":
        return np.where(*args)
    if s.op in CONVERSIONS:
        return convert(s.op, args[0], kinds[0], s.dtype)
    if s.op in TESTS:
        return np.asarray(TESTS[s.op](widen(args[0])))
    if is_float(s.dtype):
        return float_op(s.op, args, s.dtype)
    return integer_op(s.op, list(np.broadcast_arrays(*args)), s.dtype)
