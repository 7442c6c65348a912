"""`headrace run SCRIPT.py`: runs the script and reports everything it compiled."""

from __future__ import annotations

import json
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location


def run_script(file: Path, device: Device, as_json: bool, without: tuple[str, ...] = ()) -> int:
    """Execute a Python script and print what it compiled, `without` some optimisations, and what that cost;
    with `as_json` its prints go to stderr.
    """
    from headrace.frontend.session import hints

    with hints(without=without):
        data = script_summary(recorded(file, device, as_json))
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


def recorded(file: Path, device: Device, is_quiet: bool) -> Any:
    """Execute a Python script with the device chosen and return the recording of it; quiet: its prints go to
    stderr.
    """
    if not file.is_file():
        raise HeadraceError(f"no such file: {file}", hint="check the path")
    from headrace.frontend.session import record, use

    with use(device), record() as recording:
        if is_quiet:
            with redirect_stdout(sys.stderr):
                _execute(file)
        else:
            _execute(file)
    return recording


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
    except SystemExit as ending:
        if ending.code not in (None, 0):
            raise HeadraceError(
                f"{file} ended with {ending.code}", hint="run it with python to see why"
            ) from None
    except HeadraceError:
        raise
    except Exception as error:
        if _is_ours(error):
            raise
        raise HeadraceError(_failure(error, file)) from None
    finally:
        sys.argv = arguments
        sys.path.remove(str(file.parent))


def _is_ours(error: BaseException) -> bool:
    """Whether an exception, or one it came from, was raised by code of Headrace."""
    ours = str(Path(__file__).parents[1])
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    frames = [traceback.extract_tb(e.__traceback__) for e in chain]
    return any(f[-1].filename.startswith(ours) for f in frames if f)


def _failure(error: Exception, file: Path) -> Diagnostic:
    """What a script of somebody else's stumbled over, at its own line."""
    if isinstance(error, SyntaxError):
        where = Location(str(error.filename or file), error.lineno or 1, error.offset or 1)
        return Diagnostic(error.msg, where, "SyntaxError")
    lines = [f.lineno or 1 for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    where = Location(str(file), lines[-1] if lines else 1, 1)
    return Diagnostic(str(error), where, type(error).__name__, "run it with python to see the traceback")
