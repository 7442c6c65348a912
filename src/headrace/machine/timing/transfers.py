"""Composite transfers as activities: descriptors of DMA units, streams of readers and writers."""

from __future__ import annotations

from math import prod
from typing import Protocol

from headrace.arch.device import Unit
from headrace.arch.routes import unicast_rate
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.machine.boxes import Box
from headrace.machine.image import Group
from headrace.machine.index import Index
from headrace.machine.nodes import Copy, Read, Write
from headrace.machine.nodes import Stream as Operand
from headrace.machine.operands import buffer_name
from headrace.machine.timing.access import access_cycles, touched_bytes, transfer_runs
from headrace.machine.timing.activities import Body, Give, Peer, Phase, Stream, Take, Transfer
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.steps import granules_of
from headrace.machine.timing.ticks import ticks


class Scope(Protocol):
    """What the price of a transfer needs to know about the place it stands in."""

    unit: Unit
    prices: Prices

    def evaluate(self, index: Index, modulus: int = 0) -> int:
        """The value of an index, equal on all cores of the class."""

    def peer(self, index: Index) -> Peer:
        """The unit an index names, relative to this core."""

    def groups(self, index: Index) -> tuple[Group, ...]:
        """The multicast groups of all cores of the class."""

    def distance(self, index: Index) -> int:
        """How many cores further on the core an index names is."""


# ---- memory to memory --------------------------------------------------------------------------------------
def transfer(node: Copy, scope: Scope) -> Transfer:
    """Return the descriptor of a copy."""
    side = _side(node)
    groups = _groups(node, side, scope)
    access = scope.prices.device.memory("global").access_bytes
    remote = {"read": node.source, "write": node.target}.get(side)
    moved = _bytes(node, remote, access, scope) if remote is not None else _plain_bytes(node.source, scope)
    cores, step, hops = _ring_way(node, groups, scope) if side == "ring" else (0, 0, 0)
    is_shared = any(len(group.members) > 1 for group in groups)
    multicast = scope.prices.device.memory("global").multicast
    return Transfer(
        side,
        moved,
        _rate(node, moved, hops, is_shared, scope),
        ticks(scope.unit.setup_cycles + _index_cycles(node, scope)),
        scope.prices.transfer_latency(scope.unit.kind, hops),
        frozenset(group.number for group in groups) if is_shared else frozenset(),
        max((len(group.members) for group in groups), default=1),
        ticks(multicast.sync_cycles) if multicast is not None and is_shared and side == "read" else 0,
        cores,
        step,
        _ports(side, cores, scope),
        _traffic(node, side, scope),
        buffer_name(remote) if remote is not None else "",
        node.where,
    )


def _groups(node: Copy, side: str, scope: Scope) -> tuple[Group, ...]:
    """The multicast groups of a transfer; device memory without multicast answers every member by itself."""
    groups = scope.groups(node.group) if node.group is not None else ()
    multicast = scope.prices.device.memory("global").multicast
    if side == "read" and multicast is None:
        return ()
    largest = max((len(group.members) for group in groups), default=0)
    if side == "read" and multicast is not None and largest > multicast.max_consumers:
        hint = f"one read answers at most {multicast.max_consumers}"
        raise HeadraceError(Diagnostic(f"a multicast group of {largest} units", node.where, hint=hint))
    return groups


def _side(node: Copy) -> str:
    kinds = (node.source.place.kind, node.target.place.kind)
    if kinds == ("global", "ct_local"):
        return "read"
    if kinds == ("ct_local", "global"):
        return "write"
    if kinds == ("ct_local", "ct_local"):
        return "ring"
    raise HeadraceError(Diagnostic(f"no unit moves {kinds[0]} to {kinds[1]} memory", node.where))


def _plain_bytes(box: Box, scope: Scope) -> int:
    length, runs, _ = transfer_runs(box, scope.evaluate)
    return length * runs


