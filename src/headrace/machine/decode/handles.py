"""Handles of a module: units, memories, groups and constant maps, numbered once for the whole image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Operation, SSAValue

from headrace.arch.device import Device
from headrace.machine.decode.meanings import GroupHandle, Mapping, MemoryHandle, UnitHandle, Units, Words
from headrace.machine.decode.reading import fault, integer, integers, name_of, segments, text
from headrace.machine.image import Channel, Group, Index, Instance, MemoryKind, MemorySize

_KINDS: dict[str, MemoryKind] = {"global": "global", "ct_local": "ct_local"}


NAMED = (
    *("dataflow.get_unit", "dataflow.create_group", "dataflow.create_multicast_group"),
    *("uniform.def_immutable_mapping", "symbol.symbol_immutable_mapping", "symbol.create_symbol"),
)
"""The ops that `Handles.define` knows."""


class Handles:
    """Gives every unit and group of a module its number; `symbols` are the values of `symbol.create_id`."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.instances: list[Instance] = []
        self.groups: list[Group] = []
        self.by_name: dict[str, UnitHandle] = {}
        self.symbols: dict[int, Index] = {}

    def define(self, op: Operation, env: dict[SSAValue, Any]) -> bool:
        """Defines the results of a handle op in `env`; False if the op is not one."""
        match name_of(op):
            case "dataflow.get_unit":
                found = self._unit(op)
                for result in op.results:  # a handle per program time step: always the same unit
                    env[result] = found
            case "dataflow.create_group":
                env[op.results[0]] = Units(tuple(_unit_of(op, env.get(v)) for v in op.operands))
            case "dataflow.create_multicast_group":
                env[op.results[0]] = self._group(op, env)
            case "uniform.def_immutable_mapping" | "symbol.symbol_immutable_mapping":
                half = len(op.operands) // 2
                if len(op.operands) != 2 * half:
                    fault(op, "a map needs as many values as keys")
                keys = [_key(op, env.get(v)) for v in op.operands[:half]]
                if not all(isinstance(k, int | UnitHandle | MemoryHandle) for k in keys):
                    fault(op, "the keys of a map are units, memories or constants")
                env[op.results[0]] = Mapping(
                    dict(zip(keys, (_key(op, env.get(v)) for v in op.operands[half:]), strict=True))
                )
            case "symbol.create_symbol":
                number = integer(op, "SymbolId")
                if number not in self.symbols:
                    fault(op, f"symbol {number} has no definition")
                env[op.results[0]] = Words(self.symbols[number])
            case _:
                return False
        return True

    def _unit(self, op: Operation) -> UnitHandle | MemoryHandle:
        kind, name = text(op, "type"), text(op, "name")
        core = integer(op, "core", 0)
        if not kind or not name:
            fault(op, "a unit needs a name and a type")
        memory = self.device.find_memory(kind)
        if memory is not None:
            space = _KINDS.get(memory.kind, "register")
            if space == "ct_local" and not 0 <= core < self.device.cores:
                fault(op, f"device {self.device.name} has no core {core}")
            return MemoryHandle(
                space, memory.name, -1 if space == "register" else core if space == "ct_local" else 0
            )
        unit = self.device.find_unit(kind)
        if unit is None:
            known = ", ".join(u.kind for u in self.device.units)
            fault(
                op,
                f"device {self.device.name} has no unit or memory of type {kind}",
                f"its units are {known}",
            )
        corelet = integer(op, "corelet", 0)
        if not (0 <= core < self.device.cores and 0 <= corelet < self.device.corelets):
            fault(op, f"device {self.device.name} has no core {core}, corelet {corelet}")
        if name not in self.by_name:
            self.by_name[name] = UnitHandle(len(self.instances))
            self.instances.append(Instance(len(self.instances), name, unit.kind, core, corelet))
        handle = self.by_name[name]
        first = self.instances[handle.number]
        if (first.kind, first.core, first.corelet) != (unit.kind, core, corelet):
            fault(
                op,
                f"{name} is the name of {first.kind} of core {first.core}, corelet {first.corelet} already",
            )
        return handle

    def _group(self, op: Operation, env: dict[SSAValue, Any]) -> GroupHandle:
        producer, *members = (env.get(v) for v in op.operands)
        if not isinstance(producer, MemoryHandle) or not all(isinstance(m, UnitHandle) for m in members):
            fault(op, "a multicast group goes from a memory to units")
        number = len(self.groups)
        kind: MemoryKind = producer.kind  # type: ignore[assignment]
        numbers = tuple(m.number for m in members if isinstance(m, UnitHandle))
        self.groups.append(Group(number, numbers, kind, producer.owner))
        return GroupHandle(number)

    def local(self, op: Operation, unit: Any, name: str) -> MemoryHandle:
        """The memory `name` of a unit: its register file, or the scratchpad of its core."""
        memory = self.device.find_memory(name)
        if memory is None or not isinstance(unit, UnitHandle):
            fault(op, f"unit has no local memory {name}")
        space = _KINDS.get(memory.kind, "register")
        owners = {"global": 0, "ct_local": self.instances[unit.number].core, "register": unit.number}
        return MemoryHandle(space, memory.name, owners[space])

    def word_bytes(self, instance: int, kind: str) -> int:
        """Bytes of a word of a unit for a memory kind, 64 where the device file says nothing."""
        return self.device.unit(self.instances[instance].kind).word_bytes.get(kind, 64)

    def region_of(self, op: Operation, env: dict[SSAValue, Any], instance: int) -> int | None:
        """The region of `uniform.uniformize_regions` that an instance runs, or None."""
        sizes = integers(op, "list_sizes") or [len(s) for s in segments(op)]
        start = 0
        for k, size in enumerate(sizes):
            for value in op.operands[start : start + size]:
                if value not in env:
                    fault(op, "the units of a region must be named outside the unit program")
                if UnitHandle(instance) in _units(env[value]):
                    return k
            start += size
        return None

    def describe(self, key: Any) -> str:
        """A key of a map in words."""
        return self.instances[key.number].name if isinstance(key, UnitHandle) else str(key)

    def channel(self, sender: int, receiver: int) -> Channel:
        """The FIFO between two instances, with the capacity the device gives it."""
        a, b = self.instances[sender], self.instances[receiver]
        link = self.device.find_link(a.kind, b.kind)
        if link is None or a.core != b.core:
            ring = self.device.find_ring(a.kind, b.kind, a.corelet)
            link = ring.inject if ring is not None else None
        return Channel(sender, receiver, None if link is None else link.capacity_bytes)

    def memories(self) -> Iterator[MemorySize]:
        """Every memory of the device, register files included."""
        for memory in self.device.memories:
            kind = _KINDS.get(memory.kind, "register")
            yield MemorySize(kind, memory.name, memory.size_bytes, memory.align_bytes)

    def has_path(self, sender: int, receiver: int) -> bool:
        """Whether the device joins two instances by a link or a ring."""
        a, b = self.instances[sender], self.instances[receiver]
        if a.core == b.core and self.device.find_link(a.kind, b.kind) is not None:
            return True
        return self.device.find_ring(a.kind, b.kind, a.corelet) is not None


def _unit_of(op: Operation, found: Any) -> UnitHandle:
    if not isinstance(found, UnitHandle):
        fault(op, "a group is made of unit handles")
    return found


def _units(found: Any) -> tuple[UnitHandle, ...]:
    return found.members if isinstance(found, Units) else (found,)


def _key(op: Operation, found: Any) -> Any:
    """A map's key or value: handles as they are, constants as integers."""
    if isinstance(found, Index):
        return found.constant if found.constant is not None else found
    if found is None:
        fault(op, "keys and values of a map must be defined outside the unit program or be constants")
    return found
