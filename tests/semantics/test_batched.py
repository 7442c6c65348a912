"""The fast engine against the oracle: the same memory, figures and warnings, whatever runs together."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.kernels import KERNELS, VARIANTS, kernel_text

from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.dtypes import is_float
from headrace.numbers.memory import Memory
from headrace.numbers.tolerance import ulp_size
from headrace.runtime.binding import bind
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.semantics import batched, plain

from ..differential.chains import chain
from ..kernels.listed import CASES, FOLDER


def outcome(engine, kernel, inputs=None, scalars=None, options=None):
    """(arrays after the run, report) or (None, the error's text)."""
    memory = Memory(1 << 32)
    binding = bind(kernel.arguments, inputs, memory, 3)
    values = {**default_scalars(kernel, {}), **(scalars or {}), **binding.values(kernel.arguments)}
    try:
        report = engine.interpret(kernel.module, memory, values, options or plain.Options(), kernel.function)
    except HeadraceError as error:
        return None, str(error)
    return binding.outputs(memory), report


def reasons(kernel, inputs=None, scalars=None):
    memory = Memory(1 << 32)
    binding = bind(kernel.arguments, inputs, memory, 3)
    values = {**default_scalars(kernel, {}), **(scalars or {}), **binding.values(kernel.arguments)}
    return batched.why_not(kernel.module, memory, values, function=kernel.function)


def assert_alike(kernel, inputs=None, scalars=None, slack=0.0):
    ours, report = outcome(batched, kernel, inputs, scalars)
    theirs, wanted = outcome(plain, kernel, inputs, scalars)
    assert (ours is None) == (theirs is None), (report, wanted)
    if ours is None:
        assert report == wanted
        return
    for argument in kernel.arguments:
        if argument.name in theirs:
            _assert_equal(argument, ours[argument.name], theirs[argument.name], slack)
    assert report == wanted


def _assert_equal(argument, ours, theirs, slack):
    if not slack or not is_float(argument.dtype):
        assert ours.tobytes() == theirs.tobytes(), argument.name
        return
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= ulp_size(b, argument.dtype) + slack * np.nanmax(np.abs(b))
    assert (same | near).all(), argument.name


def _small(extents):
    return np.prod([n for n in extents.values() if isinstance(n, int)], dtype=np.int64) < 400_000


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_listed_kernel_gives_what_plain_gives(name):
    inputs, _ = CASES[name]()
    kernel = Kernel((FOLDER / f"{name}.mlir").read_text(), name)
    numbers = {a.name for a in kernel.arguments if a.kind == "scalar"}
    arrays = {k: v for k, v in inputs.items() if k not in numbers}
    assert_alike(kernel, arrays, {k: v for k, v in inputs.items() if k in numbers})


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_an_example_kernel_gives_what_plain_gives(name):
    for extents in filter(_small, VARIANTS[name]):
        assert_alike(Kernel(kernel_text(name, **extents), name), slack=2e-6)


@pytest.mark.parametrize("seed", range(24))
def test_a_random_chain_gives_what_plain_gives(seed):
    text, _ = chain(seed)
    assert_alike(Kernel(text, f"chain{seed}"), slack=2e-6)
