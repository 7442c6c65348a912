"""`headrace opt`: passes over a module, and the levels below it, as text on stdout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli.options import (
    ArchChanges,
    DeviceName,
    Effort,
    Scalars,
    Without,
    find_device,
    names,
    scalars,
)
from headrace.ir.diagnostics import HeadraceError

LEVELS = ("ktir", "ktdf", "dfir")


def opt(
    file: Annotated[Path, typer.Argument(help="A module: KTIR, KTDF or DFIR (.mlir).")],
    passes: Annotated[
        str, typer.Option("-p", "--passes", metavar="PIPELINE", help="As in 'canonicalize,cse,dce'.")
    ] = "",
    emit: Annotated[
        str, typer.Option("--emit", metavar="ktir|ktdf|dfir", help="Level to print (default: the file's).")
    ] = "",
    generic: Annotated[bool, typer.Option("--generic", help="Print MLIR's generic form.")] = False,
    g1: Annotated[
        bool, typer.Option("--g1", help="Memory spaces in the spelling before August 2026.")
    ] = False,
    device: DeviceName = "spyre",
    arch: ArchChanges = [],  # noqa: B006
    function: Annotated[str, typer.Option("--function", help="Which function of the module.")] = "",
    arg: Scalars = [],  # noqa: B006
    without: Without = "",
    effort: Effort = 1,
) -> int:
    """Run passes over a module and print it; with --emit ktdf or dfir, what the scheduler makes of it."""
    from headrace.ir.passes import parse_pipeline, run_pipeline
    from headrace.ir.text import print_module
    from headrace.runtime.kernel import load

    steps = parse_pipeline(passes)
    _require_level(emit)
    kernel = load(file, function or None)
    module = run_pipeline(kernel.module, steps)
    if steps:
        kernel = replace(kernel, text=print_module(module), file=f"<{file} after the passes>", parts=())
    if emit and emit != kernel.level:
        if LEVELS.index(emit) < LEVELS.index(kernel.level):
            raise HeadraceError(
                f"{file} is {kernel.level}, {emit} is above it", hint="emit its own level or a lower one"
            )
        module = _lowered(kernel, emit, find_device(device, arch), scalars(arg), names(without), effort)
    print(print_module(module, generic, g1), end="")
    return 0


def _require_level(emit: str) -> None:
    if emit and emit not in LEVELS:
        raise HeadraceError(f"--emit {emit}: no such level", hint=f"levels are {', '.join(LEVELS)}")


def _lowered(
    kernel: Any, emit: str, device: Any, given: dict[str, float | int], without: tuple[str, ...], effort: int
) -> Any:
    """The module at a lower level."""
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars

    options = Options(without, effort, scalars=default_scalars(kernel, given))
    program = compile_kernel(kernel, device, options)
    return program.ktdf_module if emit == "ktdf" else program.dfir_module
