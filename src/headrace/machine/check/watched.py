"""What a watched run does at each kind of node: clocks first, then what the plain run does."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from headrace.machine.check.findings import Finding
from headrace.machine.check.promises import any_crosses
from headrace.machine.check.shadows import Region
from headrace.machine.check.watch import ClockedQueue, WatchedRun
from headrace.machine.execute import indirect
from headrace.machine.execute.execution import Handler
from headrace.machine.execute.handlers import HANDLERS
from headrace.machine.execute.streams import routes
from headrace.machine.execute.team import Team
from headrace.machine.image import Copy, Load, Loop, Read, Receive, Send, Signal, Store, Wait, Write, op_name

Array = np.ndarray[Any, Any]


def _copy(run: WatchedRun, team: Team, node: Copy) -> bool:
    source, target = run.access(team, node.source, node.where), run.access(team, node.target, node.where)
    ends = [(source, run.region(source, team.env), False), (target, run.region(target, team.env), True)]
    if node.indirect is not None:
        index = run.access(team, node.indirect.box, node.where)
        direct, at = indirect.reach(node, source, target, index, team.env)
        local = at[0] - int(direct.owners[0])
        k = 0 if direct is source else 1
        ends[k] = (direct, Region(0, (), (), 0, direct.dtype.itemsize, local), ends[k][2])
        ends.insert(0, (index, run.region(index, team.env), False))
        if _shares(ends[0], ends[-1]):
            name = run.image.instances[team.ids[0]].name
            text = f"{name} writes over the indices it reads"
            run.findings.add(Finding("races", text, name, run.op, node.where))
    for access, region, is_write in ends:
        run.unfenced(team, access, region, node.where, is_write)
    rows = run.rows(team, run.ticks(team, 1, node.where))
    for access, region, is_write in ends:
        (run.write if is_write else run.read)(team, access, region, rows, node.where)
    return _plain(Copy)(run, team, node)


def _shares(one: tuple[Any, Region, bool], other: tuple[Any, Region, bool]) -> bool:
    """Whether two ends of a copy have bytes in common."""
    places = [access.box.place.name for access, _, _ in (one, other)]
    owners = [int(access.owners[0]) for access, _, _ in (one, other)]
    (low, high), (first, end) = one[1].span(), other[1].span()
    if places[0] != places[1] or owners[0] != owners[1] or low >= end or first >= high:
        return False
    return bool(np.intersect1d(one[1].elements(), other[1].elements()).size)


def _read(run: WatchedRun, team: Team, node: Read) -> bool:
    found = routes(run, team, node, True)
    regions = [(a, run.region(a, team.env), s.where) for _, streams in found for s, a in streams]
    ticks = run.ticks(team, regions[0][1].count, node.where)
    rows = run.rows(team, ticks)
    for access, region, where in regions:
        run.read(team, access, region, rows, where)
    before = {id(q): len(q.chunks) for q, _ in found}
    _plain(Read)(run, team, node)
    for queue, _ in found:
        step = 0
        for chunk in list(queue.chunks)[before[id(queue)] :]:
            burst = 1 if node.granularity == 1 else node.granularity
            chunk.clocks = rows[step : step + chunk.steps * burst : burst]
            step += chunk.steps * burst
    return True


def _write(run: WatchedRun, team: Team, node: Write) -> bool:
    if not _plain(Write)(run, team, node):
        return False
    found = routes(run, team, node, False)
    regions = [(a, run.region(a, team.env), s.where) for _, streams in found for s, a in streams]
    steps = regions[0][1].count
    ticks = run.ticks(team, steps, node.where)
    received = [q.rows for q, _ in found if steps and isinstance(q, ClockedQueue) and q.rows is not None]
    rows = run.rows(team, ticks, [_stretched(r, steps) for r in received])
    for access, region, where in regions:
        run.write(team, access, region, rows, where)
    run.advance(team, rows)
    return True


def _stretched(rows: Array, steps: int) -> Array:
    """Clock rows of bursts, one per step."""
    return rows if len(rows) == steps else np.repeat(rows, -(-steps // len(rows)), axis=0)[:steps]


def _signal(run: WatchedRun, team: Team, node: Signal) -> bool:
    _plain(Signal)(run, team, node)
    me, peer = team.ids[0], run.members(team, node.peer)[0]
    clock = run.clock[me]
    if node.waits or me == peer:
        run.done[me] = int(clock[run.local[me]])
    if me != peer:
        run.posted.setdefault((me, peer), deque()).append((clock.copy(), node.tag, node.where))
    return True


def _wait(run: WatchedRun, team: Team, node: Wait) -> bool:
    if not _plain(Wait)(run, team, node):
        return False
    me, peer = team.ids[0], run.members(team, node.peer)[0]
    clock, tag, where = run.posted[peer, me].popleft()
    np.maximum(run.clock[me], clock, out=run.clock[me])
    run.done[me] = max(run.done[me], int(clock[run.local[me]]))
    if tag and node.tag and tag != node.tag:
        name, other = run.image.instances[me].name, run.image.instances[peer].name
        text = f"{name} waits for {node.tag} but the next signal of {other} is {tag}"
        run.findings.add(Finding("signals", text, name, run.op, node.where, where), (node.where, tag))
    return True


def _receive(run: WatchedRun, team: Team, node: Receive) -> bool:
    if not _plain(Receive)(run, team, node):
        return False
    queue = run.queue(team, node.peer, False)
    assert isinstance(queue, ClockedQueue) and queue.rows is not None
    run.advance(team, run.rows(team, run.ticks(team, 1, node.where), [queue.rows]))
    return True


def _send(run: WatchedRun, team: Team, node: Send) -> bool:
    _plain(Send)(run, team, node)
    rows = run.rows(team, run.ticks(team, 1, node.where))
    run.queue(team, node.peer, True).chunks[-1].clocks = rows
    return True


def _load(run: WatchedRun, team: Team, node: Load) -> bool:
    access = run.access(team, node.box, node.where)
    rows = run.rows(team, run.ticks(team, 1, node.where))
    run.read(team, access, run.region(access, team.env), rows, node.where)
    return _plain(Load)(run, team, node)


def _store(run: WatchedRun, team: Team, node: Store) -> bool:
    access = run.access(team, node.box, node.where)
    rows = run.rows(team, run.ticks(team, 1, node.where))
    run.write(team, access, run.region(access, team.env), rows, node.where)
    return _plain(Store)(run, team, node)


def _loop(run: WatchedRun, team: Team, node: Loop) -> bool:
    if not _plain(Loop)(run, team, node):
        return False
    plan = None if team.is_unfolded or node.kind is None else team.plans.get(("marked", id(node)))
    if plan is None:
        return True
    trips = plan.trips(team)
    steps = int(np.prod(trips))
    if not steps:
        return True
    ticks = run.ticks(team, steps, node.where)
    rows = run.rows(team, ticks, [q.rows for q, _ in plan.receives])
    touched: list[tuple[Any, Region]] = []
    stored: list[tuple[Any, Region]] = []
    for inner in plan.body:
        if isinstance(inner, Load | Store):
            access = plan.accesses[id(inner)]
            region = run.region(access, team.env, trips)
            (stored if isinstance(inner, Store) else touched).append((inner.box.place, region))
            known = rows if region.count == steps else rows[:1]
            (run.read if isinstance(inner, Load) else run.write)(team, access, region, known, inner.where)
        elif isinstance(inner, Send):
            run.queue(team, inner.peer, True).chunks[-1].clocks = rows
    run.advance(team, rows)
    if any_crosses(stored, [*stored, *touched], steps):
        name = run.image.instances[team.ids[0]].name
        text = f"{name}: an iteration of a marked loop touches what another one stores"
        run.findings.add(Finding("races", text, name, run.op, node.where))
    return True


def _plain(kind: type) -> Handler:
    """What the plain run does for a node."""
    return HANDLERS[kind]


def _named(handler: Handler) -> Handler:
    """The handler, with the op's name known to the findings made meanwhile."""

    def run_node(run: Any, team: Team, node: Any) -> bool:
        run.op, run.at = op_name(node), run.image.instances[team.ids[0]].name
        return handler(run, team, node)

    return run_node


_HANDLERS: dict[type, Any] = {
    Copy: _copy,
    Read: _read,
    Write: _write,
    Signal: _signal,
    Wait: _wait,
    Receive: _receive,
    Send: _send,
    Load: _load,
    Store: _store,
    Loop: _loop,
}
WATCHED: dict[type, Handler] = {kind: _named(handler) for kind, handler in _HANDLERS.items()}
