"""Recurrences that keep one of two candidates, such as argmax: recognised, and folded as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from headrace.semantics.combiners import depending

Array = np.ndarray[Any, Any]
Merge = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]
"""What is carried after the candidates of the second argument, given what the first holds."""

_EXTREMES = frozenset(
    f"arith.{name}"
    for name in ("maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "minsi", "maxui", "minui")
)
_ALLOWED = _EXTREMES | {
    "arith.select",
    "arith.cmpf",
    "arith.cmpi",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.constant",
    "math.isnan",
}


def candidates(block: Block, carried: Sequence[BlockArgument]) -> tuple[SSAValue, ...] | None:
    """The value each result takes or leaves, when the body only compares and chooses; None otherwise.

    Such a body may be applied in any grouping that keeps the order of the points.
    """
    tainted = depending(block, carried)
    last = block.last_op
    assert last is not None
    found = [_candidate(v, a, tainted) for v, a in zip(last.operands, carried, strict=True)]
    terms = tuple(t for t in found if t is not None)
    if len(terms) < len(found) or len(set(terms)) < len(terms):
        return None
    return terms if _only_chooses(block, last.operands, {*carried, *terms}) else None


def _candidate(value: SSAValue, argument: BlockArgument, tainted: set[SSAValue]) -> SSAValue | None:
    op = value.owner
    if not isinstance(op, Operation) or (op.name != "arith.select" and op.name not in _EXTREMES):
        return None
    a, b = op.operands[-2], op.operands[-1]
    other = b if a is argument else a if b is argument else None
    return None if other is None or other in tainted else other


def _only_chooses(block: Block, results: Sequence[SSAValue], leaves: set[SSAValue]) -> bool:
    """Whether the results follow from the leaves and constants by comparing and choosing alone."""
    pending, seen = list(results), set(leaves)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        op = value.owner
        if isinstance(op, Block):
            if op is block:
                return False
        elif op.parent is block:
            if op.name not in _ALLOWED:
                return False
            pending += op.operands
    return True


def fold_in_order(terms: Sequence[Array], start: Sequence[Array], merge: Merge) -> Sequence[Array]:
    """What is carried after all candidates along the last axis, from `start` (which lacks it)."""
    while terms[0].shape[-1] > 1:
        even = terms[0].shape[-1] // 2 * 2
        merged = merge([t[..., 0:even:2] for t in terms], [t[..., 1:even:2] for t in terms])
        terms = [np.concatenate([m, t[..., even:]], axis=-1) for m, t in zip(merged, terms, strict=True)]
    if terms[0].shape[-1] == 0:
        return start
    return merge(start, [t[..., 0] for t in terms])
