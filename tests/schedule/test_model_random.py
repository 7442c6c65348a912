"""Random kernels mean the same as TileGraphs: chains of statements, the examples at any extents."""

from __future__ import annotations

import pytest
from benchmarks.kernels import kernel_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.differential.chains import chain
from tests.schedule.model_checks import check

DEVICES = st.sampled_from(["spyre", "tiny", "spyre-1core"])
ROWS = st.integers(1, 70)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 100_000), device=DEVICES)
def test_a_random_chain_computes_what_the_reference_does(seed: int, device: str) -> None:
    check(chain(seed)[0], device)


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(["vector_add", "broadcast_add", "softmax", "rmsnorm", "layernorm", "transpose"]),
    rows=ROWS,
    columns=ROWS,
    cores=st.sampled_from([1, 3, 32]),
    device=DEVICES,
)
def test_a_row_kernel_at_any_extent(name: str, rows: int, columns: int, cores: int, device: str) -> None:
    check(kernel_text(name, rows=rows, columns=columns, cores=cores), device)


@settings(max_examples=12, deadline=None)
@given(rows=ROWS, columns=st.integers(1, 20), step=st.integers(1, 9), cores=st.sampled_from([1, 4]))
def test_rows_taken_a_few_at_a_time(rows: int, columns: int, step: int, cores: int) -> None:
    check(kernel_text("layernorm", rows=rows, columns=columns, cores=cores, rows_per_step=step))


@settings(max_examples=12, deadline=None)
@given(
    m=ROWS,
    k=ROWS,
    n=ROWS,
    grid=st.sampled_from([(1, 1), (2, 3), (4, 8)]),
    step=st.sampled_from([None, 8, 32]),
    device=DEVICES,
)
def test_a_product_at_any_extent(
    m: int, k: int, n: int, grid: tuple[int, int], step: int | None, device: str
) -> None:
    more = {} if step is None else {"k_step": step}
    check(kernel_text("matmul", m=m, k=k, n=n, grid=grid, **more), device)


@pytest.mark.parametrize("name", ["matmul_bias_gelu", "embedding"])
def test_the_other_examples(name: str) -> None:
    check(
        kernel_text(
            name,
            **(
                {"m": 33, "k": 40, "n": 17}
                if name.startswith("m")
                else {"rows": 50, "columns": 9, "tokens": 19}
            ),
        )
    )
