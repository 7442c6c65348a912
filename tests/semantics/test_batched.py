"""The fast engine against the oracle: the same memory, figures and warnings, whatever runs together."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.kernels import KERNELS, VARIANTS, kernel_text

from headrace import ktir
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
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
    """(arrays after the run, report) or (None, the error's text); the fast engine's, found without a plan and
    then twice with the plan it kept, have to be the same."""
    memory = Memory(1 << 32)
    binding = bind(kernel.arguments, inputs, memory, 3)
    values = {**default_scalars(kernel, {}), **(scalars or {}), **binding.values(kernel.arguments)}
    before = memory.bytes[: memory.allocated_bytes + 2**16].copy()
    found = _ran(engine, kernel, memory, binding, values, options)
    for _ in range(2 if engine is batched else 0):
        memory.bytes[: len(before)] = before
        again = _ran(engine, kernel, memory, binding, values, options)
        assert again[1] == found[1]
        assert (again[0] is None) == (found[0] is None)
        for name, array in (found[0] or {}).items():
            assert again[0][name].tobytes() == array.tobytes(), name
    return found


def _ran(engine, kernel, memory, binding, values, options):
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


SET = "affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>"
ORDER = "affine_map<(d0) -> (d0)>"


def rows(body, arguments="%x: index, %y: index", tiles=8):
    """A kernel of `tiles` tiles on vectors of 64 f32 per tile; @NAME[AT] stands for an access tile of it."""
    lines = []
    names = [a.split(":")[0].strip(" %") for a in arguments.split(",")]
    shape = f"sizes: [{64 * tiles}], strides: [1]"
    whole = f"affine_set<(d0) : (d0 >= 0, -d0 + {64 * tiles - 1} >= 0)>"
    for name in names:
        space = "memory_space = #ktdp.memory_space<global>"
        view = f"{shape} {{coordinate_set = {whole}, {space}}} : memref<{64 * tiles}xf32>"
        lines.append(f"%{name}_view = ktdp.construct_memory_view %{name}, {view}")
    made = f"{{access_tile_order = {ORDER}, access_tile_set = {SET}}} : memref<{64 * tiles}xf32>"
    for line in body.strip().splitlines():
        line = (
            line.replace("LOAD", "ktdp.load").replace("VALUE", "tensor<64xf32>").replace("PART", "<64xindex>")
        )
        if " = @" in line:
            name, of = line.split(" = @")
            line = f"{name} = ktdp.construct_access_tile %{of} {made} -> !ktdp.access_tile<64xindex>"
        lines.append(line)
    inside = "\n    ".join(lines)
    head = f"func.func @k({arguments}) attributes {{grid = [{tiles}]}}"
    tile = "%t = ktdp.get_compute_tile_id : index\n    %c64 = arith.constant 64 : index"
    return f"module {{\n  {head} {{\n    {tile}\n    {inside}\n    return\n  }}\n}}\n"


OWN = """
%at = arith.muli %t, %c64 : index
%in = @x_view[%at]
%v = LOAD %in : PART -> VALUE
%w = arith.addf %v, %v : VALUE
%out = @{out}_view[{to}]
ktdp.store %w, %out : VALUE, PART
"""


def why(body):
    return reasons(Kernel(rows(body), "rows"))[0]


def test_tiles_that_touch_only_their_own_run_together():
    assert why(OWN.format(out="y", to="%at")) == ""
    assert_alike(Kernel(rows(OWN.format(out="y", to="%at")), "own"))


def test_a_tile_may_overwrite_what_it_alone_reads():
    assert why(OWN.format(out="x", to="%at")) == ""
    assert_alike(Kernel(rows(OWN.format(out="x", to="%at")), "own"))


def test_of_stores_to_one_place_the_last_tiles_stays():
    body = OWN.format(out="y", to="0")
    assert why(body) == ""
    assert_alike(Kernel(rows(body), "same"))


def test_stores_that_overlap_in_part_leave_what_each_later_tile_writes():
    body = OWN.format(out="y", to="%near").replace("%in =", "%near = arith.muli %t, %c8 : index\n%in =")
    body = "%c8 = arith.constant 8 : index" + body
    assert why(body) == ""
    assert_alike(Kernel(rows(body), "overlap"))


def test_tiles_that_store_twice_to_one_place_run_one_after_the_other():
    body = OWN.format(out="y", to="0") + "ktdp.store %v, %out : VALUE, PART\n"
    assert why(body) == "tiles store to the same memory"
    assert_alike(Kernel(rows(body), "twice"))


def test_a_tile_that_reads_what_another_one_wrote_runs_after_it():
    body = """
%c7 = arith.constant 7 : index
%next = arith.subi %c7, %t : index
""" + OWN.format(out="x", to="%to").replace("%out =", "%to = arith.muli %next, %c64 : index\n%out =")
    assert why(body) == "tiles read and write the same memory"
    assert_alike(Kernel(rows(body), "order"))


def test_an_access_outside_its_view_is_told_as_plain_tells_it():
    body = "%c2 = arith.constant 2 : index\n%far = arith.muli %t, %c2 : index" + OWN.format(
        out="y", to="%at"
    ).replace("arith.muli %t, %c64", "arith.muli %far, %c64")
    assert why(body) == "an access leaves its view"
    assert_alike(Kernel(rows(body), "outside"))


def test_tiles_that_loop_and_branch_differently_run_in_groups():
    body = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%at = arith.muli %t, %c64 : index
%in = @x_view[%at]
%v = LOAD %in : PART -> VALUE
%times = arith.remui %t, %c2 : index
%sum = scf.for %k = %c0 to %times step %c1 iter_args(%s = %v) -> (VALUE) {
%more = arith.addf %s, %v : VALUE
scf.yield %more : VALUE
}
%is_first = arith.cmpi eq, %t, %c0 : index
%w = scf.if %is_first -> (VALUE) {
%n = arith.negf %sum : VALUE
scf.yield %n : VALUE
} else {
scf.yield %sum : VALUE
}
%out = @y_view[%at]
ktdp.store %w, %out : VALUE, PART
"""
    assert why(body) == ""
    assert_alike(Kernel(rows(body), "groups"))


def test_a_nest_reads_the_iteration_of_a_loop_whose_end_alone_differs():
    body = """
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%at = arith.muli %t, %c64 : index
%in = @x_view[%at]
%v = LOAD %in : PART -> VALUE
%times = arith.remui %t, %c2 : index
%end = arith.addi %times, %c2 : index
%sum = scf.for %k = %c0 to %end step %c1 iter_args(%s = %v) -> (VALUE) {
%n = arith.index_cast %k : index to i32
%f = arith.sitofp %n : i32 to f32
%more = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
outs(%s : VALUE) {
^bb0(%a: f32):
%b = arith.addf %a, %f : f32
linalg.yield %b : f32
} -> VALUE
scf.yield %more : VALUE
}
%out = @y_view[%at]
ktdp.store %sum, %out : VALUE, PART
"""
    assert why(body) == ""
    assert_alike(Kernel(rows(body), "iterations"))


@pytest.mark.parametrize("first", [0, 1])
def test_a_loop_over_what_all_tiles_share_runs_as_often_as_each_tile_says(first):
    """Nothing but the number of iterations tells the results of tiles apart."""
    with ktir.kernel("shared", grid=[3]) as k:
        x, y = k.argument("x", (64,), "f32"), k.argument("y", (192,), "f32")
        at = k.tile_id() * 64
        with k.loop(0, k.tile_id() + first, sum=x[:].load()) as loop:
            loop.sum = loop.sum + loop.sum
        y[at : at + 64] = loop.sum + 1.0
    assert reasons(k.kernel) == [""]
    assert_alike(k.kernel)


def test_an_error_midway_leaves_what_plain_leaves():
    body = OWN.format(out="x", to="%at")
    body += "%bad = tensor.extract_slice %w[%at] [1] [1] : VALUE to tensor<1xf32>\n"
    module, seen = parse(rows(body)), []
    assert why(body) == ""
    for engine in (batched, plain):
        memory = Memory(1 << 20)
        memory.view(4096, "f32", 512)[:] = np.arange(512)
        with pytest.raises(HeadraceError) as error:
            engine.interpret(module, memory, {"x": 1024, "y": 4096})
        seen.append((str(error.value), memory.bytes.tobytes()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_tiles_of_every_listed_kernel_run_together(name):
    inputs, _ = CASES[name]()
    kernel = Kernel((FOLDER / f"{name}.mlir").read_text(), name)
    numbers = {a.name for a in kernel.arguments if a.kind == "scalar"}
    arrays = {k: v for k, v in inputs.items() if k not in numbers}
    assert set(reasons(kernel, arrays, {k: v for k, v in inputs.items() if k in numbers})) == {""}
