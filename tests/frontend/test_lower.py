"""Loop programs become KTIR that parses, verifies, and computes what the loop program says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.frontend.compile import loop_program_to_ktir
from headrace.frontend.lower.dims import group
from headrace.frontend.lower.kernel import Scratches
from headrace.frontend.lower.program import Unsupported, read_program
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel, interpret

SPYRE = device("spyre")


def program(loops: list[dict[str, Any]], **layouts: tuple[str, str, tuple[int, ...]]) -> dict[str, Any]:
    """A loop program; layouts: buffer = (role, dtype, sizes), contiguous."""
    shapes = {}
    for name, (_, _, sizes) in layouts.items():
        strides = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
        shapes[name] = (tuple(map(str, sizes)), tuple(map(str, strides)))
    return {
        "name": "k",
        "args": [(name, role, dtype) for name, (role, dtype, _) in layouts.items() if role != "temp"],
        "sizes": [],
        "temps": {n: (str(int(np.prod(s))), t) for n, (role, t, s) in layouts.items() if role == "temp"},
        "layouts": shapes,
        "loops": loops,
    }


def nest(
    iterated: list[tuple[str, int]], body: list[Any], reduced: list[tuple[str, int]] | None = None
) -> Any:
    text = [(name, str(extent)) for name, extent in iterated]
    return {"iter": text, "red": [(n, str(e)) for n, e in reduced or []], "body": body}


def test_a_flat_loop_after_a_product_gets_its_rows_and_columns_back() -> None:
    literal = program(
        [
            nest(
                [("i0", 16), ("i1", 48)],
                [
                    ("v0", "load", "b0", "r0 + 32*i0"),
                    ("v1", "load", "b1", "i1 + 48*r0"),
                    ("v2", "dot", "v0", "v1"),
                    ("v3", "reduction", "float32", "float32", "dot", "v2"),
                    (None, "store_reduction", "b2", "i1 + 48*i0", "v3"),
                ],
                [("r0", 32)],
            ),
            nest(
                [("i0", 768)],
                [
                    ("v4", "load", "b2", "i0"),
                    ("v5", "relu", "v4"),
                    (None, "store", "b3", "i0", "v5", None),
                ],
            ),
        ],
        b0=("in", "float32", (16, 32)),
        b1=("in", "float32", (32, 48)),
        b2=("temp", "float32", (16, 48)),
        b3=("out", "float32", (16, 48)),
    )
    found = group(read_program(literal))
    assert sorted(found.extents.values()) == [16, 32, 48]
    x, w = (
        np.random.default_rng(k).standard_normal(s).astype(np.float32)
        for k, s in ((0, (16, 32)), (1, (32, 48)))
    )
    run = interpret(Kernel(loop_program_to_ktir(literal, SPYRE).text), b0=x, b1=w)
    np.testing.assert_allclose(run.outputs["b3"].reshape(16, 48), np.maximum(x @ w, 0), rtol=1e-5, atol=1e-5)


def test_a_division_that_does_not_fit_gives_the_last_tile_what_is_left() -> None:
    body = [("v0", "load", "b0", "i0"), ("v1", "neg", "v0"), (None, "store", "b1", "i0", "v1", None)]
    literal = program(
        [nest([("i0", 8191)], body)], b0=("in", "float16", (8191,)), b1=("out", "float16", (8191,))
    )
    kernel = loop_program_to_ktir(literal, SPYRE)
    assert "scf.if" in kernel.text and kernel.grid == (32,)
    x = np.arange(8191, dtype=np.float16)
    np.testing.assert_array_equal(interpret(Kernel(kernel.text), b0=x).outputs["b1"], -x)


def test_a_padded_read_stays_inside_its_buffer() -> None:
    body = [
        ("v0", "index_expr", "i0", "int64"),
        ("v1", "constant", 3, "int64"),
        ("v2", "lt", "v0", "v1"),
        ("v3", "masked", "v2", [("v4", "load", "b0", "i0")], "v4", 0.0),
        (None, "store", "b1", "i0", "v3", None),
    ]
    literal = program([nest([("i0", 5)], body)], b0=("in", "float32", (3,)), b1=("out", "float32", (5,)))
    x = np.array([1, 2, 3], np.float32)
    run = interpret(Kernel(loop_program_to_ktir(literal, SPYRE).text), b0=x)
    np.testing.assert_array_equal(run.outputs["b1"], [1, 2, 3, 0, 0])


def test_a_value_used_twice_at_every_step_compiles_in_time_linear_in_the_steps() -> None:
    """A spelled-out expression of it would have 2^60 leaves."""
    doubled = [(f"v{k + 1}", "add", f"v{k}", f"v{k}") for k in range(60)]
    body = [
        ("v0", "load", "b0", "i0"),
        *doubled,
        ("v61", "tanh", "v60"),
        ("v62", "load", "b1", "8*i0 + i1"),
        ("v63", "mul", "v61", "v62"),
        (None, "store", "b2", "8*i0 + i1", "v63", None),
    ]
    literal = program(
        [nest([("i0", 4), ("i1", 8)], body)],
        b0=("in", "float32", (4,)),
        b1=("in", "float32", (4, 8)),
        b2=("out", "float32", (4, 8)),
    )
    kernel = Kernel(loop_program_to_ktir(literal, SPYRE).text)
    x, y = np.array([1, -1, 0, 3], np.float32), np.arange(32, dtype=np.float32).reshape(4, 8)
    outputs = compile_kernel(kernel, SPYRE, Options()).run(b0=x, b1=y).outputs
    np.testing.assert_array_equal(outputs["b2"].reshape(4, 8), np.sign(x)[:, None] * y)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_a_fold_over_positions_alone_has_its_extents(kind: str) -> None:
    """The sum of the first five numbers, in a row of its own type; nothing is read."""
    body = [
        ("v0", "index_expr", "r0", "int32"),
        ("v1", "to_dtype", "v0", kind, True),
        ("v2", "reduction", kind, kind, "sum", "v1"),
        (None, "store_reduction", "b0", "i0", "v2"),
    ]
    literal = program([nest([("i0", 3)], body, [("r0", 5)])], b0=("out", kind, (3,)))
    run = interpret(Kernel(loop_program_to_ktir(literal, SPYRE).text))
    np.testing.assert_array_equal(run.outputs["b0"], [10, 10, 10])


@pytest.mark.parametrize(
    "statement",
    [("v1", "rand", "v0", "v0"), ("v1", "frexp", "v0")],
)
def test_an_operation_without_native_form_says_so(statement: tuple[str, ...]) -> None:
    body = [("v0", "load", "b0", "i0"), statement, (None, "store", "b1", "i0", "v1", None)]
    literal = program([nest([("i0", 8)], body)], b0=("in", "float32", (8,)), b1=("out", "float32", (8,)))
    with pytest.raises(Unsupported, match=statement[1]):
        loop_program_to_ktir(literal, SPYRE)


def test_double_precision_is_refused() -> None:
    body = [("v0", "load", "b0", "i0"), (None, "store", "b1", "i0", "v0", None)]
    literal = program([nest([("i0", 8)], body)], b0=("in", "float64", (8,)), b1=("out", "float64", (8,)))
    with pytest.raises(Unsupported, match="float64"):
        loop_program_to_ktir(literal, SPYRE)


def test_two_indices_never_share_a_scratch_buffer_and_code_copies_share_that_of_one() -> None:
    """A later code copy may ask for indices in another order, or for one the first copy never met."""
    scratches = Scratches()
    first = [scratches.name("of rows", [7]), scratches.name("of columns", [3, 5])]
    last = [scratches.name("of a tail", [2]), scratches.name("of columns", [3, 5]), *first[:1]]
    assert last[1:] == first[::-1] and len({*first, *last}) == 3
    assert [(s.name, s.elements) for s in scratches.all] == [(first[0], 7), (first[1], 15), (last[0], 2)]


@pytest.mark.parametrize("rows", [7, 33])
def test_one_value_indexes_buffers_of_different_lengths(rows: int) -> None:
    """A negative index counts from the end of each; with 33 rows the last tile is smaller than the others."""
    body = [
        ("v0", "load", "b0", "i0"),
        ("v1", "constant", 2, "int64"),
        ("v2", "mul", "v0", "v1"),
        ("v3", "indirect", "v2", "9", True, True),
        ("v4", "load", "b1", "v3"),
        ("v5", "indirect", "v2", "5", True, True),
        ("v6", "load", "b2", "v5"),
        ("v7", "add", "v4", "v6"),
        (None, "store", "b3", "i0", "v7", None),
    ]
    literal = program(
        [nest([("i0", rows)], body)],
        b0=("in", "int64", (rows,)),
        b1=("in", "float32", (9,)),
        b2=("in", "float32", (5,)),
        b3=("out", "float32", (rows,)),
    )
    i = np.arange(rows) % 5 - 2
    x, y = np.arange(9, dtype=np.float32), np.arange(5, dtype=np.float32) * 10
    kernel = loop_program_to_ktir(literal, SPYRE)
    held = {s.name: np.full(s.elements, -1) for s in kernel.scratch}
    run = compile_kernel(Kernel(kernel.text), SPYRE, Options()).run(b0=i, b1=x, b2=y, **held)
    np.testing.assert_array_equal(run.outputs["b3"], x[2 * i] + y[2 * i])
