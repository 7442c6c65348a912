"""What may share a kernel: a contraction with its epilogue, or pointwise work and reductions over one
domain.
"""

from __future__ import annotations

from typing import Any

from torch._inductor import ir
from torch._inductor.scheduler import FusedSchedulerNode, SchedulerNode, WhyNoFuse
from torch._inductor.virtualized import V


def can_share(first: Any, second: Any, is_vertical: bool) -> bool:
    """Whether Inductor may put two nodes into one kernel; a vertical pair is a producer and its consumer."""
    if not all(isinstance(node, (SchedulerNode, FusedSchedulerNode)) for node in (first, second)):
        return False
    reason = _obstacle(first, second, is_vertical)
    if reason:
        WhyNoFuse(first, second)(f"headrace: {reason}")
    return not reason


def _obstacle(first: Any, second: Any, is_vertical: bool) -> str:
    """Why two nodes cannot share a kernel, "" when they can."""
    contractions = [node for node in (first, second) if has_contraction(node)]
    if contractions:
        if len(contractions) == 2 or not is_vertical or contractions[0] is not first:
            return "a contraction takes an epilogue only"
        if second.is_reduction():
            return "a contraction and another reduction"
    equal = V.graph.sizevars.statically_known_equals
    (_, (outer1, inner1)), (_, (outer2, inner2)) = first.group, second.group
    match first.is_reduction(), second.is_reduction():
        case True, True:
            fits = equal(outer1, outer2) and equal(inner1, inner2)
        case True, False:
            fits = equal(outer1, outer2) or (not contractions and equal(outer1 * inner1, outer2))
        case False, True:
            fits = equal(outer1, outer2 * inner2) or equal(outer1, outer2)
        case _:
            fits = equal(outer1, outer2)
    return "" if fits else f"domains differ: {first.group[1]} and {second.group[1]}"


def has_contraction(node: Any) -> bool:
    return any(
        isinstance(member.node, ir.ComputedBuffer)
        and isinstance(member.node.data, ir.Reduction)
        and member.node.data.reduction_type == "dot"
        for member in node.get_nodes()
    )
