"""Running blocks for many tiles in step: loops and branches that all of them take alike, deliveries between
tiles."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation

from headrace.numbers.dtypes import numpy_dtype, unsigned_dtype
from headrace.semantics.batches.frame import BatchFrame, Diverges, captured
from headrace.semantics.batches.ops import handler_of
from headrace.semantics.control import TERMINATORS, Wait
from headrace.semantics.frame import element_type
from headrace.semantics.ledger import last_uses

Steps = Generator[Wait, None, Sequence[Any]]
"""Yields while the tiles have to wait; returns the results of an op, or what a block hands on."""


def run_block(frame: BatchFrame, block: Block, arguments: Sequence[Any], targets: Sequence[Any]) -> Steps:
    """Runs the block with its arguments (as the names hold them); what it yields, as `targets` hold it.

    A target None holds rows.
    """
    plans = frame.launch.plans
    if block not in plans:
        plans[block] = [
            (op, tuple(op.results), dead, _handler(frame, op), CONTROL.get(op.name), _is_address(frame, op))
            for op, dead in zip(block.ops, last_uses(block), strict=True)
        ]
    for name, value in zip(block.args, arguments, strict=True):
        _bind(frame, name, value)
    for op, results, dead, handler, control, is_address in plans[block]:
        if control is not None:
            produced = yield from control(frame, op)
        elif handler is None:
            return _leave(frame, op, targets)
        elif frame.touched is not None:
            produced = _follow(frame, op, handler, is_address)
        elif is_address and frame.tape is not None:
            produced = frame.tape.next(partial(handler, frame, op))
        else:
            produced = handler(frame, op)
        frame.ledger.now = op
        for name, value in zip(results, produced, strict=True):
            _bind(frame, name, value)
        for name in dead:
            _unbind(frame, name)
    raise AssertionError("a block without a terminator")


def _handler(frame: BatchFrame, op: Operation) -> Any:
    """The op's handler; outside of loops, what all tiles have is found once and serves every batch."""
    if op.name in CONTROL or op.name in TERMINATORS:
        return None
    handler = handler_of(frame, op)
    is_once = op.parent_op() is not None and op.parent_op().name == "func.func"  # type: ignore[union-attr]
    if not is_once or not op.results or op.name == "ktdp.load":
        return handler
    if any(v in frame.varying for v in (*op.results, *op.operands, *captured(op))):
        return handler
    return partial(_shared, handler)


def _shared(handler: Any, frame: BatchFrame, op: Operation) -> Any:
    shared = frame.launch.shared
    if op not in shared:
        shared[op] = handler(frame, op)
    return shared[op]


def _is_address(frame: BatchFrame, op: Operation) -> bool:
    """Whether the op's results follow from arguments and tile ids alone."""
    if not op.results or op.name == "ktdp.load":
        return False
    return op.name.startswith("ktdp.") or all(r in frame.known for r in op.results)


def _bind(frame: BatchFrame, name: Any, value: Any) -> None:
    frame.values[name] = value
    if not frame.is_booked:
        frame.ledger.bind(name, value)  # type: ignore[attr-defined]


def _unbind(frame: BatchFrame, name: Any) -> None:
    value = frame.values.pop(name, None)
    if not frame.is_booked:
        frame.ledger.unbind(name, value)  # type: ignore[attr-defined]


def _follow(frame: BatchFrame, op: Operation, handler: Any, is_address: bool) -> Sequence[Any]:
    """The op's results while only addresses are followed: nothing for tensors."""
    if is_address:
        return handler(frame, op)  # type: ignore[no-any-return]
    if op.name in ("ktdp.load", "ktdp.store"):
        assert frame.touched is not None
        frame.touched(op, frame.get(op.operands[-1]), frame)
    return [None] * len(op.results)


def _leave(frame: BatchFrame, last: Operation, targets: Sequence[Any]) -> list[Any]:
    """What the terminator hands to `targets`; names that end with it are released."""
    passed = [
        None
        if frame.touched is not None and frame.values.get(v) is None
        else frame.rows(v)
        if t is None
        else frame.passed(v, t)
        for v, t in zip(last.operands, targets, strict=False)
    ]
    assert last.parent is not None
    for name in frame.launch.plans[last.parent][-1][2]:
        _unbind(frame, name)
    return passed


def _for(frame: BatchFrame, op: Operation) -> Steps:
    low, high, step = (frame.get(v) for v in op.operands[:3])
    trips = _trips(frame, op, low, high, step)
    kinds = np.unique(trips)
    if len(kinds) > 1:
        raise Diverges([np.flatnonzero(trips == n) for n in kinds])
    body = op.regions[0].block
    carried: Sequence[Any] = [
        None if frame.values.get(v) is None else frame.passed(v, t)
        for v, t in zip(op.operands[3:], body.args[1:], strict=True)
    ]
    dtype = element_type(body.args[0].type)
    for k in range(int(kinds[0])):
        at = low + k * step
        if body.args[0] in frame.varying:  # be it by its last value only
            at = np.broadcast_to(np.asarray(at, np.int64), (frame.count,))
        else:
            at = int(at) if dtype == "index" else np.asarray(at, numpy_dtype(dtype))
        carried = yield from run_block(frame, body, [at, *carried], body.args[1:])
    return carried


def _trips(frame: BatchFrame, op: Operation, low: Any, high: Any, step: Any) -> Any:
    """How often the loop runs, a number or one per tile."""
    is_unsigned = "unsignedCmp" in op.properties
    kind = unsigned_dtype(element_type(op.operands[0].type)) if is_unsigned else np.dtype(np.int64)
    low, high, step = (np.asarray(v, np.int64).astype(kind) for v in (low, high, step))
    if np.any(step <= 0):
        raise frame.error(op, "a loop's step is positive")
    with np.errstate(over="ignore"):
        return np.where(high > low, (high - low - 1) // step + 1, 0).astype(np.int64)


def _if(frame: BatchFrame, op: Operation) -> Steps:
    region = op.regions[0 if np.asarray(frame.one(op.operands[0])).item() else 1]
    if not region.blocks:
        return ()
    return (yield from run_block(frame, region.block, (), op.results))


CONTROL: dict[str, Callable[[BatchFrame, Operation], Steps]] = {"scf.for": _for, "scf.if": _if}
"""Ops whose regions run with their tiles in step; `batches.intertile` adds its own."""
