"""Values between tiles that pass over the ring of the vector units."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.schedule import timed_cycles

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.numbers.dtypes import numpy_dtype
from headrace.runtime.kernel import Kernel
from headrace.schedule.graph import Handover
from headrace.schedule.model import model
from headrace.schedule.model.statements import everything
from tests.kernels.listed import FOLDER
from tests.schedule.exchanges import copy_of, exchange

GROUPS = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}


def handovers(text: str, name: str = "spyre", without: tuple[str, ...] = ()) -> int:
    graph = model(parse(text), device(name), without=without)
    return sum(isinstance(s, Handover) for c in graph.classes for s in everything(c.body))


@pytest.mark.parametrize(
    "tiles, size, rows, columns, dtype, combiner",
    [(8, 8, 1, 64, "f32", "add"), (6, 3, 5, 300, "f16", "add"), (4, 2, 3, 1, "f32", "max"),
     (32, 32, 2, 40, "f16", "add"), (4, 4, 2, 130, "i32", "min"), (8, 2, 4, 96, "f32", "mul")],
)  # fmt: skip
def test_a_reduction_over_groups_of_tiles_goes_round_the_ring(tiles, size, rows, columns, dtype, combiner):
    text = exchange(tiles, rows, columns, dtype, size=size, combiner=combiner)
    assert not handovers(text) and handovers(text, without=("ring",)) and handovers(text, "tiny")
    program = Kernel(text).compile("spyre")
    program.require_legal()
    x = values(tiles, rows, columns, dtype)
    run = program.run(x=x)
    wide = x.astype(np.float64 if dtype != "i32" else np.int64).reshape(tiles // size, size, rows, columns)
    want = GROUPS[combiner].reduce(wide, axis=1, keepdims=True).repeat(size, 1).reshape(x.shape)
    step = {"f32": 2e-6, "f16": 1e-3, "i32": 0}[dtype]
    assert np.allclose(run.outputs["y"].astype(wide.dtype), want, rtol=step, atol=step * np.abs(wide).max())
    assert run.cycles < Kernel(text).compile("spyre", without=["ring"]).run(x=x).cycles


def values(tiles: int, rows: int, columns: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(tiles + columns)
    if dtype == "i32":
        return rng.integers(-1000, 1000, (tiles, rows, columns)).astype(np.int32)
    return rng.standard_normal((tiles, rows, columns)).astype(numpy_dtype(dtype))


@pytest.mark.parametrize(
    "tiles, size, rows, columns, dtype",
    [(8, 4, 1, 64, "f32"), (6, 3, 5, 300, "f16"), (4, 2, 1, 1, "f32"), (4, 2, 90, 210, "f16")],
)
def test_a_reduction_for_one_tile_of_a_group_goes_round_the_ring(tiles, size, rows, columns, dtype):
    text = exchange(tiles, rows, columns, dtype, size=size, first_only=True)
    assert not handovers(text) and handovers(text, without=("ring",)) and handovers(text, "tiny")
    program = Kernel(text).compile("spyre")
    program.require_legal()
    x = values(tiles, rows, columns, dtype)
    run = program.run(x=x)
    want = x.astype(np.float64).reshape(tiles // size, size, rows, columns).sum(1)
    step = 2e-6 if dtype == "f32" else 1e-3
    got = run.outputs["y"].astype(np.float64)[::size]
    assert np.allclose(got, want, rtol=step, atol=step * np.abs(x).max())
    assert run.cycles < Kernel(text).compile("spyre", without=["ring"]).run(x=x).cycles


def test_a_split_of_the_depth_of_products_passes_partial_sums_from_core_to_core():
    text = (FOLDER / "swiglu_4.mlir").read_text()
    assert not handovers(text)
    ways = [Kernel(text).compile("spyre", without=left) for left in ([], ["ring"], ["residency"])]
    rng = np.random.default_rng(3)
    shapes = {"x": (16, 64), "gate": (64, 128), "up": (64, 128), "down": (128, 64)}
    given = {n: rng.standard_normal(s).astype(np.float16) / 8 for n, s in shapes.items()}
    runs = [program.run(**given) for program in ways]
    for program, run in zip(ways, runs, strict=True):
        program.require_legal()
        np.testing.assert_allclose(run.outputs["y"], runs[1].outputs["y"], rtol=2e-3, atol=2e-3)
    assert runs[0].cycles < runs[1].cycles


@pytest.mark.parametrize("tiles, is_over_ring", [(4, False), (32, True)])
def test_the_ring_is_used_where_it_is_predicted_to_be_faster(tiles, is_over_ring):
    """Four cores send much over the long way back round the ring; device memory has time for them."""
    kernel = Kernel(exchange(tiles, 64, 128, "f32", size=4))
    program, other = kernel.compile("spyre"), kernel.compile("spyre", without=["ring"])
    assert program.plan["over_ring"] == is_over_ring
    assert timed_cycles(program) <= timed_cycles(other)
    assert kernel.compile("spyre", plan=program.plan).dfir == program.dfir


@pytest.mark.parametrize("change", [{"step": 256}, {"step": 64}])
def test_a_plan_with_other_messages_than_the_other_cores_have_says_so(change):
    kernel = Kernel(exchange(4, 1, 256, "f32", size=4, first_only=True))
    plan = kernel.compile("spyre").plan
    for phase in plan["classes"][0]["phases"]:
        if phase["step"] == 128 and phase["computes"] == ["ktdp.inter_tile_reduce"]:
            phase |= change
    with pytest.raises(HeadraceError, match="messages of 256|steps of 64"):
        kernel.compile("spyre", plan=plan)


@pytest.mark.parametrize("tiles, shift", [(8, 7), (5, 2), (32, 16)])
def test_a_value_for_one_other_tile_goes_over_the_ring(tiles, shift):
    text = exchange(tiles, 3, 70, "f32", shift=shift)
    assert not handovers(text) and handovers(text, without=("ring",))
    program = Kernel(text).compile("spyre")
    program.require_legal()
    x = values(tiles, 3, 70, "f32")
    np.testing.assert_array_equal(program.run(x=x).outputs["y"], np.roll(x, -shift, 0))


def test_messages_are_shorter_than_the_queue_of_the_ring():
    plan = Kernel(exchange(32, 3, 1000, "f32", size=4)).compile("spyre").plan
    assert all(p["step"] * 4 <= 512 for p in plan["classes"][0]["phases"])


@pytest.mark.parametrize(
    "text",
    [exchange(64, 1, 64, "f32", size=4), exchange(4, 1, 64, "f32", size=4, first_only=True, loop="%c3"),
     exchange(8, 1, 64, "f32", size=8, more=copy_of(4, 1, 64, "f32")), exchange(4, 1, 64, "f64", size=4)],
    ids=["more tiles than cores", "one consumer in a loop", "another kernel on some", "type not carried"],
)  # fmt: skip
def test_what_not_all_cores_do_alike_passes_through_device_memory(text):
    assert handovers(text)


def test_tiles_that_meet_unequally_often_are_told_so_with_a_ring_too():
    with pytest.raises(HeadraceError, match="waits for ever"):
        handovers(exchange(4, 1, 64, "f32", size=4, loop="%tile"))


def test_tiles_in_a_loop_exchange_in_every_iteration():
    text = exchange(4, 2, 64, "f32", size=4, loop="%c3")
    program = Kernel(text).compile("spyre")
    program.require_legal()
    x = values(4, 2, 64, "f32")
    want = np.broadcast_to(x.sum(0), x.shape)
    np.testing.assert_allclose(program.run(x=x).outputs["y"], want, rtol=1e-5, atol=1e-5)
