"""Cores that do the same, as one class: what one of them does stands for all, with a multiplicity.

Exact, not approximate: sharing is fluid and symmetric, so cores with equal bodies whose partners are equal
too are in equal states at every moment. Where that symmetry cannot be shown (rings used by some cores only,
multicast groups that cut through classes) every core is a class of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.machine.image import Group, Instance
from headrace.machine.timing.activities import Body, Peer, Repeat, Stream, Transfer

Role = tuple[str, int]
"""Kind and corelet of a unit inside its core."""
Parts = Sequence[tuple[tuple[Instance, ...], Body]]
ByCore = Mapping[int, Mapping[Role, tuple[int, Instance, Body]]]
"""Core → role → (number of the body, instance, body)."""


@dataclass(frozen=True)
class CoreClass:
    """Cores that do the same: the body of every unit of one of them."""

    cores: tuple[int, ...]
    bodies: Mapping[Role, Body]
    instances: Mapping[Role, tuple[Instance, ...]]

    @property
    def multiplicity(self) -> int:
        """How many cores the class stands for."""
        return len(self.cores)


def fold(
    parts: Parts, groups: Sequence[Group], device_cores: int, is_folding: bool = True
) -> list[CoreClass]:
    """Return the classes of cores, by first core."""
    by_core: dict[int, dict[Role, tuple[int, Instance, Body]]] = {}
    known: dict[Body, int] = {}
    for instances, body in parts:
        number = known.setdefault(body, len(known))
        for instance in instances:
            role = (instance.kind, instance.corelet)
            by_core.setdefault(instance.core, {})[role] = (number, instance, body)
    colours = {core: core for core in by_core}
    if is_folding:
        equal = _equal(by_core, device_cores)
        colours = equal if _is_symmetric(by_core, equal, groups, device_cores) else colours
    classes: dict[int, list[int]] = {}
    for core in sorted(by_core):
        classes.setdefault(colours[core], []).append(core)
    return [_class(cores, by_core) for cores in classes.values()]


def activities(body: Body) -> Iterator[Transfer | Stream | object]:
    """Yield every activity of a body once, repeated ones too."""
    for one in body:
        if isinstance(one, Repeat):
            yield from activities(one.body)
        else:
            yield one


def peers(body: Body) -> Iterator[Peer]:
    """Yield the peers a body names."""
    for one in activities(body):
        if isinstance(one, Stream):
            for phase in one.phases:
                yield from (take.peer for take in phase.takes)
                yield from (give.peer for give in phase.gives)
        elif (peer := getattr(one, "peer", None)) is not None:
            yield peer


def _class(cores: Sequence[int], by_core: ByCore) -> CoreClass:
    first = by_core[cores[0]]
    roles = sorted(first)
    bodies = {role: first[role][2] for role in roles}
    instances = {role: tuple(by_core[core][role][1] for core in cores) for role in roles}
    return CoreClass(tuple(cores), bodies, instances)


def _equal(by_core: ByCore, device_cores: int) -> dict[int, int]:
    """Colour cores by their bodies, then by the colours of their partners, until nothing changes."""
    colours = _numbered(
        {core: tuple((r, by_core[core][r][0]) for r in sorted(by_core[core])) for core in by_core}
    )
    distances = sorted({d for body in _bodies(by_core).values() for d in _distances(body)})
    both = sorted({d % device_cores for d in distances} | {-d % device_cores for d in distances})
    while both:
        finer = _numbered(
            {
                core: (colours[core], *(colours.get((core + d) % device_cores, -1) for d in both))
                for core in by_core
            }
        )
        if len(set(finer.values())) == len(set(colours.values())):
            break
        colours = finer
    return colours


def _bodies(by_core: ByCore) -> dict[int, Body]:
    return {number: body for roles in by_core.values() for number, _, body in roles.values()}


def _numbered(keys: Mapping[int, object]) -> dict[int, int]:
    numbers: dict[object, int] = {}
    return {core: numbers.setdefault(key, len(numbers)) for core, key in keys.items()}


def _distances(body: Body) -> set[int]:
    pulls = {one.cores for one in activities(body) if isinstance(one, Transfer) and one.cores}
    return pulls | {peer.cores for peer in peers(body) if peer.cores}


def _is_symmetric(
    by_core: ByCore,
    colours: Mapping[int, int],
    groups: Sequence[Group],
    device_cores: int,
) -> bool:
    bodies = _bodies(by_core).values()
    transfers = {one for body in bodies for one in activities(body) if isinstance(one, Transfer)}
    if any(one.cores for one in transfers):
        is_whole = len(set(colours.values())) == 1 and len(by_core) == device_cores
        if not is_whole or any(one.cores and one.group for one in transfers):
            return False
    return _groups_fit(by_core, colours, groups)


def _groups_fit(by_core: ByCore, colours: Mapping[int, int], groups: Sequence[Group]) -> bool:
    """Every group of a family has the same number of members in each class, and families are equal or
    disjoint; a family is the groups that the cores of one class belong to at one transfer.
    """
    core_of = {entry[1].number: core for core, roles in by_core.items() for entry in roles.values()}
    joined = [{colours[core_of[m]] for m in group.members if m in core_of} for group in groups]
    one_of = {colour: core for core, colour in colours.items()}
    families = {
        frozenset(number for number in one.group if colour in joined[number])
        for colour, core in one_of.items()
        for _, _, body in by_core[core].values()
        for one in activities(body)
        if isinstance(one, Transfer) and one.group
    }
    taken: set[int] = set()
    for family in sorted(families, key=sorted):
        if taken & family:
            return False
        taken |= family
        counts = set()
        for number in family:
            members = [colours[core_of[m]] for m in groups[number].members if m in core_of]
            counts.add(tuple(sorted((colour, members.count(colour)) for colour in set(members))))
        if len(counts) != 1 or any(len(groups[n].members) != len(set(groups[n].members)) for n in family):
            return False
        covered = sum(len(groups[number].members) for number in family)
        if covered != sum(list(colours.values()).count(colour) for colour, _ in next(iter(counts))):
            return False
    return True
