"""What every decision of the scheduler is worth: `headrace bench schedule [--only PART]`.

Cycles over the bound of the tracked kernels on `spyre`, their cycles with each optimisation left out and with
none, and the ratios on three further devices beside the plan of `spyre` replayed there. Deterministic: the
same figures on every machine. A kernel that cannot be compiled keeps its row: no cycles, not met, and why.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import SUITE, suite_text
from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program
from headrace.schedule.search import OPTIMISATIONS

DEVICES: dict[str, dict[str, object]] = {
    "half the bandwidth": {"hbm.sustained_gbps": 75.0},
    "a quarter of the LX": {"lx.size_bytes": 524288},
    "twice the cores": {"core.count": 64},
}
"""`spyre` with a constant changed; kernels are written for its cores."""

NEAR = 0.05
"""How far the cycles a plan predicts may be from those simulated."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """A compiled and timed kernel; nothing is executed, timing needs no data."""

    program: Program
    cycles: int
    busy: dict[str, float]

    @property
    def ratio(self) -> float:
        """Cycles over the bound."""
        assert self.program.bound is not None
        return self.cycles / self.program.bound.cycles


def rows(only: str = "") -> list[Row]:
    """All figures of the kernels whose name contains `only`, or the reason there are none."""
    found: list[Row] = []
    for name, entry in SUITE.items():
        if only not in name:
            continue
        kernel = Kernel(suite_text(name))
        try:
            best = measured(kernel, device("spyre"))
        except HeadraceError as error:
            row = _row(f"{name} ratio", None, "x", entry.target, False)
            found.append({**row, "reason": error.diagnostics[0].message})
            continue
        found += [*_main(name, best, entry.target), *_without(name, kernel), *_elsewhere(name, kernel, best)]
    return found


def _main(name: str, best: Measured, target: float) -> list[Row]:
    bound = best.program.bound
    assert bound is not None
    error = best.program.plan["predicted_cycles"] / best.cycles - 1
    return [
        _row(f"{name} cycles", best.cycles, "cycles"),
        {**_row(f"{name} bound", round(bound.cycles), "cycles"), "resource": bound.resource},
        _row(f"{name} ratio", round(best.ratio, 4), "x", target, best.ratio <= target),
        _row(f"{name} predicted off by", round(100 * error, 2), "%", 100 * NEAR, abs(error) <= NEAR),
        *(_row(f"{name} {kind} busy", round(100 * share, 1), "%") for kind, share in best.busy.items()),
    ]


def _without(name: str, kernel: Kernel) -> list[Row]:
    """Cycles with each optimisation left out, and with all of them left out: the naive plan."""
    left_out = {f"without {each}": (each,) for each in OPTIMISATIONS} | {"naive": OPTIMISATIONS}
    found = []
    for label, names in left_out.items():
        try:
            found.append(_row(f"{name} {label}", measured(kernel, device("spyre"), names).cycles, "cycles"))
        except HeadraceError as error:
            row = _row(f"{name} {label}", None, "cycles")
            found.append({**row, "reason": error.diagnostics[0].message})
    return found


def _elsewhere(name: str, kernel: Kernel, best: Measured) -> list[Row]:
    """Ratios on the other devices; the plan of `spyre` is not faster there, or cannot run there."""
    found = []
    for label, changes in DEVICES.items():
        chip = device("spyre", changes)
        if chip.cores != best.program.device.cores:
            kernel = Kernel(suite_text(name, chip.cores))
        here = measured(kernel, chip)
        found.append(_row(f"{name} {label} ratio", round(here.ratio, 4), "x"))
        plan = {**best.program.plan, "device": chip.name}
        try:
            replayed = measured(kernel, chip, plan=plan).cycles / here.cycles
        except HeadraceError as error:
            row = _row(f"{name} {label} replayed", None, "x", 1.0)
            found.append({**row, "reason": error.diagnostics[0].message})
            continue
        found.append(_row(f"{name} {label} replayed", round(replayed, 4), "x", 1.0, replayed >= 1.0))
    return found


def tables(found: list[Row]) -> dict[str, list[list[str]]]:
    """The rows as three tables by title: a kernel a line, the first line is the head."""
    by_name = {row["name"]: row for row in found}
    names = [row["name"].removesuffix(" ratio") for row in found if row["unit"] == "x" and _is_first(row)]
    return {
        "cycles over the bound": _ratios(names, by_name),
        "cycles without an optimisation": _worth(names, by_name),
        "on other devices": _devices(names, by_name),
    }


def _is_first(row: Row) -> bool:
    return row["name"].removesuffix(" ratio") in SUITE


def _ratios(names: list[str], by_name: dict[str, Row]) -> list[list[str]]:
    head = ["kernel", "cycles", "bound", "by", "ratio", "target", "met", "predicted", "PT busy", "SFU busy"]
    lines = [head]
    for name in names:
        ratio = by_name[f"{name} ratio"]
        target = [f"≤ {ratio['target']}", "yes" if ratio["met"] else "no"]
        if ratio["value"] is None:
            lines.append([name, f"not compiled: {ratio['reason']}", "", "", "", *target, "", "", ""])
            continue
        cycles, bound = (by_name[f"{name} {part}"] for part in ("cycles", "bound"))
        figures = [f"{cycles['value']:,}", f"{bound['value']:,}", bound["resource"], f"{ratio['value']:.3f}"]
        off = f"{by_name[f'{name} predicted off by']['value']:+.1f} %"
        busy = [_percent(by_name.get(f"{name} {kind} busy")) for kind in ("PT", "SFU")]
        lines.append([name, *figures, *target, off, *busy])
    return lines


def _worth(names: list[str], by_name: dict[str, Row]) -> list[list[str]]:
    labels = [*(f"without {each}" for each in OPTIMISATIONS), "naive"]
    lines = [["kernel", "cycles", *labels]]
    for name in names:
        if (all_on := by_name.get(f"{name} cycles")) is not None:
            factors = [_times(by_name[f"{name} {label}"]["value"], all_on["value"]) for label in labels]
            lines.append([name, f"{all_on['value']:,}", *factors])
    return lines


def _devices(names: list[str], by_name: dict[str, Row]) -> list[list[str]]:
    lines = [["kernel", "spyre", *(part for label in DEVICES for part in (label, "replayed"))]]
    for name in names:
        if by_name[f"{name} ratio"]["value"] is None:
            continue
        line = [name, f"{by_name[f'{name} ratio']['value']:.3f}"]
        for label in DEVICES:
            replayed = by_name[f"{name} {label} replayed"]["value"]
            line.append(f"{by_name[f'{name} {label} ratio']['value']:.3f}")
            line.append("cannot" if replayed is None else f"{replayed:.3f}")
        lines.append(line)
    return lines


def _times(cycles: int | None, all_on: int) -> str:
    return "not compiled" if cycles is None else f"{cycles:,} ({cycles / all_on:.2f})"


def _percent(row: Row | None) -> str:
    return "" if row is None else f"{row['value']:.0f} %"


def measured(kernel: Kernel, chip: Device, without: tuple[str, ...] = (), plan: Any = None) -> Measured:
    """The kernel compiled and timed; HeadraceError where that cannot be done."""
    program = kernel.compile(chip, scalars=default_scalars(kernel, {}), without=without, plan=plan)
    timing = timed(program)
    busy = {
        kind: unit.busy / (unit.instances * timing.cycles)
        for kind, unit in timing.units.items()
        if chip.unit(kind).is_compute
    }
    return Measured(program, round(timing.cycles), busy)


def timed(program: Program) -> Any:
    """The timing of a program at 128-byte aligned addresses."""
    from headrace.machine.timing import time

    return time(program.image, {a.name: 0 for a in program.image.arguments}, program.device)


def timed_cycles(program: Program) -> int:
    """Cycles of a program at 128-byte aligned addresses."""
    return round(timed(program).cycles)


def _row(
    name: str, value: float | None, unit: str, target: float | None = None, is_met: bool | None = None
) -> Row:
    return {"name": name, "value": value, "unit": unit, "target": target, "met": is_met}
