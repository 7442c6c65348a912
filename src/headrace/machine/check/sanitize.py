"""The sanitizer: a watched run of every component, then its synchronisation with real FIFO capacities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.check.findings import Finding, Findings
from headrace.machine.check.memories import Memories
from headrace.machine.check.shadows import cell_bytes
from headrace.machine.check.skeleton import run_skeleton
from headrace.machine.check.watch import WatchedRun
from headrace.machine.check.watched import WATCHED
from headrace.machine.execute.arenas import Scratchpads, new_scratchpads
from headrace.machine.execute.faults import Fault
from headrace.machine.execute.run import named
from headrace.machine.execute.team import Team, new_team, partition
from headrace.machine.image import (
    Box,
    Copy,
    If,
    Image,
    Load,
    Loop,
    Read,
    Receive,
    Schedule,
    Send,
    Signal,
    Store,
    Wait,
    Write,
    walk,
)
from headrace.numbers.memory import Memory


def sanitize(
    image: Image,
    memory: Memory,
    scalars: dict[str, Any],
    scratch: Scratchpads | None = None,
    blank: Sequence[tuple[int, int]] = (),
) -> list[Finding]:
    """Everything wrong with a program that a run can show.

    Races, reads of unwritten bytes, accesses out of bounds, misaligned ones, messages and signals that do not
    match, deadlock with the FIFOs of the device. The program is executed, then device memory is put back as
    it was. `blank` are byte ranges of device memory that hold nothing yet (outputs, scratch).
    """
    findings = Findings()
    cells = {kind: cell_bytes(image, kind) for kind in ("global", "ct_local", "register")}
    memories = Memories(image, memory, cells, blank)
    values = named(image, scalars)
    pads = scratch or new_scratchpads(image)
    try:
        for schedule in image.schedules:
            _check_schedule(image, schedule, memory, values, pads, findings, memories)
    finally:
        memories.restore()
    return findings.found


def _check_schedule(
    image: Image,
    schedule: Schedule,
    memory: Memory,
    values: dict[str, Any],
    pads: Scratchpads,
    findings: Findings,
    memories: Memories,
) -> None:
    """Watches every component of a schedule, then simulates one of each kind with bounded FIFOs."""
    memories.next_schedule()
    _reside(image, schedule, memories)
    labels = _labels(schedule)
    trips: dict[tuple[int, int], list[int]] = {}
    chosen: dict[Any, list[int]] = {}
    stuck: list[Finding] = []
    has_ended = True
    for component in components(schedule):
        found, faults = _watch(image, schedule, component, memory, values, pads, findings, memories)
        trips |= found
        has_ended &= not faults
        stuck += [f for f in faults if f.category == "deadlocks"]
        for fault in faults:
            if fault.category != "deadlocks":
                findings.add(fault)
        if faults and _depends_on_data(schedule, component):
            continue  # how often its loops run is known to where the run ended
        shape = tuple(component) if found else tuple(labels[n] for n in component)
        chosen.setdefault(shape, component)
    simulated = {n for component in chosen.values() for n in component}
    if not run_skeleton(image, schedule, simulated, values, trips, findings):
        for finding in stuck:
            findings.add(finding)
    if has_ended:
        _check_promises(image, schedule, memories, findings)


def _depends_on_data(schedule: Schedule, component: Sequence[int]) -> bool:
    """Whether values from memory steer a unit of a component."""
    return any(
        isinstance(node, Loop | If) and node.is_data_dependent
        for program in schedule.programs
        if set(program.instances) & set(component)
        for node in walk(program.body)
    )


def _watch(
    image: Image,
    schedule: Schedule,
    component: Sequence[int],
    memory: Memory,
    values: dict[str, Any],
    pads: Scratchpads,
    findings: Findings,
    memories: Memories,
) -> tuple[dict[tuple[int, int], list[int]], list[Finding]]:
    """Runs one component: the data-dependent counts it took, and what ended it early."""
    run = WatchedRun(image, memory, values, pads, findings, memories, WATCHED)
    inside = set(component)
    teams: list[Team] = []
    for program in schedule.programs:
        for member, instance in enumerate(program.instances):
            if instance in inside:
                teams.append(new_team(len(teams), program, [member], values))
    faults: list[Finding] = []
    try:
        with np.errstate(all="ignore"):
            run.start(teams)
    except Fault as error:
        for d in error.diagnostics:
            unit, message = run.at, f"{d.message}; {d.hint}" if d.hint else d.message
            if error.category == "deadlocks":  # of all units, one diagnostic each
                unit = d.message.removeprefix("deadlock: ").split()[0]
            faults.append(Finding(error.category, message, unit, d.op or run.op, d.where or Location()))
    return run.trips, faults


def _reside(image: Image, schedule: Schedule, memories: Memories) -> None:
    """Marks what earlier calls left in scratchpads, and what earlier schedules wrote of their promises."""
    pad = next((m for m in image.memories if m.kind == "ct_local"), None)
    if pad is None:
        return
    before = image.schedules[: image.schedules.index(schedule)]
    promised = [r for s in before for r in s.lx_out]
    for resident in schedule.lx_in:
        low, high = resident.address, resident.address + resident.bytes
        is_promised = any(r.address < high and low < r.address + r.bytes for r in promised)
        for core in range(image.cores):
            memories.reside(pad.name, core, resident, is_promised)


def _check_promises(image: Image, schedule: Schedule, memories: Memories, findings: Findings) -> None:
    """Every core that runs must leave behind what `lx_out` names."""
    pad = next((m for m in image.memories if m.kind == "ct_local"), None)
    if pad is None or not schedule.lx_out:
        return
    for core in sorted({image.instances[n].core for p in schedule.programs for n in p.instances}):
        for resident in schedule.lx_out:
            byte = memories.lacks(pad.name, core, resident)
            if byte is not None:
                text = f"core {core} leaves {resident.name} in {pad.name} with byte {byte} unwritten"
                findings.add(Finding("uninitialised", text, f"C{core}", "func.func"), (resident, core))


def _labels(schedule: Schedule) -> dict[int, Any]:
    """What tells instances apart for synchronisation: program, control, multicast groups."""
    out: dict[int, Any] = {}
    for program, parts in zip(schedule.programs, partition(schedule), strict=True):
        groups = [
            program.numbers(n.group)
            for n in walk(program.body)
            if isinstance(n, Copy) and n.group is not None
        ]
        for g, part in enumerate(parts):
            for m in part:
                out[program.instances[m]] = (program.number, g, *(row[m] for row in groups))
    return out


def components(schedule: Schedule) -> list[list[int]]:
    """Instances joined by signals, messages, a scratchpad or a register file, in program order."""
    parent: dict[Any, Any] = {}

    def find(x: Any) -> Any:
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for program in schedule.programs:
        for n in program.instances:
            find(n)
        for node in walk(program.body):
            for peer in _peers(node):
                for a, b in zip(program.instances, program.numbers(peer), strict=True):
                    parent[find(a)] = find(b)
            for box in _boxes(node):
                if box.place.kind == "global":
                    continue
                for a, owner in zip(program.instances, program.numbers(box.place.owner), strict=True):
                    is_pad = box.place.kind == "ct_local"
                    parent[find(a)] = find(("core", owner) if is_pad else owner)
    groups: dict[Any, list[int]] = {}
    for program in schedule.programs:
        for n in program.instances:
            groups.setdefault(find(n), []).append(n)
    return list(groups.values())


def _peers(node: Any) -> list[Any]:
    match node:
        case Read() | Write():
            return [s.peer for s in node.streams]
        case Send() | Receive() | Signal() | Wait():
            return [node.peer]
    return []


def _boxes(node: Any) -> list[Box]:
    match node:
        case Copy():
            return [node.source, node.target, *([node.indirect.box] if node.indirect else [])]
        case Read() | Write():
            return [s.box for s in node.streams]
        case Load() | Store():
            return [node.box]
    return []
