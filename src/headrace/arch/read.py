"""Architecture text (`ktdf_arch`) → Device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.ir import Operation

from headrace.arch import attributes as table
from headrace.arch.device import Device, Matrix, Memory, Multicast, Unit, canonical
from headrace.arch.instances import Instances, Place, Resource, Values, expand, fault
from headrace.arch.links import links_of
from headrace.arch.plain import attributes, plain
from headrace.arch.rings import rings_of
from headrace.arch.values import check_names, take
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import load_file, location, parse, print_module


def read(text: str, file: str = "<text>") -> Device:
    """Return the Device an architecture text declares; relative imports are resolved beside `file`."""
    return device_of(parse(text, file), file)


def device_of(module: Operation, file: str = "<text>") -> Device:
    """Return the Device of a parsed module with exactly one `ktdf_arch.device`; HeadraceError for anything
    else.
    """
    declaration = declared(module)
    definition = _imported(declaration, file)
    check_names(definition)
    found = expand(definition)
    if not found.cores:
        raise fault(
            "the device has no core", definition, 'write group {kind = "core"} share(%memory) { ... }'
        )
    corelets = max((unit.node.place.corelet or 0 for unit in found.units), default=0) + 1
    units = _units(found, corelets)
    settings = take(table.DEVICE, {**_values(definition), **_values(declaration)}, declaration)
    return Device(
        name=plain(attributes(declaration)["sym_name"]),
        cores=found.cores,
        corelets=corelets,
        clock_mhz=settings.pop("clock_mhz", 1000),
        signal_cycles=settings.pop("signal_cycles", 1),
        launch_cycles=settings.pop("launch_cycles", 0),
        memories=_memories(found),
        units=units,
        links=links_of(found, corelets),
        rings=rings_of(found),
        sources=_sources(definition, found),
        text=print_module(module),
        **settings,
    )


def declared(module: Operation) -> Operation:
    """Return the one `ktdf_arch.device` op of a module."""
    devices = [op for op in module.walk() if op.name == "ktdf_arch.device"]
    if len(devices) != 1:
        raise HeadraceError(
            Diagnostic(
                f"an architecture file declares one device, this one {len(devices)}",
                location(module),
                hint="ktdf_arch.device @name { ... }",
            )
        )
    return devices[0]


def _imported(declaration: Operation, file: str) -> Operation:
    """Return the op with the body: the declaration itself, or the device of the same name in the file it
    imports.
    """
    path = attributes(declaration).get("import_path")
    if path is None:
        return declaration
    module = load_file(Path(file).parent / plain(path))
    definition = declared(module)
    name = plain(attributes(declaration)["sym_name"])
    if plain(attributes(definition)["sym_name"]) != name or "import_path" in attributes(definition):
        raise fault(f"the imported file defines no device @{name}", declaration)
    return definition


def _values(op: Operation) -> Values:
    return {name: plain(value) for name, value in attributes(op).items()}


def _memories(found: Instances) -> tuple[Memory, ...]:
    memories = []
    for kind, group in _by_kind(found.memories).items():
        first = _alike(group)
        fields = take(table.MEMORY, first.values, first.op)
        if "size_bytes" not in fields:
            raise fault("a memory needs a size", first.op, "write {size = BYTES}")
        multicast = take(table.MULTICAST, first.values, first.op)
        fields.pop("multicast", None)
        if multicast and "max_consumers" not in multicast:
            raise fault(
                "multicast without max_consumers", first.op, "write how many consumers one read serves"
            )
        pairs = fields.pop("reserved", [])
        if len(pairs) % 2:
            raise fault("reserved is no list of pairs", first.op, "write lo, hi, lo, hi, ...")
        memories.append(
            Memory(
                kind=kind,
                name=str(first.values.get("id", first.values["kind"])),
                per=first.node.place.per,
                reserved=tuple(zip(pairs[::2], pairs[1::2], strict=True)),
                multicast=Multicast(**multicast) if multicast else None,
                **fields,
            )
        )
    return tuple(memories)


def _units(found: Instances, corelets: int) -> tuple[Unit, ...]:
    units = []
    for kind, group in _by_kind(found.units).items():
        first = _alike(group)
        per = first.node.place.per
        count = corelets if per == "corelet" else 1
        if len(group) != count * found.cores:
            raise fault(
                f"{len(group)} units of kind {kind} on {found.cores} cores",
                first.op,
                "one a core or one a corelet",
            )
        fields = take(table.UNIT, first.values, first.op)
        matrix = take(table.MATRIX, first.values, first.op)
        if matrix and "macs" not in matrix:
            raise fault(
                f"unit {kind} has a matrix without macs", first.op, "write the MACs per cycle of each type"
            )
        features: Mapping[str, Any] = first.values.get("ktdf_arch.features", {})
        registers = _registers(first.node.place, found)
        units.append(
            Unit(
                kind=kind,
                per=per,
                count=count,
                is_compute="ktdf_arch.feature.compute" in features,
                is_load="ktdf_arch.feature.load" in features,
                is_store="ktdf_arch.feature.store" in features,
                matrix=Matrix(**{"accumulate": {}} | matrix) if matrix else None,
                word_bytes=_word_bytes(features, found),
                granularity=_granularity(features, found),
                registers=registers.node.kind if registers else None,
                registers_bytes=registers.values["size"] if registers else None,
                **fields,
            )
        )
    return tuple(units)


def _registers(place: Place, found: Instances) -> Resource | None:
    if place.block is None:
        return None
    return next((memory for memory in found.memories if memory.node.place == place), None)


def _access(features: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("ktdf_arch.feature.load", "ktdf_arch.feature.store"):
        if isinstance(features.get(name), dict):
            return features[name]  # type: ignore[no-any-return]
    return {}


def _word_bytes(features: Mapping[str, Any], found: Instances) -> dict[str, int]:
    words = _access(features).get("word_size", {})
    return {found.spaces.get(kind, kind): size for kind, size in words.items()}


def _granularity(features: Mapping[str, Any], found: Instances) -> dict[str, tuple[tuple[int, int], ...]]:
    listed = _access(features).get("access_granularity", {})
    return {
        found.spaces.get(kind, kind): tuple(
            (one["size_in_words"], one.get("align_in_words", 1)) for one in sizes
        )
        for kind, sizes in listed.items()
    }


def _by_kind(resources: Iterable[Resource]) -> dict[str, list[Resource]]:
    grouped: dict[str, list[Resource]] = {}
    for one in resources:
        grouped.setdefault(one.node.kind, []).append(one)
    return grouped


def _alike(group: Sequence[Resource]) -> Resource:
    """Return the first of resources that must be equal up to their names."""
    first = group[0]
    for other in group:
        same = {k: v for k, v in other.values.items() if k != "id"} == {
            k: v for k, v in first.values.items() if k != "id"
        }
        if not same or other.node.place.per != first.node.place.per:
            raise fault(
                f"resources of kind {first.node.kind} differ",
                other.op,
                "give different resources different kinds",
            )
    return first


def _sources(definition: Operation, found: Instances) -> dict[str, str]:
    """Collect `headrace.source` entries as "KIND.attribute" -> origin."""
    listed = [("device", _values(definition))]
    listed += [(canonical(one.node.kind), one.values) for one in found.memories]
    listed += [(one.node.kind, one.values) for one in found.units]
    listed += [(f"{one.source.kind}->{one.target.kind}", one.values) for one in found.connections]
    sources: dict[str, str] = {}
    for kind, values in listed:
        for name, origin in values.get("headrace.source", {}).items():
            sources.setdefault(f"{kind}.{name}", str(origin))
    return sources
