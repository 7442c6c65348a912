"""The table of a device's constants with where each comes from, for docs/machine.md."""

from __future__ import annotations

from typing import Any

from headrace.arch.attributes import OF_RESOURCE
from headrace.arch.device import Device
from headrace.arch.presets import device as preset

UNITS = {attribute.name: attribute.unit for listed in OF_RESOURCE.values() for attribute in listed}
RENAMED = {"size": "size_bytes", "word_size": "word_bytes"}


def constants(name: str) -> str:
    """Every constant of a preset that names its source; equal ones of several resources in one row."""
    device = preset(name)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for key, source in sorted(device.sources.items()):
        resource, _, attribute = key.rpartition(".")
        value = _written(_value(device, resource, RENAMED.get(attribute, attribute)))
        rows.setdefault((attribute, value, source), []).append(resource)
    lines = ["| constant | of | value | unit | source |", "|---|---|---|---|---|"]
    for (attribute, value, source), resources in sorted(rows.items(), key=lambda row: (row[1], row[0])):
        unit = UNITS.get(RENAMED.get(attribute, attribute), "")
        lines.append(f"| `{attribute}` | {', '.join(resources)} | {value} | {unit} | {_cell(source)} |")
    return "\n".join(lines)


def _value(device: Device, resource: str, attribute: str) -> Any:
    """What the device holds under the name of a constant; None for what it keeps under another form."""
    for holder in _holders(device, resource):
        if holder is not None and hasattr(holder, attribute):
            return getattr(holder, attribute)
        if attribute == "access_granularity" and hasattr(holder, "granularity"):
            return {memory: [size for size, _ in sizes] for memory, sizes in holder.granularity.items()}
    return None


def _holders(device: Device, resource: str) -> list[Any]:
    if resource == "device":
        return [device]
    if "->" not in resource:
        unit = device.find_unit(resource)
        return [unit, unit.matrix if unit else None, device.find_memory(resource)]
    source, target = resource.split("->")
    on_rings = [link for ring in device.rings for link in (*ring.hops, ring.inject, ring.eject)]
    return [
        device.find_link(source, target),
        *(one for one in on_rings if (one.source, one.target) == (source, target)),
    ]


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_written, value))
    if hasattr(value, "max_consumers"):
        return f"{value.max_consumers} consumers, {value.sync_cycles} cycles"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
