"""`headrace compile`: a kernel to a program on disk, every level beside the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import (
    ArchChanges,
    DeviceName,
    Effort,
    Scalars,
    Without,
    find_device,
    names,
    read_plan,
    scalars,
    warn,
)


def compile_(
    file: Annotated[Path, typer.Argument(help="A kernel: KTIR or KTDF (.mlir).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    device: DeviceName = "spyre",
    arch: ArchChanges = [],  # noqa: B006
    function: Annotated[str, typer.Option("--function", help="Which function of the module.")] = "",
    arg: Scalars = [],  # noqa: B006
    without: Without = "",
    effort: Effort = 1,
    plan: Annotated[Path | None, typer.Option("--plan", help="Replay an edited plan.json.")] = None,
) -> int:
    """Compile a kernel; write ktir.mlir ktdf.mlir dfir.mlir plan.json device.mlir meta.json."""
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars
    from headrace.runtime.kernel import load
    from headrace.schedule.plan import Plan
    from headrace.schedule.plan_text import plan_text

    kernel = load(file, function or None)
    warn(kernel)
    replay = read_plan(plan) if plan else None
    options = Options(names(without), effort, replay, default_scalars(kernel, scalars(arg)))
    program = compile_kernel(kernel, find_device(device, arch), options)
    program.require_legal()
    program.save(output)
    print(f"{output}: {program.name} for {program.device.name}, {program.meta['compile_ms']:.0f} ms")
    if program.plan:
        print(plan_text(Plan.from_json(json.dumps(program.plan))), end="")
    return 0
