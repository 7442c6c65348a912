"""What of a class of cores is cut in strips: chains of Computes that share rows, loops that carry values."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.schedule.graph import Compute, CoreClass, Handover, Load, Loop, Store
from headrace.schedule.phases.chain import chains
from headrace.schedule.phases.loopstrips import loop_in_strips, loop_rows
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.softmax import softmax
from headrace.schedule.phases.statements import Block, regular
from headrace.schedule.phases.strips import Cut, Strips
from headrace.schedule.phases.triangle import triangle


@dataclass(frozen=True)
class Extent:
    """What can be cut in a class: rows in all, whether a mask hides columns, whether it is a loop, whether
    columns may come in blocks.
    """

    rows: int
    has_triangle: bool = False
    is_loop: bool = False
    has_softmax: bool = False


def extent(part: CoreClass) -> Extent | None:
    """Return what can be cut in strips in a class of cores, None if nothing can."""
    block, names = regular(part)
    return _extent(block, names)


def _extent(block: Block, names: Names) -> Extent | None:
    found: list[Extent] = []
    for part, rows in chains(block, names):
        if rows is not None:
            has_triangle = triangle(part, names, rows) is not None
            has_softmax = softmax(part, names) is not None
            found.append(Extent(rows.extent, has_triangle, has_softmax=has_softmax))
        elif (rows := loop_rows(part, names)) is not None:
            found.append(Extent(rows.extent, is_loop=True))
    if not found:
        loops = [s for s in block.statements if isinstance(s, Loop) and not s.carried]
        found = [e for s in loops if (e := _extent(block.bodies[s.name], names)) is not None]
    return max(found, key=lambda e: e.rows, default=None)


def in_strips(block: Block, names: Names, strips: Strips) -> Block:
    """Return the block, or the bodies of its loops, with Computes that share rows in loops over strips."""
    statements: list[Load | Store | Compute | Loop | Handover] = []
    bodies = dict(block.bodies)
    is_cut = False
    for part, rows in chains(block, names):
        if rows is not None:
            part = Cut(part, names, rows, triangle(part, names, rows), strips).block()
            is_cut = True
        elif (rows := loop_rows(part, names)) is not None and rows.extent % strips.rows == 0:
            part = loop_in_strips(part, names, rows, strips)
            is_cut = True
        statements += part.statements
        bodies |= part.bodies
    if not is_cut:
        for loop in [s for s in block.statements if isinstance(s, Loop) and not s.carried]:
            bodies[loop.name] = in_strips(bodies[loop.name], names, strips)
    return Block(tuple(statements), bodies)
