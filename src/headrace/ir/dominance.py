"""Uses that no definition reaches: SSA dominance, which xDSL does not check."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove


def undominated(root: Operation) -> Iterator[tuple[Operation, int]]:
    """(op, operand number) of every use inside `root` that its definition does not dominate."""
    for region in root.regions:
        yield from _region(region, set())


def _region(region: Region, visible: set[SSAValue]) -> Iterator[tuple[Operation, int]]:
    blocks = list(region.blocks)
    if len(blocks) == 1:
        yield from _block(blocks[0], visible)
        return
    if not blocks:
        return
    order = DominanceInfo(region)
    defined = {b: [*b.args, *(v for op in b.ops for v in op.results)] for b in blocks}
    for b in blocks:
        above = [v for d in blocks if d is not b and order.dominates(d, b) for v in defined[d]]
        yield from _block(b, visible | set(above))


def _block(block: Block, visible: set[SSAValue]) -> Iterator[tuple[Operation, int]]:
    here: list[SSAValue] = [a for a in block.args if a not in visible]
    visible.update(here)
    for op in block.ops:
        for i, operand in enumerate(op.operands):
            if operand not in visible:
                yield op, i
        inner = set[SSAValue]() if op.has_trait(IsolatedFromAbove) else visible
        for region in op.regions:
            yield from _region(region, inner)
        fresh = [r for r in op.results if r not in visible]
        visible.update(fresh)
        here += fresh
    visible.difference_update(here)
