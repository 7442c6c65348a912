"""What a unit does, as the engine sees it: streams of messages, transfers, signals, priced in ticks.

`expand` makes these from an Image; places are relative to the unit's own core, so that cores that do the
same have equal code. A body is a tuple of activities; equality of bodies is what folds cores together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.ir.diagnostics import Location


def _where() -> Any:
    return field(default=Location(), compare=False)


@dataclass(frozen=True)
class Peer:
    """Another unit: its kind and corelet, `cores` cores further on (modulo the device)."""

    kind: str
    corelet: int
    cores: int = 0


@dataclass(frozen=True)
class Take:
    """One message received. `is_whole`: the step cannot start before all of it has arrived (a resident
    block).
    """

    peer: Peer
    is_whole: bool = False


@dataclass(frozen=True)
class Give:
    """One message sent: `granules` of the queue, its start `offset` after the phase starts, `duration` on
    the link, first granule `latency` after its start.
    """

    peer: Peer
    granules: int
    offset: int
    duration: int
    latency: int


@dataclass(frozen=True)
class Phase:
    """Part of an iteration: starts when all `takes` are there, occupies the unit for `cost`."""

    takes: tuple[Take, ...]
    cost: int
    gives: tuple[Give, ...] = ()


@dataclass(frozen=True)
class Stream:
    """`count` iterations of `phases`: a reader, a writer, a marked loop, or a single step (count 1).

    `setup` passes before the first, `drain` after the last; `settle` is the time from the end until what it
    wrote is in memory.
    """

    count: int
    phases: tuple[Phase, ...]
    setup: int = 0
    drain: int = 0
    settle: int = 0
    bytes: tuple[tuple[str, int], ...] = ()
    label: str = ""
    where: Location = _where()


@dataclass(frozen=True)
class Transfer:
    """One descriptor of a DMA unit. `side` says which way device memory is used ("read", "write"; "ring",
    "local").

    `bytes` are what device memory or ring moves; `rate` is the unit's own ceiling in bytes per cycle;
    `group` holds the numbers of the multicast groups its members belong to, `members` the size of one;
    `cores` is how far the source core of a ring pull is, `step` the direction it travels; `name` says what
    is moved.
    """

    side: str
    bytes: int
    rate: float | None
    setup: int
    latency: int
    group: frozenset[int] = frozenset()
    members: int = 1
    meeting: int = 0
    cores: int = 0
    step: int = 0
    ports: tuple[tuple[str, int], ...] = ()
    traffic: tuple[tuple[str, int], ...] = ()
    name: str = field(default="", compare=False)
    where: Location = _where()


@dataclass(frozen=True)
class Notify:
    """A signal to `peer`, visible `travel` after this unit's earlier accesses are complete; `waits` stalls
    the unit.
    """

    peer: Peer
    travel: int
    waits: bool = False
    tag: str = field(default="", compare=False)
    where: Location = _where()


@dataclass(frozen=True)
class Await:
    """A signal expected from `peer`."""

    peer: Peer
    tag: str = field(default="", compare=False)
    where: Location = _where()


@dataclass(frozen=True)
class Fence:
    """The unit stalls until its own transfers are complete."""

    where: Location = _where()


@dataclass(frozen=True)
class Spend:
    """The unit is occupied by control (loop steps, branches, signals) or by scalar loads."""

    duration: int


@dataclass(frozen=True)
class Repeat:
    """`count` times the same body."""

    count: int
    body: tuple[Activity, ...]


Activity = Stream | Transfer | Notify | Await | Fence | Spend | Repeat
Body = tuple[Activity, ...]
