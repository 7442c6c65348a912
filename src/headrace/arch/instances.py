"""An architecture text as a list of instances: every unit, memory and link of every core, replication
written out.

The replicated form (`headrace.count`, `headrace.step`) and the written-out form give the same list; `read`
then folds it into kinds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import Operation, SSAValue

from headrace.arch.plain import attributes, memory_space, plain
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location

Values = dict[str, Any]

WORD = re.compile(r"[A-Za-z][\w.$-]*", re.ASCII)
"""What a unit may be called: programs name it in their values."""


@dataclass(frozen=True)
class Place:
    """Where a resource stands: core and corelet number (None above them), and a block inside (register
    files).
    """

    core: int | None = None
    corelet: int | None = None
    block: int | None = None

    @property
    def per(self) -> str:
        """Return "device", "core" or "corelet"."""
        if self.core is None:
            return "device"
        return "core" if self.corelet is None else "corelet"


@dataclass(frozen=True)
class Node:
    """One instance of a memory, a unit or a switch; `port` tells the ports of a switch apart."""

    role: str
    kind: str
    place: Place
    serial: int
    port: int = 0


@dataclass(frozen=True)
class Resource:
    """A node with its attributes and the op that wrote it."""

    node: Node
    values: Values
    op: Operation


@dataclass(frozen=True)
class Connection:
    """One instance of a datapath."""

    source: Node
    target: Node
    values: Values
    op: Operation


@dataclass
class Instances:
    """All instances in the order of the text; `spaces` translates memory kinds to "global" and "ct_local"."""

    spaces: Mapping[str, str] = field(default_factory=dict)
    memories: list[Resource] = field(default_factory=list)
    units: list[Resource] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    cores: int = 0
    serial: int = 0

    def next_serial(self) -> int:
        self.serial += 1
        return self.serial


MOST_INSTANCES = 4096
"""More cores than that are a mistake in the file: every one of them is made."""

Scope = dict[SSAValue, list[Node]]


def expand(device: Operation) -> Instances:
    """Return the instances of a `ktdf_arch.device` op; HeadraceError if its structure is not one of cores."""
    found = Instances(_spaces(device))
    _walk(device, {}, Place(), found)
    return found


def fault(message: str, op: Operation, hint: str = "") -> HeadraceError:
    """Return the error for one op of an architecture text."""
    return HeadraceError(Diagnostic(message, location(op), op.name, hint))


def _spaces(device: Operation) -> dict[str, str]:
    mapping = attributes(device).get("mem_space_mapping")
    named = plain(mapping) if mapping is not None else {}
    return {str(kind): space for space, kind in named.items()}


def _walk(parent: Operation, scope: Scope, place: Place, found: Instances) -> list[SSAValue]:
    """Collect the resources of a device or group body; return the operands of its yield."""
    corelets = 0
    for block in parent.regions[0].blocks if parent.regions else ():
        for op in block.ops:
            match op.name.removeprefix("ktdf_arch."):
                case "memory":
                    scope[op.results[0]] = [_memory(op, place, found)]
                case "exec_unit":
                    scope[op.results[0]] = [_unit(op, place, found)]
                case "switch":
                    _switch(op, place, scope, found)
                case "datapath":
                    _connect(op, scope, found)
                case "group":
                    corelets += _group(op, scope, place, corelets, found)
                case "yield":
                    return list(op.operands)
                case "patterns":
                    pass
                case _:
                    raise fault("not a resource of an architecture", op)
    return []


def _memory(op: Operation, place: Place, found: Instances) -> Node:
    values = {name: plain(value) for name, value in attributes(op).items()}
    kind = attributes(op).get("kind")
    if kind is None:
        raise fault("a memory needs a kind", op, 'write {kind = "NAME"} or a memory space')
    space = memory_space(kind) or found.spaces.get(str(plain(kind))) or _space_by_position(place, found)
    node = Node("memory", space or str(plain(kind)), place, found.next_serial())
    found.memories.append(Resource(node, values, op))
    return node


def _space_by_position(place: Place, found: Instances) -> str | None:
    """Device level = global; the first memory of a core = its scratchpad; deeper memories keep their own
    kind.
    """
    if place.per == "device":
        return "global" if not any(m.node.place.per == "device" for m in found.memories) else None
    if place.per == "core" and place.block is None:
        taken = any(m.node.place == place and m.node.kind == "ct_local" for m in found.memories)
        return None if taken else "ct_local"
    return None


def _unit(op: Operation, place: Place, found: Instances) -> Node:
    values = {name: plain(value) for name, value in attributes(op).items()}
    if place.core is None:
        raise fault("a unit outside a core", op, 'put it into group {kind = "core"} share(...)')
    if "kind" not in values:
        raise fault("an execution unit needs a kind", op, 'write {kind = "NAME"}')
    if not WORD.fullmatch(str(values["kind"])):
        raise fault(
            f"'{values['kind']}' is no kind of a unit", op, "letters, digits, and _ - . $ between them"
        )
    node = Node("unit", str(values["kind"]), place, found.next_serial())
    found.units.append(Resource(node, values, op))
    return node


def _switch(op: Operation, place: Place, scope: Scope, found: Instances) -> None:
    values = {name: plain(value) for name, value in attributes(op).items()}
    count = _count(op, values)
    serials = [found.next_serial() for _ in range(count)]
    for port, result in enumerate(op.results):
        scope[result] = [
            Node("switch", str(values.get("kind", "SWITCH")), place, serial, port) for serial in serials
        ]


def _count(op: Operation, values: Values) -> int:
    """How many instances a group or switch stands for."""
    count = values.get("headrace.count", 1)
    if not isinstance(count, int) or not 1 <= count <= MOST_INSTANCES:
        raise fault(f"headrace.count is {count!r}, not a number from 1 to {MOST_INSTANCES}", op)
    return count


def _connect(op: Operation, scope: Scope, found: Instances) -> None:
    values = {name: plain(value) for name, value in attributes(op).items()}
    source, target = (scope.get(operand) for operand in op.operands)
    if source is None or target is None:
        raise fault("a datapath joins something that is not in scope", op)
    count = max(len(source), len(target))
    if len(source) not in (1, count) or len(target) not in (1, count):
        raise fault(
            f"a datapath joins {len(source)} instances to {len(target)}",
            op,
            "the counts must be equal, or one",
        )
    step = values.get("headrace.step", 0)
    if not isinstance(step, int):
        raise fault(f"headrace.step is {step!r}, not a whole number", op)
    for i in range(count):
        one = source[i % len(source)]
        other = target[(i + step) % len(target)]
        found.connections.append(Connection(one, other, values, op))


def _group(op: Operation, scope: Scope, place: Place, corelets: int, found: Instances) -> int:
    """Expand one group op; return how many corelets it stands for."""
    count = _count(op, {name: plain(value) for name, value in attributes(op).items()})
    kept: list[list[Node]] = [[] for _ in op.results]
    is_block = place.core is not None and (place.corelet is not None or not op.operands)
    for instance in range(count):
        inside = _place_inside(place, is_block, corelets + instance, found)
        inner: Scope = {}
        block = op.regions[0].blocks[0] if op.regions and op.regions[0].blocks else None
        if block is not None:
            inner |= {arg: scope[operand] for arg, operand in zip(block.args, op.operands, strict=True)}
        yielded = _walk(op, inner, inside, found)
        for nodes, value in zip(kept, yielded, strict=False):
            nodes.extend(inner[value])
    scope |= dict(zip(op.results, kept, strict=True))
    return 0 if place.core is None or is_block else count


def _place_inside(place: Place, is_block: bool, corelet: int, found: Instances) -> Place:
    if place.core is None:
        found.cores += 1
        return Place(core=found.cores - 1)
    if is_block:
        return replace(place, block=found.next_serial())
    return replace(place, corelet=corelet)
