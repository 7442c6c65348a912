"""Scatters that accumulate: every element of the result folds the sources whose index names it.

Elements x indices steps, all alike and in a fixed order: the result does not depend on how the work is
divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.reductions import lowered, position, realized, reduced

aten = torch.ops.aten

NEUTRAL = {"sum": 0, "mean": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}
COMBINE = {"sum": "add", "mean": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}
KINDS = {"sum": "sum", "mean": "sum", "prod": "prod", "amax": "max", "amin": "min"}


def scatter_add(x: Any, dim: int, index: Any, source: Any) -> Any:
    """x with every source element added to the element its index names along a dim."""
    return scatter_reduce(x, dim, index, source, "sum")


def scatter_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """The same with another way to combine, with or without the element of x; NotImplemented for a scalar.

    An element no index names stays as it is.
    """
    size, dtype = list(x.get_size()), x.get_dtype()
    if not size or reduce not in KINDS:
        return NotImplemented
    neutral: Any = NEUTRAL[reduce]
    if not dtype.is_floating_point and reduce in ("amax", "amin"):
        limits = torch.iinfo(dtype)
        neutral = limits.min if reduce == "amax" else limits.max
    load_x, load_source = realized(x).make_loader(), realized(source).make_loader()
    place_and_index = x, dim % len(size), index
    folded = _folded(*place_and_index, load_source, KINDS[reduce], neutral, dtype)
    combine = getattr(ops, COMBINE[reduce])
    if reduce != "mean" and include_self:
        return pointwise(x, lambda place: combine(load_x(place), folded(place)))
    count = _folded(*place_and_index, lambda _: ops.constant(1, torch.int64), "sum", 0, torch.int64)

    def body(place: Sequence[Any]) -> Any:
        own, terms = load_x(place), count(place)
        is_named = ops.gt(terms, ops.constant(0, torch.int64))
        found = combine(own, folded(place)) if include_self else folded(place)
        if reduce == "mean":
            terms = ops.add(terms, ops.constant(1, torch.int64)) if include_self else terms
            terms = ops.maximum(terms, ops.constant(1, torch.int64))
            found = (ops.truediv if dtype.is_floating_point else ops.floordiv)(
                found, ops.to_dtype(terms, dtype)
            )
        return ops.where(is_named, found, own)

    return pointwise(x, body)


def _folded(x: Any, dim: int, index: Any, source: Any, kind: str, neutral: Any, dtype: Any) -> Any:
    """The loader of a buffer like x: `source` at every place whose index along `dim` names the element,
    folded.
    """
    size = list(x.get_size())
    load_index = realized(index).make_loader()
    covered = list(index.get_size())
    short = [d for d in range(len(size)) if d != dim and covered[d] != size[d]]

    def body(place: Sequence[Any], inner: Sequence[Any]) -> Any:
        at = [inner[0] if d == dim else i for d, i in enumerate(place)]

        def chosen() -> Any:
            is_meant = ops.eq(ops.to_dtype(load_index(at), torch.int64), position(place[dim]))
            return ops.where(is_meant, source(at), ops.constant(neutral, dtype))

        is_covered: Any = None
        for d in short:
            fits = ops.lt(position(place[d]), position(covered[d]))
            is_covered = fits if is_covered is None else ops.and_(is_covered, fits)
        return chosen() if is_covered is None else ops.masked(is_covered, chosen, neutral)

    return reduced(kind, x, body, size, [covered[dim]], dtype).make_loader()


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """x with `values` added where `indices` point; NotImplemented when nothing accumulates."""
    if not accumulate or any(i is not None and i.get_dtype() in (torch.bool, torch.uint8) for i in indices):
        return NotImplemented
    size, dtype = list(x.get_size()), x.get_dtype()
    chosen = [d for d, i in enumerate(indices) if i is not None]
    many = list(torch.broadcast_shapes(*[tuple(indices[d].get_size()) for d in chosen]))
    load_index = [realized(lowered(aten.expand.default, indices[d], many)).make_loader() for d in chosen]
    rest = [d for d in range(len(size)) if d not in chosen]
    is_block = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    front = chosen[0] if is_block else 0
    shape = [size[d] for d in rest]
    shape = shape[:front] + many + shape[front:]
    load_values = realized(lowered(aten.expand.default, values, shape)).make_loader()
    load_x = realized(x).make_loader()

    def body(place: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_meant: Any = None
        for d, load in zip(chosen, load_index, strict=True):
            index = ops.to_dtype(load(inner), torch.int64)
            from_end = ops.add(index, position(size[d]))
            wrapped = ops.where(ops.lt(index, ops.constant(0, torch.int64)), from_end, index)
            fits = ops.eq(wrapped, position(place[d]))
            is_meant = fits if is_meant is None else ops.and_(is_meant, fits)
        outer = [place[d] for d in rest]
        value = load_values([*outer[:front], *inner, *outer[front:]])
        return ops.where(is_meant, value, ops.constant(0, dtype))

    folded = reduced("sum", x, body, size, many or [1], dtype).make_loader()
    return pointwise(x, lambda place: ops.add(load_x(place), folded(place)))


def index_put_in_place(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """The same, written back to x."""
    result = index_put(x, indices, values, accumulate)
    return result if result is NotImplemented else lowering.mutate_to(x, result)


def pointwise(like: Any, body: Any, dtype: Any = None) -> Any:
    """A tensor like another one (or of another type), computed element by element."""
    return ir.Pointwise.create(
        device=like.get_device(), dtype=dtype or like.get_dtype(), inner_fn=body, ranges=list(like.get_size())
    )
