"""What each corelet takes of a number of things."""

from __future__ import annotations

from headrace.schedule.build.emitter import Emitter
from headrace.schedule.build.indices import Index, of


class Share:
    """This corelet's part: from floor(cl * n / corelets) up to the next corelet's first."""

    def __init__(self, emit: Emitter, cl: Index, corelets: int) -> None:
        self.emit, self.cl, self.corelets = emit, cl, corelets

    def of(self, total: int) -> tuple[Index, Index]:
        """Return the first one and the count."""
        count = self.corelets
        if count == 1:
            return Index(0), Index(total)
        if total % count == 0:
            return self.cl * (total // count), Index(total // count)
        first = self.emit.quotient(self.cl * total, count, "first")
        after = self.emit.quotient(self.cl * total + total, count, "last")
        return first, of(self.emit.value(after + first * -1, "count"))
