"""Values between tiles over the ring: who sends to whom, and what is computed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from headrace.arch.exchange import RING_TYPES
from headrace.ir.text import location
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.bodies.body import Body
from headrace.schedule.model.state import Future, State
from headrace.schedule.model.tensors import AnyTensor, whole
from headrace.schedule.ring import Apart, Pairs


@dataclass(frozen=True)
class Routes:
    """Who sends to whom: the group a tile produces for, and the tiles whose values a tile consumes."""

    group: dict[int, int]
    sources: dict[int, tuple[int, ...]]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(producer, consumer) of all values that another tile consumes."""
        return tuple((a, b) for b, each in sorted(self.sources.items()) for a in each if a != b)


def ring_pairs(
    state: State, delivery: Any, future: Future, routes: Routes, combiner: str | None
) -> Pairs | Apart | None:
    """The cores that send and receive if these values can pass over a ring: all tiles that take part do the
    same equally often, in cycles of one length; or, outside of loops, all tiles take part in one reduction
    each, whoever wants the result.
    """
    whole = _among(state, delivery, future, routes, combiner)
    if whole is not None or not state.ring.parting or combiner is None or state.ranges:
        return whole
    everyone = range(prod(state.grid))
    is_carried = all(dtype in RING_TYPES for _, dtype in future.kinds) and len(everyone) <= state.ring.cores
    if not is_carried or len(future.kinds) != 1 or any(t not in routes.group for t in everyone):
        return None
    pairs = _cycles(list(everyone), routes)
    return None if pairs is None else Apart(pairs)


def _among(state: State, delivery: Any, future: Future, routes: Routes, combiner: str | None) -> Pairs | None:
    """The pairs if the tiles of this evaluation exchange values among themselves only."""
    tiles = [int(t) for t in state.tiles]
    if any(t not in routes.sources for t in tiles):
        return None
    is_even = all(np.ndim(bound) == 0 for bounds in state.ranges.values() for bound in bounds)
    is_alone = prod(state.grid) <= state.ring.cores  # every tile has a core of its own
    if not is_even or not is_alone or any(dtype not in RING_TYPES for _, dtype in future.kinds):
        return None
    if any(t not in routes.group or t not in routes.sources for t in tiles):
        return None
    if delivery.name == "ktdp.inter_tile_consume":
        return _shifts(tiles, routes)
    is_plain = len(delivery.operands) - len(delivery.identities) == 1 and len(future.kinds) == 1
    return _cycles(tiles, routes) if is_plain and combiner is not None else None


def _shifts(tiles: Sequence[int], routes: Routes) -> Pairs | None:
    """One pair for each tile, if each takes the value of one other tile and no two that of the same."""
    if any(len(routes.sources[t]) != 1 or t in routes.sources[t] for t in tiles):
        return None
    pairs = tuple((routes.sources[t][0], t) for t in tiles)
    return pairs if {a for a, _ in pairs} == set(tiles) else None


def _cycles(tiles: Sequence[int], routes: Routes) -> Pairs | None:
    """The tiles of every group in a circle, if each takes the values of its whole group and groups are of
    equal size.
    """
    groups: dict[int, list[int]] = {}
    for t, group in sorted(routes.group.items()):
        groups.setdefault(group, []).append(t)
    chosen = [groups[g] for g in dict.fromkeys(routes.group[t] for t in tiles)]
    members = {t for each in chosen for t in each}
    if members != set(tiles) or len({len(each) for each in chosen}) != 1 or len(chosen[0]) == 1:
        return None
    if any(sorted(routes.sources.get(t, groups[routes.group[t]])) != groups[routes.group[t]] for t in tiles):
        return None
    return tuple(pair for each in chosen for pair in zip(each, each[1:] + each[:1], strict=True))


def _copied(state: State, value: str, shape: Sequence[int], dtype: str, op: Any) -> str:
    """A copy of a value that lies as it is computed, not as memory has it: alike on all cores."""
    body = Body(state.dims(shape), state.ranges)
    walk = tuple(Axis(d.name) for d in body.dims)
    found = state.value(shape, dtype, location(op))
    state.compute(body, [Out(found, walk, body.read(value, walk, dtype))], location(op), op.name)
    return found


def passed(state: State, op: Any, future: Future, role: int, name: str) -> AnyTensor:
    """What arrives of the other cores' values, combined with one's own unless it is only passed on."""
    where, (shape, dtype) = location(op), future.kinds[role]
    own = state.materialise(future.values[role], where, op.name)
    if isinstance(future.pairs, Apart):
        own = _copied(state, own, shape, dtype, op)
    body = Body(state.dims(shape), state.ranges)
    walk = tuple(Axis(d.name) for d in body.dims)
    found = body.apply(name, [body.read(own, walk, dtype)], dtype, future.pairs, where)
    value = state.value(shape, dtype, where)
    state.compute(body, [Out(value, walk, found)], where, op.name)
    return whole(value, shape, dtype)
