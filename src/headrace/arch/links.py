"""Datapaths between units and memories, folded from their instances into one Link per pair of kinds."""

from __future__ import annotations

from headrace.arch import attributes as table
from headrace.arch.device import Link
from headrace.arch.instances import Connection, Instances, fault
from headrace.arch.values import take


def links_of(found: Instances, corelets: int) -> tuple[Link, ...]:
    """Return the links of a device that touch no switch; HeadraceError if cores or corelets are linked
    differently.
    """
    grouped: dict[tuple[str, str], list[Connection]] = {}
    for one in found.connections:
        if "switch" not in (one.source.role, one.target.role):
            grouped.setdefault((one.source.kind, one.target.kind), []).append(one)
    links = []
    for (source, target), group in grouped.items():
        first = group[0]
        per = max((first.source.place.per, first.target.place.per), key=("device", "core", "corelet").index)
        expected = {"device": 1, "core": found.cores, "corelet": found.cores * corelets}[per]
        if len(group) != expected or any(one.values != first.values for one in group):
            raise fault(f"links from {source} to {target} differ between cores or corelets", first.op)
        links.append(link_of(first, source, target, per))
    return tuple(links)


def link_of(connection: Connection, source: str, target: str, per: str) -> Link:
    """Return the Link record of one datapath."""
    fields = take(table.LINK, connection.values, connection.op)
    fields.pop("step", None)
    kind = connection.values.get("kind")
    granularity = tuple(fields.pop("granularity", ()))
    return Link(source, target, per, kind=str(kind) if kind else None, granularity=granularity, **fields)
