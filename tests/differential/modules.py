"""Random modules of two or three kernels, each of which reads what the one before wrote."""

from __future__ import annotations

import random
import re
from typing import Any

from benchmarks.kernels import kernel_text

from headrace.runtime.kernel import Kernel

ROWS = (1, 5, 32, 48, 100)
COLUMNS = (1, 24, 64, 130, 520)
CORES = (1, 2, 4)
PASSES = {
    "matmul": ("a", "c"),
    "matmul_bias_gelu": ("x", "y"),
    "softmax": ("x", "y"),
    "layernorm": ("x", "y"),
    "broadcast_add": ("x", "o"),
    "transpose": ("x", "y"),
    "gate_up": ("x", "h"),
    "down": ("h", "y"),
}
"""The arguments of a kernel through which the matrix passes."""

STEPS = ("matmul", "matmul_bias_gelu", "softmax", "layernorm", "broadcast_add", "transpose", "gated_mlp")


def module(seed: int, scale: int = 1) -> tuple[str, list[str]]:
    """(KTIR text, kernels) of two or three kernels over f16 matrices; `scale` times the extents."""
    rng = random.Random(seed)
    rows, columns = scale * rng.choice(ROWS), scale * rng.choice(COLUMNS)
    heads: dict[str, None] = {}
    functions: list[str] = []
    calls: list[str] = []
    arguments = ["v0"]
    chosen = rng.choices(STEPS, k=rng.choice((2, 2, 3)))
    for kernel in chosen:
        extents = _extents(rng, kernel, rows, columns, scale)
        rows, columns = _result(kernel, extents)
        lines = kernel_text(kernel, **extents).splitlines()
        heads |= dict.fromkeys(line for line in lines if line.startswith("#"))
        for name, taken, body in _functions("\n".join(lines)):
            into, out = PASSES[name]
            number = len(functions)
            passed = {into: f"v{number}", out: f"v{number + 1}"}
            given = [passed.get(argument, f"k{number}_{argument}") for argument in taken]
            arguments += [name for name in given if name not in arguments]
            functions.append(body.replace(f"@{name}(", f"@k{number}_{name}(", 1))
            values, types = ", ".join(f"%{g}" for g in given), ", ".join("index" for _ in given)
            calls.append(f"func.call @k{number}_{name}({values}) : ({types}) -> ()")
    taken_all = ", ".join(f"%{name}: index" for name in arguments)
    host = "\n".join([f"func.func @host({taken_all}) {{", *calls, "return", "}"])
    return "\n".join([*heads, "module {", host, *functions, "}"]), chosen


def sequence(*kernels: Kernel) -> Kernel:
    """The kernels, of one function each, as one module: arguments of equal name are one buffer."""
    heads: dict[str, None] = {}
    bodies: list[str] = []
    for lines in (kernel.text.splitlines() for kernel in kernels):
        at = lines.index("module {")
        heads |= dict.fromkeys(lines[:at])
        bodies += lines[at + 1 : -1]
    return Kernel("\n".join([*heads, "module {", *bodies, "}"]) + "\n")


def _extents(rng: random.Random, kernel: str, rows: int, columns: int, scale: int) -> dict[str, Any]:
    cores, across = rng.choice(CORES), rng.choice(CORES)
    wide = scale * rng.choice(COLUMNS)
    match kernel:
        case "gated_mlp":
            return {"m": rows, "width": columns, "hidden": wide, "grid": (cores, across), "k_step": 32}
        case "matmul" | "matmul_bias_gelu":
            return {"m": rows, "k": columns, "n": wide, "grid": (cores, across)}
        case _:
            return {"rows": rows, "columns": columns, "cores": cores}


def _result(kernel: str, extents: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns of what a kernel writes."""
    match kernel:
        case "gated_mlp":
            return extents["m"], extents["width"]
        case "matmul" | "matmul_bias_gelu":
            return extents["m"], extents["n"]
        case "transpose":
            return extents["columns"], extents["rows"]
        case _:
            return extents["rows"], extents["columns"]


def _functions(text: str) -> list[tuple[str, list[str], str]]:
    """(name, arguments, text) of the kernels of a module, without the host function."""
    found = []
    for body in re.findall(r"^  func\.func .*?^  }$", text, re.DOTALL | re.MULTILINE):
        name, arguments = re.findall(r"@(\w+)\(([^)]*)\)", body)[0]
        if name in PASSES:
            found.append((name, re.findall(r"%(\w+):", arguments), body))
    return found
