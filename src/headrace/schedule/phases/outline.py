"""The outline of a class: its phases in order, the values they exchange, the stores each of them feeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.schedule.graph import Carried, Compute, CoreClass, Handover, Loop, Store
from headrace.schedule.phases.absorb import Known, absorbed, without_dead
from headrace.schedule.phases.ahead import ahead
from headrace.schedule.phases.boxed import boxed
from headrace.schedule.phases.cover import covered
from headrace.schedule.phases.cuts import in_strips
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.grouping import Ranges, ReductionKind, Scope, grouped, overlap
from headrace.schedule.phases.held import held
from headrace.schedule.phases.items import Item, LoopItem, flat_groups
from headrace.schedule.phases.late import late
from headrace.schedule.phases.linear import lower, upper
from headrace.schedule.phases.longrows import split
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.overwrite import overwriting, readers
from headrace.schedule.phases.pairs import paired
from headrace.schedule.phases.part import KEEP
from headrace.schedule.phases.quotient import divided_late
from headrace.schedule.phases.scattered import scattered
from headrace.schedule.phases.statements import Block, regular
from headrace.schedule.phases.strips import Strips
from headrace.schedule.phases.unfold import unfolded
from headrace.schedule.phases.writes import Writes
from headrace.schedule.ring import apart_entry


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


def outline(
    graph_class: CoreClass,
    reduction_kind: ReductionKind,
    fusing: bool = True,
    apart: frozenset[str] = frozenset(),
    registers: int = 1 << 60,
    strips: Strips | None = None,
    keeping: tuple[int, int] = (0, 0),
    holding: int = 0,
) -> Outline:
    """Return the phases of a class; `fusing` False gives every Compute a phase of its own.

    The Computes of the values in `apart` join no phase and take nothing in; a row of several operands that
    does not fit `registers` bytes is reduced in phases of its own. With `strips`, what can be cut is. With
    `keeping` (bytes of the scratchpad, of an access), factors of contractions are laid out as matrices and
    elements that lie apart are loaded in boxes, if so many bytes hold them. What loops read of
    loads before them is brought in once, as far as `holding` bytes hold it.
    """
    block, names = regular(graph_class)
    if fusing:
        block = divided_late(block, names)
    if fusing and keeping[0]:
        block = covered(unfolded(block, names, keeping[0]), names, *keeping)
    if strips is not None:
        block = in_strips(block, names, strips)
    if holding:
        block = held(block, names, holding)
    passed = frozenset(
        o.value for s in graph_class.body if isinstance(s, Compute) and apart_entry(s) for o in s.outs
    )
    block = scattered(boxed(block, names, passed), names)
    ranges = _ranges(block)
    scope = Scope(names, ranges, passed, apart=apart | names.apart | passed)
    items, found = grouped(block, scope, reduction_kind, fusing)
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
        if strips.late:
            items = late(items, names, stores, ranges, strips.late, strips.waiting)
    return Outline(tuple(items), names, stores, tuple(_homes(items, names, passed)), ranges)


def _recomputing(
    items: list[Item], names: Names, stores: Mapping[str, tuple[Store, ...]], scope: Scope, registers: int
) -> list[Item]:
    """The items after cheap values moved to where they are read; phases that became idle are gone."""
    stored = frozenset(_homes(items, names))
    groups = flat_groups(items)
    producers = {o.value: c for g in groups for c in g.computes if c.source != KEEP for o in c.outs}
    made_by = Counter(v for g in groups for v in g.produced)
    for several in [v for v in producers if made_by[v] > 1]:
        del producers[several]
    written: list[Store] = []
    made: list[Group] = []
    writes = Writes.of(groups, names)
    for number, group in enumerate(groups):

        def is_readable(value: str, written: list[Store] = written) -> bool:
            load = scope.load(value)
            return load is None or not any(overlap(load, s, scope) for s in written)

        def is_unchanged(value: str, made: str, number: int = number) -> bool:
            return writes.is_unchanged(value, made, number)

        fresh = lambda v: names.fresh(v, names.values[v]).name  # noqa: E731
        known = Known(names.values, producers, stored, is_readable, fresh, is_unchanged)
        made.append(group if scope.apart & group.produced.keys() else absorbed(group, known))
        written += [s for v in group.produced for s in stores.get(v, ())]
    carried = {c.inner for i in items for c in _carried(i)}
    is_needed = lambda v: v in stores or v in scope.passed or v in carried  # noqa: E731
    fresh = lambda v: names.fresh(v, names.values[v]).name  # noqa: E731
    left = without_dead(made, is_needed, names.aliases)
    shorter = [split(g, names.values, registers, fresh) if g is not None else [] for g in left]
    flat = iter(without_dead([g for several in shorter for g in several], is_needed, names.aliases))
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
