"""What several commands share: the device with its changes, arrays from .npz files, NAME=VALUE pairs."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.files import write_bytes

if TYPE_CHECKING:
    import numpy as np

    from headrace.arch.device import Device
    from headrace.runtime.kernel import Kernel

DeviceName = Annotated[str, typer.Option("--device", help="Preset name or architecture file.")]
ArchChanges = Annotated[
    list[str],
    typer.Option("--arch", metavar="KIND.ATTRIBUTE=VALUE", help="Change one constant of the device."),
]
Scalars = Annotated[
    list[str], typer.Option("--arg", metavar="NAME=VALUE", help="Value of a scalar argument.")
]
Without = Annotated[str, typer.Option("--without", metavar="A,B", help="Optimisations to leave out.")]
Effort = Annotated[int, typer.Option("--effort", min=0, max=3, help="Search budget.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


def find_device(name: str, changes: list[str]) -> Device:
    """The device with `--arch` changes applied."""
    from headrace.arch.presets import device

    return device(name, overrides=pairs(changes, "--arch"))


def pairs(items: list[str], option: str) -> dict[str, str]:
    """NAME=VALUE items as a dict; HeadraceError for one without "="."""
    wrong = [item for item in items if "=" not in item]
    if wrong:
        raise HeadraceError(f"{option} {wrong[0]}: no '=' in it", hint=f"write {option} NAME=VALUE")
    named = [item.split("=", 1)[0].strip() for item in items]
    if "" in named:
        raise HeadraceError(
            f"{option} {items[named.index('')]}: no name before '='", hint=f"write {option} NAME=VALUE"
        )
    return dict(item.split("=", 1) for item in items)


def scalars(items: list[str]) -> dict[str, float | int]:
    """`--arg` values as numbers; HeadraceError for what is none."""
    return {name.removeprefix("%"): _number(name, text) for name, text in pairs(items, "--arg").items()}


def names(text: str) -> tuple[str, ...]:
    """The names of a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of an .npz file; HeadraceError when it is missing or none."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as data:
            return {key: data[key] for key in data.files}
    except FileNotFoundError:
        raise HeadraceError(f"no such file: {path}", hint="numpy.savez makes one") from None
    except Exception as error:
        hint = "write it with numpy.savez(path, x=array, …), without objects"
        raise HeadraceError(f"{path} is not a readable .npz file: {error}", hint=hint) from None


def warn(kernel: Kernel) -> None:
    """Print what the verifier finds doubtful in a kernel on stderr."""
    _ = kernel.module
    for found in kernel.warnings:
        print(found, file=sys.stderr)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays as .npz, atomically."""
    import numpy as np

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:  # numpy.savez takes no array named "file"
        for key, array in arrays.items():
            with archive.open(f"{key.replace('/', '_')}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    write_bytes(path, buffer.getvalue())


def read_plan(path: Path) -> dict[str, Any]:
    """The data of a plan.json; HeadraceError when it is none."""
    from headrace.runtime.artefact import read_json

    data = read_json(path)
    if not isinstance(data, dict):
        hint = "start from the plan.json that `headrace compile` writes"
        raise HeadraceError(f"{path} is not a plan", hint=hint)
    return data


def _number(name: str, text: str) -> float | int:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise HeadraceError(f"--arg {name}={text}: not a number", hint="pass an integer or a float") from None
