"""Straight-line scalar bodies evaluated once on arrays that stand for all points of a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.spyreop.undefined import why_undefined
from headrace.semantics.frame import Frame
from headrace.semantics.scalars import SCALARS

Array = np.ndarray[Any, Any]


def evaluate_body(
    frame: Frame,
    block: Block,
    arguments: Sequence[Array],
    domain: Sequence[Array],
    wanted: Sequence[SSAValue] | None = None,
    given: Mapping[SSAValue, Array] | None = None,
) -> list[Array]:
    """What the block yields (or `wanted`, only the ops those need), from arrays for its arguments.

    `given` are values known already; `domain` are the open index arrays of the nest's dims. Ops see arrays
    that broadcast against each other.
    """
    last = block.last_op
    assert last is not None
    given = given or {}
    needed = None if wanted is None else _needed(block, wanted, given)
    outer = frame.domain
    frame.domain = domain
    frame.values.update(zip(block.args, arguments, strict=False))
    frame.values.update(given)
    try:
        for op in block.ops:
            if op is not last and (needed is None or op in needed):
                handler = SCALARS.get(op.name)
                if handler is None:
                    raise frame.error(op, "cannot be evaluated inside a linalg body", why_undefined(op.name))
                frame.values.update(zip(op.results, handler(frame, op), strict=True))
        return [frame.array(last, v) for v in (last.operands if wanted is None else wanted)]
    finally:
        frame.domain = outer


def _needed(block: Block, wanted: Sequence[SSAValue], given: Mapping[SSAValue, Array]) -> set[Operation]:
    found: set[Operation] = set()
    pending = list(wanted)
    while pending:
        value = pending.pop()
        op = value.owner
        if value not in given and isinstance(op, Operation) and op not in found and op.parent is block:
            found.add(op)
            pending += op.operands
    return found
