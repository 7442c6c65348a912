"""Values between tiles: a producer stores its value to a message buffer, consumers load it from there.

Where a ring joins the vector units and every tile has a core of its own, reductions over all tiles of a group
and values that each go to one other tile pass from core to core instead (`rings.py`).

Every other produce op has a buffer with a place for each tile. A handover tells the consumers when the
values are there, another one the producers when they may store over them (in a loop). A reduction of several
partial values by one associative op is one nest over the producers; any other combiner is applied one by
one, in the order of the tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineSet

from headrace.ir.diagnostics import Location
from headrace.ir.rules.scope import tiles_of
from headrace.ir.sets import box, contains
from headrace.ir.text import location
from headrace.schedule.graph import Arg, Axis, Handover, Linear, Load, Out, Store, View
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.attributes import dtype_of
from headrace.schedule.model.bodies.body import Body, linear
from headrace.schedule.model.bodies.combiners import COMMUTATIVE, identity
from headrace.schedule.model.ops.layout import reshape
from headrace.schedule.model.ops.rings import Routes, passed, ring_pairs
from headrace.schedule.model.state import Binding, Future, Refused, Split, State, Undelivered
from headrace.schedule.model.tensors import AnyTensor, Integer, plain_number, whole
from headrace.schedule.ring import PASS, PREFIX

Run = Callable[[State, Block], None]
NO_GROUP = -1


def produce(state: State, op: Any, run: Run) -> list[Binding]:
    """The future; producers store the values of the region."""
    number = state.runs[op]
    state.runs[op] += 1
    delivery = _delivery(op)
    routes = _routes(op, delivery)
    key = f"{_ordinal(op)}.{number}"
    kinds = list(op.future.type.value_types.data)
    names = tuple(f"message{key.replace('.', '_')}_{k}" for k in range(len(kinds)))
    future = Future(key, names, tuple((tuple(t.get_shape()), dtype_of(t)) for t in kinds))
    tiles = state.tiles
    combiner = _combiner(delivery) if delivery.name == "ktdp.inter_tile_reduce" else None
    pairs = ring_pairs(state, delivery, future, routes, combiner)
    if pairs is not None:
        state.env[op.region.block.args[0]] = _group(routes, tiles)
        run(state, op.region.block)
        values = tuple(state.tensor(v) for v in op.region.block.last_op.operands)
        return [replace(future, pairs=pairs, values=values)]
    for name, (shape, dtype) in zip(names, future.kinds, strict=True):
        state.scratch[name] = Arg(name, dtype, (tiles_of(op), *shape), "scratch")
    if state.ranges:
        pairs = tuple((b, a) for a, b in routes.pairs)
        state.block.append(Handover(f"{key} free", "free", names, pairs, location(op)))
    groups = np.array([routes.group.get(int(t), NO_GROUP) for t in tiles])
    if (groups == NO_GROUP).any():
        if (groups != NO_GROUP).any():
            raise Split(groups == NO_GROUP)
        return [future]
    state.env[op.region.block.args[0]] = _group(routes, tiles)
    run(state, op.region.block)
    for k, value in enumerate(op.region.block.last_op.operands):
        tensor = state.tensor(value)
        place = state.materialise(tensor, location(op), op.name)
        view, origin = _message(future, k, tiles_of(op), location(op))
        axes = tuple(range(1, len(tensor.shape) + 1))
        state.block.append(Store(place, view, (linear(nm.number(tiles)), *origin), axes, (), location(op)))
    return [future]


def consume(state: State, op: Any) -> list[Binding]:
    """The values of the one producer of this tile."""
    future = _future(state, op.future)
    if future.pairs:
        values = [passed(state, op, future, k, PASS) for k in range(len(future.values))]
        return [_shaped(state, t, r, op) for t, r in zip(values, op.results, strict=True)]
    parts = _deliver(state, op, future)
    if parts is None:
        return [Undelivered()] * len(op.results)
    if len(parts) != 1:
        raise Refused(
            f"a consumer has {len(parts)} producers, one is needed",
            "name each consumer's producer with producer_dependency_per_consumer",
        )
    return [_shaped(state, t, r, op) for t, r in zip(parts[0], op.results, strict=True)]


def reduce(state: State, op: Any, run: Run) -> list[Binding]:
    """The combination of the values of a tile's producers."""
    if len(op.futures) != 1:
        raise Refused("several futures in one delivery are not supported", "produce all values in one future")
    future = _future(state, op.futures[0])
    combiner = _combiner(op)
    if future.pairs:
        return _around(state, op, future, str(combiner))
    if combiner is not None:
        return _nest(state, op, future, combiner)
    parts = _deliver(state, op, future)
    if parts is None:
        return [Undelivered()] * len(op.results)
    if not parts:
        return [state.get(v) for v in op.identities]
    total: Sequence[Binding] = parts[0]
    block = op.region.block
    for other in parts[1:]:
        for argument, value in zip(block.args, [*total, *other], strict=True):
            state.env[argument] = value
        run(state, block)
        total = [state.get(v) for v in block.last_op.operands]
    return [_shaped(state, t, r, op) for t, r in zip(total, op.results, strict=True)]


