"""What KTIR means: every tile of the grid runs the function once, on NumPy arrays. The oracle of all other
levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from headrace.ir.arguments import argument_name, arguments, examples, functions, grid, host_function
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, is_known, itemsize, numpy_dtype
from headrace.numbers.memory import ALIGNMENT, Memory
from headrace.numbers.rounding import round_to
from headrace.semantics import intertile  # noqa: F401  adds its ops to CONTROL
from headrace.semantics.control import Steps, Wait, run_block
from headrace.semantics.frame import Array, Frame, Launch
from headrace.semantics.options import Options
from headrace.semantics.report import Report
from headrace.semantics.scalars import constant

__all__ = ["Options", "Report", "interpret"]


def interpret(
    module: ModuleOp,
    memory: Memory,
    scalars: Mapping[str, float | int],
    options: Options | None = None,
    function: str | None = None,
    on_store: Callable[[Frame, Operation], None] | None = None,
) -> Report:
    """Runs a module on `memory` and reports on it; results are what is in `memory` afterwards.

    `scalars` gives every argument its value by name: the element index of its start for memory, the number
    for a scalar (the kernel's own example when it is missing). Without `function` the host function's calls
    run in order, or, when there is none, all functions in textual order. HeadraceError names the op, its
    place and the coordinates. `on_store` is called after every store with the tile's frame and the op.
    """
    return interpret_by(run_tiles, module, memory, scalars, options, function, on_store)


Engine = Callable[[Launch, FuncOp, Sequence[Any]], None]
"""Runs all tiles of a function with the values of its arguments."""


def interpret_by(
    engine: Engine,
    module: ModuleOp,
    memory: Memory,
    scalars: Mapping[str, float | int],
    options: Options | None,
    function: str | None,
    on_store: Callable[[Frame, Operation], None] | None = None,
) -> Report:
    """`interpret` with functions run by `engine`."""
    options = options or Options()
    report = Report()
    scratch = _Scratch(module, function, scalars, options)
    pads: dict[int, Array] = {}
    for kernel, values in _launches(module, function, {**scratch.starts, **scalars}):
        shape = grid(kernel, options.default_grid)
        bodies = {f.sym_name.data: f.body.block for f in functions(module)}
        launch = Launch(memory, pads, scratch.end, shape, options, report, bodies, on_store=on_store)
        engine(launch, kernel, values)
        report.grid, report.tiles = shape, launch.tiles
    report.lx_peak_bytes += scratch.end - options.lx_bytes
    if options.strict_lx and report.lx_peak_bytes > options.lx_bytes:
        at = report.lx_peak_at
        message = f"a tile needs {report.lx_peak_bytes} bytes of scratchpad, it has {options.lx_bytes}"
        hint = "use smaller tiles, or run without --strict-lx"
        raise HeadraceError(
            Diagnostic(message, None if at is None else location(at), at.name if at else "", hint)
        )
    return report


class _Scratch:
    """Addresses of the arguments that are scratch: above the scratchpad proper, so that constants stay
    theirs."""

    def __init__(
        self, module: ModuleOp, function: str | None, scalars: Mapping[str, float | int], options: Options
    ) -> None:
        self.starts: dict[str, int] = {}
        self.end = options.lx_bytes
        views = (op for op in module.walk() if op.name == "ktdp.construct_memory_view")
        if not any(getattr(op.memory_space, "is_local", False) for op in views):  # type: ignore[attr-defined]
            return
        for argument in arguments(module, function, scalars):
            if argument.kind == "lx":
                unit = itemsize(argument.dtype) if options.address_unit == "element" else 1
                self.starts[argument.name] = self.end // unit
                size = int(np.prod(argument.shape, dtype=np.int64)) * itemsize(argument.dtype)
                self.end += -(-size // ALIGNMENT) * ALIGNMENT


def _launches(
    module: ModuleOp, function: str | None, given: Mapping[str, float | int]
) -> Iterator[tuple[FuncOp, list[Any]]]:
    """The kernels to run, each with the values of its arguments."""
    by_name = {f.sym_name.data: f for f in functions(module)}
    if function is not None and function not in by_name:
        raise HeadraceError(
            f"no function '{function}'", hint=f"the module has {', '.join(by_name) or 'none'}"
        )
    host = host_function(module)
    if host is None or function not in (None, host.sym_name.data):
        for kernel in by_name.values() if function is None else [by_name[function]]:
            yield kernel, _arguments(kernel, given)
        return
    formal = host.body.block.args
    values: dict[SSAValue, Any] = dict(zip(formal, _arguments(host, given), strict=True))
    for op in host.body.block.ops:
        if op.name == "arith.constant":
            values.update(zip(op.results, constant(op), strict=True))
        elif op.name == "func.call":
            yield _callee(op, by_name), [values[v] for v in op.operands]


def _callee(op: Any, by_name: Mapping[str, FuncOp]) -> FuncOp:
    name = op.callee.root_reference.data
    if name not in by_name:
        raise HeadraceError(Diagnostic(f"no function '{name}' with a body", location(op), op.name))
    return by_name[name]


def _arguments(kernel: FuncOp, given: Mapping[str, float | int]) -> list[Any]:
    known = {**examples(kernel), **given}
    values = []
    for position, argument in enumerate(kernel.body.block.args):
        name = argument_name(kernel, position)
        if name not in known and argument.first_use is not None:
            where = f"argument '{name}' of {kernel.sym_name.data}"
            raise HeadraceError(f"{where} has no value", hint=f"bind {name}, or pass --arg {name}=VALUE")
        dtype = str(getattr(argument.type, "underlying", argument.type))
        if not is_known(dtype):
            message = f"argument '{name}' of type {dtype} cannot be bound"
            hint = "pass the start of a buffer as index, or a scalar"
            raise HeadraceError(Diagnostic(message, location(kernel), kernel.name, hint))
        values.append(_typed(known.get(name, 0), dtype))
    return values


def _typed(value: float | int, dtype: str) -> Any:
    if dtype == "index":
        return int(value)
    if is_float(dtype):
        return round_to(np.asarray(value, np.float64), dtype)
    return np.asarray(int(value)).astype(numpy_dtype(dtype))


def run_tiles(launch: Launch, kernel: FuncOp, values: Sequence[Any]) -> None:
    """Runs every tile; a tile that waits is resumed when what it waits for is there."""
    frames = [Frame(launch, tile, place) for tile, place in enumerate(places(launch))]
    take_turns({f.tile: run_block(f, kernel.body.block, values) for f in frames})
    for frame in frames:
        launch.report.note_peak(frame.ledger.peak_bytes, frame.ledger.peak_at)


def take_turns(runs: dict[int, Steps]) -> None:
    """Runs coroutines to their ends, by the number of their tile; one that waits lets the others go on.

    What is delivered stays delivered, so that any order ends when one does.
    """
    waiting: dict[int, Wait] = {}
    while runs:
        ready = [tile for tile in runs if tile not in waiting or waiting[tile].is_ready()]
        if not ready:
            raise HeadraceError(_deadlock(waiting))
        for tile in ready:
            waiting.pop(tile, None)
            try:
                waiting[tile] = next(runs[tile])
            except StopIteration:
                del runs[tile]


def places(launch: Launch) -> Iterator[tuple[int, ...]]:
    """The grid coordinates of tile 0, 1, ..."""
    if launch.options.linearise == "last":
        yield from np.ndindex(*launch.grid)
    else:
        yield from (place[::-1] for place in np.ndindex(*launch.grid[::-1]))


def _deadlock(waiting: Mapping[int, Wait]) -> Diagnostic:
    op: Operation = next(iter(waiting.values())).op
    who = "; ".join(f"tile {t} waits for tiles {list(w.sources())}" for t, w in list(waiting.items())[:4])
    more = f"; and {len(waiting) - 4} more" if len(waiting) > 4 else ""
    return Diagnostic(
        f"deadlock between tiles: {who}{more}",
        location(op),
        op.name,
        "every tile of a group has to reach the produce op",
    )
