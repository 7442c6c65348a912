"""`headrace devices`: the machines there are, and one machine in full."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from headrace.cli.options import ArchChanges, AsJson, find_device


def devices(
    name: Annotated[
        str, typer.Argument(help="A preset or an architecture file; all presets without it.")
    ] = "",
    arch: ArchChanges = [],  # noqa: B006
    as_json: AsJson = False,
) -> int:
    """List the devices, or show one: cores, memories, units, links, peaks, ridge point, sources."""
    from headrace.arch.presets import names
    from headrace.report.devices import device_data, device_text, list_text

    if not name:
        found = [find_device(preset, []) for preset in names()]
        print(
            json.dumps({"schema": 1, "devices": [device_data(d) for d in found]})
            if as_json
            else list_text(found)
        )
        return 0
    chosen = find_device(name, arch)
    print(json.dumps({"schema": 1, **device_data(chosen)}) if as_json else device_text(chosen))
    return 0