def _around(state: State, op: Any, future: Future, combiner: str) -> list[Binding]:
    """The combination of the values of a group over the ring; tiles that do not consume it take part."""
    sources = _routes(op.futures[0].owner, op).sources
    wanted = np.array([int(t) in sources for t in state.tiles])
    if wanted.any() and not wanted.all():
        raise Split(wanted)
    total = passed(state, op, future, 0, PREFIX + combiner)
    return [_shaped(state, total, op.results[0], op)] if wanted.all() else [Undelivered()]


# -- delivery ----------------------------------------------------------------------------------------------


def _deliver(state: State, op: Any, future: Future) -> list[list[AnyTensor]] | None:
    """The values of every producer of these tiles, in order; None on tiles that consume nothing."""
    sources = _sources(state, op, future)
    if sources is None:
        return None
    places = sources.T
    return [
        [_load(state, op, future, k, [place], None) for k in range(len(future.names))] for place in places
    ]


def _nest(state: State, op: Any, future: Future, combiner: str) -> list[Binding]:
    """The reduction of one value by one nest over the producers, if they stand at equal distances."""
    sources = _sources(state, op, future)
    if sources is None:
        return [Undelivered()]
    if not sources.shape[1]:
        return [state.get(v) for v in op.identities]
    parts = _load(state, op, future, 0, list(sources.T), combiner)
    return [_shaped(state, parts, op.results[0], op)]


def _sources(state: State, op: Any, future: Future) -> np.ndarray | None:
    """[tile, producer]: who produces for these tiles. Tiles with another number of producers part here."""
    producer = op.operands[0].owner
    routes = _routes(producer, op)
    state.block.append(Handover(f"{future.key} full", "full", future.names, routes.pairs, location(op)))
    tiles = state.tiles
    counts = np.array([len(routes.sources[int(t)]) if int(t) in routes.sources else -1 for t in tiles])
    if (counts != counts[0]).any():
        raise Split(counts)
    if counts[0] < 0:
        return None
    return np.array([routes.sources[int(t)] for t in tiles], np.int64).reshape(len(tiles), -1)


def _load(
    state: State, op: Any, future: Future, role: int, places: list[np.ndarray], combiner: str | None
) -> AnyTensor:
    """The value of one producer, or those of several (`places[k]` by tile) combined."""
    shape, dtype = future.kinds[role]
    where, count = location(op), len(places)
    if count > 1:
        steps = np.diff(np.array(places), axis=0)
        if (steps != steps[0, 0]).any():
            if (steps != steps[:1, :1]).any() and len({tuple(s) for s in steps.T}) > 1:
                raise Split(np.unique(steps.T, axis=0, return_inverse=True)[1].reshape(-1))
            return _one_by_one(state, op, future, role, places, combiner)
        step = int(steps[0, 0])
    size, strides = prod(shape), packed(shape)
    start = linear(nm.scale(nm.number(places[0]), size))
    if count == 1:
        view = View(future.names[role], start, dtype, shape, strides, "global", where)
        name = state.value(shape, dtype, where)
        walk: tuple[int | None, ...] = tuple(range(len(shape)))
        state.block.append(Load(name, view, (Linear(),) * len(shape), walk, (), where))
        return whole(name, shape, dtype)
    view = View(future.names[role], start, dtype, (count, *shape), (step * size, *strides), "global", where)
    name = state.value((count, *shape), dtype, where)
    walk = tuple(range(len(shape) + 1))
    state.block.append(Load(name, view, (Linear(),) * len(walk), walk, (), where))
    assert combiner is not None
    dims = state.dims((count, *shape), ["reduction", *["parallel"] * len(shape)])
    body = Body(dims, state.ranges)
    element = body.read(name, tuple(Axis(d.name) for d in dims), dtype)
    total = state.value(shape, dtype, where)
    init = plain_number(identity(combiner, dtype))
    out = Out(total, tuple(Axis(d.name) for d in dims[1:]), element, combiner, init)
    state.compute(body, [out], where, op.name)
    return whole(total, shape, dtype)


