"""Known models, small and with seeded weights, compiled for the virtual accelerator and compared with the
CPU.

Each model runs in each type twice; the second run is recorded: its graphs, kernels, operators on the device
and on the host (with the reason), and its largest error relative to the largest output of PyTorch on the
CPU.

    python examples/models.py [--only NAME ...] [--types f32 f16 bf16] [--json] [--device spyre]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
TOLERANCE = {"f32": 1e-4, "f16": 1e-2, "bf16": 8e-2}
"""Largest error of the outputs relative to their largest; bf16 has three bits less than f16."""


def measured(name: str, kind: str) -> dict[str, Any]:
    """One model in one type, run in this process: what was compiled, where it ran, how far it is from the
    CPU.
    """
    import torch
    from zoo import example

    import headrace

    headrace.set_fallback("allow")
    torch._dynamo.reset()
    made = example(name, getattr(torch, TYPES[kind]))
    with torch.no_grad():
        expected = floats(made.model(**made.inputs))
        start = time.process_time()
        model = torch.compile(made.model.to("headrace"), dynamic=False)
        inputs = {key: x.to("headrace") for key, x in made.inputs.items()}
        with headrace.record() as first:
            floats(model(**inputs))
        compiled = time.process_time()
        with headrace.record() as steady:
            actual = floats(model(**inputs))
    launches = steady.launches
    error = max(relative_error(a, b) for a, b in zip(actual, expected, strict=True))
    host_ops = {op: n for op, n in steady.fallback_ops.items()}
    return {
        "model": name,
        "dtype": kind,
        "graphs": len(steady.graphs),
        "graph_breaks": dict(first.graph_breaks),
        "kernels": len({launch.kernel for launch in launches}),
        "launches": len(launches),
        "native_ops": sum(sum(graph.facts.native_ops.values()) for graph in steady.graphs),
        "host_ops": host_ops,
        "reasons": steady.fallback_reasons,
        "eager_ops": {op: n for op, n in steady.eager_ops.items()},
        "cycles": sum(launch.run.cycles for launch in launches),
        "max_error": error,
        "tolerance": TOLERANCE[kind],
        "correct": error <= TOLERANCE[kind],
        "first_run_cpu_s": round(compiled - start, 2),
        "later_run_cpu_s": round(time.process_time() - compiled, 2),
    }


def floats(outputs: Any) -> list[Any]:
    """The floating-point tensors of a result, on the CPU in f32."""
    import torch
    from torch.utils import _pytree as pytree

    values = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    leaves = [x for x in pytree.tree_leaves(values) if isinstance(x, torch.Tensor) and x.is_floating_point()]
    return [x.cpu().float() for x in leaves]


def relative_error(actual: Any, expected: Any) -> float:
    """Largest difference relative to the largest expected value; infinite where only one of them is NaN."""
    if actual.shape != expected.shape or bool((actual.isnan() != expected.isnan()).any()):
        return float("inf")
    return float((actual - expected).nan_to_num().abs().max() / expected.nan_to_num().abs().max())


def rows(names: list[str], kinds: list[str], device: str | None) -> Iterator[dict[str, Any]]:
    """A row for each model and type, each model in a process of its own; one that fails says why in
    "failure".
    """
    for name in names:
        command = [sys.executable, __file__, "--in-process", "--only", name, "--types", *kinds, "--json"]
        command += ["--device", device] if device else []
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            yield from json.loads(done.stdout)["models"]
        except json.JSONDecodeError:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            yield from ({"model": name, "dtype": k, "correct": False, "failure": lines[-1]} for k in kinds)


def rows_here(names: list[str], kinds: list[str]) -> Iterator[dict[str, Any]]:
    """The same in this process."""
    for name in names:
        for kind in kinds:
            try:
                yield measured(name, kind)
            except Exception as error:
                traceback.print_exc()
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                yield {"model": name, "dtype": kind, "correct": False, "failure": text}


def line(row: dict[str, Any]) -> str:
    """A row of the table for people."""
    if "failure" in row:
        return f"{row['model']:<18}{row['dtype']:<6}{'FAILED':<7}{row['failure']}"
    host = ", ".join(
        f"{n} {op} ({row['reasons'].get(op, 'outside any graph')})"
        for op, n in {**row["host_ops"], **row["eager_ops"]}.items()
    )
    return (
        f"{row['model']:<18}{row['dtype']:<6}{'yes' if row['correct'] else 'NO':<7}{row['max_error']:<10.1e}"
        f"{row['graphs']:<8}{row['kernels']:<9}{row['launches']:<10}{row['native_ops']:<8}"
        f"{row['cycles']:<12,}{row['first_run_cpu_s']:<9}{row['later_run_cpu_s']:<9}{host or 'nothing'}"
    )


HEADER = (
    f"{'model':<18}{'type':<6}{'right':<7}{'error':<10}{'graphs':<8}{'kernels':<9}{'launches':<10}{'native':<8}"
    f"{'cycles':<12}{'first s':<9}{'later s':<9}on the host"
)


def main() -> int:
    """0 when every model is right, 1 otherwise."""
    from zoo import MODELS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=MODELS, default=list(MODELS))
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--device", default=None)
    parser.add_argument("--in-process", action="store_true", help="no process per model")
    options = parser.parse_args()
    if options.device:
        import headrace

        headrace.use(device=options.device)
    if options.in_process:
        found = rows_here(options.only, options.types)
    else:
        found = rows(options.only, options.types, options.device)
    collected = []
    if not options.json:
        print(HEADER)
    for row in found:
        collected.append(row)
        if not options.json:
            print(line(row), flush=True)
    if options.json:
        print(json.dumps({"schema": 1, "models": collected}, indent=1))
    return 0 if all(row["correct"] for row in collected) else 1


if __name__ == "__main__":
    raise SystemExit(main())
