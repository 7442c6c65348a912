"""A run in which every instance is on its own, with vector clocks and shadow memory.

Order is what the program guarantees, not what this run happened to do: an access is a race with an earlier
one of another unit unless its clock knows that one. Clocks travel with signals and messages and advance
message by message, so that a tile updated in place behind the values read from it is in order. Copies of one
unit overlap each other until a fence, or a signal back from whoever saw the unit's own signal, proves the
first complete.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.check.findings import Finding, Findings
from headrace.machine.check.memories import Memories
from headrace.machine.check.shadows import Region
from headrace.machine.execute.access import Access
from headrace.machine.execute.arenas import Scratchpads
from headrace.machine.execute.exchange import Queue
from headrace.machine.execute.execution import Execution, Handler
from headrace.machine.execute.faults import Category
from headrace.machine.execute.handlers import HANDLERS
from headrace.machine.execute.team import Team
from headrace.machine.image import (
    Image,
    Place,
)
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]


class ClockedQueue(Queue):
    """A queue whose chunks carry clock rows, one per step; `rows` are those of the last messages taken."""

    def __init__(self) -> None:
        super().__init__([0])
        self.rows: Array | None = None

    def take(self, steps: int, count: int, where: Location) -> list[Array]:
        need, found = steps * count, []
        for chunk in self.chunks:
            n = min(need, chunk.left)
            each = np.repeat(np.arange(chunk.steps), len(chunk.parts))[chunk.taken : chunk.taken + n]
            found.append(chunk.clocks[each])
            need -= n
            if not need:
                break
        rows = np.concatenate(found)
        self.rows = rows.reshape(steps, count, -1).max(axis=1)
        return super().take(steps, count, where)


class WatchedRun(Execution):
    """Runs the instances of one component; `handlers` replace those of the plain run (see `watched`)."""

    is_folding_unmarked = False

    def __init__(
        self,
        image: Image,
        memory: Memory,
        scalars: dict[str, Any],
        scratch: Scratchpads,
        findings: Findings,
        memories: Memories,
        handlers: dict[type, Handler],
    ) -> None:
        super().__init__(image, memory, scalars, scratch, {**HANDLERS, **handlers})
        self.op = self.at = ""
        self.findings = findings
        self.memories = memories
        self.local: dict[int, int] = {}
        self.clock: dict[int, Array] = {}
        self.done: dict[int, int] = {}
        self.posted: dict[tuple[int, int], deque[tuple[Array, str, Location]]] = {}
        self.log: dict[int, tuple[list[int], list[Location]]] = {}

    def start(self, teams: list[Team]) -> None:
        """Runs single-instance teams to their end."""
        self.local = {t.ids[0]: k for k, t in enumerate(teams)}
        self.clock = {t.ids[0]: np.zeros(len(teams), np.int32) for t in teams}
        self.done = {t.ids[0]: 0 for t in teams}
        self.log = {t.ids[0]: ([], []) for t in teams}
        self.memories.enter()
        self.run(teams)

    def new_queue(self, order: list[int]) -> Queue:
        return ClockedQueue()

    # ---- time ----------------------------------------------------------------------------------------------
    def ticks(self, team: Team, steps: int, where: Location) -> Array:
        """The next `steps` ticks of a unit, noted as belonging to the op at `where`."""
        me = team.ids[0]
        clock, k = self.clock[me], self.local[me]
        first = int(clock[k])
        clock[k] += steps
        starts, places = self.log[me]
        starts.append(first + 1)
        places.append(where)
        return np.arange(first + 1, first + steps + 1, dtype=np.int32)

    def rows(self, team: Team, ticks: Array, received: Sequence[Array] = ()) -> Array:
        """What a unit knows at each of its ticks, having received one clock row per tick from each source."""
        me = team.ids[0]
        out = np.repeat(self.clock[me][None], len(ticks), axis=0)
        for rows in received:
            np.maximum(out, rows, out=out)
        if received:
            np.maximum.accumulate(out, axis=0, out=out)
        out[:, self.local[me]] = ticks
        return out

    def advance(self, team: Team, rows: Array) -> None:
        """The unit has got as far as the last row."""
        if len(rows):
            self.clock[team.ids[0]] = rows[-1].copy()

    def _check_empty(self) -> None:
        """Findings for messages and signals left over at the end, where the first of each was sent."""
        for (me, peer), left in self.posted.items():
            if left:
                self._left_over("signals", me, peer, len(left), "dataflow.sync_send", left[0][2])
        for pairs, queue in self.queues.items():
            if queue.available:
                me, peer = pairs[0]
                chunk = queue.chunks[0]
                tick = int(chunk.clocks[chunk.taken // len(chunk.parts)][self.local[me]])
                self._left_over("fifo", me, peer, queue.available, "dataflow.send", self._place_of(me, tick))
        self.counters[:] = 0

    def _left_over(
        self, category: Category, me: int, peer: int, count: int, op: str, where: Location
    ) -> None:
        what = "signals" if category == "signals" else "messages"
        text = f"left over at the end: {count} {what} from {self._name(me)} to {self._name(peer)}"
        self.findings.add(Finding(category, text, self._name(me), op, where))

    def _place_of(self, instance: int, tick: int) -> Location:
        """The op a unit was at with this tick."""
        starts, places = self.log[instance]
        return places[bisect_right(starts, tick) - 1]

    # ---- accesses ------------------------------------------------------------------------------------------
    def region(self, access: Access, env: Sequence[Any], trips: Sequence[int] = ()) -> Region:
        """The bytes a single instance reaches through an access now; a fault if they are not all there."""
        if access.is_linear:
            access.views(env, trips)
        if not access.is_linear:
            at = access.addresses(env)[0] - int(access.owners[0])
            return Region(0, (), (), 0, access.dtype.itemsize, at)
        times, run = access.shape(env)
        box = access.box
        strides = (*access.fold, *(d.stride for d in box.times), *(d.stride for d in box.run))
        start = int(np.asarray(access.base.evaluate(env)).reshape(-1)[0])
        steps = len(access.fold) + len(times)
        extents = (*(trips if access.fold else ()), *times, *run)
        return Region(start, extents, strides, steps, access.dtype.itemsize)

    def read(self, team: Team, access: Access, region: Region, rows: Array, where: Location) -> None:
        """Checks and notes a read whose step t happens with clock row t (or the only row)."""
        self._touch(team, access, region, rows, where, is_write=False)

    def write(self, team: Team, access: Access, region: Region, rows: Array, where: Location) -> None:
        """Checks and notes a write."""
        self._touch(team, access, region, rows, where, is_write=True)

    def _touch(
        self, team: Team, access: Access, region: Region, rows: Array, where: Location, is_write: bool
    ) -> None:
        if region.is_empty:
            return
        me, place = team.ids[0], access.box.place
        k = self.local[me]
        owner = int(access.owners[0]) // max(access.arena.size, 1)
        shadow = self.memories.of(place, owner)
        self._check_alignment(team, access, region, where)
        verb = "writes" if is_write else "reads"
        if place.kind == "register" and owner != me:
            text = (
                f"{self._name(me)} {verb} {place.name} of {self._name(owner)}: a register file has one user"
            )
            self.findings.add(Finding("races", text, self._name(me), self.op, where), (where, place.name))
        found = shadow.conflict(shadow.writes, region, k, rows)
        if found is not None:
            self._race(team, place, where, found, f"{verb} {{}} not ordered after the write of {{}}")
        if is_write:
            found = shadow.conflict(shadow.reads, region, k, rows)
            if found is not None:
                self._race(team, place, where, found, f"{verb} {{}} not ordered after the read of {{}}")
        else:
            byte = shadow.unwritten(region)
            if byte is not None:
                text = f"{self._name(me)} reads byte {byte} of {place.name}, which nothing has written"
                self.findings.add(
                    Finding("uninitialised", text, self._name(me), self.op, where), (where, place.name)
                )
            other = shadow.of_another(region, self.memories.buffer(access.box.buffer))
            if other is not None:
                names = access.box.buffer, self.memories.buffer_name(other[1])
                text = f"{self._name(me)} reads byte {other[0]} of {place.name} as buffer {names[0]}"
                text += f", which holds what was written as buffer {names[1]}"
                self.findings.add(
                    Finding("uninitialised", text, self._name(me), self.op, where), (where, *names)
                )
        self._check_foreign(team, place, region, where, verb, is_write)
        if is_write and place.kind == "global":
            self.memories.keep(region)
        ticks = rows[:, k]
        shadow.stamp(shadow.writes if is_write else shadow.reads, region, k, ticks)
        if is_write:
            shadow.mark_written(region, self.memories.buffer(access.box.buffer))

    def unfenced(self, team: Team, access: Access, region: Region, where: Location, is_write: bool) -> None:
        """Checks a copy against the unit's own earlier copies that may still be in flight."""
        if region.is_empty:
            return
        me, place = team.ids[0], access.box.place
        shadow = self.memories.of(place, int(access.owners[0]) // max(access.arena.size, 1))
        known = np.array([self.done[me]], np.int32)
        planes = [shadow.writes, shadow.reads] if is_write else [shadow.writes]
        for kind in planes:
            plane = kind.get(self.local[me])
            found = None if plane is None else shadow.beyond(plane, region, known)
            if found is not None:
                text = "overlaps {} with its own transfer in flight; a fence is missing after that of {}"
                self._race(team, place, where, (self.local[me], *found), text)

    def _check_foreign(
        self, team: Team, place: Place, region: Region, where: Location, verb: str, is_write: bool
    ) -> None:
        """Against units that share no signal or message with this one: nothing orders them."""
        if place.kind != "global":
            return
        other = self.memories.foreign(region, is_write)
        if other is not None:
            text = (
                f"{self._name(team.ids[0])} {verb} bytes of {place.name} that {self._name(other)} "
                "also uses; nothing orders the two"
            )
            self.findings.add(Finding("races", text, self._name(team.ids[0]), self.op, where), (where, other))
        self.memories.note(region, team.ids[0], is_write)

    def _check_alignment(self, team: Team, access: Access, region: Region, where: Location) -> None:
        me, box = team.ids[0], access.box
        start = region.start if region.addresses is None else int(region.addresses.reshape(-1)[0])
        need, at, what = region.itemsize, start, "an access"
        if start % need == 0 and box.place.kind == "ct_local":
            need = self.image.memory(box.place.name).align_bytes
            at = int(np.asarray(box.view_start.evaluate(team.env)).reshape(-1)[0])
            what = "a view"
        if at % need:
            text = f"{what} of {box.place.name} starts at byte {at}, not a multiple of {need}"
            self.findings.add(Finding("alignment", text, self._name(me), self.op, where), (where,))

    def _race(
        self, team: Team, place: Place, where: Location, found: tuple[int, int, int], text: str
    ) -> None:
        unit, tick, byte = found
        me, other = team.ids[0], list(self.local)[unit]
        there = self._place_of(other, tick)
        what = text.format(f"byte {byte} of {place.name}", self._name(other))
        finding = Finding("races", f"{self._name(me)} {what}", self._name(me), self.op, where, there)
        self.findings.add(finding, (where, there, place.name))

    def _name(self, instance: int) -> str:
        return self.image.instances[instance].name
