"""Memory as one function sees it: views of arguments, scratchpad buffers, numbers per core, boxes of
operands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

from xdsl.dialects.builtin import AffineSetAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineDimExpr, AffineSet

from headrace.ir.ktdp.spaces import memory_space
from headrace.schedule.build import mlir, percore
from headrace.schedule.build.emitter import Box, Emitter
from headrace.schedule.build.indices import Index, of
from headrace.schedule.graph import Linear, Number
from headrace.schedule.phases.linear import add, digits, scale, smallest, upper
from headrace.schedule.phases.shape import Operand

Origin = Mapping[str, Index]


@dataclass(frozen=True)
class Buffered:
    """An operand as a stage addresses it: a memref whose dims are `dims` (None: extent 1), cornered at
    `base`.

    `index` is the buffer of the indices by which it is gathered or scattered.
    """

    memory: SSAValue
    dims: tuple[str | None, ...]
    base: tuple[Index, ...]
    index: Buffered | None = None

    def box(
        self, at: Mapping[str, Index], sizes: Mapping[str, int], order: Sequence[str] | None = None
    ) -> Box:
        """Return the box at coordinates `at` of extents `sizes`; dims not named: coordinate 0, extent 1.

        `order` lists dims from the slowest to the fastest walked, others first.
        """
        corner = tuple(
            b if d is None else b + at.get(d, Index(0)) for d, b in zip(self.dims, self.base, strict=True)
        )
        extents = tuple(1 if d is None else sizes.get(d, 1) for d in self.dims)
        walked = None
        if order is not None:
            first = [k for k, d in enumerate(self.dims) if d not in order]
            walked = (*first, *(self.dims.index(d) for d in order if d in self.dims))
        return Box(self.memory, corner, extents, walked)

    def moved(self, offset: Index) -> Buffered:
        """The same operand so many elements further on along its last, unnamed dim."""
        assert self.dims[-1] is None
        return replace(self, base=(*self.base[:-1], self.base[-1] + offset))


@dataclass
class Memory:
    """Views and buffers of one function; `loops` maps the loop variables of the graph in scope to their
    values. With `is_shared`, phases take turns with buffers of equal use, type and shape.
    """

    emit: Emitter
    arguments: Mapping[str, SSAValue]
    cores: tuple[int, ...]
    core: Index
    ranges: Mapping[str, tuple[int, int]]
    scratch: Mapping[str, tuple[str, Linear]]
    loops: dict[str, Index] = field(default_factory=dict)
    is_shared: bool = False
    _pool: dict[tuple[tuple[int, ...], str, str, str], list[SSAValue]] = field(default_factory=dict)
    _taken: Counter[tuple[tuple[int, ...], str, str, str]] = field(default_factory=Counter)
    _views: dict[Any, SSAValue] = field(default_factory=dict)
    _homes: dict[tuple[str, tuple[int, ...]], SSAValue] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _numbers: dict[Number, Index] = field(default_factory=dict)

    def number(self, value: Linear) -> Index:
        """Return a linear number as an index: the core's constant plus loop variables."""
        found = self._numbers.get(value.const)
        if found is None:
            found = self._numbers[value.const] = percore.index(self.emit, value.const, self.cores, self.core)
        for name, factor in value.terms:
            found = found + self.loops[name] * factor
        return found

    def begin(self) -> None:
        """Begin a phase: what phases before it allocated is free again where buffers are shared."""
        self._taken.clear()

    def alloc(self, shape: Sequence[int], dtype: str, stem: str, use: str = "") -> SSAValue:
        """Return a scratchpad buffer named after `stem` that nothing else in the phase uses; what rotates
        together has a `use` of its own.
        """
        key = (tuple(shape), dtype, stem, use)
        made = self._pool.setdefault(key, []) if self.is_shared else []
        number = self._taken[key]
        self._taken[key] += 1
        if number >= len(made):
            with self.emit.at_head():
                made.append(self.emit.alloc(shape, dtype, self._named(stem)))
            number = len(made) - 1
        return made[number]

    def _named(self, stem: str) -> str:
        """The stem as an SSA name, numbered from its second use on."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", stem.removeprefix("%"))
        name = plain if not plain[:1].isdigit() else f"v{plain}"
        count = self._names[name] = self._names.get(name, -1) + 1
        return f"{name}_{count}" if count else name

    def operand(
        self, operand: Operand, extents: Mapping[str, int], dims: Sequence[str] | None = None
    ) -> Buffered:
        """Return an operand as it lies in memory, its dims in the order given or by falling strides."""
        if operand.storage.kind == "lx":
            return self._home(operand, extents)
        order = tuple(dims if dims is not None else operand.surface.dims)
        return self._view(operand, extents, order)

    def _view(self, operand: Operand, extents: Mapping[str, int], order: tuple[str, ...]) -> Buffered:
        arg, start = operand.storage.name, operand.surface.base
        if operand.storage.kind == "scratch":
            arg, offset = self.scratch[operand.storage.name]
            start = add(start, offset)
        first = Linear(0 if arg else smallest(start.const))
        start = add(start, scale(first, -1))
        falling = [d for d in operand.surface.dims if d in order]
        strides = [operand.surface.stride(d) for d in falling]
        found = digits(start, strides)
        if len(found) > len(falling):
            strides.append(1)
        sizes = [
            upper(digit, self.ranges) + (extents[falling[k]] if k < len(falling) else 1)
            for k, digit in enumerate(found)
        ]
        ranked = [*order, *[None] * (len(found) - len(falling))]
        if not ranked:
            ranked, strides, sizes, found = [None], [1], [1], [Linear()]
        place = [falling.index(d) if d is not None else len(falling) for d in ranked]
        if not falling:
            place = list(range(len(ranked)))
        memory = self._construct(
            arg, operand.dtype, tuple(sizes[p] for p in place), tuple(strides[p] for p in place), first
        )
        return Buffered(memory, tuple(ranked), tuple(self.number(found[p]) for p in place))

    def table(self, operand: Operand, extents: Mapping[str, int]) -> Buffered:
        """Return the table of a gather: the dim of rows first, then the operand's other dims; rows start at
        row 0.
        """
        stride, _ = operand.storage.indirect[0]
        dims = [d for d in operand.surface.dims if d in dict(operand.surface.strides)]
        sizes = (operand.storage.rows, *(extents[d] for d in dims))
        strides = (stride, *(operand.surface.stride(d) for d in dims))
        memory = self._construct(operand.storage.name, operand.dtype, sizes, strides, operand.surface.base)
        return Buffered(memory, (None, *dims), (Index(0),) * len(sizes))

    def _construct(
        self, arg: str, dtype: str, sizes: tuple[int, ...], strides: tuple[int, ...], start: Linear
    ) -> SSAValue:
        """A view of an argument from element `start` on; at the head of the function unless a loop moves
        it.
        """
        key = (arg, dtype, sizes, strides, start)
        if key in self._views:
            return self._views[key]
        with self.emit.at_head() if not start.terms else nullcontext():
            made = mlir.make(
                "ktdp.construct_memory_view",
                [self.emit.value(self._argument(arg) + self.number(start))],
                [mlir.view(sizes, strides, dtype)],
                {
                    "static_sizes": mlir.dense(sizes),
                    "static_strides": mlir.dense(strides),
                    "memory_space": memory_space("global"),
                    "coordinate_set": box_set(sizes),
                },
                segments=(1, 0, 0),
            )
            found: SSAValue = self.emit.add(made, self._named(f"{arg or 'memory'}_view"))
        if not start.terms:
            self._views[key] = found
        return found

    def _argument(self, arg: str) -> Index:
        """The start address of an argument; a view at a constant address has none."""
        return of(self.arguments[arg]) if arg else Index(0)

    def _home(self, operand: Operand, extents: Mapping[str, int]) -> Buffered:
        """A whole value in the scratchpad, seen as an array whose dims are the access's."""
        total = self.home_elements[operand.storage.name]
        dims = list(operand.surface.dims)
        strides = [operand.surface.stride(d) for d in dims]
        if any(outer % inner for outer, inner in pairwise(strides)):
            return self._windows(operand, extents)
        found = digits(operand.surface.base, strides)
        ranked: list[str | None] = [*dims]
        if not strides or strides[-1] != 1:
            strides.append(1)
            ranked.append(None)
            found += [Linear()] * (len(strides) - len(found))
        sizes = [total // strides[0], *(a // b for a, b in pairwise(strides))]
        ends = [upper(at, self.ranges) + extents.get(d or "", 1) for at, d in zip(found, ranked, strict=True)]
        if total % strides[0] or any(end > size for end, size in zip(ends, sizes, strict=True)):
            return self._windows(operand, extents)
        memory = self._reshaped(operand.storage.name, operand.dtype, tuple(sizes))
        return Buffered(memory, tuple(ranked), tuple(self.number(d) for d in found))

    def _windows(self, operand: Operand, extents: Mapping[str, int]) -> Buffered:
        """A whole value in the scratchpad, seen by dims that overlap, begun at a place along one more."""
        dims, base = operand.surface.dims, operand.surface.base
        sizes = (*(extents[d] for d in dims), upper(base, self.ranges) + 1)
        strides = (*(operand.surface.stride(d) for d in dims), 1)
        memory = self._reshaped(
            operand.storage.name, operand.dtype, (self.home_elements[operand.storage.name],)
        )
        made = mlir.make(
            "memref.reinterpret_cast",
            [memory],
            [mlir.windows(sizes, strides, operand.dtype)],
            {
                "static_offsets": mlir.dense([0]),
                "static_sizes": mlir.dense(sizes),
                "static_strides": mlir.dense(strides),
            },
            segments=(1, 0, 0, 0),
        )
        corner = (*[Index(0)] * len(dims), self.number(base))
        return Buffered(self.emit.add(made), (*dims, None), corner)

    home_elements: dict[str, int] = field(default_factory=dict)

    def _reshaped(self, name: str, dtype: str, sizes: tuple[int, ...]) -> SSAValue:
        if (name, sizes) in self._homes:
            return self._homes[name, sizes]
        known = [k for k in self._homes if k[0] == name]
        if not known:
            made = self.alloc(sizes, dtype, name)
        else:
            with self.emit.at_head():
                made = _other_shape(self.emit, self._homes[known[0]], sizes, dtype)
        self._homes[name, sizes] = made
        return made


def _other_shape(emit: Emitter, source: SSAValue, sizes: tuple[int, ...], dtype: str) -> SSAValue:
    """Append collapse_shape and expand_shape: the same elements in another shape."""
    shape = source.type.get_shape()  # type: ignore[attr-defined]
    total = prod(shape)
    if len(shape) > 1:
        source = emit.add(_collapse(source, len(shape), total, dtype))
    return source if len(sizes) == 1 else emit.add(_expand(source, sizes, dtype))


def _collapse(source: SSAValue, rank: int, total: int, dtype: str) -> Any:
    kind = mlir.buffer((total,), dtype)
    return mlir.make("memref.collapse_shape", [source], [kind], mlir.one_group(rank))


def _expand(source: SSAValue, sizes: tuple[int, ...], dtype: str) -> Any:
    properties = {**mlir.one_group(len(sizes)), "static_output_shape": mlir.dense(sizes)}
    return mlir.make("memref.expand_shape", [source], [mlir.buffer(sizes, dtype)], properties)


@cache
def box_set(sizes: tuple[int, ...]) -> Any:
    """Return the set of all coordinates of a box."""
    constraints = []
    for k, size in enumerate(sizes):
        dim = AffineDimExpr(k)
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, dim, 0))  # type: ignore[arg-type]
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, dim * -1 + size - 1, 0))  # type: ignore[arg-type]
    return AffineSetAttr(AffineSet(len(sizes), 0, tuple(constraints)))
