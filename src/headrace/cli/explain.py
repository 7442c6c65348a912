"""`headrace explain`: where the cycles of a kernel go, and what would save them."""

from __future__ import annotations

import json
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
    read_plan,
    scalars,
    warn,
)
from headrace.ir.diagnostics import HeadraceError

if TYPE_CHECKING:
    from headrace.runtime.program import Program


def explain(
    file: Annotated[
        Path, typer.Argument(help="KTIR, KTDF or DFIR (.mlir), a compiled program's folder, or a .py script.")
    ],
    kernel: Annotated[
        str, typer.Argument(help="Which function of a module, or which kernel of a script.")
    ] = "",
    device: DeviceName = "",
    arch: ArchChanges = [],  # noqa: B006
    arg: Scalars = [],  # noqa: B006
    without: Without = "",
    effort: Effort = 1,
    plan: Annotated[Path | None, typer.Option("--plan", help="Replay an edited plan.json.")] = None,
    as_json: AsJson = False,
) -> int:
    """Explain the cycles of a kernel: roofline, units, critical path, and the five largest losses."""
    from headrace.report.explain import explain as explained

    values = scalars(arg)
    found = _programs(file, kernel, device, arch, values, names(without), effort, plan)
    data = [explained(program, values, others) for program, others in found]
    if as_json:
        print(
            json.dumps(
                data[0].to_json() if len(data) == 1 else {"schema": 1, "kernels": [d.to_json() for d in data]}
            )
        )
    else:
        print("\n\n".join(one.text() for one in data))
    return 0


def _programs(
    file: Path,
    kernel: str,
    device: str,
    arch: list[str],
    values: dict[str, Any],
    without: tuple[str, ...],
    effort: int,
    plan: Path | None,
) -> list[tuple[Program, dict[str, Program]]]:
    """The programs meant, each with what it becomes with an optimisation on that `without` leaves out."""
    from headrace.runtime.artefact import load as open_program
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars
    from headrace.runtime.kernel import load
    from headrace.runtime.split import is_split

    if file.suffix == ".py":
        return [(program, {}) for program in _of_script(file, kernel, device, arch)]
    if file.is_dir() and not is_split(file):
        return [(open_program(file).reparsed(), {})]
    source = load(file, kernel or None)
    warn(source)
    chosen = find_device(device or "spyre", arch)
    known = default_scalars(source, values)
    replay = read_plan(plan) if plan else None

    def compiled(left_out: tuple[str, ...]) -> Program:
        return compile_kernel(source, chosen, Options(left_out, effort, replay, known))

    others = {}
    if source.level == "ktir":
        others = {name: compiled(tuple(n for n in without if n != name)) for name in without}
    return [(compiled(without).reparsed(), others)]


def _of_script(file: Path, kernel: str, device: str, arch: list[str]) -> list[Program]:
    """The kernels a script compiles (or the one of that name), each once."""
    from headrace.cli.script import recorded

    launches = recorded(file, find_device(device or "spyre", arch), is_quiet=True).launches
    runs = [launch for launch in launches if launch.run is not None and launch.run.program is not None]
    found: dict[int, Program] = {id(launch.run.program): launch.run.program for launch in runs}
    wanted = {
        id(launch.run.program) for launch in runs if kernel in ("", launch.kernel, launch.run.program.name)
    }
    if not wanted:
        known = ", ".join(sorted({launch.kernel for launch in runs})) or "none"
        raise HeadraceError(f"{file} compiles no kernel '{kernel}'", hint=f"it compiles {known}")
    return [program for number, program in found.items() if number in wanted]
