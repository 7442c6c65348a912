"""Cores that ran apart, put together by what passes between them: whether all of it does, and who then knows
of what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from headrace.schedule.verify.clocks import Clock, Known
from headrace.schedule.verify.cores.parties import Core
from headrace.schedule.verify.cores.ports import Exchange, Way
from headrace.schedule.verify.run import Run

Place = tuple[int, int]
"""A core and the number of one of its ports."""

Told = Mapping[int, Clock]
"""By core, up to which time of each of its units something is known to have happened."""


@dataclass(frozen=True)
class Apart:
    """A core of a party: the run of one of its kind, and the core's own ways by the numbers of the ports."""

    run: Run
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class Joined:
    """The cores of a party by number, the port at the other end of every port, and an order in which
    everything passes, by ports.
    """

    cores: Mapping[int, Apart]
    partners: Mapping[Place, Place]
    order: list[Place] = field(default_factory=list)

    def passed(self, place: Place) -> Sequence[Exchange]:
        """What passes through a port."""
        core, port = place
        return self.cores[core].run.exchanges[port]

    def way(self, place: Place) -> Way:
        """The way a port is an end of."""
        core, port = place
        return self.cores[core].ways[port]


def together(party: Iterable[int], cores: Mapping[int, Core], runs: Mapping[int, Run]) -> Joined | None:
    """Put the cores of a party together, `runs` being those of cores of their kinds, by core; None if they do
    not agree on what passes between them, or wait for each other.
    """
    found, ends = {}, {}
    for core in party:
        run = runs[core]
        # units of the device are the same for all
        image = {-1: -1, **dict(zip(cores[run.home].named, cores[core].named, strict=True))}
        found[core] = Apart(run, tuple(way.moved(image) for way in run.ports))
        ends.update({way: (core, port) for port, way in enumerate(found[core].ways)})
    if any(way.other_end not in ends for way in ends):
        return None
    joined = Joined(found, {place: ends[way.other_end] for way, place in ends.items()})
    for place, other in joined.partners.items():
        mine, theirs = joined.passed(place), joined.passed(other)
        if len(mine) != len(theirs) or not all(map(_agree, mine, theirs)):
            return None
    return joined if _is_passed(joined) else None


def _agree(a: Exchange, b: Exchange) -> bool:
    """Whether two ends pass the same thing: equal messages, or signals of one label if both have one."""
    return a.what == b.what or (isinstance(a.what, str) and not (a.what and b.what))


def _is_passed(joined: Joined) -> bool:
    """Find an order in which everything passes; False if some of it waits for each other."""
    done = {core: [0] * len(apart.ways) for core, apart in joined.cores.items()}
    ahead = {place: _awaited(joined, place) for place in joined.partners}
    found = joined.order
    waiting = dict.fromkeys(joined.cores)
    while waiting:
        core, _ = waiting.popitem()
        mine, begun = done[core], len(found)
        before = -1
        while before < len(found):
            before = len(found)
            for port in range(len(mine)):
                passed, awaited = joined.passed((core, port)), ahead[core, port]
                other, theirs = joined.partners[core, port]
                while mine[port] < len(passed):
                    count = mine[port]
                    if done[other][theirs] < awaited[count] or _is_early(passed[count].needs, mine):
                        break
                    mine[port] += 1
                    found.append((core, port))
        waiting.update(dict.fromkeys(joined.partners[place][0] for place in found[begun:]))
    return all(done[core][port] == len(joined.passed((core, port))) for core, port in joined.partners)


def _is_early(needs: Clock, done: Sequence[int]) -> bool:
    return any(need > count for need, count in zip(needs, done, strict=True))


def _awaited(joined: Joined, place: Place) -> list[int]:
    """How much must have passed at the other end before each thing passes a port."""
    passed, way = joined.passed(place), joined.way(place)
    if way.is_in:
        return list(range(1, len(passed) + 1))
    most = joined.cores[place[0]].run.capacity(way.unit, way.peer) if way.kind == "push" else None
    if most is None:
        return [0] * len(passed)
    total = [0, *accumulate(one.bytes for one in passed)]
    found, taken = [], 0
    for count, one in enumerate(passed):
        while taken < count and total[count] - total[taken] + one.bytes > most:
            taken += 1
        found.append(taken)
    return found


class Knowledge:
    """What units know of those of other cores when everything has passed."""

    def __init__(self, joined: Joined) -> None:
        self.joined = joined
        self.told: dict[Place, list[Told]] = {place: [] for place in joined.partners}
        self.known: dict[tuple[int, Clock], Told] = {}
        for place in joined.order:
            core, count = place[0], len(self.told[place])
            if joined.way(place).is_in:
                self.told[place].append(self.told[joined.partners[place]][count])
                continue
            known = joined.passed(place)[count].known
            heard = self.heard(core, known.far)
            own = tuple(map(max, heard[core], known.near)) if core in heard else known.near
            self.told[place].append({**heard, core: own})

    def heard(self, core: int, far: Clock) -> Told:
        """What a unit knows of all cores when so much has come in through each port of its own."""
        key = core, far
        if key not in self.known:
            found: dict[int, Clock] = {}
            for port, count in enumerate(far):
                for other, clock in self.told[core, port][count - 1].items() if count else ():
                    found[other] = tuple(map(max, found[other], clock)) if other in found else clock
            self.known[key] = found
        return self.known[key]

    def of(self, core: int, known: Known, other: int, unit: int) -> int:
        """Up to which time of a unit of another core one of a core knows what happened."""
        clock = self.heard(core, known.far).get(other)
        return clock[unit] if clock is not None else 0
