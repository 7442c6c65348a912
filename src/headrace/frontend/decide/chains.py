"""How attention as one kernel is cut over the cores: heads first, then the queries of a head.

A tile of one head turns its keys once, and the scheduler can cut its rows into strips that stay in the
scratchpad. A tile of several heads would do that head by head for few rows each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.arch.device import Device
from headrace.frontend.decide.division import lanes
from headrace.frontend.decide.products import Product, products
from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.kernel import Division, splittable
from headrace.frontend.lower.program import LoopProgram

ISSUES = 8
"""Vector issues for one score: scale, mask, maximum, difference, power, sum (a)."""


@dataclass(frozen=True)
class Attention:
    """Both products of a kernel, the dims of heads and that of the queries of a head."""

    scores: Product
    mixed: Product
    heads: tuple[str, ...]
    row: str

    def cycles(self, sizes: Mapping[str, int], device: Device) -> float:
        """Cycles of a tile that owns `sizes` of the dims of heads and rows."""
        kept = [d for d in self.scores.extents if d not in self.scores.reduced]
        points = math.prod(sizes.get(d, self.scores.extents[d]) for d in kept)
        return (
            self.scores.cycles(sizes, device)
            + self.mixed.cycles(sizes, device)
            + points * ISSUES / lanes(device)
        )


def divide_chain(program: LoopProgram, group: Group, device: Device) -> Division | None:
    """The division of a kernel of two products in which one tile has one head; None for another kernel."""
    found = _attention(program, group)
    if found is None:
        return None
    rows, heads = group.extents[found.row], math.prod(group.extents[d] for d in found.heads)
    ways = [
        dict.fromkeys(found.heads, 1) | {found.row: -(-rows // parts)}
        for parts in range(1, min(rows, device.cores) + 1)
    ]

    def cycles(sizes: Mapping[str, int]) -> float:
        tiles = heads * -(-rows // sizes[found.row])
        return -(-tiles // device.cores) * found.cycles(sizes, device)

    best = min(ways, key=cycles)
    return Division({d: n for d, n in best.items() if n < group.extents[d]})


def _attention(program: LoopProgram, group: Group) -> Attention | None:
    """The attention a kernel computes: the keys do not walk the dim of rows, which is the longest such."""
    nests = zip(group.scans, program.nests, strict=True)
    made = [product for scan, nest in nests for product in products(scan, nest, program.dtypes)]
    if len(made) != 2:
        return None
    free = [d for d in splittable(program, group) if d in made[0].extents and d not in made[0].reduced]
    queries, keys = (access.index.variables for access in (made[0].left, made[0].right))
    own = sorted((d for d in free if d in queries - keys), key=lambda d: group.extents[d])
    shared = [d for d in free if d in queries & keys]
    return Attention(made[0], made[1], (*shared, *own[:-1]), own[-1]) if own else None
