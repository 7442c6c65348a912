"""The split form of DFIR: a folder with `global.mlir` and a file for every local schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.files import read_text
from headrace.ir.text import location, parse

GLOBAL = "global.mlir"


def is_split(path: Path) -> bool:
    """Whether a folder holds a split schedule."""
    return (path / GLOBAL).is_file()


def read_parts(folder: Path) -> tuple[tuple[str, str], ...]:
    """(file, text) of every part, the declarations first."""
    names = [GLOBAL, *sorted(p.name for p in folder.glob("*.mlir") if p.name != GLOBAL)]
    return tuple((str(folder / name), read_text(folder / name)) for name in names)


def join(parts: tuple[tuple[str, str], ...]) -> ModuleOp:
    """One module that holds every part as a module of its own; each op keeps the place it came from."""
    modules = [parse(text, file) for file, text in parts]
    first: dict[str, Any] = {}
    for module in modules:
        for op in module.walk():
            if op.name != "func.func" or not op.regions[0].blocks:
                continue
            name = str(op.properties["sym_name"].data)
            if name in first:
                where = location(first[name])
                raise HeadraceError(
                    Diagnostic(f"{name} stands at {where} too", location(op), "func.func", "keep one of them")
                )
            first[name] = op
    whole = ModuleOp(list(modules))
    for module in modules:
        whole.attributes.update(module.attributes)
    whole.location = modules[0].location
    return whole
