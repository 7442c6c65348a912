"""Devices by name or file, with single constants changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.files import read_text

_FOLDER = files("headrace.arch") / "devices"


def names() -> list[str]:
    """Return the names of the devices that come with Headrace."""
    return sorted(
        entry.name.removesuffix(".mlir") for entry in _FOLDER.iterdir() if entry.name.endswith(".mlir")
    )


def source_text(name: str) -> str:
    """Return the architecture file of a preset, comments and all; HeadraceError if there is none of that
    name.
    """
    if name not in names():
        raise HeadraceError(
            Diagnostic(f"no device {name!r}", hint=f"known: {', '.join(names())}, or give a file")
        )
    return (_FOLDER / f"{name}.mlir").read_text(encoding="utf-8")


def device(name_or_path: str | Path = "spyre", overrides: Mapping[str, object] | None = None) -> Device:
    """Return a preset, or the device of an architecture file, with `overrides` {"KIND.ATTRIBUTE": value}
    applied.
    """
    changes = tuple((key, str(value)) for key, value in (overrides or {}).items())
    if str(name_or_path) in names():
        return _read(source_text(str(name_or_path)), f"{name_or_path}.mlir", changes)
    path = Path(name_or_path)
    if not path.exists():
        known = ", ".join(names())
        raise HeadraceError(
            Diagnostic(f"no device {str(name_or_path)!r}", hint=f"known: {known}, or give a file")
        )
    return _read(read_text(path), str(path), changes)


@lru_cache(maxsize=64)
def _read(text: str, file: str, changes: tuple[tuple[str, str], ...]) -> Device:
    from headrace.arch.overrides import apply
    from headrace.arch.read import declared, device_of
    from headrace.ir.text import parse

    module = parse(text, file)
    if changes:
        apply(declared(module), dict(changes))
    return device_of(module, file)
