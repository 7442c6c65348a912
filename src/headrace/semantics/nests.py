"""Iteration domains of linalg ops: operands seen through their indexing maps, cut into blocks that fit the
caches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.ir.affine import AffineDimExpr, AffineMap

from headrace.semantics.access import OutOfBounds
from headrace.semantics.affine import Linear, evaluate, linear, open_grid

Array = np.ndarray[Any, Any]
Block = tuple[slice, ...]
"""One run of indices along every dim of a domain."""

BLOCK_ELEMENTS = 2**18


@dataclass(frozen=True)
class Domain:
    """The extents of a nest, in dims order, and which dims are reductions."""

    extents: tuple[int, ...]
    reductions: tuple[int, ...] = ()

    @property
    def parallel(self) -> tuple[int, ...]:
        """The other dims."""
        return tuple(d for d in range(len(self.extents)) if d not in self.reductions)

    @property
    def terms(self) -> int:
        """Points combined into one result element."""
        return math.prod(self.extents[d] for d in self.reductions)


@lru_cache(maxsize=4096)
def extents(maps: tuple[AffineMap, ...], shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The extent of every dim: that of an operand axis it walks alone. ValueError when operands disagree."""
    found: dict[int, int] = {}
    for map, shape in zip(maps, shapes, strict=True):
        if len(map.results) != len(shape):
            raise ValueError(
                f"an indexing map has {len(map.results)} results for an operand of rank {len(shape)}"
            )
        for expression, extent in zip(map.results, shape, strict=True):
            if isinstance(expression, AffineDimExpr):
                dim = expression.position
                if found.setdefault(dim, extent) != extent:
                    raise ValueError(f"dim d{dim} is {found[dim]} for one operand and {extent} for another")
    missing = [f"d{d}" for d in range(maps[0].num_dims if maps else 0) if d not in found]
    if missing:
        raise ValueError(f"no operand says how large {', '.join(missing)} is")
    return tuple(found[d] for d in range(maps[0].num_dims if maps else 0))


def over(array: Array, map: AffineMap, domain: Sequence[int], writeable: bool = False) -> Array:
    """`array` with one axis per dim of the domain, of extent 1 where the map does not use the dim.

    A view of the array for linear maps, a copy otherwise. OutOfBounds when the map leaves the array.
    """
    order, index, forms = _reading(map)
    if order is not None:
        return np.asarray(array.transpose(order)[index])
    if 0 in domain:
        used = {d for e in map.results for d in e.used_dims()}
        return np.empty([n if d in used else 1 for d, n in enumerate(domain)], array.dtype)
    if forms is None:
        return _gathered(array, map, domain)
    return _strided(array, forms, domain, writeable)


@lru_cache(maxsize=4096)
def _reading(map: AffineMap) -> tuple[tuple[int, ...] | None, Any, tuple[Linear, ...] | None]:
    """How an operand is seen through a map: axes to reorder and unit axes to add when the results are dims,
    all different; else linear forms of the results when all of them are linear."""
    dims = [e.position if isinstance(e, AffineDimExpr) else -1 for e in map.results]
    if -1 not in dims and len(set(dims)) == len(dims):
        order = tuple(dims.index(d) for d in sorted(dims))
        index = [slice(None) if d in dims else None for d in range(map.num_dims)]
        return order, (*index, ...), None
    forms = [linear(e, map.num_dims) for e in map.results]
    return None, None, None if None in forms else tuple(f for f in forms if f is not None)


def _strided(array: Array, forms: Sequence[Linear], domain: Sequence[int], writeable: bool) -> Array:
    shape, steps, start = [1] * len(domain), [0] * len(domain), 0
    for axis, form in enumerate(forms):
        low = high = form.const
        for dim in form.dims:
            shape[dim] = domain[dim]
            steps[dim] += form.coefficients[dim] * array.strides[axis]
            reach = form.coefficients[dim] * (domain[dim] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        if low < 0 or high >= array.shape[axis]:
            at = [0] * array.ndim
            at[axis] = low if low < 0 else high
            raise OutOfBounds(at, array.shape, "operand")
        start += form.const
    if start:
        array = array[tuple(slice(f.const, None) for f in forms)]
    return as_strided(array, shape, steps, writeable=writeable)


def _gathered(array: Array, map: AffineMap, domain: Sequence[int]) -> Array:
    dims = open_grid(domain)
    found = [np.asarray(evaluate(e, dims)) for e in map.results]
    for axis, (index, size) in enumerate(zip(found, array.shape, strict=True)):
        if index.size and (index.min() < 0 or index.max() >= size):
            at = [0] * array.ndim
            at[axis] = int(index.min() if index.min() < 0 else index.max())
            raise OutOfBounds(at, array.shape, "operand")
    picked = array[tuple(found)]
    return np.asarray(picked.reshape((1,) * (len(domain) - picked.ndim) + picked.shape))


def blocks(sizes: Sequence[int], dims: Sequence[int], limit: int = BLOCK_ELEMENTS) -> Iterator[Block]:
    """The domain cut along `dims`, the first of them outermost, into blocks of about `limit` points, in
    order."""
    whole = [slice(0, n) for n in sizes]
    total = math.prod(sizes)
    cut = [d for d in dims if sizes[d] > 1]
    if total <= limit or not cut:
        yield tuple(whole)
        return
    dim = cut[0]
    step = max(1, limit * sizes[dim] // total)
    for first in range(0, sizes[dim], step):
        here = slice(first, min(first + step, sizes[dim]))
        inner = [*sizes]
        inner[dim] = here.stop - here.start
        for block in blocks(inner, [d for d in cut if d != dim] if step == 1 else [], limit):
            yield tuple(here if d == dim else s for d, s in enumerate(block))


def part(view: Array, block: Block) -> Array:
    """The part of an operand (as `over` gives it) that a block reads; axes of extent 1 stay whole."""
    box: list[Any] = [s if n > 1 else slice(None) for s, n in zip(block, view.shape, strict=True)]
    return np.asarray(view[(*box, ...)])  # the ellipsis keeps rank 0 a view


class Grid(Sequence[Array]):
    """The value of every dim over a block, as open index arrays, made when they are asked for."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __len__(self) -> int:
        return len(self._block)

    def __getitem__(self, dim: Any) -> Any:
        along = [-1 if d == dim else 1 for d in range(len(self._block))]
        return np.arange(self._block[dim].start, self._block[dim].stop, dtype=np.int64).reshape(along)


def grid_of(block: Block) -> Grid:
    """The index arrays of a block."""
    return Grid(block)
