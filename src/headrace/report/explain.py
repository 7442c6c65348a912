"""Why a program takes the cycles it takes: roofline, units, critical path, largest losses, style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.ir.diagnostics import Location
from headrace.machine.timing import Stretch, Timing, stretches
from headrace.report.losses import Facts, Loss, by_cause, losses
from headrace.report.roofline import Roofline, roofline
from headrace.report.style import style
from headrace.runtime.program import Program
from headrace.runtime.retime import retiming

LOSSES = 5
"""Losses that are told."""
WIDTH = 40
"""Characters of a bar."""
MARKS = {"busy": "#", "input": "i", "space": "s", "signal": "g", "bandwidth": "w", "setup": "u", "idle": "."}
SHOWN = 6
"""Stretches shown at each end of a long critical path."""


@dataclass(frozen=True)
class Explanation:
    """Everything `headrace explain` says of one program, as data (`to_json`) and as text (`text`)."""

    program: Program
    timing: Timing
    facts: Facts
    losses: tuple[Loss, ...]
    style: tuple[str, ...]
    roofline: Roofline

    @property
    def predicted(self) -> int | None:
        """Cycles the scheduler predicted."""
        plan = self.program.plan
        return round(plan["predicted_cycles"]) if plan and plan.get("predicted_cycles") is not None else None

    def to_json(self) -> dict[str, Any]:
        """The object `headrace explain --json` prints."""
        bound = self.facts.bound
        return {
            "schema": 1,
            "file": self.program.file,
            "function": self.program.name,
            "device": self.program.device.name,
            "cycles": self.timing.cycles,
            "predicted_cycles": self.predicted,
            "bound": {"cycles": bound.cycles, "resource": bound.resource, "source": bound.source},
            "ratio": round(self.timing.cycles / bound.cycles, 4) if bound.cycles else None,
            "roofline": self.roofline.to_json(),
            "bytes": dict(self.timing.bytes),
            "counts": dict(self.timing.counts),
            "units": {kind: _parts(unit) for kind, unit in self.timing.units.items()},
            "operands": [
                {"name": o.name, "side": o.side, "requested_bytes": o.moved, "distinct_bytes": o.distinct}
                for o in self.facts.operands
            ],
            "critical_path": _path_json(self.timing),
            "losses": [loss.to_json() for loss in self.losses],
            "style": list(self.style),
        }

    def text(self) -> str:
        """The same for a person."""
        return "\n".join([*self._head(), *_bars(self.timing), *_path_text(self.timing), *self._losses()])

    def _head(self) -> list[str]:
        bound, cycles = self.facts.bound, self.timing.cycles
        lines = [f"{self.program.name} on {self.program.device.name}"]
        ratio = f", ratio {cycles / bound.cycles:.3f}" if bound.cycles else ""
        lines.append(f"  simulated  {cycles:,} cycles{ratio}")
        if self.predicted is not None:
            off = 100 * (self.predicted / cycles - 1) if cycles else 0.0
            lines.append(f"  predicted  {self.predicted:,} cycles by the scheduler ({off:+.1f} %)")
        lines.append(f"  bound      {bound.cycles:,.0f} cycles by {bound.resource} ({bound.source})")
        image = self.program.image
        used = {i.core for i in image.instances if i.kind in self.timing.units}
        if len(used) < self.program.device.cores:
            lines.append(f"  cores      {len(used)} of {self.program.device.cores} have a program")
        return [*lines, *self.roofline.lines()]

    def _losses(self) -> list[str]:
        lines = ["largest losses (one change each, every saving simulated; they overlap, so do not add them)"]
        lines += [f"  {k}. {loss.text}" for k, loss in enumerate(self.losses, start=1)]
        if not self.losses:
            lines.append("  none: no single change saves half a percent")
        if self.style:
            lines += ["why this program is slow", *(f"  - {note}" for note in self.style)]
        return lines


def explain(
    program: Program,
    values: Mapping[str, float] | None = None,
    without: Mapping[str, Program] = {},
) -> Explanation:
    """Return the explanation of a program; `values` are run-time scalars, `without` the same kernel compiled
    with each optimisation that this program was compiled without.
    """
    run = retiming(program, values)
    timing = run.time(is_recorded=True)
    facts = Facts(program.device, timing, run.bound(timing), run.operands())
    other = {name: retiming(one, values).time().cycles for name, one in without.items()}
    found = losses(run, facts, other)
    return Explanation(
        program,
        timing,
        facts,
        _largest(found),
        tuple(style(run, facts)),
        roofline(program, timing, facts.bound),
    )


def _largest(found: Sequence[Loss]) -> tuple[Loss, ...]:
    """The five largest; the sum of causes ("serial") only where it saves clearly more than each of them."""
    single = [loss for loss in found if loss.name != "serial"]
    together = [loss for loss in found if loss.name == "serial"]
    parts = [loss.saving for loss in single if loss.name in ("latency", "setup", "signals")]
    if together and together[0].saving > 1.25 * max(parts, default=0.0):
        single = sorted([*single, *together], key=lambda loss: -loss.saving)
    return tuple(single[:LOSSES])


def _parts(unit: Any) -> dict[str, int]:
    return {"instances": unit.instances, **{cause: getattr(unit, cause) for cause in MARKS}}


def _bars(timing: Timing) -> list[str]:
    legend = "  ".join(f"{mark} {cause}" for cause, mark in MARKS.items())
    lines = [f"units ({legend})"]
    for kind, unit in timing.units.items():
        whole = max(1, unit.instances * timing.cycles)
        parts = {cause: getattr(unit, cause) / whole for cause in MARKS}
        told = ", ".join(f"{cause} {100 * part:.0f} %" for cause, part in parts.items() if part >= 0.005)
        lines.append(f"  {kind:<8} x{unit.instances:<4}|{_bar(parts)}| {told}")
    return lines


def _bar(parts: Mapping[str, float]) -> str:
    """A bar of `WIDTH` characters, every cause by its part, rounding from left to right."""
    bar, reached = "", 0.0
    for cause, part in parts.items():
        reached += part
        bar += MARKS[cause] * (round(reached * WIDTH) - len(bar))
    return bar


# ---- the critical path -------------------------------------------------------------------------------------
def _path_json(timing: Timing) -> dict[str, Any]:
    return {
        "cycles": sum(link.cycles for link in timing.path),
        "shares": [{"kind": kind, "cause": cause, "cycles": n} for kind, cause, n in by_cause(timing.path)],
        "stretches": [
            {
                "start": one.start,
                "end": one.end,
                "times": one.times,
                "links": [
                    {
                        "unit": link.unit,
                        "alike": link.alike,
                        "cause": link.cause,
                        "what": link.what,
                        "where": str(link.where) if link.where.line else None,
                        "cycles": cycles,
                    }
                    for link, cycles in one.pattern
                ],
            }
            for one in stretches(timing.path)
        ],
    }


def _path_text(timing: Timing) -> list[str]:
    shares = [
        f"{kind} {cause} {100 * n / timing.cycles:.1f} %"
        for kind, cause, n in by_cause(timing.path)
        if n >= 0.01 * timing.cycles
    ]
    lines = [f"critical path, {timing.cycles:,} cycles: {', '.join(shares)}"]
    found = stretches(timing.path)
    for k, one in enumerate(found):
        if len(found) > 2 * SHOWN and SHOWN <= k < len(found) - SHOWN:
            if k == SHOWN:
                lines.append(f"    ... {len(found) - 2 * SHOWN} more (--json has all of them)")
            continue
        lines.append(_stretch_text(one))
    return lines


def _stretch_text(one: Stretch) -> str:
    times = f" {one.times} times over" if one.times > 1 else ""
    sums: dict[tuple[str, str, str, Location], int] = {}
    for link, cycles in one.pattern:
        alike = (link.unit, link.cause, link.what, link.where)
        sums[alike] = sums.get(alike, 0) + cycles
    largest = set(sorted(sums, key=lambda alike: -sums[alike])[:4])
    links = ", ".join(_link_text(*alike, sums[alike]) for alike in sums if alike in largest)
    more = f" and {len(sums) - len(largest)} smaller" if len(largest) < len(sums) else ""
    return f"    {one.start:>10,} to {one.end:<10,}{times} {links}{more}"


def _link_text(unit: str, cause: str, what: str, where: Location, cycles: int) -> str:
    place = f" at line {where.line}" if where.line else ""
    return f"{unit} {cause}{f' {what}' if what else ''} {cycles:,}{place}"
