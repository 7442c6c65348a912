"""Cores that run apart and are put together end, wait and know as in one run of all of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.schedule.verify.contents import Contents
from headrace.schedule.verify.cores.exchanges import Joined, Knowledge, together
from headrace.schedule.verify.cores.parties import Core
from headrace.schedule.verify.cores.ports import Way
from headrace.schedule.verify.programs.events import Event, Message, Signal, Touch, Work
from headrace.schedule.verify.programs.values import Handle, View
from headrace.schedule.verify.run import Run

UNITS = ("mnilu", "mnisu", "sfu")
MOST_BYTES = 128
Programs = dict[Handle, list[Event]]


OP = parse("module {}")
VIEW = View(Handle("hbm", -1), 0, (1,), (64,), "f16", 2)
ACCESS = Work(1, (), (Touch(VIEW, False, (0,), (1,), ()),), OP)


@st.composite
def programs(draw) -> Programs:
    """What the units of a few cores do: signals, messages and accesses of one core or of all alike, both ends
    of each in one order most of the time.
    """
    cores = draw(st.integers(2, 4))
    found: Programs = {Handle(kind, core): [] for core in range(cores) for kind in UNITS}
    ends = [st.sampled_from(UNITS), st.sampled_from(UNITS), st.integers(0, cores - 1)]
    whats = ["access", "signal", "signal", "named signal", "message", "long message", "messages"]
    late = st.sampled_from([0, 0, 0, 0, 0, 1, 2])
    passing = st.tuples(st.booleans(), st.integers(0, cores - 1), *ends, st.sampled_from(whats), late, late)
    for is_of_all, one, sender, receiver, distance, what, before, after in draw(
        st.lists(passing, min_size=2, max_size=12)
    ):
        for core in range(cores) if is_of_all else (one,):
            first, second = Handle(sender, core), Handle(receiver, (core + distance) % cores)
            if what == "access":
                found[first].append(ACCESS)
            elif first != second:
                events = found[first], found[second]
                places = (max(0, len(e) - n) for e, n in zip(events, (before, after), strict=True))
                for mine, at, event in zip(events, places, _ends(what, first, second), strict=True):
                    mine.insert(at, event)
    if draw(st.integers(0, 9)) == 0:
        longest = max(found.values(), key=len)
        longest.pop() if longest else None
    return found


def _ends(what: str, first: Handle, second: Handle) -> tuple[Event, Event]:
    if "signal" in what:
        label = "full" if what == "named signal" else ""
        return Signal("send", second, label, OP), Signal("wait", first, label, OP)
    size, steps = (100, 1) if what == "long message" else (24, 3 if what == "messages" else 1)
    sent, taken = (Message(kind, peer, size, "f16") for kind, peer in (("push", second), ("pop", first)))
    return Work(steps, (sent,), (), OP), Work(steps, (taken,), (), OP)


def run_of(programs: Programs, ways: dict[Way, int] | None = None) -> Run:
    made = {h: iter(events) for h, events in programs.items()}
    run = Run(made, lambda sender, receiver: MOST_BYTES, Contents(device("spyre")), ways)
    run.run()
    return run


def ways_of(programs: Programs) -> dict[Way, int]:
    found: dict[Way, int] = {}
    for handle, events in programs.items():
        for one in events:
            for end in (one,) if isinstance(one, Signal) else one.script:
                if end.peer.core != handle.core:
                    found.setdefault(Way(end.kind, handle, end.peer), len(found))
    return found


def core_of(number: int, programs: Programs) -> Core:
    """What a core is: its programs, with those it names in order."""
    peers = tuple(way.peer.core for way in ways_of(programs))
    names = {core: k for k, core in enumerate(dict.fromkeys((number, *peers)))}
    shape: list[Any] = []
    for handle, events in programs.items():
        for one in events:
            parts = (one,) if isinstance(one, Signal) else one.script
            told = (one.label,) if isinstance(one, Signal) else (one.steps, *(m.elements for m in one.script))
            partners = [(p.kind, p.peer.kind, names[p.peer.core]) for p in parts]
            shape.append((handle.kind, *partners, *told))
    return Core(number, tuple(shape), peers)


def apart(whole: Programs) -> tuple[Joined | None, Counter[Any]]:
    """The cores put together, and how many are of each kind; None if one of them alone or all do not end."""
    own: dict[int, Programs] = {}
    for handle, events in whole.items():
        own.setdefault(handle.core, {})[handle] = events
    cores = {core: core_of(core, mine) for core, mine in own.items()}
    runs: dict[Any, Run] = {}
    for core, mine in own.items():
        if cores[core].kind not in runs:
            runs[cores[core].kind] = run_of(mine, ways_of(mine))
    counts = Counter(core.kind for core in cores.values())
    if any(run.findings for run in runs.values()):
        return None, counts
    return together(own, cores, {core: runs[cores[core].kind] for core in own}), counts


@given(programs())
@settings(max_examples=400, deadline=None)
def test_cores_put_together_are_right_where_one_run_of_all_is(whole: Programs) -> None:
    joined, _ = apart(whole)
    run = run_of(whole)
    assert (joined is not None) == (not run.findings), run.findings
    if joined is None:
        return
    knowledge = Knowledge(joined)
    for a in run.records:
        for b in run.records:
            one, other = run.units[a.unit].handle, run.units[b.unit].handle
            if one.core != other.core:
                (mine, unit), (theirs, _) = (_record(joined, run, r) for r in (a, b))
                known = knowledge.of(other.core, theirs.start, one.core, unit)
                assert (known >= mine.end) == (b.start.of(a.unit) >= a.end)


def _record(joined: Joined, run: Run, record: Any) -> tuple[Any, int]:
    """The same event in the run of its core or of one like it, and the number of its unit there."""
    handle = run.units[record.unit].handle
    alone = joined.cores[handle.core].run
    unit = next(u.clock.at for u in alone.units if u.handle.kind == handle.kind)
    return next(r for r in alone.records if (r.unit, r.time) == (unit, record.time)), unit


@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("is_alike", [True, False])
def test_the_parties_tried_are_of_all_sorts(is_right: bool, is_alike: bool) -> None:
    """Right and wrong ones that exchange something, with one core for several and without."""

    def is_wanted(whole: Programs) -> bool:
        joined, counts = apart(whole)
        sorts = joined is not None, max(counts.values()) > 1
        return len(ways_of(whole)) > 3 and sorts == (is_right, is_alike)

    assert find(programs(), is_wanted)
