"""Vector phases: what `build` writes computes what the TileGraph says."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify
from headrace.schedule.build import build
from headrace.schedule.search import Defaults, search
from tests.schedule import ktdf_interpreter, tilegraphs


def execute(graph, arrays, name="spyre", options=None, plan=None):
    """Search, build, check the text round trip, interpret; return the arrays after the run."""
    chip = device(name)
    plan = plan or search(graph, chip, options)
    module = build(graph, plan, chip)
    assert [str(d) for d in verify(module)] == []
    text = print_module(module)
    assert print_module(parse(text)) == text
    memory = {k: v.reshape(-1).copy() for k, v in arrays.items()}
    for entry in module.attributes["headrace.args"].data:
        if entry.data["role"].data == "scratch":
            size = int(np.prod(entry.data["shape"].get_values()))
            from headrace.numbers.dtypes import numpy_dtype

            memory[entry.data["name"].data] = np.zeros(size, numpy_dtype(entry.data["dtype"].data))
    ktdf_interpreter.run(module, memory, chip.corelets)
    return {k: memory[k].reshape(v.shape) for k, v in arrays.items()}


def random(*shape, dtype=np.float16, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("name", ["spyre", "tiny", "sample"])
@pytest.mark.parametrize("rows, columns", [(64, 2048), (64, 200), (32, 1)])
def test_adds_two_matrices_on_every_device(name, rows, columns):
    cores = min(4, device(name).cores)
    a, b = random(rows, columns), random(rows, columns, seed=1)
    got = execute(tilegraphs.add(rows, columns, cores), {"a": a, "b": b, "y": np.zeros_like(a)}, name)
    assert np.array_equal(got["y"], a + b)


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("columns", [64, 300, 2048])
def test_computes_softmax_whether_or_not_the_row_fits_the_registers(name, columns):
    x = random(24, columns)
    got = execute(tilegraphs.softmax(24, columns, 2), {"x": x, "y": np.zeros_like(x)}, name)["y"]
    f = x.astype(np.float32)
    e = np.exp(f - f.max(1, keepdims=True))
    assert np.allclose(got.astype(np.float32), e / e.sum(1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize("columns", [64, 768])
def test_computes_layer_norm(columns):
    x, w, b = random(24, columns), random(columns, seed=1), random(columns, seed=2)
    got = execute(tilegraphs.layernorm(24, columns, 2), {"x": x, "w": w, "b": b, "y": np.zeros_like(x)})["y"]
    f = x.astype(np.float32)
    d = f - f.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    assert np.allclose(got.astype(np.float32), want, atol=2e-2)


@pytest.mark.parametrize(
    "without", [{"fusion"}, {"fusion", "residency"}, {"double-buffering"}, {"multicast"}]
)
@pytest.mark.parametrize("name", ["spyre", "tiny"])
def test_every_optimisation_can_be_left_out(without, name):
    x, w, b = random(24, 768), random(768, seed=1), random(768, seed=2)
    options = Defaults(frozenset(without))
    arrays = {"x": x, "w": w, "b": b, "y": np.zeros_like(x)}
    got = execute(tilegraphs.layernorm(24, 768, 2), arrays, name, options)["y"]
    f = x.astype(np.float32)
    d = f - f.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    assert np.allclose(got.astype(np.float32), want, atol=2e-2)
