"""`headrace check`: is this kernel legal, does its schedule verify, do machine and reference agree?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import ArchChanges, AsJson, DeviceName, Scalars, find_device, scalars


def check(
    file: Annotated[Path, typer.Argument(help="A kernel: KTIR, KTDF or DFIR (.mlir).")],
    device: DeviceName = "spyre",
    arch: ArchChanges = [],  # noqa: B006
    arg: Scalars = [],  # noqa: B006
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the inputs.")] = 0,
    strict_lx: Annotated[
        bool, typer.Option("--strict-lx", help="A tile over the scratchpad is an error.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Parse, verify, schedule, verify the schedule; then run reference and machine on seeded inputs and
    compare.
    """
    from headrace.runtime.checking import check_kernel

    outcome = check_kernel(file, find_device(device, arch), scalars(arg), seed, strict_lx)
    if as_json:
        print(json.dumps(outcome.to_json()))
    elif outcome.errors:
        print("\n".join(str(error) for error in outcome.errors), file=sys.stderr)
    else:
        print(outcome.text())
    return outcome.exit_code
