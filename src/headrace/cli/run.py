"""`headrace run`: one kernel, program or script, executed; what came out and what it cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import (
    ArchChanges,
    AsJson,
    DeviceName,
    Effort,
    Scalars,
    Without,
    find_device,
    names,
    read_arrays,
    read_plan,
    scalars,
    warn,
    write_arrays,
)
from headrace.ir.diagnostics import HeadraceError

if TYPE_CHECKING:
    from headrace.arch.device import Device
    from headrace.runtime.program import Run


def run(
    file: Annotated[
        Path, typer.Argument(help="KTIR, KTDF or DFIR (.mlir), a compiled program's folder, or a .py script.")
    ],
    device: DeviceName = "",
    arch: ArchChanges = [],  # noqa: B006
    engine: Annotated[str, typer.Option("--engine", help="machine or reference.")] = "machine",
    function: Annotated[str, typer.Option("--function", help="Which function of the module.")] = "",
    inputs: Annotated[Path | None, typer.Option("--inputs", help="Arrays by argument name (.npz).")] = None,
    arg: Scalars = [],  # noqa: B006
    outputs: Annotated[
        Path | None, typer.Option("--outputs", help="Where to write every bound array (.npz).")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the inputs when --inputs is not given.")
    ] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Sanitizer: races, unwritten reads, bounds, signals.")
    ] = False,
    trace: Annotated[Path | None, typer.Option("--trace", help="Write a Chrome trace (JSON).")] = None,
    trace_all: Annotated[
        bool, typer.Option("--trace-all", help="Show every core in the trace, alike ones too.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a page.")] = None,
    without: Without = "",
    effort: Effort = 1,
    plan: Annotated[Path | None, typer.Option("--plan", help="Replay an edited plan.json.")] = None,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="An option of what KTIR or DFIR means.")
    ] = [],  # noqa: B006
    strict_lx: Annotated[
        bool, typer.Option("--strict-lx", help="A tile over the scratchpad is an error.")
    ] = False,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> int:
    """Run a kernel on the virtual accelerator (or the reference interpreter) and report what it cost."""
    if engine not in ("machine", "reference"):
        raise HeadraceError(f"unknown engine '{engine}'", hint="engines are machine, reference")
    if file.suffix == ".py":
        from headrace.cli.script import run_script

        return run_script(file, find_device(device or "spyre", arch), as_json, names(without))
    arrays = {**read_arrays(inputs), **scalars(arg)} if inputs else None
    values = scalars(arg)
    if engine == "reference":
        result = _reference(file, function, arrays, values, seed, settings, strict_lx)
    else:
        chosen = find_device(device or "spyre", arch) if device or arch or not file.is_dir() else None
        result = _machine(
            file, chosen, function, arrays, values, seed, check, trace, names(without), effort, plan, settings
        )
    if inputs is None and not quiet:
        print(f"inputs are seeded ({seed}); --inputs arrays.npz gives your own", file=sys.stderr)
    _write(result, outputs, trace, trace_all, html)
    _print(result, as_json, quiet)
    return 2 if result.findings and any(result.findings.values()) else 0


def _machine(
    file: Path,
    device: Device | None,
    function: str,
    arrays: dict[str, Any] | None,
    values: dict[str, float | int],
    seed: int,
    check: bool,
    trace: Path | None,
    without: tuple[str, ...],
    effort: int,
    plan: Path | None,
    settings: list[str],
) -> Run:
    from headrace.runtime.artefact import load as open_program
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars, machine_settings
    from headrace.runtime.kernel import load
    from headrace.runtime.launch import run_program
    from headrace.runtime.split import is_split

    if file.is_dir() and not is_split(file):
        if settings:
            raise HeadraceError(
                f"--set {settings[0]}: a compiled program keeps the settings it was made with"
            )
        program = open_program(file)
        if device is not None and device.sha256 != program.device.sha256:
            raise HeadraceError(
                f"{file} was compiled for {program.device.name}",
                hint="compile the kernel for the other device",
            )
    else:
        kernel = load(file, function or None)
        warn(kernel)
        known = default_scalars(kernel, {**{k: v for k, v in (arrays or {}).items()}, **values})
        replay = read_plan(plan) if plan else None
        options = Options(without, effort, replay, known, machine_settings(settings, kernel.level))
        program = compile_kernel(kernel, device or find_device("spyre", []), options)
    inputs = None if arrays is None else arrays
    return run_program(program.reparsed(), inputs, seed, check, is_traced=trace is not None)


def _reference(
    file: Path,
    function: str,
    arrays: dict[str, Any] | None,
    values: dict[str, float | int],
    seed: int,
    settings: list[str],
    strict_lx: bool,
) -> Run:
    from headrace.runtime.defaults import default_scalars, interpreter_options
    from headrace.runtime.kernel import load
    from headrace.runtime.reference import run_reference

    options = interpreter_options(settings, strict_lx)
    kernel = load(file, function or None, is_masked=options.bounds == "mask")
    warn(kernel)
    known = default_scalars(kernel, {**(arrays or {}), **values})
    return run_reference(kernel, arrays, seed, known, options)


def _write(result: Run, outputs: Path | None, trace: Path | None, trace_all: bool, html: Path | None) -> None:
    if outputs:
        write_arrays(outputs, result.outputs)
    if trace:
        result.trace(trace, trace_all)
    if html:
        from headrace.report.page import write_page

        write_page(result, html)


def _print(result: Run, as_json: bool, quiet: bool) -> None:
    from headrace.runtime.summary import summary, summary_text

    data = summary(result)
    if as_json:
        print(json.dumps(data))
    elif not quiet:
        print(summary_text(data))
