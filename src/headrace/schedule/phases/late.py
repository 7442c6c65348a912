"""Results of strips that are stored some steps later.

Loads and stores in flight share device memory evenly. Early steps compute less than they load, late ones
load less than they compute: what early steps store at once holds up the loads that they wait for. So the
results of a step wait in the scratchpad, where early steps have room, and leave strip by strip during a later
step, at the pace at which that one reads its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from headrace.schedule.graph import Compute, Handover, Linear, Out, Store
from headrace.schedule.phases.fuse import Group, alone
from headrace.schedule.phases.items import Item, LoopItem
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import LEAVE
from headrace.schedule.phases.statements import identity, without_unit_dims

Stores = MutableMapping[str, tuple[Store, ...]]
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class _Place:
    """A phase that stores strips: where it stands (the item, and that in its body), how often it runs, the
    loop around it.
    """

    path: tuple[int, ...]
    group: Group
    value: str
    store: Store
    trips: int = 1
    loop: str | None = None


@dataclass(frozen=True)
class _Step:
    """The strips of a step: those of its loop and the last one, from row `first` of the store on."""

    loop: _Place
    last: _Place
    axis: int
    first: Linear

    @property
    def strips(self) -> int:
        """Strips of the step."""
        return self.loop.trips + 1


def late(
    items: Sequence[Item], names: Names, stores: Stores, ranges: Ranges, delay: int, waiting: int
) -> list[Item]:
    """Return the items with the results of the first `waiting` steps stored `delay` steps later, if there is
    such a step of the same rows with equal strips and nothing loads what is stored; `stores` follow.
    """
    steps = _steps(items, stores, ranges)
    loaded = {load.view.arg for load in names.loads.values()}
    made = list(items)
    inserted: dict[tuple[int, ...], list[Item]] = {}
    for number, step in enumerate(steps[:waiting]):
        to = number + delay
        if to >= len(steps):
            break
        is_read = step.loop.store.view.arg in loaded
        if not is_read and all(_follows(a, b, names) for a, b in pairwise(steps[number : to + 1])):
            _postpone(made, step, steps[to - 1], steps[to], names, stores, ranges, inserted)
    return _with(made, inserted)


def _steps(items: Sequence[Item], stores: Stores, ranges: Ranges) -> list[_Step]:
    """The steps whose results are stored strip by strip: a loop, then its last strip by itself."""
    places: list[_Place] = []
    for number, item in enumerate(items):
        if isinstance(item, Group):
            places += _found(item, (number,), stores)
        elif isinstance(item, LoopItem) and isinstance(item.loop.trip, int):
            for inner, group in enumerate(item.body):
                if isinstance(group, Group):
                    found = _found(group, (number, inner), stores)
                    places += [replace(p, trips=item.loop.trip, loop=item.loop.name) for p in found]
    steps = []
    for one, other in zip(places, places[1:], strict=False):
        if one.loop is None or other.loop is not None:
            continue
        moving = [k for k, n in enumerate(one.store.origin) if any(name == one.loop for name, _ in n.terms)]
        if len(moving) != 1 or moving[0] not in one.store.axes or one.store.indirect or other.store.indirect:
            continue
        (view,) = moving
        origin = one.store.origin[view]
        factor = dict(origin.terms)[one.loop]
        first = add(Linear(origin.const), factor * ranges[one.loop][0])
        if len(origin.terms) == 1 and factor == 1 and not other.store.origin[view].terms:
            steps.append(_Step(one, other, one.store.axes.index(view), first))
    return steps


def _found(group: Group, path: tuple[int, ...], stores: Stores) -> list[_Place]:
    values = [v for v in group.produced if v in stores]
    if group.kind != "contract" or len(values) != 1 or len(stores[values[0]]) != 1:
        return []
    return [_Place(path, group, values[0], stores[values[0]][0])]


def _follows(one: _Step, other: _Step, names: Names) -> bool:
    """Whether the rows of the second step begin where those of the first end, in equal strips."""
    rows, others = (names.values[s.loop.value].shape[s.axis] for s in (one, other))
    if (one.strips, one.axis, rows) != (other.strips, other.axis, others):
        return False
    moved = one.loop.store.axes[one.axis]
    places = zip(one.last.store.origin, other.last.store.origin, strict=True)
    is_alike = all(a == b for k, (a, b) in enumerate(places) if k != moved)
    is_next = add(one.first, rows * one.strips) == other.first
    return is_alike and is_next and one.loop.store.view == other.loop.store.view


def _postpone(
    items: list[Item],
    step: _Step,
    before: _Step,
    to: _Step,
    names: Names,
    stores: Stores,
    ranges: Ranges,
    inserted: dict[tuple[int, ...], list[Item]],
) -> None:
    """Let the results of a step wait, and store them strip by strip in the step `to`."""
    old = names.values[step.loop.value]
    rows = old.shape[step.axis]
    shape = list(old.shape)
    shape[step.axis] = rows * step.strips
    waiting = names.fresh(f"{step.loop.value}.late", replace(old, shape=tuple(shape))).name
    names.computed.add(waiting)
    for place in (step.loop, step.last):
        _write(items, place, waiting, step.axis, _offset(place, step, ranges, rows))
        stores.pop(place.value, None)
    start = ranges[to.loop.loop or ""][0]
    for target, offset in (
        (before.last, Linear()),
        (to.loop, Linear(rows - start, ((to.loop.loop or "", 1),))),
    ):
        copy, store = _copy(step.loop, waiting, step, offset, names)
        stores[copy.outs[0].value] = (store,)
        pace = Handover("pace", "pace", (), ())
        at = (*target.path[:-1], target.path[-1] + 1)  # behind the strip: a step begins with loads
        inserted.setdefault(at, []).extend([pace, alone(copy, "vector")])


def _offset(place: _Place, step: _Step, ranges: Ranges, rows: int) -> Linear:
    """The row of what waits at which the strip of a place begins."""
    if place.loop is None:
        return Linear(rows * (step.strips - 1))
    return Linear(-ranges[place.loop][0], ((place.loop, 1),))


def _write(items: list[Item], place: _Place, waiting: str, axis: int, offset: Linear) -> None:
    """Let the phase at a place write its strip where it waits."""

    def out(old: Out) -> Out:
        if old.value != place.value:
            return old
        axes = list(old.axes)
        axes[axis] = replace(axes[axis], moved=offset)
        return replace(old, value=waiting, axes=tuple(axes))

    computes = tuple(replace(c, outs=tuple(map(out, c.outs))) for c in place.group.computes)
    made = replace(place.group, computes=computes)
    if len(place.path) == 1:
        items[place.path[0]] = made
        return
    number, inner = place.path
    around = items[number]
    assert isinstance(around, LoopItem)
    body = (*around.body[:inner], made, *around.body[inner + 1 :])
    items[number] = replace(around, body=body)


def _copy(place: _Place, waiting: str, step: _Step, offset: Linear, names: Names) -> tuple[Compute, Store]:
    """The copy of the strip that begins at row `offset`, and its store."""
    leaving = names.fresh(place.value, names.values[place.value])
    names.computed.add(leaving.name)
    copy = without_unit_dims(identity(place.value, leaving, names))
    (source,) = copy.ins
    axes = list(source.axes)
    axes[step.axis] = replace(axes[step.axis], moved=offset)
    source = replace(source, value=waiting, axes=tuple(axes))
    view = place.store.axes[step.axis]
    assert view is not None
    origin = list(place.store.origin)
    origin[view] = add(step.first, offset)
    store = replace(place.store, value=leaving.name, origin=tuple(origin))
    return replace(copy, ins=(source,), source=LEAVE), store


def _with(items: Sequence[Item], inserted: Mapping[tuple[int, ...], list[Item]]) -> list[Item]:
    """The items with those that come in ahead of others."""
    found: list[Item] = []
    for number, item in enumerate(items):
        found += inserted.get((number,), ())
        if isinstance(item, LoopItem):
            body = [b for k, one in enumerate(item.body) for b in (*inserted.get((number, k), ()), one)]
            body += inserted.get((number, len(item.body)), ())
            item = replace(item, body=tuple(body))
        found.append(item)
    return [*found, *inserted.get((len(items),), ())]
