"""Strips one ahead of the other: the second half of a strip runs behind the first half of the next one.

The first product of strip i + 1 needs nothing of strip i, the second product of strip i nothing of strip
i + 1. In the order

    weights of strip i, first product of strip i + 1, exponentials of strip i + 1, second product of strip i

neither phase of the first pair, nor of the second, needs the other, so that the matrix unit may work beside
the vector unit, and every value has one place: exponentials are rounded to weights (and the reciprocals of
their sums computed) before the next strip takes their place.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace

from headrace.schedule.graph import Access, Compute, Linear, Load, Scalar, Store
from headrace.schedule.phases.absorb import is_pointwise
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.phases.fuse import Group, alone
from headrace.schedule.phases.items import Item, LoopItem, flat_groups
from headrace.schedule.phases.linear import add, scale
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import KEEP
from headrace.schedule.phases.peaks import GRAIN, Peaks, columns, largest, new_peaks, peaked

Stores = MutableMapping[str, tuple[Store, ...]]
Ranges = MutableMapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Halves:
    """The phases of a strip: the first product, what runs on its result, what comes between that and the
    second product (`late`, the last phase before it at the end), the second product.
    """

    product: Group
    front: tuple[Group, ...]
    late: tuple[Group, ...]
    second: Group


def halves_of(item: Item, names: Names, fixed: Container[str]) -> Halves | None:
    """Return the halves of a loop over strips; None for any other item, and if one strip's second half could
    not run behind the next strip's first. A phase that touches values in `fixed` cannot be moved.
    """
    if not isinstance(item, LoopItem) or item.loop.name not in names.strips:
        return None
    groups = [g for g in item.body if isinstance(g, Group)]
    if len(groups) < len(item.body) or len(groups) < 4 or [g.kind for g in groups].count("contract") != 2:
        return None
    product, *front, last, second = groups
    if product.kind != "contract" or second.kind != "contract":
        return None
    touched = [v for g in groups for v in (*g.produced, *_read(g))]
    if not isinstance(item.loop.trip, int) or any(v in fixed for v in touched):
        return None
    moved, front = _moved_late(front, second)
    late = (*moved, replace(last, keeps_dims=True))
    early = {v for g in (product, *front) for v in g.produced}
    made = {v for g in (*late, second) for v in g.produced}
    reads = {v for g in (product, *front) for v in _read(g)}
    if early & {*_read(second), *made} or made & reads or not set(last.produced) & set(_read(second)):
        return None
    return Halves(product, tuple(front), late, second)


def _moved_late(front: Sequence[Group], second: Group) -> tuple[list[Group], list[Group]]:
    """What the second product alone reads of phases with reductions, computed of their results, in phases of
    its own (the reciprocal of a sum: the next strip takes the place of the sum), and the phases without it.
    """
    moved: list[Group] = []
    left: list[Group] = []
    wanted = set(_read(second)) - {v for g in front for v in _read(g)}
    for group in front:
        ours = [c for c in group.computes if is_pointwise(c) and c.outs[0].value in wanted]
        ours = [c for c in ours if group.reduced and not {d.name for d in c.dims} & group.reduced]
        moved += [alone(c, "vector") for c in ours]
        left.append(replace(group, computes=tuple(c for c in group.computes if c not in ours)))
    return moved, left


def _read(group: Group) -> Iterator[str]:
    for compute in group.computes:
        yield from (a.value for a in compute.ins)
        yield from (o.init for o in compute.outs if isinstance(o.init, str))


def ahead(items: Sequence[Item], names: Names, stores: Stores, ranges: Ranges) -> list[Item]:
    """Return the items with the halves of strips one behind the other, also from one loop over strips to the
    next; `stores`, `ranges` and the loads of `names` follow.
    """
    return _Pass(items, names, stores, ranges).items


class _Pass:
    """One walk over items: `left` are the phases of the last strip that have yet to come."""

    def __init__(self, items: Sequence[Item], names: Names, stores: Stores, ranges: Ranges) -> None:
        self.names, self.stores, self.ranges = names, stores, ranges
        self.shared = _shared(items)
        fixed = {*names.aliases, *names.aliases.values(), *(self.shared & stores.keys())}
        self.items: list[Item] = []
        self.left: tuple[list[Group], Group] | None = None
        found = [halves_of(item, names, fixed) for item in items]
        self.columns = max((columns(h.product, h.front) for h in found if h is not None), default=0)
        self.peaks: dict[int, Peaks] = {}
        for item, halves in zip(items, found, strict=True):
            if halves is not None:
                assert isinstance(item, LoopItem)
                self._strips(item, self._peaked(halves))
            else:
                self._other(item)
        self._flush()

    def _peaked(self, halves: Halves) -> Halves:
        """The phases with the maxima of rows taken along with the first product."""
        compute = largest(halves.product, halves.front)
        if compute is None or self.columns <= GRAIN:
            return halves
        rows = next(d.extent for d in compute.dims if d.kind == "parallel")
        if rows not in self.peaks:
            self.peaks[rows] = new_peaks(rows, self.columns, compute.outs[0], self.names)
        product, front = peaked(halves.product, halves.front, compute, self.peaks[rows])
        return replace(halves, product=product, front=tuple(front))

    def _other(self, item: Item) -> None:
        if not _is_kept(item):
            self._flush()
        if isinstance(item, LoopItem):
            item = replace(item, body=tuple(ahead(item.body, self.names, self.stores, self.ranges)))
        self.items.append(item)

    def _flush(self) -> None:
        if self.left is not None:
            self.items += [*self.left[0], self.left[1]]
        self.left = None

    def _strips(self, item: LoopItem, halves: Halves) -> None:
        """The first strip by itself, between the halves of the one before; the others as a loop."""
        loop, trips = item.loop, int(item.loop.trip)  # type: ignore[arg-type]
        self.shared |= _shared((halves.product, *halves.front, *halves.late, halves.second))
        here = _Moved(self, loop.name, loop.start)
        first = [here.group(g) for g in (halves.product, *halves.front)]
        late, second = self.left or ([], None)
        later = self._taken_back(halves.product)
        self.items += [*late, first[0], *later, *first[1:], *([second] if second is not None else ())]
        end = _Moved(self, loop.name, add(loop.start, loop.step * (trips - 1)))
        self.left = [end.group(g) for g in halves.late], end.group(halves.second)
        if trips > 1:
            before = _Moved(self, loop.name, Linear(-loop.step, ((loop.name, 1),)))
            behind = [before.group(g) for g in halves.late]
            body = (*behind, halves.product, *halves.front, before.group(halves.second))
            rest = replace(loop, trip=trips - 1, start=add(loop.start, loop.step))
            low, high = self.ranges[loop.name]
            self.ranges[loop.name] = (low + loop.step, high)
            self.items.append(LoopItem(rest, body))
        for value in halves.second.produced:
            self.stores.pop(value, None)

    def _taken_back(self, product: Group) -> list[Group]:
        """Take back the last copies that bring in what strips keep, but for those that the first product
        needs: it does not wait for the others.
        """
        needed, later = set(_read(product)), list[Group]()
        kept = list[Group]()
        while self.items and isinstance(self.items[-1], Group) and _is_kept(self.items[-1]):
            group = self.items.pop()
            assert isinstance(group, Group)
            if needed & group.produced.keys():
                needed |= set(_read(group))
                kept.insert(0, group)
            else:
                later.insert(0, group)
        self.items += kept
        return later


def _is_kept(item: Item) -> bool:
    return isinstance(item, Group) and all(c.source == KEEP for c in item.computes)


def _shared(items: Sequence[Item]) -> set[str]:
    """Values that more than one phase touches."""
    counts: dict[str, int] = {}
    for group in flat_groups(items):
        for value in {*group.produced, *_read(group)}:
            counts[value] = counts.get(value, 0) + 1
    return {value for value, count in counts.items() if count > 1}


class _Moved:
    """Clones of phases in which a loop variable is another number; what only one phase touches gets a new
    name.
    """

    def __init__(self, of: _Pass, loop: str, place: Linear) -> None:
        self.names, self.stores, self.shared = of.names, of.stores, of.shared
        self.loop, self.place = loop, place

    def group(self, group: Group) -> Group:
        """Return the clone of a phase, its loads and stores where they lie now."""
        new = {v: self._value(v) for v in dict.fromkeys((*group.produced, *_read(group)))}
        computes = tuple(self._compute(c, new) for c in group.computes)
        return replace(group, computes=computes, local=frozenset(new[v] for v in group.local))

    def _value(self, value: str) -> str:
        names, load = self.names, self.names.loads.get(value)
        if load is None and value in self.shared:
            return value
        if load is not None and self._access(load, value) == load:
            return value
        made = names.fresh(value, names.values[value]).name
        if load is not None:
            moved = self._access(load, made)
            assert isinstance(moved, Load)
            names.loads[made] = moved
        else:
            names.computed.add(made)
        if value in self.stores:
            self.stores[made] = tuple(self._access(s, made) for s in self.stores[value])  # type: ignore[misc]
        return made

    def _access(self, access: Load | Store, value: str) -> Load | Store:
        indirect = tuple(
            replace(i, index=replace(i.index, start=self._linear(i.index.start)), origin=self._all(i.origin))
            for i in access.indirect
        )
        view = replace(access.view, start=self._linear(access.view.start))
        return replace(access, value=value, view=view, origin=self._all(access.origin), indirect=indirect)

    def _all(self, numbers: tuple[Linear, ...]) -> tuple[Linear, ...]:
        return tuple(self._linear(n) for n in numbers)

    def _linear(self, number: Linear) -> Linear:
        factor = dict(number.terms).get(self.loop, 0)
        if not factor:
            return number
        rest = tuple((name, f) for name, f in number.terms if name != self.loop)
        return add(Linear(number.const, rest), scale(self.place, factor))

    def _compute(self, compute: Compute, new: Mapping[str, str]) -> Compute:
        outs = tuple(
            replace(o, value=new[o.value], init=new[o.init] if isinstance(o.init, str) else o.init)
            for o in compute.outs
        )
        ins = tuple(Access(new[a.value], a.axes) for a in compute.ins)
        return replace(compute, ins=ins, outs=outs, body=tuple(self._entry(s) for s in compute.body))

    def _entry(self, entry: Scalar) -> Scalar:
        if entry.op != "index":
            return entry
        dim, offset = coordinate(entry)
        return replace(entry, attr=(dim, self._linear(offset)))
