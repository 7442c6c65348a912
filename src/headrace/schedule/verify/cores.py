"""What several cores do to device memory, and which cores are alike up to where they work in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.events import Touch, Work
from headrace.schedule.verify.programs import Program
from headrace.schedule.verify.races import byte_range, share_bytes
from headrace.schedule.verify.values import ALIASES, Handle, Scope

Known = dict[Any, Any]
"""What values are: known for the function, shared maps."""

CLIPPED = 3
EXACT_EVENTS = 20000


def alike(
    joined: list[list[int]],
    groups: dict[int, list[Handle]],
    programs: dict[Handle, Any],
    known: Known,
    shared: Known,
) -> list[list[int]]:
    """Return sets of cores to run: one of each kind of cores that differ in device addresses only.

    Cores that are `joined`, whose programs name each other's units, run together.
    """
    found: dict[Any, list[int]] = {}
    for cores in joined:
        if len(cores) > 1:
            found[tuple(cores)] = cores
        else:
            found.setdefault(_signature(groups[cores[0]], programs, known, shared), cores)
    return list(found.values())


def _maps(program: Any) -> Iterator[Any]:
    for op in program.region.block.ops:
        if op.name == "uniform.query_map":
            yield op


def _entry(op: Any, handle: Handle, known: Known, shared: Known) -> Any:
    """Return the value a query of a map by the unit's own handle has."""
    mapping = op.map.owner
    table = shared.get(mapping)
    if table is None:
        operands = mapping.operands
        count = len(operands) // 2
        pairs = zip(operands[:count], operands[count:], strict=True)
        table = shared[mapping] = {known[k]: v for k, v in pairs if k in known}
    return known.get(table.get(handle))


def _signature(handles: list[Handle], programs: dict[Handle, Any], known: Known, shared: Known) -> Any:
    parts = []
    for handle in sorted(handles, key=lambda h: (h.kind, h.corelet)):
        values = []
        for op in _maps(programs[handle]):
            value = _entry(op, handle, known, shared)
            if isinstance(value, Handle):
                value = (value.kind, value.core - handle.core if value.core >= 0 else None, value.corelet)
            elif isinstance(value, tuple):
                value = "group"
            elif isinstance(value, int) and _only_places(op.results[0], set()):
                value = None
            values.append(value)
        parts.append((handle.kind, handle.corelet, id(programs[handle]), tuple(values)))
    return tuple(parts)


def _only_places(value: Any, seen: set[Any]) -> bool:
    """True if a number only says where in device memory something lies."""
    for use in value.uses:
        op = use.operation
        if op.name == "dataflow.get_logical_memory_view":
            if getattr(op.unit, "name_hint", None) != "hbm" and not _is_device(op.unit):
                return False
        elif op.name == "agen.composite_load_and_store":
            side = op.src if value in op.src_indices else op.dst
            both = value in op.src_indices and value in op.dst_indices
            if both or value in op.time_symbols or not _is_device(side.owner.operands[0]):
                return False
        elif op.name.startswith("arith."):
            if any(r not in seen and not _only_places(r, seen | {r}) for r in op.results):
                return False
        else:
            return False
    return True


def _is_device(value: Any) -> bool:
    op = value.owner
    return getattr(op, "name", "") == "dataflow.get_unit" and "core" not in op.attributes


def talking(
    groups: dict[int, list[Handle]], programs: dict[Handle, Any], known: Known, shared: Known
) -> list[list[int]]:
    """Return the cores in sets that exchange messages or signals."""
    parent = {core: core for core in groups}

    def root(core: int) -> int:
        while parent[core] != core:
            core = parent[core]
        return core

    partners = {program: _partners(program) for program in dict.fromkeys(programs.values())}
    for handle, program in programs.items():
        for value in partners[program]:
            peer = value.owner
            found = known.get(value)
            if getattr(peer, "name", "") == "uniform.query_map":
                found = _entry(peer, handle, known, shared)
            if isinstance(found, Handle) and found.core in parent:
                parent[root(found.core)] = root(handle.core)
    sets: dict[int, list[int]] = {}
    for core in groups:
        sets.setdefault(root(core), []).append(core)
    return list(sets.values())


def _partners(program: Any) -> dict[Any, None]:
    """The handles that a program sends to or takes from."""
    names = ("dataflow.send", "dataflow.receive", "dataflow.sync_send", "dataflow.sync_recv")
    return dict.fromkeys(op.operands[0] for op in program.region.walk() if op.name in names)


# ---- device memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """Device memory that an op of a core touches in all its runs together (one of the boxes)."""

    core: int
    touch: Touch
    op: Any


def reach(programs: dict[Handle, Any], known: Known, shared: Known) -> list[Reach]:
    """Return what every core touches of device memory."""
    return [r for handle in programs for r in _reaches(handle, programs[handle], known, shared)]


def between_cores(reaches: list[Reach], talking: list[list[int]]) -> Iterator[Diagnostic]:
    """Yield a finding for device memory that one core writes and another touches: nothing orders cores.

    Cores that exchange signals or messages (sets of them: `talking`) run together, which shows their races.
    """
    party = {core: number for number, cores in enumerate(talking) for core in cores}
    writes = [r for r in reaches if r.touch.is_write]
    reported = set()
    ranges = {id(r): byte_range(r.touch) for r in reaches}
    for a in writes:
        low, high = ranges[id(a)]
        for b in reaches:
            if party[a.core] == party[b.core] or (b.touch.is_write and b.core < a.core):
                continue
            if a.touch.is_indirect and b.touch.is_indirect and b.touch.is_write:
                continue  # scatters of two cores: equal targets are undefined, not wrong
            other, end = ranges[id(b)]
            key = (id(a.op), id(b.op))
            if low < end and other < high and key not in reported and _meet(a.touch, b.touch):
                reported.add(key)
                word = "writes" if b.touch.is_write else "reads"
                message = f"core {a.core} writes device memory that core {b.core} {word}, in no order"
                yield Diagnostic(
                    message, location(a.op), a.op.name, f"the other access is at {location(b.op)}"
                )


