from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import KERNELS, SUITE, VARIANTS, kernel_text, suite_text

from headrace.ir.arguments import arguments
from headrace.ir.text import load_file, parse, print_module
from headrace.ir.verify import verify
from headrace.numbers.dtypes import itemsize, numpy_dtype
from headrace.numbers.memory import Memory
from headrace.numbers.tolerance import assert_close
from headrace.semantics.plain import Report, interpret

from .expected import Case, case

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernels"
EXAMPLE_EXTENTS: dict[str, dict[str, Any]] = {
    "vector_add": {"rows": 1, "columns": 65536},
    "broadcast_add": {"rows": 1024, "columns": 512},
    "softmax": {"rows": 1024, "columns": 1024},
    "rmsnorm": {"rows": 1024, "columns": 1024},
    "layernorm": {"rows": 1024, "columns": 1024},
    "matmul": {"m": 512, "k": 512, "n": 512},
    "matmul_bias_gelu": {"m": 256, "k": 256, "n": 512},
    "embedding": {"rows": 4096, "columns": 256, "tokens": 128},
    "transpose": {"rows": 512, "columns": 1024},
}


def _check(module: Any, wanted: Case) -> Report:
    assert not verify(module)
    memory = Memory(2**28)
    starts: dict[str, float | int] = dict(wanted.scalars)
    found = {a.name: a for a in arguments(module) if a.kind == "memory"}
    for name, argument in found.items():
        count = int(np.prod(argument.shape))
        address = memory.allocate(count * itemsize(argument.dtype))
        starts[name] = address // itemsize(argument.dtype)
        if name in wanted.inputs:
            assert (
                wanted.inputs[name].size == count and numpy_dtype(argument.dtype) == wanted.inputs[name].dtype
            )
            memory.view(address, argument.dtype, count)[:] = wanted.inputs[name].reshape(-1)
    assert {n for n, a in found.items() if a.role == "in"} == set(wanted.inputs)
    report = interpret(module, memory, starts)
    assert not report.warnings
    output = found[wanted.output]
    address = int(starts[wanted.output]) * itemsize(output.dtype)
    got = memory.view(address, output.dtype, int(np.prod(output.shape))).reshape(wanted.value.shape)
    assert_close(
        got,
        wanted.value,
        max_ulp=wanted.max_ulp,
        terms=wanted.terms,
        magnitude=wanted.magnitude,
        name=wanted.output,
    )
    return report


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_the_example_kernel_computes_what_its_comment_says_within_a_scratchpad(name):
    module = load_file(EXAMPLES / f"{name}.mlir")
    report = _check(module, case(name, EXAMPLE_EXTENTS[name]))
    assert report.lx_peak_bytes <= 2 * 2**20
    again = print_module(module)
    assert print_module(parse(again)) == again


@pytest.mark.parametrize("name", sorted(SUITE))
def test_the_benchmark_kernel_is_valid(name):
    assert not verify(parse(suite_text(name)))


@pytest.mark.parametrize(
    ("name", "extents"),
    [pytest.param(n, v, id=f"{n}-{i}") for n in KERNELS for i, v in enumerate(VARIANTS[n])],
)
def test_kernels_of_awkward_extents_compute_the_same_function(name, extents):
    _check(parse(kernel_text(name, **extents)), case(name, extents))
