"""Running blocks: straight lines, loops, branches and calls of one tile, as a coroutine that can wait for
other tiles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation

from headrace.ir.spyreop.undefined import why_undefined
from headrace.numbers.dtypes import bit_width, numpy_dtype
from headrace.semantics.frame import Frame, Handler, element_type
from headrace.semantics.ledger import last_uses
from headrace.semantics.linalg import LINALG
from headrace.semantics.memory import MEMORY
from headrace.semantics.scalars import SCALARS
from headrace.semantics.tensors import TENSORS, mixed, slices, writable


@dataclass(frozen=True)
class Wait:
    """A tile cannot go on until `is_ready()`; it waits for `what` from the tiles `sources()`."""

    op: Operation
    is_ready: Callable[[], bool]
    sources: Callable[[], Sequence[int]]


Steps = Generator[Wait, None, Sequence[Any]]
"""Yields while a tile has to wait; returns the values a block or an op results in."""

HANDLERS: dict[str, Handler] = {**SCALARS, **TENSORS, **LINALG, **MEMORY}
TERMINATORS = frozenset(
    ("scf.yield", "scf.condition", "scf.reduce", "scf.reduce.return", "func.return")
    + ("ktdp.yield_partial", "ktdp.yield_reduced")
)


def run_block(frame: Frame, block: Block, arguments: Sequence[Any]) -> Steps:
    """The operands of the block's terminator after running it with the given arguments."""
    plans = frame.launch.plans
    if block not in plans:
        plans[block] = list(zip(block.ops, last_uses(block), strict=True))
    values, ledger = frame.values, frame.ledger
    for name, value in zip(block.args, arguments, strict=True):
        values[name] = value
        ledger.hold(value)
    result: Sequence[Any] = ()
    for op, dead in plans[block]:
        handler = HANDLERS.get(op.name)
        if handler is not None:
            produced = handler(frame, op)
        elif op.name in TERMINATORS:
            result, produced = [frame.get(v) for v in op.operands], ()
        elif op.name == "scf.forall.in_parallel":
            result, produced = [POINTS[o.name](frame, o) for o in op.regions[0].block.ops], ()
        elif op.name in CONTROL:
            produced = yield from CONTROL[op.name](frame, op)
        else:
            raise frame.error(op, "the reference interpreter does not know this op", why_undefined(op.name))
        ledger.now = op
        for name, value in zip(op.results, produced, strict=True):
            values[name] = value
            ledger.hold(value)
        for name in dead:
            ledger.release(values.pop(name, None))
    return result


def _for(frame: Frame, op: Operation) -> Steps:
    low, high, step = frame.integers(op.operands[:3])
    body = op.regions[0].block
    dtype = element_type(body.args[0].type)
    is_unsigned = "unsignedCmp" in op.properties
    if is_unsigned:
        low, high, step = (n % 2 ** bit_width(dtype) for n in (low, high, step))
    if step <= 0:
        raise frame.error(op, f"the step is {step}", "a loop's step is positive")
    carried: Sequence[Any] = [frame.get(v) for v in op.operands[3:]]
    for at in range(low, high, step):
        if is_unsigned:
            at = signed(at, dtype)
        first = at if dtype == "index" else np.asarray(at, numpy_dtype(dtype))
        carried = yield from run_block(frame, body, [first, *carried])
    return carried


def signed(number: int, dtype: str) -> int:
    """The number whose bits an unsigned one has in an integer type."""
    bits = bit_width(dtype)
    return number - (number >> (bits - 1) << bits)


def _if(frame: Frame, op: Operation) -> Steps:
    region = op.regions[0 if frame.array(op, op.operands[0]) else 1]
    if not region.blocks:
        return ()
    return (yield from run_block(frame, region.block, ()))


def _while(frame: Frame, op: Operation) -> Steps:
    carried: Sequence[Any] = [frame.get(v) for v in op.operands]
    before, after = (region.block for region in op.regions)
    while True:
        condition, *passed = yield from run_block(frame, before, carried)
        if not np.asarray(condition):
            return passed
        carried = yield from run_block(frame, after, passed)


def _parallel(frame: Frame, op: Operation) -> Steps:
    """`scf.parallel`: the points one after the other, their values combined in that order."""
    body = op.regions[0].block
    rank, bounds = len(body.args), [frame.integer(v) for v in op.operands[: 3 * len(body.args)]]
    lows, highs, steps = (bounds[k * rank : (k + 1) * rank] for k in range(3))
    if any(step <= 0 for step in steps):
        raise frame.error(op, f"the steps are {steps}", "a loop's step is positive")
    carried = [frame.get(v) for v in op.operands[3 * rank :]]
    combiners = body.last_op.regions if body.last_op is not None else ()
    for point in itertools.product(*map(range, lows, highs, steps)):
        values = yield from run_block(frame, body, point)
        for k, (region, value) in enumerate(zip(combiners, values, strict=False)):
            (carried[k],) = yield from run_block(frame, region.block, [carried[k], value])
    return carried


def _forall(frame: Frame, op: Any) -> Steps:
    """`scf.forall`: points read the shared outs as they were; the slices they insert make the results."""
    body = op.region.block
    lows, highs, steps = ([*mixed(frame, *bound)] for bound in op.bounds())
    if any(step <= 0 for step in steps):
        raise frame.error(op, f"the steps are {steps}", "a loop's step is positive")
    given = [frame.get(v) for v in op.outputs]
    made = [writable(value) for value in given]
    is_there = [np.zeros(value.shape, np.bool_) for value in made]
    for value in made:
        frame.ledger.hold(value)
    for point in itertools.product(*map(range, lows, highs, steps)):
        for target, cut, part in (yield from run_block(frame, body, [*point, *given])):
            k = op.shared.index(target)
            if is_there[k][cut].any():
                frame.warn(op, "points insert into the same elements; the last one's stay")
            is_there[k][cut] = True
            made[k][cut] = part
    for value in made:
        frame.ledger.release(value)
    return made


def _insert(frame: Frame, op: Any) -> tuple[Any, Any, Any]:
    """The shared out a point inserts into, where, and what."""
    source = frame.array(op, op.source)
    cut, sizes = slices(frame, op, frame.get(op.dest).shape)
    return op.dest, cut, source.reshape(sizes)


POINTS: dict[str, Callable[[Frame, Operation], Any]] = {"tensor.parallel_insert_slice": _insert}
"""What the ops of an `scf.forall.in_parallel` leave to the loop."""


def _region(frame: Frame, op: Operation) -> Steps:
    return (yield from run_block(frame, op.regions[0].block, ()))


def _switch(frame: Frame, op: Operation) -> Steps:
    """`scf.index_switch`: the region of the case that the operand is, else the first, default one."""
    cases: Any = op.properties["cases"]
    chosen = frame.integer(op.operands[0])
    found = [k for k, case in enumerate(cases.get_values(), 1) if case == chosen]
    return (yield from run_block(frame, op.regions[found[0] if found else 0].block, ()))


def _call(frame: Frame, op: Any) -> Steps:
    name = op.callee.root_reference.data
    callee = frame.launch.functions.get(name)
    if callee is None:
        raise frame.error(op, f"no function '{name}' with a body")
    return (yield from run_block(frame, callee, [frame.get(v) for v in op.operands]))


CONTROL: dict[str, Callable[[Frame, Operation], Steps]] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.parallel": _parallel,
    "scf.forall": _forall,
    "scf.execute_region": _region,
    "scf.index_switch": _switch,
    "func.call": _call,
}
"""Ops whose regions may wait for other tiles; `intertile` adds its own."""
