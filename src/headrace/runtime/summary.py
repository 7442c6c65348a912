"""A run as one JSON object (the public contract) and the same as a page of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.runtime.program import Program, Run

STALLS = ("input", "space", "signal", "bandwidth", "setup", "idle")


def summary(run: Run) -> dict[str, Any]:
    """The object `headrace run --json` prints."""
    program = run.program
    timing = run.timing
    bound = run.bound
    return {
        "schema": 1,
        "file": program.file if program else run.kernel.file,
        "function": program.name if program else run.kernel.name,
        "device": program.device.name if program else None,
        "engine": run.engine,
        "grid": list(program.grid) if program else list(run.reference.grid),
        "cores_used": _cores_used(run),
        "cycles": run.cycles if timing else None,
        "predicted_cycles": _predicted(run),
        "time_us": round(run.time_us, 3) if timing else None,
        "plan_hash": (program.plan or {}).get("plan_hash") if program else None,
        "bound": {"cycles": bound.cycles, "resource": bound.resource, "source": bound.source}
        if bound
        else None,
        "ratio": round(run.cycles / bound.cycles, 4) if bound and timing and bound.cycles else None,
        "bytes": dict(timing.bytes) if timing else {},
        "flops": flops(program),
        "units": _units(timing) if timing else {},
        "lx_peak_bytes": timing.lx_peak_bytes if timing else run.reference.lx_peak_bytes,
        "outputs": {
            key: {"shape": list(array.shape), "dtype": str(array.dtype)} for key, array in run.outputs.items()
        },
        "compile_ms": program.meta.get("compile_ms", 0.0) if program else 0.0,
        "execute_ms": round(run.execute_ms, 3),
        "timing_ms": round(run.timing_ms, 3),
        "check": run.findings,
    }


def summary_text(data: Mapping[str, Any]) -> str:
    """The same for a person: a few lines a kernel author can read."""
    lines = [f"{data['function']} on {data['device'] or 'the reference interpreter'}, grid {data['grid']}"]
    if data["cycles"] is not None:
        lines += _machine_lines(data)
    outputs = ", ".join(f"{k} {v['shape']} {v['dtype']}" for k, v in data["outputs"].items())
    lines.append(f"  arrays     {outputs}")
    lines.append(
        f"  wall       compile {data['compile_ms']:.0f} ms, execute {data['execute_ms']:.0f} ms, "
        f"timing {data['timing_ms']:.0f} ms"
    )
    if data["check"] is not None:
        found = [f"  {kind}: {text}" for kind, texts in data["check"].items() for text in texts]
        lines.append(f"  check      {'no fault found' if not found else f'{len(found)} faults'}")
        lines += found
    return "\n".join(lines)


def _machine_lines(data: Mapping[str, Any]) -> list[str]:
    bound = data["bound"]
    lines = [
        f"  cycles     {data['cycles']:,} (predicted {data['predicted_cycles']:,}), {data['time_us']:,.1f} us"
        if data["predicted_cycles"] is not None
        else f"  cycles     {data['cycles']:,}, {data['time_us']:,.1f} us"
    ]
    if bound:
        ratio = f"; ratio {data['ratio']:.3f}" if data["ratio"] is not None else ""
        lines.append(f"  bound      {bound['cycles']:,.0f} by {bound['resource']}{ratio}")
    moved = ", ".join(f"{name} {count:,}" for name, count in data["bytes"].items())
    lines.append(f"  bytes      {moved}")
    lines.append(f"  LX peak    {data['lx_peak_bytes']:,} bytes a core")
    for kind, unit in data["units"].items():
        whole = max(unit["busy"] + sum(unit["stalls"].values()), 1)
        stalls = ", ".join(
            f"{name} {100 * n / whole:.0f} %" for name, n in unit["stalls"].items() if n > 0.005 * whole
        )
        lines.append(
            f"  {kind:<10} x{unit['instances']:<3} busy {100 * unit['busy'] / whole:.0f} %  "
            f"waits: {stalls or 'none'}"
        )
    return lines


def _cores_used(run: Run) -> int:
    if run.program is None:
        return 0
    return len(
        {
            i.core
            for s in run.program.image.schedules
            for p in s.programs
            for i in (run.program.image.instances[n] for n in p.instances)
        }
    )


def _predicted(run: Run) -> int | None:
    plan = run.program.plan if run.program else None
    return round(plan["predicted_cycles"]) if plan and plan.get("predicted_cycles") is not None else None


def flops(program: Program | None) -> int:
    """Operations of a program's declared work: two a multiply-accumulate, one a lane-operation."""
    work = program.work if program else None
    if work is None:
        return 0
    return int(
        2 * sum(work.macs.values()) + sum(n for (kind, _), n in work.lane_ops.items() if kind != "move")
    )


def _units(timing: Any) -> dict[str, Any]:
    return {
        kind: {
            "instances": unit.instances,
            "busy": unit.busy,
            "stalls": {name: getattr(unit, name) for name in STALLS},
        }
        for kind, unit in timing.units.items()
    }