def _reaches(handle: Handle, program: Any, known: Known, shared: Known) -> Iterator[Reach]:
    """Device accesses of one unit, loops swept: a union of boxes for every op."""
    key = ("device", program)
    if key not in shared:
        views = (op for op in program.region.walk() if op.name == "dataflow.get_logical_memory_view")
        shared[key] = any(_is_device(op.unit) for op in views)
    if not shared[key]:
        return
    scope = Scope(dict(known), handle, shared)
    if program.region.block.args:
        scope.known[program.region.block.args[0]] = handle
    boxes: dict[tuple[int, int], list[Touch]] = {}
    ops: dict[int, Any] = {}
    for count, event in enumerate(Program(scope, None).events(program.region.block.ops)):
        if count > EXACT_EVENTS:
            break
        if isinstance(event, Work):
            for k, touch in enumerate(event.touches):
                if touch.view.memory.kind == "hbm":
                    boxes.setdefault((id(event.op), k), []).append(touch)
                    ops[id(event.op)] = event.op
    for (op, _), touches in boxes.items():
        for touch in _merged(touches):
            yield Reach(handle.core, touch, ops[op])


def _merged(touches: list[Touch]) -> list[Touch]:
    """Boxes of one op joined along the last dim they move in, where they touch."""
    merged: list[Touch] = []
    for touch in touches:
        first, end = touch.hull()
        extents = tuple(b - a for a, b in zip(first, end, strict=True))
        box = Touch(touch.view, touch.is_write, first, extents, (), touch.is_indirect)
        if merged and (joined := _join(merged[-1], box)) is not None:
            merged[-1] = joined
        else:
            merged.append(box)
    return merged


def _join(a: Touch, b: Touch) -> Touch | None:
    if a.view != b.view:
        return None
    apart = [d for d in range(len(a.low)) if (a.low[d], a.extents[d]) != (b.low[d], b.extents[d])]
    if not apart:
        return a
    if len(apart) > 1:
        return None
    d = apart[0]
    low, high = min(a.low[d], b.low[d]), max(a.low[d] + a.extents[d], b.low[d] + b.extents[d])
    if high - low > a.extents[d] + b.extents[d]:
        return None
    lows = tuple(low if k == d else x for k, x in enumerate(a.low))
    extents = tuple(high - low if k == d else x for k, x in enumerate(a.extents))
    return Touch(a.view, a.is_write, lows, extents, (), a.is_indirect)


def _meet(a: Touch, b: Touch) -> bool:
    if (a.view.start, a.view.strides, a.view.itemsize) == (b.view.start, b.view.strides, b.view.itemsize):
        pairs = zip(a.low, a.extents, b.low, b.extents, strict=True)
        return all(x < p + q and p < x + n for x, n, p, q in pairs)
    return share_bytes(a, b)


def multicast_order(programs: dict[Handle, Any], known: Known, shared: Known) -> Iterator[Diagnostic]:
    """Yield a finding if members of multicast groups do not issue the groups' loads in one order."""
    sequences: dict[Handle, list[tuple[Any, Any]]] = {}
    has_groups = {
        program: any(
            op.name == "agen.composite_load_and_store" and op.multicast_info is not None
            for op in program.region.walk()
        )
        for program in dict.fromkeys(programs.values())
    }
    for handle, program in programs.items():
        if has_groups[program]:
            scope = Scope(dict(known), handle, shared)
            if program.region.block.args:
                scope.known[program.region.block.args[0]] = handle
            events = Program(scope, CLIPPED).events(program.region.block.ops)
            sequences[handle] = [
                (e.group, e.op) for e in events if isinstance(e, Work) and isinstance(e.group, tuple)
            ]
    for a, b in combinations(sequences, 2):
        common = {g for g, _ in sequences[a] if a in g and b in g}
        if not common:
            continue
        mine = [g for g, _ in sequences[a] if g in common]
        other = [g for g, _ in sequences[b] if g in common]
        if mine != other:
            op = next(op for g, op in sequences[a] if g in common)
            yield Diagnostic(f"{a} and {b} issue shared loads in different orders", location(op), op.name)
            return


def shared_registers(programs: dict[Handle, Any], known: Known, shared: Known) -> Iterator[Diagnostic]:
    """Yield a finding for every register file that is used by another unit than its own."""
    reported = set()
    for handle, program in programs.items():
        for op in program.region.walk():
            if op.name != "dataflow.get_local_unit" or id(op) in reported:
                continue
            owner = op.unit.owner
            is_mapped = getattr(owner, "name", "") == "uniform.query_map"
            unit = _entry(owner, handle, known, shared) if is_mapped else known.get(op.unit, handle)
            file = op.unit_name.data
            if (
                isinstance(unit, Handle)
                and unit != handle
                and ALIASES.get(file.lower(), file.lower()) != "lx"
            ):
                reported.add(id(op))
                user = next((u.operation for v in op.result.uses for u in v.operation.results[0].uses), op)
                message = f"{handle} uses {file} of {unit}: a register file has one user"
                yield Diagnostic(message, location(user), user.name)
