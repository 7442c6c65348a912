"""KTIR texts of the nine example kernels at any extents, and the extents that tests and benchmarks use.

`kernel_text(name, **extents)` writes one; `VARIANTS[name]` are awkward extents (odd, prime, 1, larger than a
scratchpad), `BENCHMARKS` the sizes whose cycles are tracked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.kernels.contractions import matmul, matmul_bias_gelu
from benchmarks.kernels.rows import (
    broadcast_add,
    embedding,
    layernorm,
    rmsnorm,
    softmax,
    transpose,
    vector_add,
)

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

BENCHMARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "add_16mib": ("vector_add", {"rows": 1, "columns": 2**23}),
    "softmax_4096x2048": ("softmax", {"rows": 4096, "columns": 2048}),
    "layernorm_4096x2048": ("layernorm", {"rows": 4096, "columns": 2048}),
    "gemm_1024": ("matmul", {"m": 1024, "k": 1024, "n": 1024, "k_step": 128}),
    "gemm_2048x4096x4096": ("matmul", {"m": 2048, "k": 4096, "n": 4096, "k_step": 128}),
}


def kernel_text(name: str, **extents: Any) -> str:
    """The KTIR of kernel `name` (a key of `KERNELS`) at the given extents, grid and steps."""
    return KERNELS[name](**extents)


def benchmark_text(name: str) -> str:
    """The KTIR of the benchmark `name` (a key of `BENCHMARKS`)."""
    kernel, extents = BENCHMARKS[name]
    return kernel_text(kernel, **extents)
