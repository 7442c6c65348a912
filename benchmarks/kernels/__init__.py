"""KTIR texts of the nine example kernels at any extents, and the extents that tests and benchmarks use.

`kernel_text(name, **extents)` writes one; `VARIANTS[name]` are awkward extents (odd, prime, 1, larger than a
scratchpad). `MORE` are kernels that only benchmarks and their tests need, `SUITE` the sizes whose cycles are
tracked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.kernels.attention import attention
from benchmarks.kernels.contractions import matmul, matmul_bias_gelu
from benchmarks.kernels.mlp import gated_mlp
from benchmarks.kernels.rows import (
    broadcast_add,
    embedding,
    layernorm,
    rmsnorm,
    softmax,
    transpose,
    vector_add,
)
from benchmarks.kernels.streams import broadcast_column, cast, chain, copy

KERNELS: dict[str, Callable[..., str]] = {
    "vector_add": vector_add,
    "broadcast_add": broadcast_add,
    "softmax": softmax,
    "rmsnorm": rmsnorm,
    "layernorm": layernorm,
    "matmul": matmul,
    "matmul_bias_gelu": matmul_bias_gelu,
    "embedding": embedding,
    "transpose": transpose,
}

_ROW_EXTENTS: tuple[dict[str, Any], ...] = (
    {"rows": 63, "columns": 129},
    {"rows": 127, "columns": 131},
    {"rows": 63, "columns": 129, "cores": 4, "rows_per_step": 3},
    {"rows": 1, "columns": 1},
    {"rows": 1, "columns": 127},
    {"rows": 131, "columns": 1},
    {"rows": 601, "columns": 2051, "cores": 1},
    {"rows": 5, "columns": 300_007, "cores": 2},
)
_PRODUCT_EXTENTS: tuple[dict[str, Any], ...] = (
    {"m": 63, "k": 129, "n": 127},
    {"m": 127, "k": 131, "n": 129, "grid": (2, 3), "k_step": 32},
    {"m": 1, "k": 1, "n": 1},
    {"m": 1, "k": 127, "n": 131},
    {"m": 131, "k": 1, "n": 1},
    {"m": 1031, "k": 1153, "n": 521, "grid": (1, 1)},
    {"m": 1031, "k": 1153, "n": 521, "grid": (1, 1), "k_step": 128},
)

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    **{
        name: _ROW_EXTENTS
        for name in ("vector_add", "broadcast_add", "softmax", "rmsnorm", "layernorm", "transpose")
    },
    **{name: _PRODUCT_EXTENTS for name in ("matmul", "matmul_bias_gelu")},
    "embedding": (
        {"rows": 63, "columns": 129, "tokens": 127},
        {"rows": 131, "columns": 64, "tokens": 63, "cores": 4, "rows_per_step": 5, "index": "i32"},
        {"rows": 1, "columns": 1, "tokens": 1},
        {"rows": 1, "columns": 127, "tokens": 131},
        {"rows": 1009, "columns": 1031, "tokens": 1201, "cores": 1},
    ),
}


MORE: dict[str, Callable[..., str]] = {
    "copy": copy,
    "cast": cast,
    "chain": chain,
    "broadcast_column": broadcast_column,
    "attention": attention,
    "gated_mlp": gated_mlp,
}


@dataclass(frozen=True)
class Entry:
    """A tracked kernel at one size: its arguments, the largest ratio of cycles to the bound wanted."""

    kernel: str
    extents: dict[str, Any]
    target: float


def _streams() -> dict[str, Entry]:
    found = {}
    for size, elements, target in (("4mib", 2**21, 1.05), ("64mib", 2**25, 1.03)):
        square = {"rows": elements // 2048, "columns": 2048}
        found[f"add_{size}"] = Entry("vector_add", {"rows": 1, "columns": elements}, target)
        for kernel in ("chain", "broadcast_add", "broadcast_column", "copy", "cast"):
            found[f"{kernel}_{size}"] = Entry(kernel, square, target)
    return found


def _rows() -> dict[str, Entry]:
    sizes = ((512, 768), (512, 2048), (512, 8192), (4096, 2048), (2048, 4096), (8192, 768), (8192, 8192))
    found = {}
    for kernel in ("softmax", "layernorm", "rmsnorm"):
        for rows, columns in sizes:
            extents = {"rows": rows, "columns": columns}
            target = 1.10 if rows * columns * 2 < 2**20 else 1.06
            found[f"{kernel}_{rows}x{columns}"] = Entry(kernel, extents, target)
    for size in (1024, 4096):
        found[f"transpose_{size}"] = Entry("transpose", {"rows": size, "columns": size}, 1.10)
    return found


def _product(m: int, n: int, k: int, grid: tuple[int, int], target: float) -> Entry:
    return Entry("matmul", {"m": m, "k": k, "n": n, "grid": grid, "k_step": 128}, target)


SUITE: dict[str, Entry] = {
    **_streams(),
    **_rows(),
    "gemm_1024": _product(1024, 1024, 1024, (4, 8), 1.06),
    "gemm_2048": _product(2048, 2048, 2048, (4, 8), 1.08),
    "gemm_4096": _product(4096, 4096, 4096, (1, 32), 1.06),
    "gemm_512x12800x4096": _product(512, 12800, 4096, (4, 8), 1.04),
    "gemm_2048x12800x4096": _product(2048, 12800, 4096, (4, 8), 1.06),
    **{f"decode_{m}x4096x12800": _product(m, 12800, 4096, (1, 32), 1.03) for m in (1, 2, 4, 8, 16)},
    "attention_32_heads": Entry("attention", {"heads": 32, "length": 2048, "depth": 128}, 1.06),
    "attention_8_kv_heads": Entry(
        "attention", {"heads": 32, "kv_heads": 8, "length": 2048, "depth": 128}, 1.12
    ),
    **{
        f"mlp_{m}_rows": Entry(
            "gated_mlp", {"m": m, "width": 4096, "hidden": 12800, "grid": grid, "k_step": 128}, target
        )
        for m, grid, target in ((512, (2, 16), 1.06), (2048, (4, 8), 1.08))
    },
}
"""By name. Grids of products are those of the hand-written schedules; all other kernels use all cores."""


def kernel_text(name: str, **extents: Any) -> str:
    """The KTIR of kernel `name` (a key of `KERNELS` or `MORE`) at the given extents, grid and steps."""
    return {**KERNELS, **MORE}[name](**extents)


def suite_text(name: str, cores: int = 32) -> str:
    """The KTIR of the entry `name` of `SUITE` for so many cores; attention is always a head a core."""
    entry = SUITE[name]
    extents = dict(entry.extents)
    if "grid" in extents:
        rows, columns = extents["grid"]
        extents["grid"] = (rows, columns * cores // 32)
    elif entry.kernel != "attention":
        extents["cores"] = cores
    return kernel_text(entry.kernel, **extents)
