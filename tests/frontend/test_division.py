"""Products are divided over the cores as their cycles ask, and what the scheduler predicts then is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from headrace.arch.presets import device
from headrace.frontend.decide.division import divide
from headrace.frontend.lower.dims import group
from headrace.frontend.lower.kernel import Division, write_kernel
from headrace.frontend.lower.program import read_program
from headrace.runtime.kernel import Kernel
from headrace.runtime.retime import retiming
from tests.frontend.test_lower import nest, program

SPYRE = device("spyre")


@dataclass(frozen=True)
class Cycles:
    """Of one kernel."""

    simulated: float
    predicted: float
    bound: float


def product(batch: int, m: int, k: int, n: int, dtype: str, is_transposed: bool) -> dict[str, Any]:
    """b2[b, m, n] = b0[b, m, k] b1[b, k, n]; transposed: b1[b, n, k]."""
    right = (batch, n, k) if is_transposed else (batch, k, n)
    index = f"r0 + {k}*i2" if is_transposed else f"i2 + {n}*r0"
    body = [
        ("v0", "load", "b0", f"r0 + {k}*i1 + {m * k}*i0"),
        ("v1", "load", "b1", f"{index} + {k * n}*i0"),
        ("v2", "dot", "v0", "v1"),
        ("v3", "reduction", dtype, dtype, "dot", "v2"),
        (None, "store_reduction", "b2", f"i2 + {n}*i1 + {m * n}*i0", "v3"),
    ]
    loops = [nest([("i0", batch), ("i1", m), ("i2", n)], body, [("r0", k)])]
    return program(
        loops, b0=("in", dtype, (batch, m, k)), b1=("in", dtype, right), b2=("out", dtype, (batch, m, n))
    )


def cycles(literal: dict[str, Any], division: Division | None = None) -> Cycles:
    """Of the program cut as the front-end does, or in a given way."""
    loops = read_program(literal)
    dims = group(loops)
    chosen = division or divide(loops, dims, SPYRE)
    found = Kernel(write_kernel(loops, dims, chosen).text).compile()
    assert found.bound is not None
    return Cycles(retiming(found).time().cycles, found.plan["predicted_cycles"], found.bound.cycles)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_few_rows_are_not_cut_into_tiles_that_the_matrix_unit_cannot_fill(
    dtype: str, is_transposed: bool
) -> None:
    literal = product(1, 64, 256, 512, dtype, is_transposed)
    by_rows = Division({"g1": 2})
    assert cycles(literal).simulated * 1.8 < cycles(literal, by_rows).simulated


def test_uneven_tiles_do_not_make_others_read_what_they_share_twice() -> None:
    """33 rows in tiles of 17 and 16 would read all weights for each of both."""
    literal = product(1, 33, 384, 1536, "float16", False)
    assert cycles(literal).simulated * 1.3 < cycles(literal, Division({"g1": 17, "g2": 96})).simulated


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_long_depth_is_divided_where_results_are_few(dtype: str) -> None:
    literal = product(1, 4, 16384, 64, dtype, False)
    shared = cycles(literal)
    assert shared.simulated < 1.2 * shared.bound
    assert shared.simulated * 1.7 < cycles(literal, Division({"g1": 1, "g2": 8})).simulated


def test_results_that_all_have_are_stored_as_a_box() -> None:
    """Messages between cores are rows, what is stored of them are 16 of 64 columns."""
    found = cycles(product(1, 4, 2048, 64, "float32", False), Division({"g3": 256, "g2": 16}, "g3"))
    assert found.bound <= found.simulated


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((8, 128, 64, 128), {"g1": 32, "g2": 16}),
        ((8, 128, 64, 128), {"g0": 1, "g1": 32}),
        ((2, 512, 64, 512), {"g1": 64, "g2": 128}),
        ((2, 512, 64, 512), {"g0": 1}),
        ((4, 100, 64, 96), {"g1": 33, "g2": 32}),
    ],
)
def test_a_batch_of_products_and_uneven_tiles_are_predicted_like_one(
    shape: tuple[int, int, int, int], sizes: dict[str, int]
) -> None:
    """Results of each product leave beside the next, and full and last tiles share device memory."""
    found = cycles(product(*shape, "float32", False), Division(sizes))
    assert found.bound <= found.predicted
    assert found.predicted == pytest.approx(found.simulated, rel=0.2)
