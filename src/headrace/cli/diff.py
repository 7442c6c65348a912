"""`headrace diff`: where the machine first differs from the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import ArchChanges, AsJson, DeviceName, Scalars, find_device, scalars, warn
from headrace.ir.diagnostics import HeadraceError


def diff(
    file: Annotated[
        Path,
        typer.Argument(help="KTIR (.mlir), or a compiled program's folder, its dfir.mlir edited or not."),
    ],
    device: DeviceName = "",
    arch: ArchChanges = [],  # noqa: B006
    arg: Scalars = [],  # noqa: B006
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the inputs.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Run the reference and the machine on the same seeded inputs; print the first element that differs: its
    values, the statement and tile that write it, the transfer that moves it, and the first statement on
    the way whose values part. Exit 2 if one does.
    """
    from headrace.runtime.artefact import load as open_program
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars
    from headrace.runtime.divergence import first_divergence
    from headrace.runtime.kernel import Kernel, load

    if file.is_dir():
        if device or arch or arg:
            raise HeadraceError(
                f"{file} is compiled already", hint="leave --device, --arch and --arg out, or give the KTIR"
            )
        program = open_program(file)
        if not program.ktir:
            raise HeadraceError(f"{file} has no ktir.mlir to compare with", hint="compile it from KTIR")
        kernel = Kernel(program.ktir, str(file / "ktir.mlir"), program.name)
    else:
        kernel = load(file)
        warn(kernel)
        options = Options(scalars=default_scalars(kernel, scalars(arg)))
        program = compile_kernel(kernel, find_device(device or "spyre", arch), options).reparsed()
    found = first_divergence(kernel, program, seed)
    if as_json:
        data = {"schema": 1, "file": str(file), "divergence": found.to_json() if found else None}
        print(json.dumps(data))
    else:
        print(found.text() if found else "no divergence: reference and machine agree")
    return 2 if found else 0
