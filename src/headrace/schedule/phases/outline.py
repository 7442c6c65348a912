"""The outline of a class: its phases in order, the values they exchange, the stores each of them feeds."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.schedule.graph import Carried, Compute, CoreClass, Handover, Load, Loop, Store
from headrace.schedule.phases.absorb import Known, absorbed, is_pointwise, with_clone, without_dead
from headrace.schedule.phases.ahead import ahead
from headrace.schedule.phases.fuse import Group, Kind, alone, joined
from headrace.schedule.phases.items import Item, LoopItem, flat_groups
from headrace.schedule.phases.linear import add, lower, scale, upper
from headrace.schedule.phases.longrows import split
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.overwrite import overwriting, readers
from headrace.schedule.phases.pairs import paired
from headrace.schedule.phases.statements import Block, identity, regular, source_of, without_unit_dims
from headrace.schedule.phases.storage import Storage, of_access, surface
from headrace.schedule.phases.strips import Strips, in_strips
from headrace.schedule.ring import apart_entry

Ranges = Mapping[str, tuple[int, int]]
ReductionKind = Callable[[Compute, "Scope"], Kind]


@dataclass(frozen=True)
class Outline:
    """Phases and loops of a class in order.

    `stores` are the places a value is written to by the phase that computes it; `homes` the values that
    need storage
    of their own because another phase (or an alias) reads them; `ranges` the first and last value of loop
    variables.
    """

    items: tuple[Item, ...]
    names: Names
    stores: Mapping[str, tuple[Store, ...]]
    homes: tuple[str, ...]
    ranges: Ranges


@dataclass
class Scope:
    """What is known while the items of a block are collected."""

    names: Names
    ranges: Ranges
    passed: frozenset[str] = frozenset()
    separate: set[int] = field(default_factory=set)
    pinned: set[str] = field(default_factory=set)
    apart: frozenset[str] = frozenset()

    def load(self, value: str) -> Load | None:
        """Return the Load whose bytes a value is, if it is not computed."""
        return self.names.loads.get(self.names.aliases.get(value, value))


def outline(
    graph_class: CoreClass,
    reduction_kind: ReductionKind,
    fusing: bool = True,
    apart: frozenset[str] = frozenset(),
    registers: int = 1 << 60,
    strips: Strips | None = None,
) -> Outline:
    """Return the phases of a class; `fusing` False gives every Compute a phase of its own.

    The Computes of the values in `apart` join no phase and take nothing in; a row of several operands that
    does not fit `registers` bytes is reduced in phases of its own. With `strips`, what can be cut is.
    """
    block, names = regular(graph_class)
    if strips is not None:
        block = in_strips(block, names, strips)
    ranges = _ranges(block)
    passed = frozenset(
        o.value for s in graph_class.body if isinstance(s, Compute) and apart_entry(s) for o in s.outs
    )
    scope = Scope(names, ranges, passed, apart=apart | names.apart | passed)
    items, found = _items(block, scope, reduction_kind, fusing)
    stores = {value: tuple(each) for value, each in found.items()}
    if fusing:
        items = _recomputing(items, names, stores, scope, registers)
        if strips is None:
            items = _paired(items, names, stores)
    else:
        fresh = lambda v: names.fresh(v, names.values[v]).name  # noqa: E731
        items = _replaced(items, ([*split(g, names.values, registers, fresh)] for g in flat_groups(items)))
    if strips is not None:
        items = _overwriting(items, names, stores, registers if not strips.ahead else 0)
    if strips is not None and strips.ahead:
        items = ahead(items, names, stores, ranges)
    return Outline(tuple(items), names, stores, tuple(_homes(items, names, passed)), ranges)


def _recomputing(
    items: list[Item], names: Names, stores: Mapping[str, tuple[Store, ...]], scope: Scope, registers: int
) -> list[Item]:
    """The items after cheap values moved to where they are read; phases that became idle are gone."""
    stored = frozenset(_homes(items, names))
    groups = flat_groups(items)
    producers = {o.value: c for g in groups for c in g.computes for o in c.outs}
    for several in [v for v in producers if sum(v in g.produced for g in groups) > 1]:
        del producers[several]
    written: list[Store] = []
    made: list[Group] = []
    for group in groups:

        def is_readable(value: str, written: list[Store] = written) -> bool:
            load = scope.load(value)
            return load is None or not any(overlap(load, s, scope) for s in written)

        known = Known(
            names.values, producers, stored, is_readable, lambda v: names.fresh(v, names.values[v]).name
        )
        made.append(group if scope.apart & group.produced.keys() else absorbed(group, known))
        written += [s for v in group.produced for s in stores.get(v, ())]
    carried = {c.inner for i in items for c in _carried(i)}
    is_needed = lambda v: v in stores or v in scope.passed or v in carried or v in names.aliases.values()  # noqa: E731
    fresh = lambda v: names.fresh(v, names.values[v]).name  # noqa: E731
    left = without_dead(made, is_needed)
    shorter = [split(g, names.values, registers, fresh) if g is not None else [] for g in left]
    flat = iter(without_dead([g for several in shorter for g in several], is_needed))
    counts = iter([len(several) for several in shorter])
    return _replaced(items, iter([[next(flat) for _ in range(n)] for n in counts]))


def _paired(items: list[Item], names: Names, stores: Mapping[str, tuple[Store, ...]]) -> list[Item]:
    """The items after products of one factor that meet in one epilogue became one phase."""
    groups = flat_groups(items)
    fixed = {*stores, *names.aliases.values(), *(c.inner for i in items for c in _carried(i))}

    def inside(block: Sequence[Item]) -> list[Item]:
        inner = [LoopItem(i.loop, tuple(inside(i.body))) if isinstance(i, LoopItem) else i for i in block]
        return paired(inner, groups, names.values, fixed)

    return inside(items)


def _overwriting(
    items: list[Item], names: Names, stores: Mapping[str, tuple[Store, ...]], registers: int
) -> list[Item]:
    """The items after long rows of strips were overwritten by what is computed of them."""
    groups = flat_groups(items)
    computed = {v for group in groups for v in group.produced}
    fixed = {v for v in names.values if v not in computed or v in stores or v in names.aliases.values()}
    fixed |= {c.inner for i in items for c in _carried(i)}
    used = readers(groups)
    cut: list[list[Group | None]] = [[*overwriting(g, names.values, registers, used, fixed)] for g in groups]
    return _replaced(items, iter(cut))


def _carried(item: Item) -> list[Carried]:
    if not isinstance(item, LoopItem):
        return []
    return [*item.loop.carried, *(c for i in item.body for c in _carried(i))]


def _replaced(items: Sequence[Item], groups: Iterator[list[Group | None]]) -> list[Item]:
    found: list[Item] = []
    for item in items:
        if isinstance(item, LoopItem):
            found.append(LoopItem(item.loop, tuple(_replaced(item.body, groups))))
        elif isinstance(item, Handover):
            found.append(item)
        else:
            found += [group for group in next(groups) if group is not None]
    return found


def _ranges(block: Block, around: Ranges | None = None) -> dict[str, tuple[int, int]]:
    """The first and last value of every loop variable; starts may name variables of the loops `around`."""
    found: dict[str, tuple[int, int]] = dict(around or {})
    for statement in block.statements:
        if isinstance(statement, Loop):
            trips = statement.trip.values if not isinstance(statement.trip, int) else (statement.trip,)
            ends = [lower(statement.start, found), upper(statement.start, found)]
            ends.append(ends[1] + statement.step * max(0, max(trips) - 1))
            found[statement.name] = (min(ends), max(ends))
            found |= _ranges(block.bodies[statement.name], found)
    return found


def _items(
    block: Block, scope: Scope, kind: ReductionKind, fusing: bool
) -> tuple[list[Item], dict[str, list[Store]]]:
    """Collect the items; a store that would overtake a load of the same bytes becomes a copy of its own,
    and repeat.
    """
    while True:
        pass_ = _Pass(scope, kind, fusing)
        before = (len(scope.separate), len(scope.pinned))
        for number, statement in enumerate(block.statements):
            pass_.take(number, statement, block)
        if before == (len(scope.separate), len(scope.pinned)):
            return pass_.items, pass_.stores


class _Pass:
    """One walk over a block: which item every statement joins, given what earlier walks found out."""

    def __init__(self, scope: Scope, kind: ReductionKind, fusing: bool) -> None:
        self.scope, self.kind, self.fusing = scope, kind, fusing
        self.items: list[Item] = []
        self.floor = 0
        """What comes after a handover is no earlier item than this."""
        self.freed: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.read: dict[str, set[int]] = {}
        self.after: dict[str, int] = {}
        self.forbidden: dict[str, tuple[int, Store]] = {}
        self.seen: list[Load] = []
        self.stored: list[tuple[Store, int]] = []
        self.stores: dict[str, list[Store]] = {}
        self.cheap: dict[str, Compute] = {}

    def take(self, number: int, statement: Load | Store | Compute | Loop | Handover, block: Block) -> None:
        """Place one statement."""
        match statement:
            case Load():
                self._load(statement)
            case Compute():
                self._compute(statement, self._earliest(statement))
            case Store():
                self._store(number, statement)
            case Loop():
                self._loop(statement, block.bodies[statement.name])
            case Handover():
                self.items.append(statement)
                self.floor = len(self.items)
                if statement.kind != "full":
                    self.freed |= dict.fromkeys(statement.args, self.floor)

    def _load(self, load: Load) -> None:
        self.seen.append(load)
        clashes = [item for store, item in self.stored if overlap(load, store, self.scope)]
        clashes += self._writers_of_indices(load)
        self.after[load.value] = max(clashes, default=-1) + 1
        if load.value in self.scope.pinned:
            names = self.scope.names
            kept = names.fresh(f"{load.value}.kept", names.values[load.value])
            self._append(alone(without_unit_dims(identity(load.value, kept, names)), "vector"))
            names.renamed[load.value] = kept.name

    def _bytes_of(self, value: str) -> str:
        names = self.scope.names
        return names.aliases.get(source_of(value, names), source_of(value, names))

    def _earliest(self, compute: Compute, ignored: Container[str] = ()) -> int:
        """The first phase that may hold a Compute; inputs in `ignored` do not count."""
        inputs = {self._bytes_of(a.value) for a in compute.ins if a.value not in ignored}
        inputs |= {self._bytes_of(o.init) for o in compute.outs if isinstance(o.init, str)}
        first = max((self.written.get(v, -1) for v in inputs), default=-1)
        first = max(first, self.floor)
        first = max([first, *(self.after.get(v, -1) for v in inputs)])
        for out in compute.outs:
            first = max([first, self.written.get(out.value, -1), *self.read.get(out.value, ())])
        return first

    def _compute(self, compute: Compute, first: int) -> int:
        kind = self.kind(compute, self.scope)
        if self.fusing and not self.scope.apart & {o.value for o in compute.outs}:
            early = self._earliest(compute, self.cheap.keys()) if self.cheap else first
            for index in range(max(early, 0), len(self.items)):
                item = self.items[index]
                if isinstance(item, Group) and self._may_join(item, index, compute):
                    made = joined(item, compute, kind)
                    made = self._with_late_inputs(made, index) if made is not None else None
                    if made is not None and _rewrites_in_place(made):
                        self.items[index] = made
                        self._note(index, compute, made)
                        return index
        if is_pointwise(compute) and all(self._is_loaded(a.value) for a in compute.ins):
            self.cheap[compute.outs[0].value] = compute
        return self._append(alone(compute, kind))

    def _is_loaded(self, value: str) -> bool:
        return value in self.cheap or self.scope.load(value) is not None

    def _with_late_inputs(self, group: Group, index: int) -> Group | None:
        """The group with clones of what its last Compute reads and a later phase computes; None if that is
        not cheap.
        """
        names = self.scope.names

        def is_readable(value: str) -> bool:
            return self.scope.load(value) is not None and self.after.get(self._bytes_of(value), 0) <= index

        def fresh(value: str) -> str:
            return names.fresh(value, names.values[value]).name

        known = Known(names.values, self.cheap, frozenset(), is_readable, fresh)
        made: Group | None = group
        for access in group.computes[-1].ins:
            if made is not None and self.written.get(access.value, -1) > index:
                made = with_clone(made, access, known)
        return made

    def _may_join(self, item: Group, index: int, compute: Compute) -> bool:
        """Initial values and aliases come from memory, so they must be complete before the phase begins."""
        memory = {self._bytes_of(o.init) for o in compute.outs if isinstance(o.init, str)}
        aliases = self.scope.names.aliases
        memory |= {aliases[a.value] for a in compute.ins if a.value in aliases}
        return not memory & item.produced.keys() and all(
            self.after.get(self._bytes_of(a.value), 0) <= index for a in compute.ins
        )

    def _append(self, group: Group) -> int:
        self.items.append(group)
        for compute in group.computes:
            self._note(len(self.items) - 1, compute)
        return len(self.items) - 1

    def _note(self, index: int, compute: Compute, group: Group | None = None) -> None:
        for out in compute.outs:
            self.written[out.value] = max(index, self.written.get(out.value, -1))
        for clone in group.computes if group is not None else ():
            for access in clone.ins:
                self._read(self._bytes_of(access.value), index)
        for name in [a.value for a in compute.ins] + [
            o.init for o in compute.outs if isinstance(o.init, str)
        ]:
            self._read(self._bytes_of(name), index)

    def _read(self, value: str, index: int) -> None:
        self.read.setdefault(value, set()).add(index)
        if value in self.forbidden:
            item, store = self.forbidden[value]
            if index > item or (index == item and not self._in_place(value, store, index)):
                self.scope.pinned.add(value)

    def _store(self, number: int, store: Store) -> None:
        names = self.scope.names
        index = self.written.get(store.value, -1)  # -1: made outside of this block
        clashing = [v for v in self.seen if overlap(v, store, self.scope)]
        late = [v for v in clashing if self._is_late(v.value, store, index)]
        is_early = index < self.freed.get(store.view.arg, 0)  # before its place was read out
        others = [item for other, item in self.stored if item > index and overlap(store, other, self.scope)]
        others += [item for item in self._writers_of_indices(store) if item >= index]
        item = self.items[index] if index >= 0 else None
        is_hard = bool(store.indirect) and not (isinstance(item, Group) and item.kind == "vector")
        is_carried = isinstance(item, LoopItem)  # the value is complete only after the loop
        if number in self.scope.separate or late or others or is_hard or is_carried or is_early:
            self.scope.separate.add(number)
            made = names.fresh(f"{store.value}.late", names.values[store.value])
            copy = alone(without_unit_dims(identity(store.value, made, names)), "vector")
            index = self._append(copy)
            store = _with_value(store, made.name)
        for value in clashing:
            self.forbidden[value.value] = (index, store)
        self.stored.append((store, index))
        self.stores.setdefault(store.value, []).append(store)

    def _writers_of_indices(self, access: Load | Store) -> list[int]:
        """The items that store the integers by which a gather or scatter walks."""
        views = {each.index.arg for each in access.indirect}
        return [item for store, item in self.stored if store.view.arg in views]

    def _is_late(self, value: str, store: Store, index: int) -> bool:
        """Whether a phase reads a loaded value after phase `index` has stored over it."""
        readers = self.read.get(value, ())
        return any(i > index or (i == index and not self._in_place(value, store, i)) for i in readers)

    def _in_place(self, value: str, store: Store, index: int) -> bool:
        """Whether phase `index` reads the loaded value exactly where it writes the stored one."""
        item, load = self.items[index], self.scope.names.loads[value]
        if not isinstance(item, Group):
            return False
        written = item.produced.get(store.value)
        reads = [a.axes for c in item.computes for a in c.ins if a.value == value]
        if written is None or item.kind != "vector":
            return False
        ours = surface(of_access(store), written)
        return all(surface(of_access(load), axes) == ours for axes in reads)

    def _loop(self, loop: Loop, body: Block) -> None:
        items, stores = _items(body, self.scope, self.kind, self.fusing)
        for value, found in stores.items():
            self.stores.setdefault(value, []).extend(found)
        index = len(self.items)
        self.items.append(LoopItem(loop, tuple(items)))
        statements = _flat(body)
        if any(isinstance(s, Handover) for s in statements):
            self.floor = len(self.items)
        for statement in statements:
            match statement:
                case Compute():
                    self._note(index, statement)
                case Load():
                    self.seen.append(statement)
                    self._read(statement.value, index)
                case Store():
                    self.stored.append((statement, index))
                    for load in self.seen:
                        if overlap(load, statement, self.scope):
                            self.forbidden[load.value] = (index, statement)


def _flat(block: Block) -> list[Load | Store | Compute | Handover]:
    found: list[Load | Store | Compute | Handover] = []
    for statement in block.statements:
        found += _flat(block.bodies[statement.name]) if isinstance(statement, Loop) else [statement]
    return found


def _with_value(store: Store, value: str) -> Store:
    return Store(value, store.view, store.origin, store.axes, store.indirect, store.where)


def _rewrites_in_place(group: Group) -> bool:
    """Whether a value the group both reads from memory and overwrites is read exactly where it is written."""
    for compute in group.computes:
        for out in compute.outs:
            for other in group.computes:
                for access in other.ins:
                    if access.value == out.value and other is compute and access.axes != out.axes:
                        return False
    return True


def overlap(one: Load | Store, other: Load | Store, scope: Scope) -> bool:
    """Whether two accesses may touch a common byte on one core (by the intervals of addresses they span)."""
    if one.view.arg != other.view.arg:
        return False
    if one.indirect or other.indirect:
        return True
    spans = []
    for access in (one, other):
        place: Storage = of_access(access)
        shape = scope.names.values[access.value].shape
        length = sum((e - 1) * s for e, s in zip(shape, place.strides, strict=True))
        spans.append((place.base, length))
    (a, a_length), (b, b_length) = spans
    gap = add(b, scale(a, -1))
    return not (lower(gap, scope.ranges) > a_length or upper(gap, scope.ranges) < -b_length)


def _homes(items: Sequence[Item], names: Names, passed: Container[str] = ()) -> list[str]:
    """Values computed in one phase and read by another, or through an alias, in order of their phases; those
    of exchanges between cores (`passed`) in any case.
    """
    writers: dict[str, set[int]] = {}
    readers: dict[str, set[int]] = {}
    aliased = set()
    for number, group in enumerate(flat_groups(items)):
        produced = group.produced
        for value in produced:
            writers.setdefault(value, set()).add(number)
        for compute in group.computes:
            used = [a.value for a in compute.ins] + [o.init for o in compute.outs if isinstance(o.init, str)]
            for name in used:
                source = names.aliases.get(name, name)
                readers.setdefault(source, set()).add(number)
                if source != name or _is_shifted(name, group, compute):
                    aliased.add(source)
    return [
        v
        for v, w in writers.items()
        if v in passed or v in readers and (v in aliased or readers[v] | w != w or len(w) > 1)
    ]


def _is_shifted(value: str, group: Group, compute: Compute) -> bool:
    """Whether a Compute of the group that makes `value` reads it before it is made (a carried value)."""
    produced: set[str] = set()
    for other in group.computes:
        if other is compute:
            return value in group.produced and value not in produced
        produced |= {o.value for o in other.outs}
    return False
