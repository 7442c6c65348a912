"""Every function of the compiled machine gives what the engine's function gives, special values included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.machine.execute.arithmetic import binary, unary
from headrace.machine.execute.tape.program import Player, prepare
from headrace.machine.execute.tape.record import DEVICE, Recorder
from headrace.machine.execute.tape.rows import FUNCTIONS, PRODUCTS
from headrace.machine.execute.vectors import reduce_axis
from headrace.numbers.dtypes import numpy_dtype

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 65504.0, 3e38, 88.8, -104.0, 0.099, -0.1]
UNARY = {"exp", "neg", "rsqrt", "sqrt", "reciprocal", "sigmoid", "tanh", "abs"}
ENGINE = {"neg": "negf", "abs": "absf"}
LANES = 512


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - PRODUCTS - {"move", "row_max", "row_sum"}))
@pytest.mark.parametrize("shape", ["both", "first", "second"])
def test_a_function_of_the_tape_is_that_of_the_engine(name: str, shape: str) -> None:
    kind = "f16" if name.endswith("f16") or name == "widen" else "f32"
    result = "f16" if name.endswith(("f16", "narrow")) else "f32"
    count = 1 if name in UNARY or name in ("widen", "narrow") else 2
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        values = [np.concatenate([SPECIAL, rng.standard_normal(LANES - len(SPECIAL)) * 4]) for _ in range(2)]
        given = [rng.permutation(v).astype(numpy_dtype(kind)).reshape(1, LANES) for v in values][:count]
    for k, single in enumerate(("second", "first")):
        if count == 2 and shape == single:
            given[1 - k] = np.broadcast_to(given[1 - k][:, :1], (1, LANES))
    recorder, real = Recorder(1 << 16, 64, 64, {}), np.zeros(1 << 16, np.uint8)
    inputs = []
    for k, x in enumerate(given):
        np.ndarray(x.shape, x.dtype, real, 4096 * k, x.strides)[...] = x
        inputs.append(np.ndarray(x.shape, x.dtype, recorder.memories[DEVICE].bytes, 4096 * k, x.strides))
    out = recorder.add(name, recorder.new((1, LANES), numpy_dtype(result)), inputs, None, ())
    goal = np.ndarray((1, LANES), numpy_dtype(result), recorder.memories[DEVICE].bytes, 16384)
    recorder.add("move", goal, [out])
    prepared = prepare(recorder)
    assert prepared is not None
    Player(prepared, real).play()
    found = np.ndarray((1, LANES), numpy_dtype(result), real, 16384)
    with np.errstate(all="ignore"):
        wanted = _of_the_engine(name, given, kind)
    bits = f"u{found.dtype.itemsize}"
    same = (found.view(bits) == wanted.view(bits)) | (np.isnan(found) & np.isnan(wanted))
    assert same.all(), (found[~same], wanted[~same])


@pytest.mark.parametrize("lanes", [7, 100, 128, 300, 512, 1000, 1024, 2047, 2048, 4104, 6000, 8192])
def test_a_row_is_summed_as_numpy_does(lanes: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, lanes)).astype(np.float32)
    np.testing.assert_array_equal(_of_rows("row_sum", x), np.add.reduce(x, axis=1))


def test_the_greatest_of_a_row_is_that_of_the_engine() -> None:
    rng = np.random.default_rng(0)
    special = np.float32([*SPECIAL, -np.nan])
    rows = [rng.choice(special[:n], 40) for n in (2, 6, 15) for _ in range(40)]
    rows += [rng.choice(np.float32([-0.0, -1.0, -np.inf, -1e-40, low]), 3) for low in (-2, -np.nan)] * 40
    for row in rows:
        found = _of_rows("row_max", row[None])
        wanted = reduce_axis("max", row[None], "f32", 1)
        same = found.view(np.int32) == wanted.view(np.int32)
        assert (same | (np.isnan(found) & np.isnan(wanted))).all(), row


def _of_rows(name: str, x: Any) -> Any:
    """The reduction of every row by the compiled machine."""
    recorder, real = Recorder(1 << 18, 64, 64, {}), np.zeros(1 << 18, np.uint8)
    fake = np.ndarray(x.shape, x.dtype, recorder.memories[DEVICE].bytes, 4096)
    np.ndarray(x.shape, x.dtype, real, 4096)[...] = x
    out = recorder.add(name, recorder.new((len(x), 1), x.dtype), [fake], None, ())
    recorder.add("move", np.ndarray((len(x), 1), x.dtype, recorder.memories[DEVICE].bytes), [out])
    prepared = prepare(recorder)
    assert prepared is not None
    Player(prepared, real).play()
    return np.ndarray(len(x), x.dtype, real)


def _of_the_engine(name: str, given: list[Any], kind: str) -> Any:
    if name in ("widen", "narrow"):
        return given[0].astype(np.float32 if name == "widen" else np.float16)
    if name == "sub_exp":
        return unary("exp", binary("sub", *given, kind), kind)
    if name in UNARY:
        return unary(ENGINE.get(name, name), given[0], kind)
    function, _, rounded = name.partition("_")
    found = binary({"div": "divf"}.get(function, function), *given, kind)
    return found.astype(np.float16) if rounded == "narrow" else found
