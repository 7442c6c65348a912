"""Rings of switches, found in the instances of a device: who injects, who ejects, which hops join the
stops.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.arch.device import Ring
from headrace.arch.instances import Connection, Instances, Node, fault
from headrace.arch.links import link_of


def rings_of(found: Instances) -> tuple[Ring, ...]:
    """Return the rings of a device, one stop a core; a single core has none. HeadraceError if stops are
    irregular.
    """
    touching = [one for one in found.connections if "switch" in (one.source.role, one.target.role)]
    return tuple(_ring(part, found) for part in _components(touching)) if found.cores > 1 else ()


def _components(connections: Iterable[Connection]) -> list[list[Connection]]:
    """Group connections by the switches they join, in the order of the text."""
    parts: list[tuple[set[int], list[Connection]]] = []
    for one in connections:
        switches = {end.serial for end in (one.source, one.target) if end.role == "switch"}
        joined = [part for part in parts if part[0] & switches]
        rest = [part for part in parts if not part[0] & switches]
        members = [member for _, listed in joined for member in listed] + [one]
        parts = [*rest, (switches.union(*(serials for serials, _ in joined)), members)]
    return [listed for _, listed in sorted(parts, key=lambda part: min(part[0]))]


def _ring(connections: list[Connection], found: Instances) -> Ring:
    cores = found.cores
    injects = [one for one in connections if one.source.role == "unit"]
    ejects = [one for one in connections if one.target.role == "unit"]
    hops = [one for one in connections if one.source.role == one.target.role == "switch"]
    first = connections[0]
    if not injects or not ejects or not hops:
        raise fault(
            "a ring of switches needs units that inject, units that eject and links between the stops",
            first.op,
        )
    stops: dict[int, int] = {}
    for switch, unit in [(one.target, one.source) for one in injects] + [
        (one.source, one.target) for one in ejects
    ]:
        if stops.setdefault(switch.serial, unit.place.core or 0) != unit.place.core:
            raise fault("a ring stop is joined to units of two cores", first.op)
    if len(stops) != cores:
        raise fault(f"a ring of {len(stops)} stops on {cores} cores", first.op, "one stop a core")
    source, target = (
        _one_kind(injects, [one.source for one in injects]),
        _one_kind(ejects, [one.target for one in ejects]),
    )
    by_step = _steps(hops, stops, cores)
    return Ring(
        kind=hops[0].source.kind,
        source=source.kind,
        target=target.kind,
        corelet=source.place.corelet,
        steps=tuple(by_step),
        hops=tuple(
            link_of(group[0], hops[0].source.kind, hops[0].source.kind, "core") for group in by_step.values()
        ),
        inject=link_of(injects[0], source.kind, hops[0].source.kind, "core"),
        eject=link_of(ejects[0], hops[0].source.kind, target.kind, "core"),
    )


def _one_kind(connections: list[Connection], units: list[Node]) -> Node:
    first = units[0]
    for one, unit in zip(connections, units, strict=True):
        alike = (unit.kind, unit.place.corelet) == (first.kind, first.place.corelet)
        if not alike or one.values != connections[0].values:
            raise fault("the stops of a ring are joined to different units", one.op)
    return first


def _steps(hops: list[Connection], stops: dict[int, int], cores: int) -> dict[int, list[Connection]]:
    """Group the hops by direction; on two cores the second direction is the other way round to the same
    neighbour.
    """
    lanes: dict[tuple[int, int, int], list[Connection]] = {}
    for one in hops:
        forward = (stops[one.target.serial] - stops[one.source.serial]) % cores
        lanes.setdefault((one.source.port, one.target.port, forward), []).append(one)
    by_step: dict[int, list[Connection]] = {}
    for (_, _, forward), group in lanes.items():
        step = forward if forward <= cores // 2 and forward not in by_step else forward - cores
        if len(group) != cores or any(one.values != group[0].values for one in group):
            raise fault("the hops of a ring differ between stops", group[0].op)
        by_step[step] = group
    return by_step
