"""Loads, and statements that combine elements: whether a core has their values, and what it made instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineDimExpr, AffineMap

from headrace.machine.check.recorded import Record
from headrace.machine.image import Receive
from headrace.runtime.divergence.lanes import is_combining, is_same, scale, sums_of, wide
from headrace.runtime.divergence.pointwise import MOST, SAMPLES, Parting, focus_of
from headrace.runtime.divergence.statements import Computed
from headrace.semantics.linalg import reduce_nest
from headrace.semantics.named import CONTRACTIONS

Array = np.ndarray[Any, Any]


def values_of(records: Sequence[Record]) -> tuple[Array, list[Array]]:
    """(all values that were received, those that each combining op computed), sorted."""
    received = [wide(x) for record in records if isinstance(record.node, Receive) for x in record.results]
    combined = [record for record in records if is_combining(record.node)]
    return (
        np.unique(np.concatenate(received)) if received else np.zeros(1),
        [np.unique(np.concatenate([wide(x) for x in record.results])) for record in combined],
    )


def is_there(runs: Sequence[Computed], watched: tuple[int, ...], values: Sequence[Array]) -> bool:
    """Whether the values of a load or sum are among those of one op of the machine."""
    last = runs[-1]
    chosen = np.random.default_rng(0)
    numbers = chosen.integers(last.result.size, size=SAMPLES)
    focus = focus_of(last.result.shape, watched)
    if focus is not None:
        numbers[0] = int(np.ravel_multi_index(focus, last.result.shape)) if last.result.ndim else 0
    wanted = wide(last.result)[numbers]
    floor = scale(wide(last.result)) if last.kind == "summed" else 0.0
    for known in values:
        at = np.clip(np.searchsorted(known, wanted), 0, len(known) - 1)
        near = is_same(known[at], wanted, floor) | is_same(known[np.maximum(at - 1, 0)], wanted, floor)
        if near[0] and float(near.mean()) >= MOST:
            return True
    return False


def wrong_sum(
    one: Computed, watched: tuple[int, ...], records: Sequence[Record], taken: set[int]
) -> Parting | None:
    """What the machine made of the elements that go into a sum."""
    focus = focus_of(one.result.shape, watched)
    if one.kind != "summed" or focus is None or not one.inputs:
        return None
    inputs = _summed_elements(one, focus)
    if inputs is None:
        return None
    found = sums_of([r for r in records if id(r) not in taken], inputs)
    if not found:
        return None
    last = found[0]
    return Parting(one.op, focus, float(wide(one.result[focus])[0]), last.value, last.record, last.instance)


def _summed_elements(one: Computed, focus: tuple[int, ...]) -> list[Array] | None:
    """Of every operand of a sum the elements that go into one of its results; None if its maps do not say."""
    maps = _maps(one)
    if maps is None:
        return None
    *inputs, result = maps
    if any(not isinstance(e, AffineDimExpr) for m in maps for e in m.results):
        return None
    axis = {e.position: k for k, e in enumerate(result.results)}  # type: ignore[attr-defined]
    out = []
    for x, m in zip(one.inputs, inputs, strict=False):
        dims = [axis.get(e.position) for e in m.results]  # type: ignore[attr-defined]
        out.append(np.asarray(x[tuple(slice(None) if d is None else focus[d] for d in dims)]))
    return out


def _maps(one: Computed) -> tuple[AffineMap, ...] | None:
    """The maps of a sum's inputs and of its result."""
    op, rank = one.op, one.inputs[0].ndim
    given: Any = op.properties.get("indexing_maps", op.attributes.get("indexing_maps"))
    if given is not None and given.data:
        return (*(m.data for m in given.data[: len(one.inputs)]), given.data[-1].data)
    if op.name == "linalg.reduce":
        return reduce_nest(op, rank).maps[: len(one.inputs)] + reduce_nest(op, rank).maps[-1:]
    return CONTRACTIONS.get(op.name.removeprefix("linalg."))
