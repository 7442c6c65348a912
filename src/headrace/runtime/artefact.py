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
from headrace.ir.files import read_text, write_text
from headrace.ir.text import parse
from headrace.runtime.program import Program, Run

VERSION = 1


def save(program: Program, folder: Path) -> None:
    """Write ktir.mlir ktdf.mlir dfir.mlir plan.json device.mlir meta.json; replaces an earlier program's
    folder.
    """
    folder = folder.absolute()
    is_taken = folder.exists() and not _is_program(folder)
    if is_taken and (not folder.is_dir() or any(folder.iterdir())):
        raise HeadraceError(
            f"{folder} exists and is not a compiled program", hint="name a new folder or remove this one"
        )
    files = _files(program)
    fresh: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        for name, text in files.items():
            (fresh / name).write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        _replace(folder, fresh)
    except OSError as error:
        raise HeadraceError(f"cannot write {folder}: {(error.strerror or 'failed').lower()}") from None
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)


def load(folder: Path) -> Program:
    """The program in a folder; HeadraceError when there is none, or it is of another version."""
    if not _is_program(folder):
        raise HeadraceError(
            f"{folder} holds no compiled program", hint="`headrace compile FILE -o DIR` makes one"
        )
    meta = read_json(folder / "meta.json")
    if not isinstance(meta, dict) or meta.get("version") != VERSION:
        found = meta.get("version") if isinstance(meta, dict) else "no"
        raise HeadraceError(
            f"{folder} was written by format {found}, this is {VERSION}", hint="compile it again"
        )
    try:
        facts = _facts(meta)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        message = f"{folder / 'meta.json'} does not describe a program: {type(error).__name__} {error}"
        raise HeadraceError(message, hint="compile the kernel again") from None
    plan = folder / "plan.json"
    ktdf = _text(folder / "ktdf.mlir")
    return Program(
        device=read_device(folder / "device.mlir"),
        dfir_module=parse(read_text(folder / "dfir.mlir"), str(folder / "dfir.mlir")),
        ktir=_text(folder / "ktir.mlir"),
        ktdf_module=parse(ktdf, str(folder / "ktdf.mlir")) if ktdf else None,
        plan=read_json(plan) if plan.is_file() else None,
        **facts,
    )


def _facts(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What meta.json says of a program, typed; KeyError and its like for what is missing or misshapen."""
    return {
        "name": str(meta["name"]),
        "file": str(meta["file"]),
        "arguments": tuple(_argument(data) for data in meta["arguments"]),
        "grid": tuple(int(n) for n in meta["grid"]),
        "work": Work.from_attribute(meta["work"]) if meta["work"] is not None else None,
        "scalars": dict(meta["scalars"]),
        "meta": dict(meta["meta"]),
    }


def write_trace(run: Run, path: Path, is_whole: bool = False) -> None:
    """Write the Chrome trace of a run, with every core if `is_whole`; HeadraceError without timing."""
    from headrace.machine.timing import time as simulate
    from headrace.machine.trace import chrome_trace

    if run.program is None or run.timing is None:
        raise HeadraceError("the reference engine has no cycles to trace", hint="run with --engine machine")
    timing = run.timing
    values = {argument.name: 0 for argument in run.program.image.arguments} | dict(run.program.scalars)
    if not timing.intervals:
        timing = simulate(run.program.image, values, run.program.device, is_traced=True)
    trace = chrome_trace(timing, run.program.image, run.program.device, is_whole, values)
    write_text(path, json.dumps(trace, separators=(",", ":")))


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


def read_json(path: Path) -> Any:
    """The data of a JSON file; HeadraceError when it cannot be read or is none."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise HeadraceError(f"{path} is not JSON: {error}", hint="compile the kernel again") from None


def _text(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _dump(data: Any) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
