"""Why a moment of a simulation came when it did: each moment points to the one it waited for.

With recording on, every time the engine computes (the clock of a unit, the arrival of a message, room in a
queue, a signal, the end of a transfer) has a `Cause`: the latest of the moments it depends on, and what
passed between the two. Following the causes back from the end gives the critical path; it covers the run
without gaps, because every step begins where the one before it ends.
"""

from __future__ import annotations

from typing import Any

from headrace.ir.diagnostics import Location

NOWHERE = Location()


class Cause:
    """A moment (`time`, ticks) and what passed since the moment `parent`: `unit` did or caused `kind`.

    `kind`: "busy", "setup", "transfer" (data at the unit's own rate), "bandwidth" (data slowed by others),
    "latency", "queue", "signal" or "meeting"; `what` says more ("read", "step", a tag), `where` which line.
    """

    __slots__ = ("kind", "parent", "time", "unit", "what", "where")

    def __init__(
        self, time: int, parent: Cause | None, unit: Any, kind: str, what: str = "", where: Location = NOWHERE
    ) -> None:
        self.time = time
        self.parent = parent
        self.unit = unit
        self.kind = kind
        self.what = what
        self.where = where


def until(cause: Cause, time: int) -> Cause:
    """Return the chain of a cause as it stood at an earlier `time`: the part that passed until then."""
    while cause.time > time and cause.parent is not None:
        if cause.parent.time <= time:
            return Cause(time, cause.parent, cause.unit, cause.kind, cause.what, cause.where)
        cause = cause.parent
    return cause


def after(
    cause: Cause | None, time: int, unit: Any, kind: str, what: str = "", where: Location = NOWHERE
) -> Cause | None:
    """Return the cause of `time`, reached from another moment by what `unit` did; None without recording."""
    if cause is None:
        return None
    known = until(cause, time)
    return known if known.time == time else Cause(time, known, unit, kind, what, where)
