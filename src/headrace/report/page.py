"""A run as one HTML page without outside resources: the figures, unit bars, plan and every level's text."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment

from headrace.ir.files import write_text
from headrace.runtime.program import Run
from headrace.runtime.summary import STALLS, summary


def write_page(run: Run, path: Path) -> None:
    """Write the page of a run, atomically."""
    write_text(path, render(run))


def render(run: Run) -> str:
    """The HTML of a run."""
    template = (files("headrace.report") / "page.html").read_text(encoding="utf-8")
    program = run.program
    levels = [("KTIR", program.ktir), ("KTDF", program.ktdf), ("DFIR", program.dfir)] if program else []
    data = summary(run)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        data=data,
        text=json.dumps(data, indent=1),
        bars=_bars(data),
        plan=json.dumps(program.plan, indent=1) if program and program.plan else "",
        levels=[(name, text) for name, text in levels if text],
    )


def _bars(data: dict[str, Any]) -> list[tuple[str, int, list[tuple[str, float]]]]:
    """(kind, instances, [(state, percent)]) of every unit kind."""
    bars = []
    for kind, unit in data["units"].items():
        parts = {"busy": unit["busy"], **{name: unit["stalls"][name] for name in STALLS}}
        whole = max(sum(parts.values()), 1)
        bars.append((kind, unit["instances"], [(name, 100 * n / whole) for name, n in parts.items() if n]))
    return bars
