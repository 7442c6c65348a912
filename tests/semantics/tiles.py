"""Small kernels for tests: arrays in, a body of tensor ops, an array out."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.ir.arguments import arguments
from headrace.ir.text import parse
from headrace.numbers.dtypes import dtype_name, itemsize, numpy_dtype
from headrace.numbers.memory import Memory
from headrace.semantics.plain import Options, Report, interpret

Array = np.ndarray[Any, Any]


def box(shape: tuple[int, ...]) -> str:
    """The set 0 <= d < n."""
    dims = [f"d{k}" for k in range(len(shape))]
    rules = ", ".join(f"{d} >= 0, -{d} + {n - 1} >= 0" for d, n in zip(dims, shape, strict=True))
    return f"affine_set<({', '.join(dims)}) : ({rules})>"


def identity(rank: int) -> str:
    """The identity map."""
    dims = ", ".join(f"d{k}" for k in range(rank))
    return f"affine_map<({dims}) -> ({dims})>"


def by_x(shape: tuple[int, ...], dtype: str) -> str:
    """`2x3xf16`."""
    return "x".join([*map(str, shape), dtype])


def view(arg: str, shape: tuple[int, ...], dtype: str, space: str = "global") -> str:
    """A line that makes %ARG_view, contiguous."""
    strides = [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]
    return (
        f"%{arg}_view = ktdp.construct_memory_view %{arg}, sizes: {list(shape)}, strides: {strides} "
        f"{{coordinate_set = {box(shape)}, memory_space = #ktdp.memory_space<{space}>}} "
        f": memref<{by_x(shape, dtype)}>"
    )


def whole(arg: str, shape: tuple[int, ...], dtype: str) -> str:
    """A line that makes %ARG_tile, all of %ARG_view."""
    zeros = ", ".join("0" for _ in shape)
    return (
        f"%{arg}_tile = ktdp.construct_access_tile %{arg}_view[{zeros}] "
        f"{{access_tile_order = {identity(len(shape))}, access_tile_set = {box(shape)}}} "
        f": memref<{by_x(shape, dtype)}> -> !ktdp.access_tile<{by_x(shape, 'index')}>"
    )


def kernel(body: str, inputs: dict[str, Array], out: tuple[tuple[int, ...], str], scalars: str = "") -> str:
    """A kernel that loads every input whole as %NAME, runs `body`, and stores %result."""
    lines = []
    for name, array in inputs.items():
        dtype = dtype_name(array.dtype)
        lines += [view(name, array.shape, dtype), whole(name, array.shape, dtype)]
        shape = by_x(array.shape, dtype)
        lines.append(f"%{name} = ktdp.load %{name}_tile : <{by_x(array.shape, 'index')}> -> tensor<{shape}>")
        lines[-1] = lines[-1].replace(f"%{name} =", f"%{name}_value =")
    shape, dtype = out
    body = _renamed(body, inputs)
    lines += [body, view("out", shape, dtype), whole("out", shape, dtype)]
    lines.append(f"ktdp.store %result, %out_tile : tensor<{by_x(shape, dtype)}>, <{by_x(shape, 'index')}>")
    names = ", ".join(f"%{n}: index" for n in [*inputs, "out"]) + (f", {scalars}" if scalars else "")
    inside = "\n    ".join(lines)
    head = f"func.func @k({names}) attributes {{grid = [1]}}"
    return f"module {{\n  {head} {{\n    {inside}\n    return\n  }}\n}}\n"


def _renamed(body: str, inputs: dict[str, Array]) -> str:
    import re

    for name in inputs:
        body = re.sub(rf"%{name}\b", f"%{name}_value", body)
    return body


def run(
    text: str,
    inputs: dict[str, Array],
    scalars: dict[str, float | int] | None = None,
    options: Options | None = None,
    function: str | None = None,
) -> tuple[dict[str, Array], Report]:
    """Every memory argument after the run, by name, and the report."""
    module = parse(text)
    memory = Memory(2**26)
    starts: dict[str, float | int] = dict(scalars or {})
    found = [a for a in arguments(module, function, scalars) if a.kind == "memory"]
    for argument in found:
        count = int(np.prod(argument.shape))
        given = inputs.get(argument.name)
        count = max(count, 0 if given is None else given.size)
        address = memory.allocate(count * itemsize(argument.dtype))
        starts[argument.name] = address // itemsize(argument.dtype)
        if given is not None:
            assert given.dtype == numpy_dtype(argument.dtype), (argument, given.dtype)
            memory.view(address, argument.dtype, given.size)[:] = given.reshape(-1)
    report = interpret(module, memory, starts, options, function)
    results = {}
    for a in found:
        count = int(np.prod(a.shape))
        results[a.name] = (
            memory.view(int(starts[a.name]) * itemsize(a.dtype), a.dtype, count).reshape(a.shape).copy()
        )
    return results, report


def evaluate(
    body: str,
    out: tuple[tuple[int, ...], str],
    options: Options | None = None,
    scalars: dict[str, float | int] | None = None,
    scalar_types: str = "",
    **inputs: Array,
) -> Array:
    """The array that `body` leaves in %result."""
    return run(kernel(body, inputs, out, scalar_types), inputs, scalars, options)[0]["out"]
