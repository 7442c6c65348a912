"""Sums, means and largest values of bags of embedded rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.virtualized import ops

from headrace.frontend.inductor import accumulate
from headrace.frontend.inductor.reductions import lowered, position, realized, reduced

aten = torch.ops.aten

MODES = ("sum", "mean", "amax")
FARTHEST = 2**31 - 1


def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """(bags [bags, columns], the bag of every index, sizes of the bags, rows that hold largest values).

    A bag begins at its offset and ends where the next one begins; an index that equals `padding_idx` is in
    none, and a bag without indices is 0.
    """
    (columns,), (steps,), (starts,) = weight.get_size()[1:], indices.get_size(), offsets.get_size()
    bags, kind = starts - int(include_last_offset), indices.get_dtype()
    bag_of = _bag_of(indices, offsets, steps, starts)
    named = _named(indices, bag_of, padding_idx)
    rows = lowered(aten.embedding.default, weight, indices)
    if per_sample_weights is not None:
        rows = lowered(aten.mul.Tensor, rows, lowered(aten.unsqueeze.default, per_sample_weights, 1))
    rows = realized(rows)
    wide = lowered(aten.expand.default, lowered(aten.unsqueeze.default, named, 1), [steps, columns])
    nothing = _filled(weight, [bags, columns], 0, weight.get_dtype())
    result = accumulate.scatter_reduce(nothing, 0, wide, rows, MODES[mode], include_self=mode == 0)
    sizes = _sizes(named, steps, starts, kind)
    if mode < 2:
        return result, bag_of, sizes, _filled(weight, [0], 0, kind)
    return result, bag_of, sizes, _largest_rows(realized(result), rows, named, indices, steps)


def _bag_of(indices: Any, offsets: Any, steps: Any, starts: Any) -> Any:
    """The last bag that begins at or before each step."""
    load, kind = realized(offsets).make_loader(), indices.get_dtype()

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_begun = ops.le(ops.to_dtype(load(inner), torch.int64), position(index[0]))
        return ops.to_dtype(is_begun, kind)

    begun = reduced("sum", indices, body, [steps], [starts], kind)
    return realized(lowered(aten.sub.Tensor, begun, 1))


def _named(indices: Any, bag_of: Any, padding: int) -> Any:
    """The bag of every step, -1 for an index that stands for padding."""
    if padding < 0:
        return bag_of
    load, load_bag, kind = realized(indices).make_loader(), bag_of.make_loader(), indices.get_dtype()

    def body(index: Sequence[Any]) -> Any:
        is_padding = ops.eq(load(index), ops.constant(padding, kind))
        return ops.where(is_padding, ops.constant(-1, kind), load_bag(index))

    return realized(accumulate.pointwise(indices, body))


def _sizes(named: Any, steps: Any, starts: Any, kind: Any) -> Any:
    """The number of steps of every bag."""
    load = named.make_loader()

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        return ops.to_dtype(ops.eq(ops.to_dtype(load(inner), torch.int64), position(index[0])), kind)

    return reduced("sum", named, body, [starts], [steps], kind)


def _largest_rows(result: Any, rows: Any, named: Any, indices: Any, steps: Any) -> Any:
    """The index of the first step whose value is the largest of its bag, in every column."""
    load, load_row, load_bag = (x.make_loader() for x in (result, rows, named))
    load_index, kind = realized(indices).make_loader(), indices.get_dtype()

    def first(place: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_in = ops.eq(ops.to_dtype(load_bag(inner), torch.int64), position(place[0]))
        is_it = ops.logical_and(is_in, ops.eq(load_row([inner[0], place[1]]), load(place)))
        return ops.where(is_it, position(inner[0]), ops.constant(FARTHEST, torch.int64))

    step = reduced("min", result, first, result.get_size(), [steps], torch.int64).make_loader()

    def chosen(place: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_it = ops.eq(step(place), position(inner[0]))
        return ops.where(is_it, load_index(inner), ops.constant(0, kind))

    return reduced("sum", result, chosen, result.get_size(), [steps], kind)


def _filled(like: Any, size: Sequence[Any], value: int, dtype: Any) -> Any:
    return lowered(aten.full.default, list(size), value, dtype=dtype, device=like.get_device())
