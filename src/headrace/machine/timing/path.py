"""The critical path of a run: the chain of waits that determined its end, without gaps from 0 to the end.

The chain is read off the causes the engine recorded. Each link is what one unit did, or what passed between
two units, from one moment to the next; links that repeat in the same order are written once as a stretch.
All times are whole cycles (a moment inside a cycle counts at its end), so the links sum to the cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.ir.diagnostics import Location
from headrace.machine.timing.causes import Cause
from headrace.machine.timing.engine import Engine
from headrace.machine.timing.ticks import cycles
from headrace.machine.timing.unit import SimulatedUnit

LONGEST = 24
"""Links of the longest pattern that is looked for."""


@dataclass(frozen=True)
class Link:
    """From `start` to `end` (cycles) the run was held by `unit` (of `kind`, one of `alike` alike).

    `cause` is "busy", "setup", "transfer" (data at the unit's own rate), "bandwidth" (data slowed by others),
    "latency", "queue" (a message comes in), "signal" (under way) or "meeting" (of a multicast group).
    """

    start: int
    end: int
    unit: str
    kind: str
    cause: str
    what: str = ""
    where: Location = Location()
    alike: int = 1

    @property
    def cycles(self) -> int:
        """Cycles the link covers."""
        return self.end - self.start


@dataclass(frozen=True)
class Stretch:
    """From `start` to `end` the same `pattern` of links `times` times over; link times are sums over them."""

    start: int
    end: int
    times: int
    pattern: tuple[tuple[Link, int], ...]


def critical_path(engines: Sequence[Engine]) -> tuple[Link, ...]:
    """Return the links from 0 to the end of schedules run one after the other, recording on."""
    found: list[Link] = []
    offset = 0
    for engine in engines:
        for one in _links(engine, offset):
            if found and _same(found[-1], one):
                found[-1] = replace(found[-1], end=one.end)
            else:
                found.append(one)
        offset += engine.end
    return tuple(found)


def _links(engine: Engine, offset: int) -> list[Link]:
    chain: list[Cause] = []
    at = engine.end_cause
    while at is not None:
        chain.append(at)
        at = at.parent
    found = []
    for before, now in zip(reversed(chain), list(reversed(chain))[1:], strict=False):
        start, end = cycles(before.time + offset), cycles(now.time + offset)
        if end > start:
            found.append(_link(now, start, end, engine))
    return found


def _link(cause: Cause, start: int, end: int, engine: Engine) -> Link:
    unit: SimulatedUnit = cause.unit
    instances = engine.wiring.classes[unit.group].instances[unit.role]
    return Link(
        start, end, instances[0].name, unit.role[0], cause.kind, cause.what, cause.where, len(instances)
    )


def _same(one: Link, other: Link) -> bool:
    return _key(one) == _key(other)


def _key(link: Link) -> tuple[str, str, str, Location]:
    return link.unit, link.cause, link.what, link.where


def stretches(links: Sequence[Link]) -> tuple[Stretch, ...]:
    """Return the links with repeated patterns written once: short ones first, from the start onwards."""
    keys = [_key(link) for link in links]
    found: list[Stretch] = []
    at = 0
    while at < len(links):
        length, times = _repeat(keys, at)
        end = at + length * times
        pattern = tuple(
            (links[at + k], sum(links[j].cycles for j in range(at + k, end, length))) for k in range(length)
        )
        found.append(Stretch(links[at].start, links[end - 1].end, times, pattern))
        at = end
    return tuple(found)


def _repeat(keys: Sequence[tuple[object, ...]], at: int) -> tuple[int, int]:
    """The pattern at a place that covers most: (its length, how often it comes); (1, 1) without one."""
    best = (1, 1)
    for length in range(1, LONGEST + 1):
        times, span = 1, at + length
        while span + length <= len(keys) and keys[span : span + length] == keys[at : at + length]:
            times, span = times + 1, span + length
        if times > 1 and length * times > best[0] * best[1]:
            best = (length, times)
    return best