def _one_by_one(
    state: State, op: Any, future: Future, role: int, places: list[np.ndarray], combiner: str | None
) -> AnyTensor:
    """The values of producers at uneven distances, combined pair by pair."""
    shape, dtype = future.kinds[role]
    name = next(n for n in _ops(op) if COMMUTATIVE[n] == combiner)
    total = _load(state, op, future, role, places[:1], None)
    for place in places[1:]:
        other = _load(state, op, future, role, [place], None)
        body = Body(state.dims(shape), state.ranges)
        walk = tuple(Axis(d.name) for d in body.dims)
        both = body.apply(name, [state.element(body, t, walk) for t in (total, other)], dtype)
        value = state.value(shape, dtype, location(op))
        state.compute(body, [Out(value, walk, both)], location(op), op.name)
        total = whole(value, shape, dtype)
    return total


def packed(shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major strides of a shape, in elements."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def _message(future: Future, role: int, tiles: int, where: Location) -> tuple[View, tuple[Linear, ...]]:
    """The buffer of a role as a view with a place for each tile, and the origin of a place in it."""
    shape, dtype = future.kinds[role]
    sizes = (tiles, *shape)
    view = View(future.names[role], Linear(), dtype, sizes, packed(sizes), "global", where)
    return view, (Linear(),) * len(shape)


def _shaped(state: State, value: Binding, result: Any, op: Operation) -> Binding:
    shape = tuple(result.type.get_shape())
    assert hasattr(value, "shape")
    return value if value.shape == shape else reshape(state, value, shape, op)  # type: ignore[arg-type]


# -- who takes part ----------------------------------------------------------------------------------------


def _delivery(op: Any) -> Any:
    """The op that delivers what a produce op makes."""
    uses = [use.operation for use in op.future.uses]
    if len(uses) != 1 or not uses[0].name.startswith("ktdp.inter_tile"):
        raise Refused("a future is not delivered exactly once", "use it in one inter_tile_reduce or _consume")
    return uses[0]


@lru_cache(maxsize=256)
def _routes(producer: Any, delivery: Any) -> Routes:
    tiles = tiles_of(producer)
    bounds = box(producer.future.type.groups.data)
    if bounds is None or None in bounds[0]:
        raise Refused("the groups of a future are no finite range", "bound them from both sides")
    low, high = bounds[0]
    group: dict[int, int] = {}
    sources: dict[int, tuple[int, ...]] = {}
    for g in range(low or 0, (high or 0) + 1):
        members = _members(producer.producer_tiles_per_group.data, tiles, g)
        group |= dict.fromkeys(members, g)
        chosen = delivery.producer_dependency_per_consumer
        for t in _members(delivery.consumer_tiles_per_group.data, tiles, g):
            own = members if chosen is None else _members(chosen.data, tiles, t, g)
            if not set(own) <= set(members):
                raise Refused(f"tile {t} depends on tiles {own}, group {g} has {members}")
            sources.setdefault(t, tuple(own))
    return Routes(group, sources)


def _members(tiles: AffineSet, count: int, *symbols: int) -> list[int]:
    """Which of `count` tiles are in a set `(tile)[symbols]`."""
    values = symbols[: tiles.num_symbols]
    return [t for t in range(count) if contains(tiles, (t,), values)]


def _ordinal(op: Operation) -> int:
    """The position of a produce op among those of its module."""
    module = op.get_toplevel_object()
    assert isinstance(module, Operation)
    return [o for o in module.walk() if o.name == op.name].index(op)


def _group(routes: Routes, tiles: np.ndarray) -> Integer:
    """The number of the group each tile produces for."""
    return Integer(nm.number(np.array([routes.group[int(t)] for t in tiles])), "index")


def _future(state: State, ssa: Any) -> Future:
    bound = state.get(ssa)
    if not isinstance(bound, Future) or getattr(ssa.owner, "name", "") != "ktdp.inter_tile_produce":
        raise Refused("a future comes from elsewhere than a produce op", "produce and deliver in one block")
    return bound


def _ops(op: Any) -> list[str]:
    """The names of the ops of a combiner region of one associative op on its two arguments, else nothing."""
    block = op.region.block
    ops = [o for o in block.ops if o is not block.last_op]
    if len(block.args) != 2 or len(ops) != 1 or list(block.last_op.operands) != list(ops[0].results):
        return []
    if set(ops[0].operands) != set(block.args) or ops[0].name not in COMMUTATIVE:
        return []
    return [ops[0].name]


def _combiner(op: Any) -> str | None:
    found = _ops(op)
    return COMMUTATIVE[found[0]] if found and found[0] not in ("arith.maxnumf", "arith.minnumf") else None
