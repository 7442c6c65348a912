"""A program launched with other scalar values than it was compiled for is compiled as it was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import headrace
from headrace.runtime.kernel import load

DYNAMIC = Path(__file__).parents[1] / "kernels" / "copy_dynamic.mlir"


def arrays(m: int) -> dict[str, np.ndarray]:
    made = np.arange((8 + m) * 64, dtype=np.float16).reshape(8 + m, 64)
    return {"top": made[:8], "bottom": made[8:]}


def test_other_scalar_values_keep_the_options_also_of_a_program_that_was_saved(tmp_path: Path) -> None:
    kernel = load(DYNAMIC, "copy_dynamic")
    program = kernel.compile("tiny", without=["double-buffering"], effort=2, scalars={"m": 5})
    program.save(tmp_path / "saved")
    for one in (program, headrace.open(tmp_path / "saved")):
        run = one.run(**arrays(7), m=7)
        assert run.program.scalars == {"m": 7} and run.program.plan["without"] == ["double-buffering"]
        assert run.program.meta["asked"] == program.meta["asked"]
        assert (run.program.meta["asked"]["effort"], run.program.name) == (2, "copy_dynamic")
        np.testing.assert_array_equal(run.outputs["y"], np.concatenate(list(arrays(7).values())))