def _bytes(node: Copy, remote: Box, access: int, scope: Scope) -> int:
    """Bytes of device memory; rows chosen by an index tensor are aligned if the table's rows are."""
    indirect = node.indirect
    if indirect is None:
        return touched_bytes(remote, access, scope.evaluate)
    length, runs = _row(remote, scope)
    is_aligned = indirect.scale % access == 0
    residue = (
        scope.evaluate(Index(remote.base.const % access, remote.base.terms), access)
        if is_aligned
        else access - 1
    )
    return runs * (-(-(residue + length) // access) * access)


def _row(box: Box, scope: Scope) -> tuple[int, int]:
    """(bytes of a contiguous run, number of runs) of an indirect transfer: runs end at the time dims."""
    length, times = box.itemsize, prod(scope.evaluate(dim.extent) for dim in box.times)
    extents = [(scope.evaluate(dim.extent), dim.stride) for dim in box.run]
    while extents and extents[-1] and extents[-1][1] in (length, 0) or (extents and extents[-1][0] == 1):
        length *= extents.pop()[0]
    return length, times * prod(extent for extent, _ in extents)


def _rate(node: Copy, moved: int, hops: int, is_shared: bool, scope: Scope) -> float | None:
    """The unit's own ceiling: links, ports, and for unicast its requests in flight (one a row when
    indirect).
    """
    unit, device = scope.unit, scope.prices.device
    ports = (scope.prices.core_port(unit.kind, direction) for direction in ("read", "write"))
    rates = [rate for rate in (unicast_rate(unit, device, is_shared), *ports) if rate is not None]
    latency = scope.prices.transfer_latency(unit.kind, hops) / 1024
    if node.indirect is not None and unit.outstanding and latency and moved:
        remote = node.source if node.indirect.side == "source" else node.target
        length, runs = _row(remote, scope)
        requests = runs * -(-length // unit.request_bytes) if unit.request_bytes else runs
        rates.append(
            unit.outstanding
            * moved
            / max(1, requests)
            / device.cycles(device.memory("global").latency_ns or 1)
        )
    if hops and not is_shared and unit.outstanding and unit.request_bytes and latency:
        rates.append(unit.outstanding * unit.request_bytes / latency)
    return min(rates, default=None)


def _index_cycles(node: Copy, scope: Scope) -> float:
    """Cycles to read the index tensor before the first request."""
    if node.indirect is None:
        return 0.0
    size = _plain_bytes(node.indirect.box, scope)
    rate = scope.prices.core_port(scope.unit.kind, "read") or scope.prices.core_port(scope.unit.kind, "write")
    return size / rate if rate else 0.0


def _ring_way(node: Copy, groups: tuple[Group, ...], scope: Scope) -> tuple[int, int, int]:
    """(distance of the source core, direction, hops) of a pull."""
    device = scope.prices.device
    cores = scope.distance(node.source.place.owner) % device.cores
    if cores == 0:
        return 0, 0, 0
    ring = next((ring for ring in device.rings if ring.target == scope.unit.kind), None)
    if ring is None:
        raise HeadraceError(
            Diagnostic(f"no ring brings another core's scratchpad to {scope.unit.kind}", node.where)
        )
    wanted = {"clockwise": 1, "counterclockwise": -1}.get(node.direction.lower())
    if wanted in ring.steps:
        return cores, wanted, (-cores * wanted) % device.cores
    hops, step = ring.distance(cores, 0, device.cores)
    return cores, step, hops


def _ports(side: str, cores: int, scope: Scope) -> tuple[tuple[str, int], ...]:
    """Core ports the transfer uses: (direction, distance of the core), those that several units share."""
    shared = scope.prices.shared_ports()
    used = {"read": (("write", 0),), "write": (("read", 0),), "ring": (("read", cores), ("write", 0))}[side]
    return tuple(port for port in used if port[0] in shared)


def _traffic(node: Copy, side: str, scope: Scope) -> tuple[tuple[str, int], ...]:
    """Bytes of the scratchpad; those of device memory and rings are counted when they move."""
    local = _plain_bytes(node.target if side == "read" else node.source, scope)
    match side:
        case "read":
            return (("lx_write", local),)
        case "write":
            return (("lx_read", local),)
    return (("lx_read", local), ("lx_write", local))


# ---- readers and writers -----------------------------------------------------------------------------------
def reader(node: Read, scope: Scope) -> Body:
    """Return the stream(s) of a composite load: one phase a message, interleaved."""
    return _interleaved(
        node.streams, node.granularity, [_reading(one, scope) for one in node.streams], scope, node.where
    )


def writer(node: Write, scope: Scope) -> Body:
    """Return the stream(s) of a composite store."""
    return _interleaved(
        node.streams, node.granularity, [_writing(one, scope) for one in node.streams], scope, node.where
    )


def _interleaved(
    operands: tuple[Operand, ...], granularity: int, phases: list[Phase], scope: Scope, where: Location
) -> Body:
    messages = [prod(scope.evaluate(dim.extent) for dim in one.box.times) for one in operands]
    count = min(messages)
    is_read = bool(phases[0].gives)
    name = "lx_read" if is_read else "lx_write"
    once = sum(one.message_bytes for one in operands)
    link = scope.prices.device.find_link(scope.unit.kind, "ct_local")
    settle = 0 if is_read or link is None else ticks(link.latency_cycles)
    setup = ticks(scope.unit.setup_cycles)
    label = "read" if is_read else "write"
    whole, rest = divmod(count, granularity)
    body: list[Stream] = []
    for times, group in ((whole, granularity), (1, rest)):
        if times and group:
            round_of = tuple(phase for phase in phases for _ in range(group))
            traffic = ((name, once * group * times),)
            body.append(Stream(times, round_of, setup, 0, settle, traffic, label, where))
            setup = 0
    return tuple(body)


def _reading(operand: Operand, scope: Scope) -> Phase:
    unit, prices = scope.unit, scope.prices
    peer = scope.peer(operand.peer)
    rate, latency, _ = prices.channel(unit.kind, peer.kind, peer.corelet, peer.cores)
    cycles = access_cycles(operand.box, operand.lanes, unit, "read", prices)
    if rate:
        cycles = max(cycles, operand.message_bytes / rate)
    link = prices.device.find_link("ct_local", unit.kind)
    entry = ticks(link.latency_cycles) if link is not None else 0
    cost = ticks(cycles)
    return Phase((), cost, (Give(peer, granules_of(operand.message_bytes), 0, cost, entry + latency),))


def _writing(operand: Operand, scope: Scope) -> Phase:
    cycles = access_cycles(operand.box, operand.lanes, scope.unit, "write", scope.prices)
    return Phase((Take(scope.peer(operand.peer)),), ticks(cycles))
