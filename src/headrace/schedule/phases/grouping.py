"""The statements of a block as phases and loops: which phase each joins without overtaking what it needs."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from headrace.schedule.graph import Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.absorb import Known, is_pointwise, with_clone
from headrace.schedule.phases.fuse import Group, Kind, alone, joined
from headrace.schedule.phases.items import Item, LoopItem
from headrace.schedule.phases.linear import add, lower, scale, upper
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity, source_of, without_unit_dims
from headrace.schedule.phases.storage import Storage, of_access, surface

Ranges = Mapping[str, tuple[int, int]]
ReductionKind = Callable[[Compute, "Scope"], Kind]


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


def grouped(
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
        source = source_of(value, self.scope.names)
        return self.scope.names.aliases.get(source, source)

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
        for out in compute.outs:  # of several that write a value none can be repeated for all of it
            self.cheap.pop(out.value, None)
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
        is_alone = all(o.value not in self.written for o in compute.outs)
        if is_alone and is_pointwise(compute) and all(self._is_loaded(a.value) for a in compute.ins):
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
        items, stores = grouped(body, self.scope, self.kind, self.fusing)
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
                    for out in statement.outs:  # what was there before is not repeated behind the loop
                        self.cheap.pop(out.value, None)
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
