"""The state of a run and who takes a turn: teams advance, each until it blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Diagnostic, Location
from headrace.machine.execute import stall
from headrace.machine.execute.access import Access, NotUniform
from headrace.machine.execute.arenas import Arenas, Scratchpads
from headrace.machine.execute.exchange import Queue
from headrace.machine.execute.faults import Fault
from headrace.machine.execute.team import Frame, Team, new_team, partition, singles
from headrace.machine.image import Box, If, Image, Index, Schedule
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]

Handler = Callable[["Execution", Team, Any], bool]
"""Runs a node for a team; False if the team must wait."""
Handlers = Mapping[type, Handler]
"""By class of node."""


class Execution:
    """The state of one run: memories, teams, queues between them, signal counters.

    `is_folding_unmarked`: loops that promise nothing are run at once where that gives the same.
    """

    is_folding_unmarked = True

    def __init__(
        self, image: Image, memory: Memory, scalars: dict[str, Any], scratch: Scratchpads, handlers: Handlers
    ) -> None:
        self.handlers = handlers
        self.image = image
        self.scalars = scalars
        self.arenas = Arenas(image, memory, scratch)
        self.trips: dict[tuple[int, int], list[int]] = {}
        self.counters = np.zeros((len(image.instances), len(image.instances)), np.int64)
        self.counts = self.counters.reshape(-1)
        self.teams: list[Team] = []
        self.queues: dict[tuple[tuple[int, int], ...], Queue] = {}
        self.home: dict[int, tuple[Team, int]] = {}

    # ---- one schedule --------------------------------------------------------------------------------------
    def schedule(self, schedule: Schedule) -> None:
        """Runs the programs of a schedule to their end."""
        teams: list[Team] = []
        for program, parts in zip(schedule.programs, partition(schedule), strict=True):
            for part in parts:
                teams.append(new_team(len(teams), program, part, self.scalars))
        self.run(teams)

    def run(self, teams: list[Team]) -> None:
        """Runs teams to their end; a fault if they cannot get there or leave something behind."""
        self._settle(teams)
        self.queues = {}
        while self.teams:
            try:
                moved = [self._advance(t) for t in self.teams]
            except NotUniform:
                self._split()
                continue
            self.teams = [t for t in self.teams if not t.is_done]
            if not any(moved) and self.teams:
                self._resolve()
        self._check_empty()

    def _settle(self, teams: list[Team]) -> None:
        self.teams = teams
        self.home = {n: (t, k) for t in teams for k, n in enumerate(t.ids)}

    def _resolve(self) -> None:
        """Nobody moved: run unmarked loops step by step, then apart what runs in step, then fold nothing.

        What stands still after that is a deadlock.
        """
        if any([team.unroll() for team in self.teams]):
            return
        if any(t.count > 1 for t in self.teams):
            self._split()
        elif not all(t.is_unfolded for t in self.teams):
            for team in self.teams:
                team.is_unfolded = True
        else:
            raise Fault("deadlocks", stall.explain(self.teams, self.image.instances, self.members))

    def _split(self) -> None:
        """From here on every instance runs for itself."""
        queues: dict[tuple[tuple[int, int], ...], Queue] = {}
        for pairs, queue in self.queues.items():
            order = {s: self.home[s][1] if s in self.home else k for k, (s, _) in enumerate(pairs)}
            parts = queue.split(len(pairs))
            for sender, receiver in pairs:
                queues[((sender, receiver),)] = parts[order[sender]]
        teams: list[Team] = []
        for team in self.teams:
            teams.extend(singles(team, len(teams)) if team.count > 1 else [team])
        for team in teams:
            team.plans.clear()
        self.queues = queues
        self._settle(teams)

    def _check_empty(self) -> None:
        names = self.image.instances
        messages = [(q.available, *pairs[0]) for pairs, q in self.queues.items() if q.available]
        signals = [(int(self.counters[a, b]), int(a), int(b)) for a, b in np.argwhere(self.counters > 0)]
        self.counters[:] = 0
        for found, what in ((messages, "messages"), (signals, "signals")):
            if found:
                texts = [
                    f"left over at the end: {n} {what} from {names[a].name} to {names[b].name}"
                    for n, a, b in found
                ]
                raise Fault("fifo" if what == "messages" else "signals", [Diagnostic(t) for t in texts])

    # ---- one team ------------------------------------------------------------------------------------------
    def _advance(self, team: Team) -> bool:
        """Runs a team until it blocks or ends; whether it did anything."""
        moved = False
        while team.frames:
            frame = team.frames[-1]
            if frame.at == len(frame.nodes):
                self._end_block(team, frame)
                moved = True
                continue
            node = frame.nodes[frame.at]
            if not self.handlers[type(node)](self, team, node):
                return moved
            moved = True
            if team.frames[-1] is frame:
                frame.at += 1
        return moved

    def _end_block(self, team: Team, frame: Frame) -> None:
        loop = frame.loop
        if loop is None:
            if frame.branch is not None:
                self._choose(team, frame.branch, frame.is_then)
            team.frames.pop()
            return
        carried = [team.values[c.yielded.number] for c in loop.carried]
        indices = [c.yielded.evaluate(team.env) for c in loop.indices]
        frame.current += frame.step
        is_over = frame.current >= frame.upper
        for c, value in zip(loop.carried, carried, strict=True):
            team.values[(c.result if is_over else c.argument).number] = value
        for i, number in zip(loop.indices, indices, strict=True):
            team.env[(i.result if is_over else i.argument).slot] = number
        if is_over:
            team.frames.pop()
        else:
            team.env[loop.iv.slot] = frame.current
            frame.at = 0

    def _choose(self, team: Team, node: If, is_then: bool) -> None:
        values = [team.values[(c.then if is_then else c.otherwise).number] for c in node.results]
        numbers = [(c.then if is_then else c.otherwise).evaluate(team.env) for c in node.indices]
        for c, value in zip(node.results, values, strict=True):
            team.values[c.result.number] = value
        for i, number in zip(node.indices, numbers, strict=True):
            team.env[i.result.slot] = number

    # ---- partners ------------------------------------------------------------------------------------------
    def queue(self, team: Team, peer: Index, is_sender: bool) -> Queue:
        """The queue between a team and its partners; NotUniform if they are not one team in step with it."""
        key = (id(peer), is_sender)
        if key not in team.plans:
            team.plans[key] = self._new_queue(team, peer, is_sender)
        found: Queue = team.plans[key]
        return found

    def _new_queue(self, team: Team, peer: Index, is_sender: bool) -> Queue:
        others = self.members(team, peer)
        pairs = [(m, o) if is_sender else (o, m) for m, o in zip(team.ids, others, strict=True)]
        key = tuple(sorted(pairs))
        if key not in self.queues:
            self._check_in_step(team, pairs, is_sender)
            self.queues[key] = self.new_queue(self._order(pairs))
        return self.queues[key]

    def new_queue(self, order: list[int]) -> Queue:
        """An empty queue; `order` as `Queue` takes it."""
        return Queue(order)

    def _check_in_step(self, team: Team, pairs: list[tuple[int, int]], is_sender: bool) -> None:
        if team.count == 1:
            return
        homes = [self.home.get(b if is_sender else a) for a, b in pairs]
        first = homes[0]
        if first is None:
            return
        if any(h is None or h[0] is not first[0] for h in homes) or first[0].count != team.count:
            raise NotUniform
        if len({h[1] for h in homes if h}) != team.count:
            raise NotUniform

    def _order(self, pairs: list[tuple[int, int]]) -> list[int]:
        """For every receiver, in its team's order, the position of its sender."""
        at = {n: self.home[n][1] if n in self.home else 0 for pair in pairs for n in pair}
        return [at[s] for s, r in sorted(pairs, key=lambda p: at[p[1]])]

    def members(self, team: Team, peer: Index) -> list[int]:
        """The instance numbers of a team's partners, in the team's order."""
        found = peer.evaluate(team.env)
        return [int(found)] * team.count if not isinstance(found, np.ndarray) else [int(x) for x in found]

    def partner(self, team: Team, peer: Index) -> Callable[[], str]:
        """A function that names the first partner of a team."""
        return lambda: self.image.instances[self.members(team, peer)[0]].name

    def peers(self, team: Team, peer: Index) -> tuple[bool, Array, Array]:
        """(whether they are the team itself, counters it raises, counters it awaits), cached."""
        key = ("peers", id(peer))
        if key not in team.plans:
            mine, others = np.array(team.ids), np.array(self.members(team, peer))
            width = len(self.counters)
            team.plans[key] = (mine[0] == others[0], mine * width + others, others * width + mine)
        found: tuple[bool, Array, Array] = team.plans[key]
        return found

    def access(self, team: Team, box: Box, where: Location) -> Access:
        """How a team reaches a box, cached."""
        key = id(box)
        if key not in team.plans:
            team.plans[key] = Access(box, self.arenas.of(box.place), team.env, team.count, (), where)
        found: Access = team.plans[key]
        return found

    def record(self, team: Team, number: int, count: int) -> None:
        """Notes a data-dependent trip count."""
        for instance in team.ids:
            self.trips.setdefault((instance, number), []).append(count)
