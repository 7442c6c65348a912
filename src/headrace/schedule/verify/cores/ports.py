"""The ends of the ways between cores: what passes through them while a core runs apart from the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.schedule.verify.clocks import Clock, Known
from headrace.schedule.verify.cores.parties import PARTNERS
from headrace.schedule.verify.programs.values import Handle, Scope


class Way(NamedTuple):
    """Signals (send, wait) or messages (push, pop) between a unit and one of another core."""

    kind: str
    unit: Handle
    peer: Handle

    @property
    def is_in(self) -> bool:
        """Whether they come in."""
        return self.kind in ("wait", "pop")

    @property
    def other_end(self) -> Way:
        """The same as its partner sees it."""
        return Way(ENDS[self.kind], self.peer, self.unit)

    def moved(self, image: Mapping[int, int]) -> Way:
        """The same for units of other cores."""
        unit, peer = (h._replace(core=image[h.core]) for h in (self.unit, self.peer))
        return Way(self.kind, unit, peer)


ENDS = {"send": "wait", "wait": "send", "push": "pop", "pop": "push"}
KINDS = dict(zip(PARTNERS, ("push", "pop", "send", "wait"), strict=True))


@dataclass(frozen=True)
class Exchange:
    """A signal or messages through a port: `what` both ends agree on, their bytes, how much of its core must
    have passed through every port before, and what is `known` then.
    """

    what: Any
    bytes: int
    needs: Clock
    known: Known
    op: Any


def ports(
    handles: Iterable[Handle], programs: Mapping[Handle, Any], scopes: Mapping[Handle, Scope]
) -> dict[Way, int] | None:
    """Return the numbers of a core's ports; None if only a run knows the partners."""
    found: dict[Way, int] = {}
    for handle in handles:
        for kind, value in scopes[handle].asked(programs[handle], _exchanging):
            peer = scopes[handle].known.get(value)
            if not isinstance(peer, Handle):
                return None
            if peer.core != handle.core:
                found.setdefault(Way(kind, handle, peer), len(found))
    return found


def _exchanging(program: Any) -> list[tuple[str, Any]]:
    """What a program does with which partners."""
    ops = (op for op in program.region.walk() if op.name in PARTNERS)
    return list(dict.fromkeys((KINDS[op.name], op.operands[0]) for op in ops))
