"""Passes keep what a kernel computes: the reference interpreter before and after, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.passes import parse_pipeline, run_pipeline
from headrace.ir.text import parse, print_module
from headrace.numbers.dtypes import is_float
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel, load
from headrace.runtime.reference import run_reference
from tests.differential.chains import chain

FILES = sorted([*Path("examples/kernels").glob("*.mlir"), *Path("tests/kernels").glob("*.mlir")])
PIPELINE = "canonicalize,cse,canonicalize,fold,dce"


def outputs(kernel: Kernel) -> dict[str, Any]:
    """What the kernel leaves in memory for seeded inputs."""
    return dict(run_reference(kernel, None, 3, default_scalars(kernel, {})).outputs)


def optimised(kernel: Kernel, pipeline: str = PIPELINE) -> Kernel:
    """The kernel after the passes, printed."""
    module = run_pipeline(parse(kernel.text, kernel.file), parse_pipeline(pipeline))
    text = print_module(module)
    assert print_module(parse(text)) == text
    return Kernel(text, kernel.file)


def require_equal(before: Kernel, after: Kernel) -> None:
    first, second = outputs(before), outputs(after)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), name


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_kernel_computes_the_same_after_all_passes(path: Path) -> None:
    kernel = load(path)
    after = optimised(kernel)
    assert len(list(after.module.walk())) <= len(list(kernel.module.walk()))
    require_equal(kernel, after)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_chain_computes_the_same_after_all_passes(seed: int) -> None:
    kernel = Kernel(chain(seed)[0])
    require_equal(kernel, optimised(kernel))


INTEGER_OPS = """
addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui andi ori xori maxsi minsi maxui minui
""".split()
TESTS = "eq ne slt sle sgt sge ult ule ugt uge".split()
DIVISIONS = ("div", "rem", "floordiv", "ceildiv")


@st.composite
def scalar_programs(draw: Any) -> str:
    """A kernel that stores what a random program of scalar ops on constants gives."""
    dtype = draw(st.sampled_from(["i8", "i16", "i32", "i64", "f16", "bf16", "f32"]))
    lines, names = [], []
    if is_float(dtype):
        numbers = st.floats(-1000, 1000, width=16).map(lambda x: f"{x:e}")
        ops = ["addf", "subf", "mulf", "divf"]
    else:
        numbers = st.one_of(st.integers(-5, 5), st.integers(-120, 120)).map(str)
        ops = INTEGER_OPS
    for k in range(draw(st.integers(2, 5))):
        lines.append(f"%c{k} = arith.constant {draw(numbers)} : {dtype}")
        names.append(f"%c{k}")
    nonzero = "%one"
    lines.append(f"%one = arith.constant {'3.0' if is_float(dtype) else '3'} : {dtype}")
    for k in range(draw(st.integers(1, 12))):
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        kind = draw(st.integers(0, 4))
        if kind == 0 and not is_float(dtype):
            lines.append(f"%t{k} = arith.cmpi {draw(st.sampled_from(TESTS))}, {a}, {b} : {dtype}")
            lines.append(f"%v{k} = arith.select %t{k}, {b}, {a} : {dtype}")
        elif kind == 1 and dtype in ("f16", "bf16"):
            lines.append(f"%w{k} = arith.extf {a} : {dtype} to f32")
            lines.append(f"%u{k} = arith.mulf %w{k}, %w{k} : f32")
            lines.append(f"%v{k} = arith.truncf %u{k} : f32 to {dtype}")
        elif kind == 1 and dtype == "i8":
            cast = draw(st.sampled_from(["extsi", "extui"]))
            lines.append(f"%w{k} = arith.{cast} {a} : i8 to i32")
            lines.append(f"%v{k} = arith.trunci %w{k} : i32 to i8")
        else:
            op = draw(st.sampled_from(ops))
            b = nonzero if op.startswith(DIVISIONS) else b
            lines.append(f"%v{k} = arith.{op} {a}, {b} : {dtype}")
        names.append(f"%v{k}")
    body = "\n    ".join(lines)
    return f"""
#all = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
module {{
  func.func @scalars(%y: index) attributes {{grid = [1]}} {{
    %zero = arith.constant 0 : index
    {body}
    %t = tensor.splat {names[-1]} : tensor<4x{dtype}>
    %view = ktdp.construct_memory_view %y, sizes: [4], strides: [1] {{coordinate_set = #all, memory_space = #ktdp.memory_space<global>}} : memref<4x{dtype}>
    %box = ktdp.construct_access_tile %view[%zero] {{access_tile_order = affine_map<(d0) -> (d0)>, access_tile_set = #all}} : memref<4x{dtype}> -> !ktdp.access_tile<4xindex>
    ktdp.store %t, %box : tensor<4x{dtype}>, <4xindex>
    return
  }}
}}
"""  # noqa: E501


@settings(max_examples=60, deadline=None)
@given(scalar_programs())
def test_scalar_programs_fold_to_the_number_they_compute(text: str) -> None:
    kernel = Kernel(text)
    after = optimised(kernel, "canonicalize")
    computed = [
        o.name for o in after.module.walk() if o.name.startswith("arith.") and o.name != "arith.constant"
    ]
    assert not computed
    first, second = outputs(kernel)["y"], outputs(after)["y"]
    np.testing.assert_array_equal(first, second)


def test_folded_kernels_still_compile() -> None:
    for path in FILES[:3]:
        after = optimised(load(path))
        after.compile("spyre", scalars=default_scalars(after, {})).require_legal()
