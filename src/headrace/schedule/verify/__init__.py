"""An independent checker of DFIR: it reads nothing but the program and the device.

It follows the programs of a core through one abstract run (`run`), of alike ones one for all (`parties`),
puts cores that talk to each other together by what they exchange (`exchanges`), or follows them in one run if
that proves too little, and reports: signals or messages left over, out of order or of the wrong type; units
that wait for each other; conflicting accesses nothing orders (`races`, `conflicts`); bytes outside views,
arguments, scratchpad (`bounds`); blocks and rows no unit can hold; cores that write what others touch
(`sweeps`, `cores`); shared loads in different orders (`multicast`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.ir.plain import plain
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.schedule.verify.bounds import outside, resident
from headrace.schedule.verify.contents import Contents
from headrace.schedule.verify.cores.conflicts import Conflict, are_ordered, conflicts
from headrace.schedule.verify.cores.exchanges import Joined, together
from headrace.schedule.verify.cores.meetings import between_cores, meetings, shared_registers
from headrace.schedule.verify.cores.multicast import multicast_order
from headrace.schedule.verify.cores.parties import Core, alike, core_of, talking, unit_of
from headrace.schedule.verify.cores.ports import Way, ports
from headrace.schedule.verify.programs.events import Event, Work
from headrace.schedule.verify.programs.periods import Periods
from headrace.schedule.verify.programs.program import Program, start
from headrace.schedule.verify.programs.sweeps import Reach, motions, sweeps
from headrace.schedule.verify.programs.values import (
    ARGUMENT_SHIFT,
    EXAMPLE_SCALAR,
    Handle,
    Scope,
    Unverifiable,
)
from headrace.schedule.verify.races import in_flight, overwritten_indices, races
from headrace.schedule.verify.run import Run
from headrace.schedule.verify.totals import unbalanced

FULL_EVENTS = 3000
"""Programs of ours with more events in a core run with the middle of their unmarked loops left out first."""

CLIPPED = 9


def verify(dfir: Any, device: Device) -> list[Diagnostic]:
    """Return everything wrong with a DFIR module on a device; a warning where a program cannot be
    followed.
    """
    found: list[Diagnostic] = []
    arguments = plain(dfir.attributes["headrace.args"]) if "headrace.args" in dfir.attributes else []
    for function in dfir.walk():
        if function.name == "func.func" and any(op.name == "dataflow.program_unit" for op in function.walk()):
            try:
                found += _Function(function, device, arguments, "headrace.dfir" in dfir.attributes).check()
            except Unverifiable as reason:
                found += reason.diagnostics
    return found


class _Function:
    """The programs of one DFIR function by unit instance."""

    def __init__(self, op: Any, device: Device, arguments: list[dict[str, Any]], is_ours: bool) -> None:
        self.op, self.device, self.is_ours = op, device, is_ours
        self.known: dict[Any, Any] = {}
        self.sizes: dict[int, tuple[str, int]] = {}
        sizes = {a["name"]: a for a in arguments}
        for number, arg in enumerate(op.body.block.args):
            name = arg.name_hint or ""
            known = sizes.get(name, arguments[number] if number < len(arguments) else None)
            size = itemsize(known["dtype"]) if known is not None else _view_itemsize(arg)
            self.known[arg] = ((number + 1) << ARGUMENT_SHIFT) // size if size else EXAMPLE_SCALAR
            if known is not None:
                count = 1
                for extent in known["shape"]:
                    count *= int(extent)
                self.sizes[number] = (name, count * itemsize(known["dtype"]))
        if EXAMPLE_SCALAR in self.known.values():
            self.sizes.clear()  # sizes follow from launch values
        self.programs: dict[Handle, Any] = {}
        self.shared: dict[Any, Any] = {}
        self.periods = Periods(op, self.known)
        scope = Scope(self.known, Handle("", -1), self.shared)
        for child in op.body.block.ops:
            if child.name == "dataflow.program_unit":
                for unit in child.units:
                    self.programs[self.known[unit]] = child
            else:
                scope.define(child)

    @cached_property
    def scopes(self) -> dict[Handle, Scope]:
        """What every unit knows from the start."""
        return {h: start(program, h, self.known, self.shared) for h, program in self.programs.items()}

    @cached_property
    def groups(self) -> dict[int, list[Handle]]:
        """The units by core."""
        found: dict[int, list[Handle]] = {}
        for handle in self.programs:
            found.setdefault(handle.core, []).append(handle)
        return found

    def check(self) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        for program in dict.fromkeys(self.programs.values()):
            found += resident(program, self.known[program.units[0]].kind, self.device)
        reaches = sweeps(self.programs, self.scopes)
        met = list(meetings(reaches))
        device = motions(reaches)
        cores = {
            core: core_of(handles, self.programs, self.scopes, device.get(core))
            for core, handles in self.groups.items()
        }
        joined = talking(self.groups, self.programs, self.scopes)
        for kind in alike(joined, cores):
            found += self.parties(kind, cores, met)
        found += outside(((r.op, r.touch) for r in reaches), self.device, self.sizes)
        found += between_cores(met, joined)
        likeness = {h: unit_of(program, self.scopes[h])[0] for h, program in self.programs.items()}
        found += multicast_order(self.programs, self.scopes, likeness)
        found += shared_registers(self.programs, self.scopes)
        return found

    def parties(
        self, kind: list[list[int]], cores: Mapping[int, Core], met: list[tuple[Reach, Reach]]
    ) -> list[Diagnostic]:
        """Check parties of cores that are alike: the cores of one of them apart, or all of them together."""
        differing = {conflicts(met, party): party for party in reversed(kind)}
        found, joined = self.apart(kind[0], cores)
        if joined is not None and not found:
            asked = frozenset[Conflict]().union(*differing)
            if are_ordered(asked, conflicts(met, kind[0]), joined):
                return []
        if joined is not None and len(kind[0]) == 1 and found:
            return found
        return [
            one
            for party in differing.values()
            for one in self.alone([h for core in party for h in self.groups[core]])[0]
        ]

    def apart(self, party: list[int], cores: Mapping[int, Core]) -> tuple[list[Diagnostic], Joined | None]:
        """What is wrong within the cores of a party whatever others do, of each kind one; what they are
        together if they agree.
        """
        if len(party) == 1:
            found, run = self.alone(self.groups[party[0]])
            return found, together(party, cores, {party[0]: run})
        kinds = {cores[core].kind: core for core in reversed(party)}
        is_long = self.is_ours and any(self.is_long(self.groups[core]) for core in kinds.values())
        clip = CLIPPED if is_long else None
        runs: dict[Any, Run] = {}
        for kind, core in kinds.items():
            ways = ports(self.groups[core], self.programs, self.scopes)
            if ways is None:
                return [], None
            found, run = self.run(self.groups[core], clip, ways)
            if found or any(t.view.memory.core not in (core, -1) for r in run.records for t in r.touches):
                return found, None
            runs[kind] = run
        handles = (h for core in party for h in self.groups[core])
        if clip is not None and list(unbalanced(map(self.scope_of, handles))):
            return [], None
        return [], together(party, cores, {core: runs[cores[core].kind] for core in party})

    def alone(self, handles: list[Handle]) -> tuple[list[Diagnostic], Run]:
        """Check the units of cores that exchange nothing with others."""
        if self.is_ours and self.is_long(handles):
            # what a run of the beginnings and ends of loops misses may only be missing there
            found, run = self.run(handles, CLIPPED)
            if not found and not list(unbalanced(map(self.scope_of, handles))):
                return [], run
        return self.run(handles, None)

    def run(
        self, handles: list[Handle], clip: int | None, ways: Mapping[Way, int] | None = None
    ) -> tuple[list[Diagnostic], Run]:
        """Run the units and check everything they did."""
        contents = Contents(self.device)
        for core in {h.core for h in handles}:
            for address, size in self.resident("headrace.lx_in"):
                contents.reside(core, address, size)
        run = Run({h: self.events(h, clip) for h in handles}, self.capacity, contents, ways)
        run.run()
        units = [unit.handle for unit in run.units]
        local = [(r.op, t) for r in run.records for t in r.touches if t.view.memory.kind != "hbm"]
        found = [
            *run.findings,
            *races(run.records, units),
            *in_flight(run.records, units),
            *overwritten_indices(run.records, units),
            *outside(local, self.device, self.sizes),
            *self.unkept({h.core for h in handles}, contents),
        ]
        return found, run

    def resident(self, name: str) -> list[tuple[int, int]]:
        """(address, bytes) of what an attribute of the function says stays in scratchpads."""
        entries = plain(self.op.attributes[name]) if name in self.op.attributes else []
        return [(int(e["address"]), int(e["bytes"])) for e in entries]

    def unkept(self, cores: set[int], contents: Contents) -> Iterator[Diagnostic]:
        """Yield a finding for what the function promises to leave in a scratchpad but does not write."""
        for address, size in self.resident("headrace.lx_out"):
            for core in sorted(cores):
                byte = contents.missing(core, address, size)
                if byte is not None:
                    message = (
                        f"core {core} leaves byte {byte} of the scratchpad unwritten, which lx_out names"
                    )
                    yield Diagnostic(message, location(self.op), self.op.name)
                    break

    def is_long(self, handles: list[Handle]) -> bool:
        total = 0
        for handle in handles:
            total += sum(1 for _ in islice(self.events(handle, None), FULL_EVENTS - total + 1))
            if total > FULL_EVENTS:
                return True
        return False

    def events(self, handle: Handle, clip: int | None) -> Iterator[Event]:
        scope, ops = self.scope_of(handle)
        events = Program(scope, clip, self.periods.of).events(ops)
        if clip is None:
            return events
        return (event.shortened() if isinstance(event, Work) else event for event in events)

    def scope_of(self, handle: Handle) -> tuple[Scope, Any]:
        """What a unit knows at its start, and the ops of its program."""
        return self.scopes[handle].copy(), self.programs[handle].region.block.ops

    def capacity(self, sender: Handle, receiver: Handle) -> int | None:
        link = self.device.find_link(sender.kind, receiver.kind)
        if link is None:
            ring = self.device.find_ring(sender.kind, receiver.kind)
            link = ring.eject if ring is not None else None
        return link.capacity_bytes if link is not None else None


def _view_itemsize(arg: Any) -> int:
    """Return the element size of the views a function argument starts; 0 if it is no address."""
    views = [use.operation for use in arg.uses if use.operation.name == "dataflow.get_logical_memory_view"]
    if not views or len(views) < len(list(arg.uses)):
        return 0
    return itemsize(str(views[0].result.type.get_element_type()))
