"""No random chain is refused on `spyre`, and machine and reference agree on it."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.numbers.dtypes import numpy_dtype
from headrace.runtime.checking import agrees
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference
from tests.differential.chains import chain

QUICK = range(24)
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(24, 120)]


@pytest.mark.parametrize("seed", [*QUICK, *LONG])
def test_a_random_chain_runs_alike_on_machine_and_reference(seed: int) -> None:
    text, kinds = chain(seed)
    kernel = Kernel(text, f"chain{seed}")
    program = kernel.compile("spyre")
    assert not program.illegalities(), kinds
    run = run_program(program.reparsed(), None, seed)
    reference = run_reference(kernel, None, seed)
    written = [a for a in kernel.arguments if a.role in ("out", "inout")]
    assert written
    for a in written:
        mine, theirs = run.outputs[a.name], reference.outputs[a.name]
        # every statement may pass on and amplify the rounding of the one before
        terms = 4 * len(kinds) * max(int(program.meta["reduction_terms"]), 1)
        assert agrees(mine, theirs, a.dtype, terms) or _nearly(mine, theirs, a.dtype, len(kinds)), kinds
    assert run.bound is not None and run.cycles >= run.bound.cycles


def _nearly(mine: np.ndarray, theirs: np.ndarray, dtype: str, statements: int) -> bool:
    """A rounding that went the other way in an f16 intermediate moves later results by a few of its ulps."""
    x = mine.view(numpy_dtype(dtype)).astype(np.float64)
    y = theirs.view(numpy_dtype(dtype)).astype(np.float64)
    unit = 2.0**-10 if dtype == "f16" else 2.0**-20
    finite = np.isfinite(y)
    scale = np.abs(y[finite]).max(initial=1.0)
    return bool(
        np.array_equal(np.isnan(x), np.isnan(y))
        and (np.abs(x - y)[finite] <= statements * unit * scale).all()
    )
