"""Which cores exchange signals or messages, and which are alike: one of them runs for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.schedule.verify.programs.program import groups_of
from headrace.schedule.verify.programs.values import Handle, Scope, is_device

PARTNERS = ("dataflow.send", "dataflow.receive", "dataflow.sync_send", "dataflow.sync_recv")


@dataclass(frozen=True)
class Core:
    """What makes a core what it is: all that its programs depend on but places in device memory (`shape`),
    and the cores they name, in a fixed order (`peers`).
    """

    number: int
    shape: Any
    peers: tuple[int, ...]

    @cached_property
    def named(self) -> tuple[int, ...]:
        """The core itself and those it names, each once."""
        return tuple(dict.fromkeys((self.number, *self.peers)))

    @cached_property
    def kind(self) -> Any:
        """What is equal for cores that do the same while nothing from others keeps them waiting."""
        return self.shape, tuple(self.named.index(peer) for peer in self.peers)


def talking(
    groups: Mapping[int, list[Handle]], programs: Mapping[Handle, Any], scopes: Mapping[Handle, Scope]
) -> list[list[int]]:
    """Return the cores in sets that exchange messages or signals, or touch each other's scratchpads."""
    parent = {core: core for core in groups}

    def root(core: int) -> int:
        while parent[core] != core:
            core = parent[core]
        return core

    for handle, program in programs.items():
        for value in scopes[handle].asked(program, _partners):
            found = scopes[handle].known.get(value)
            if isinstance(found, Handle) and found.core in parent:
                parent[root(found.core)] = root(handle.core)
    sets: dict[int, list[int]] = {}
    for core in groups:
        sets.setdefault(root(core), []).append(core)
    return list(sets.values())


def _partners(program: Any) -> list[Any]:
    """The units and memories that a program sends to, takes from or views."""
    names = (*PARTNERS, "dataflow.get_logical_memory_view")
    return list(dict.fromkeys(op.operands[0] for op in program.region.walk() if op.name in names))


def alike(joined: Sequence[Sequence[int]], cores: Mapping[int, Core]) -> list[list[list[int]]]:
    """Return the parties, their cores in order, in lists of those that differ in numbers of cores and in
    places in device memory only.
    """
    found: dict[Any, list[list[int]]] = {}
    for party in map(sorted, joined):
        places = {core: at for at, core in enumerate(party)}
        names = [tuple(places.get(peer, ("outside", peer)) for peer in cores[c].peers) for c in party]
        found.setdefault((tuple(cores[c].shape for c in party), tuple(names)), []).append(party)
    return list(found.values())


# ---- what a core is --------------------------------------------------------------------------------------
def core_of(
    handles: list[Handle], programs: Mapping[Handle, Any], scopes: Mapping[Handle, Scope], device: Any
) -> Core:
    """Return what a core is; `device`: how it goes about device memory."""
    shape: list[Any] = [device]
    peers: list[int] = []
    for handle in sorted(handles, key=lambda h: (h.kind, h.corelet)):
        entry, named = unit_of(programs[handle], scopes[handle])
        shape.append(((handle.kind, handle.corelet), entry))
        peers += named
    return Core(handles[0].core, tuple(shape), tuple(peers))


def unit_of(program: Any, scope: Scope) -> tuple[Any, list[int]]:
    """(what a unit's run depends on, the cores it names)."""
    values: list[Any] = [id(program)]
    peers: list[int] = []
    for op, value in scope.asked(program, _own):
        found = _role(op, scope) if value is None else scope.known.get(value)
        if found is None:
            found = ("as no other", scope.me)
        elif isinstance(found, Handle):
            peers += [found.core] if found.core >= 0 else []
            found = ("unit", found.kind, found.core >= 0, found.corelet)
        elif isinstance(found, tuple):
            found = "group"
        elif isinstance(found, int) and scope.asked(value, _is_place):
            found = "place"
        values.append(found)
    return tuple(values), peers


def _own(program: Any) -> list[tuple[Any, Any]]:
    """What may differ among the units of a program, each once: queries of maps, units that are named, the
    regions of roles (without a value).
    """
    found: dict[Any, tuple[Any, Any]] = {}
    for op in program.region.walk():
        if op.name == "uniform.query_map":
            found[op.results[0]] = (op, op.results[0])
        elif op.name == "uniform.uniformize_regions":
            found[op] = (op, None)
        if op.name not in ("uniform.def_immutable_mapping", "uniform.uniformize_regions"):
            for operand in op.operands:
                if _is_named(operand):
                    found[operand] = (op, operand)
    return list(found.values())


def _is_named(value: Any) -> bool:
    """Whether a value is a unit of a core by its definition, or a group of units."""
    op = value.owner
    name = getattr(op, "name", "")
    return (name == "dataflow.get_unit" and not is_device(value)) or name == "dataflow.create_multicast_group"


def _role(op: Any, scope: Scope) -> int:
    """The number of the region a unit takes, -1 for none."""
    for number, (_, units) in enumerate(groups_of(op)):
        if scope.me in [scope.known.get(u) for u in units]:
            return number
    return -1


def _is_place(value: Any) -> bool:
    return _only_places(value, set())


def _only_places(value: Any, seen: set[Any]) -> bool:
    """True if a number only says where in device memory something lies."""
    for use in value.uses:
        op = use.operation
        if op.name == "dataflow.get_logical_memory_view":
            if not is_device(op.unit):
                return False
        elif op.name == "agen.composite_load_and_store":
            side = op.src if value in op.src_indices else op.dst
            both = value in op.src_indices and value in op.dst_indices
            if both or value in op.time_symbols or not is_device(side.owner.operands[0]):
                return False
        elif op.name.startswith("arith."):
            if any(r not in seen and not _only_places(r, seen | {r}) for r in op.results):
                return False
        else:
            return False
    return True
