"""Dead code: ops whose results nobody uses and that write nothing."""

from __future__ import annotations

from xdsl.ir import Operation

from headrace.ir.effects import is_dead


def dce(module: Operation) -> int:
    """Removes dead ops, users before what they use; returns how many."""
    removed = 0
    for region in module.regions:
        for block in region.blocks:
            for op in reversed(list(block.ops)):
                if is_dead(op):
                    op.detach()
                    op.erase()
                    removed += 1
                else:
                    removed += dce(op)
    return removed
