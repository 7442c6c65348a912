"""Programs on disk: text and JSON in one folder, written all or nothing, versioned."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.arch.cost import Work
from headrace.arch.presets import device as read_device
from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.runtime.program import Program, Run

VERSION = 1


def save(program: Program, folder: Path) -> None:
    """Write ktir.mlir ktdf.mlir dfir.mlir plan.json device.mlir meta.json; replaces an earlier program's
    folder.
    """
    if folder.exists() and not _is_program(folder) and any(folder.iterdir()):
        raise HeadraceError(
            f"{folder} exists and is not a compiled program", hint="name a new folder or remove this one"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, text in _files(program).items():
            (fresh / name).write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        _replace(folder, fresh)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def load(folder: Path) -> Program:
    """The program in a folder; HeadraceError when there is none, or it is of another version."""
    if not _is_program(folder):
        raise HeadraceError(
            f"{folder} holds no compiled program", hint="`headrace compile FILE -o DIR` makes one"
        )
    meta = _json(folder / "meta.json")
    if meta.get("version") != VERSION:
        raise HeadraceError(
            f"{folder} was written by format {meta.get('version')}, this is {VERSION}",
            hint="compile it again",
        )
    plan = folder / "plan.json"
    return Program(
        name=meta["name"],
        device=read_device(folder / "device.mlir"),
        arguments=tuple(_argument(data) for data in meta["arguments"]),
        dfir_module=parse((folder / "dfir.mlir").read_text(encoding="utf-8"), str(folder / "dfir.mlir")),
        ktir=_text(folder / "ktir.mlir"),
        ktdf_module=parse(_text(folder / "ktdf.mlir"), str(folder / "ktdf.mlir"))
        if _text(folder / "ktdf.mlir")
        else None,
        plan=_json(plan) if plan.is_file() else None,
        grid=tuple(meta["grid"]),
        work=Work.from_attribute(meta["work"]) if meta["work"] is not None else None,
        scalars=meta["scalars"],
        file=meta["file"],
        meta=meta["meta"],
    )


def write_trace(run: Run, path: Path) -> None:
    """Write the Chrome trace of a run; HeadraceError for a run without timing."""
    from headrace.machine.timing import time as simulate
    from headrace.machine.trace import chrome_trace

    if run.program is None or run.timing is None:
        raise HeadraceError("the reference engine has no cycles to trace", hint="run with --engine machine")
    timing = run.timing
    if not timing.intervals:
        values = {argument.name: 0 for argument in run.program.image.arguments} | dict(run.program.scalars)
        timing = simulate(run.program.image, values, run.program.device, is_traced=True)
    write_text(path, json.dumps(chrome_trace(timing, run.program.image, run.program.device)))


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _files(program: Program) -> dict[str, str]:
    meta = {
        "version": VERSION,
        "name": program.name,
        "file": program.file,
        "grid": list(program.grid),
        "arguments": [asdict(argument) for argument in program.arguments],
        "scalars": program.scalars,
        "device": {"name": program.device.name, "sha256": program.device.sha256},
        "work": program.work.to_attribute() if program.work else None,
        "meta": program.meta,
    }
    files = {"dfir.mlir": program.dfir, "device.mlir": program.device.text, "meta.json": _dump(meta)}
    if program.ktir:
        files["ktir.mlir"] = program.ktir
    if program.ktdf:
        files["ktdf.mlir"] = program.ktdf
    if program.plan is not None:
        files["plan.json"] = _dump(program.plan)
    return files


def _replace(folder: Path, fresh: Path) -> None:
    """Put `fresh` where `folder` is; what was there is gone only once the new one is in place."""
    old = folder.with_name(f".{folder.name}.old.{os.getpid()}")
    if folder.exists():
        os.rename(folder, old)
    os.rename(fresh, folder)
    shutil.rmtree(old, ignore_errors=True)


def _is_program(folder: Path) -> bool:
    return (folder / "meta.json").is_file() and (folder / "dfir.mlir").is_file()


def _argument(data: Mapping[str, Any]) -> Argument:
    return Argument(**{**data, "shape": tuple(data["shape"])})


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HeadraceError(
            f"{path} is not readable JSON: {error}", hint="compile the kernel again"
        ) from None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _dump(data: Any) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
