"""Several kernels of one module run one after the other, alike at all levels."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels.text import Text

from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference
from tests.differential.test_kernels import DEVICES

ROWS, COLUMNS = 8, 48


def kernel(name: str, tiles: int, by_rows: bool, offset: str) -> str:
    """b = a + offset, the tiles owning rows or columns: the function alone."""
    t = Text()
    a, b = (t.view(n, (ROWS, COLUMNS), "f32") for n in "ab")
    box = (ROWS // tiles, COLUMNS) if by_rows else (ROWS, COLUMNS // tiles)
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    first = t.let(f"arith.muli {tile}, {t.index(box[0] if by_rows else box[1])} : index")
    at = [first, t.index(0)] if by_rows else [t.index(0), first]
    value = t.load(a, at, box)
    body = [f"%c = arith.constant {offset} : f32", "%out = arith.addf %in0, %c : f32"]
    t.store(t.generic([(value, box, "f32", None)], box, "f32", body), b, at, box)
    return t.module(name, "%a: index, %b: index", (tiles,), "// a step")


def module(steps: list[tuple[str, str, str]]) -> str:
    """A host function that calls kernels by rows (r) and by columns (c) on its buffers."""
    parts = {"r": kernel("rows", 4, True, "1.0"), "c": kernel("columns", 3, False, "0.5")}
    heads = [line for text in parts.values() for line in text.splitlines() if line.startswith("#")]
    bodies = [
        "\n".join(text.splitlines()[text.splitlines().index("module {") + 1 : -1]) for text in parts.values()
    ]
    names = {"r": "rows", "c": "columns"}
    calls = "\n".join(f"func.call @{names[k]}(%{a}, %{b}) : (index, index) -> ()" for k, a, b in steps)
    host = f"func.func @host(%x: index, %y: index, %z: index) {{\n{calls}\nreturn\n}}"
    return "\n".join([*dict.fromkeys(heads), "module {", *bodies, host, "}"])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "steps",
    [
        [("r", "x", "y"), ("c", "y", "z")],  # reads what other cores wrote
        [("r", "x", "y"), ("c", "z", "x")],  # writes what other cores read
        [("r", "x", "y"), ("c", "z", "y")],  # writes over what other cores wrote
        [("r", "x", "y"), ("r", "y", "z"), ("c", "z", "x"), ("r", "x", "y")],
    ],
)
def test_kernels_of_a_host_function_run_in_order(steps: list[tuple[str, str, str]], device: str) -> None:
    found = Kernel(module(steps))
    program = found.compile(device)
    assert program.illegalities() == []
    rows = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    given = {"x": rows, "y": 1000 + rows, "z": 5000 - rows}
    run = run_program(program.reparsed(), given, is_checked=True)
    assert run.findings is not None and not any(run.findings.values()), run.findings
    for name, wanted in run_reference(found, given).outputs.items():
        np.testing.assert_array_equal(run.outputs[name], wanted, err_msg=name)
