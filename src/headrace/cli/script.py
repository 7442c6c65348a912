"""`headrace run SCRIPT.py`: runs the script and reports everything it compiled."""

from __future__ import annotations

import json
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import HeadraceError


def run_script(file: Path, device: Device, as_json: bool) -> int:
    """Execute a Python script with the device chosen and everything recorded; with `as_json` its prints go
    to stderr.
    """
    if not file.is_file():
        raise HeadraceError(f"no such file: {file}", hint="check the path")
    from headrace.frontend.session import record, use

    with use(device), record() as recording:
        if as_json:
            with redirect_stdout(sys.stderr):
                _execute(file)
        else:
            _execute(file)
    data = script_summary(recording)
    if as_json:
        print(json.dumps(data))
    else:
        for graph in data["graphs"]:
            print(
                f"{len(graph['kernels'])} launches, {graph['native_ops']} native ops, "
                f"on the host: {graph['fallback_ops'] or 'none'}"
            )
        print(f"{data['cycles']:,} cycles, {data['time_us']:,.1f} us, {data['graph_breaks']} graph breaks")
    return 0


def script_summary(recording: Any) -> dict[str, Any]:
    """The JSON object of a script: its graphs with their kernels, and totals (launch cycles counted in the
    time).
    """
    from headrace.runtime.summary import summary

    graphs = [
        {
            "kernels": [summary(launch.run) for launch in graph.launches if launch.run is not None],
            "native_ops": sum(graph.facts.native_ops.values()),
            "fallback_ops": dict(graph.fallback_ops),
        }
        for graph in recording.graphs
    ]
    kernels = [kernel for graph in graphs for kernel in graph["kernels"]]  # type: ignore[attr-defined]
    return {
        "schema": 1,
        "graphs": graphs,
        "graph_breaks": sum(recording.graph_breaks.values()),
        "cycles": sum(kernel["cycles"] or 0 for kernel in kernels),
        "time_us": round(sum(kernel["time_us"] or 0.0 for kernel in kernels), 3),
    }


def _execute(file: Path) -> None:
    sys.path.insert(0, str(file.parent))
    arguments, sys.argv = sys.argv, [str(file)]
    try:
        runpy.run_path(str(file), run_name="__main__")
    finally:
        sys.argv = arguments
        sys.path.remove(str(file.parent))
