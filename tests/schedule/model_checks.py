"""Runs a kernel through `model` and the graph interpreter and compares with the reference on equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from headrace.arch.presets import device as preset
from headrace.ir.arguments import Argument, arguments
from headrace.ir.text import parse
from headrace.numbers.dtypes import is_float, itemsize, numpy_dtype, precision_bits
from headrace.numbers.memory import Memory
from headrace.schedule.graph import Compute, Load, Loop, Statement, TileGraph
from headrace.schedule.model import graph_text, model
from headrace.schedule.model.state import Blocks
from headrace.schedule.summation import rounded_between
from headrace.semantics.plain import interpret
from tests.schedule import graph_interpreter

Array = np.ndarray[Any, Any]


def graph_of(text: str, device: str = "spyre", scalars: Mapping[str, float | int] | None = None) -> TileGraph:
    """The TileGraph of a kernel's text."""
    return model(parse(text), preset(device), scalars)


def check(
    text: str,
    device: str = "spyre",
    scalars: Mapping[str, float | int] | None = None,
    seed: int = 0,
    blocks: Blocks = "joined",
) -> TileGraph:
    """The TileGraph of a kernel after showing that it computes what the reference does."""
    module = parse(text)
    graph = model(module, preset(device), scalars, blocks=blocks)
    args = [a for a in arguments(module, None, scalars) if a.kind == "memory"]
    inputs = {a.name: random_array(a, seed + k) for k, a in enumerate(args)}
    expected = reference(module, args, inputs, scalars or {})
    memory = {n: x.reshape(-1).view(np.uint8).copy() for n, x in inputs.items()}
    graph_interpreter.run(graph, memory)
    for a in args:
        if a.role in ("out", "inout"):
            found = memory[a.name].view(numpy_dtype(a.dtype)).reshape(a.shape)
            assert_alike(found, expected[a.name], a.name, graph)
    return graph


def random_array(a: Argument, seed: int) -> Array:
    """Values of modest size; integers are valid indices."""
    rng = np.random.default_rng(seed)
    if is_float(a.dtype):
        return rng.standard_normal(a.shape).astype(np.float32).astype(numpy_dtype(a.dtype))
    limit = 2 if a.dtype == "i1" else a.index_limit or 100
    return rng.integers(0, limit, a.shape).astype(numpy_dtype(a.dtype))


def reference(
    module: Any, args: list[Argument], inputs: Mapping[str, Array], scalars: Mapping[str, float | int]
) -> dict[str, Array]:
    """What the reference interpreter leaves in memory."""
    memory = Memory(1 << 30)
    places = {a.name: memory.allocate(max(1, prod(a.shape)) * itemsize(a.dtype)) for a in args}
    starts = {}
    for a in args:
        memory.view(places[a.name], a.dtype, prod(a.shape))[:] = inputs[a.name].reshape(-1)
        starts[a.name] = places[a.name] // itemsize(a.dtype)
    interpret(module, memory, {**scalars, **starts})
    return {a.name: memory.view(places[a.name], a.dtype, prod(a.shape)).reshape(a.shape).copy() for a in args}


def assert_alike(found: Array, expected: Array, name: str, graph: TileGraph) -> None:
    """Integers exactly, floats as closely as sums in another order allow."""
    if found.dtype.kind in "iub":
        assert (found == expected).all(), f"{name} differs\n{graph_text(graph)}"
        return
    a, b = found.astype(np.float64), expected.astype(np.float64)
    assert (np.isnan(a) == np.isnan(b)).all(), f"{name}: NaN\n{graph_text(graph)}"
    unit = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-17}.get(found.dtype.name, 2**-17)
    between = rounded_between(graph.classes)
    unit = max(unit, 2.0 ** -precision_bits(between)) if between else unit
    size = np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0.0)
    with np.errstate(invalid="ignore"):
        far = (np.abs(a - b) > 2 * unit * (np.abs(b) + size) + 1e-30) & (a != b) & ~np.isnan(a)
    assert not far.any(), f"{name}: {a[far][:4]} instead of {b[far][:4]}\n{graph_text(graph)}"


def statements(graph: TileGraph) -> list[Statement]:
    """All statements of the first class, those in loops included."""

    def inside(body: tuple[Statement, ...]) -> list[Statement]:
        return [t for s in body for t in (s, *(inside(s.body) if isinstance(s, Loop) else ()))]

    return inside(graph.classes[0].body)


def loops(graph: TileGraph) -> list[Loop]:
    """The loops of the first class."""
    return [s for s in statements(graph) if isinstance(s, Loop)]


def computes(graph: TileGraph) -> list[Compute]:
    """The nests of the first class."""
    return [s for s in statements(graph) if isinstance(s, Compute)]


def loads(graph: TileGraph) -> list[Load]:
    """The loads of the first class."""
    return [s for s in statements(graph) if isinstance(s, Load)]
