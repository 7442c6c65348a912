"""The values all programs of a DFIR function share: constants, unit handles, multicast groups."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from headrace.arch.device import Device
from headrace.schedule.lower.emit.ops import INDEX, int32, make, text

Instance = tuple[int, int]
"""(core number, corelet number); corelet 0 for a unit of the core."""


class FunctionValues:
    """Constants, unit handles and multicast groups of one DFIR function; `head` are the ops that define
    them.
    """

    def __init__(self, device: Device, arguments: dict[str, SSAValue]) -> None:
        self.device, self.arguments = device, arguments
        self.head: list[Operation] = []
        self.groups: list[Operation] = []
        self._constants: dict[int, SSAValue] = {}
        self._units: dict[tuple[str, Instance], SSAValue] = {}
        self._multicast: dict[tuple[SSAValue, ...], SSAValue] = {}

    def constant(self, value: int) -> SSAValue:
        """Return an index constant."""
        found = self._constants.get(value)
        if found is None:
            op = make("arith.constant", results=[INDEX], properties={"value": IntegerAttr(value, INDEX)})
            self.head.append(op)
            found = self._constants[value] = op.results[0]
            found.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
        return found

    def unit(self, kind: str, instance: Instance) -> SSAValue:
        """Return the handle of a unit."""
        found = self._units.get((kind, instance))
        if found is None:
            core, corelet = instance
            lower = kind.lower()
            name = f"C{core}-{lower}"
            if self.device.unit(kind).per == "corelet":
                name += f"-CL{corelet}"
            found = self._handle(lower, name, {"core": int32(core), "corelet": int32(corelet)})
            self._units[kind, instance] = found
            found.name_hint = name.lower().replace("-", "_")
        return found

    def memory(self, kind: str, core: int) -> SSAValue:
        """Return the handle of the device memory ("hbm") or of a core's scratchpad ("lx")."""
        found = self._units.get((kind, (core, 0)))
        if found is None:
            name, attributes = (kind, {}) if kind == "hbm" else (f"C{core}-{kind}", {"core": int32(core)})
            found = self._handle(kind, name, attributes)
            self._units[kind, (core, 0)] = found
            found.name_hint = name.lower().replace("-", "_")
        return found

    def _handle(self, kind: str, name: str, attributes: dict[str, Attribute]) -> SSAValue:
        properties = {"name": text(name), "type": text(kind)}
        op = make("dataflow.get_unit", results=[INDEX], properties=properties, attributes=attributes)
        self.head.append(op)
        return op.results[0]

    def multicast(self, producer: SSAValue, consumers: tuple[SSAValue, ...]) -> SSAValue:
        """Return the multicast group of some units that read one memory together."""
        found = self._multicast.get(consumers)
        if found is None:
            numbers = {
                "count": int32(0),
                "group_id": int32(len(self._multicast)),
                "num_consumers": int32(len(consumers)),
            }
            op = make("dataflow.create_multicast_group", [producer, *consumers], [INDEX], numbers)
            self.groups.append(op)
            found = self._multicast[consumers] = op.results[0]
        return found
