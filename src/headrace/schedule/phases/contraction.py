"""Contraction phases as hardware sees them: which dims are rows, columns and depth, which operand is
stationary.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.arch.device import Matrix
from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Compute
from headrace.schedule.phases.decided import Spans, decided
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.peaks import grain
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.plan import PhasePlan


@dataclass(frozen=True)
class Roles:
    """One contraction: result[row, column] += rows[row, depth] x weights[depth, column].

    `row`, `column` and `depth` are the dims of blocks ("" if there is none); every other dim is an `outer`
    loop, those of `outer_depth` continue the sum. `weights` stay in the unit while `rows` stream; `others`
    are the weights of products with the same rows that the phase computes besides.
    """

    row: str
    column: str
    depth: str
    outer: tuple[str, ...]
    outer_depth: tuple[str, ...]
    rows: Operand
    weights: Operand
    others: tuple[Operand, ...] = ()

    @property
    def all_weights(self) -> tuple[Operand, ...]:
        """The weights of every product, in the order of the products."""
        return (*self.others, self.weights)

    @property
    def factors(self) -> tuple[Operand, ...]:
        """The rows and the weights of every product."""
        return (self.rows, *self.all_weights)


def product_count(group: Group) -> int:
    """Return how many products a phase begins with; the last is the one that has an epilogue."""
    return sum(compute.contraction is not None for compute in group.computes)


def roles(shape: Shape, swapped: bool) -> Roles:
    """Return the roles of the phase's dims; `swapped` makes the left operand the stationary one."""
    last = product_count(shape.group) - 1
    found = shape.group.computes[last].contraction
    assert found is not None
    left, right = shape.reads[last, 0], shape.reads[last, 1]
    m, n, k = (_merged(shape, dims) for dims in (found.m, found.n, found.k))
    batch = _merged(shape, found.batch)
    if swapped:
        left, right, m, n = right, left, n, m
    row, column = _fastest(m, left), _fastest(n, right)
    depth = _fastest(k, left)
    outer = (*batch, *(d for d in m if d != row), *(d for d in n if d != column))
    others = tuple(shape.reads[number, 1] for number in range(last))
    return Roles(row, column, depth, outer, tuple(d for d in k if d != depth), left, right, others)


def has_whole_peaks(plan: PhasePlan, made: Shape) -> bool:
    """Return whether every block of a contraction gives the maxima it is to give, if any: of rows of the
    results, in whole grains of columns.
    """
    size = grain(made.group)
    if size == 1:
        return True
    column = roles(made, "swapped" in plan.order).column
    dims = (d for c in made.group.computes if c.contraction is None for d in c.dims)
    is_row = all(made.merged[d.name] == column for d in dims if d.kind == "reduction")
    sizes = (plan.tile[column], plan.blocks["columns"])
    return is_row and all(n % size == 0 or n >= plan.extents[column] for n in sizes)


def behind_dim(plan: PhasePlan, found: Roles) -> str:
    """Return the dim of the innermost loop over tiles, rows if weights stay meanwhile: the results of each
    of its tiles may leave during the next.
    """
    if plan.kept:
        return found.row
    pair = [found.column, found.row] if plan.order.startswith("column") else [found.row, found.column]
    moving = [d for d in pair if d and plan.tile[d] < plan.extents[d]]
    return moving[-1] if moving else ""


def _merged(shape: Shape, dims: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shape.merged[d] for d in dims))


def _fastest(dims: tuple[str, ...], operand: Operand) -> str:
    """The dim with the smallest stride: blocks of it are contiguous."""
    return min(dims, key=lambda d: operand.surface.stride(d) or 1 << 60, default="")


def accumulator(compute: Compute, matrix: Matrix | None, dtype: str) -> str:
    """Return the type partial sums have."""
    if matrix is not None and dtype in matrix.accumulate:
        return matrix.accumulate[dtype]
    if is_float(dtype):
        return "f64" if dtype == "f64" else "f32"
    own = compute.body[compute.outs[0].result].dtype
    return own if itemsize(own) >= 4 else "i32"


def result_dtype(compute: Compute) -> str:
    """Return the type of the contraction's own result."""
    return compute.body[compute.outs[0].result].dtype


@dataclass(frozen=True)
class Run:
    """`count` equal pieces of `extent` from `start` on; flags say whether the sum begins or ends with it."""

    start: int
    count: int
    extent: int
    is_first: bool
    is_last: bool


def runs(extent: int, size: int) -> list[Run]:
    """Return the pieces of a depth: the first, equal ones in the middle, the last."""
    whole, rest = divmod(extent, size)
    pieces = whole + (1 if rest else 0)
    if pieces <= 1:
        return [Run(0, 1, extent, True, True)]
    last = rest or size
    found = [Run(0, 1, size, True, False)]
    if pieces > 2:
        found.append(Run(size, pieces - 2, size, False, False))
    return [*found, Run((pieces - 1) * size, 1, last, False, True)]


def by_block(shape: Shape, found: Roles, width: int, ranges: Spans) -> list[tuple[Compute, ...]]:
    """Return for every block of `width` columns of a contraction the Computes of the phase, without selects
    whose condition holds, or fails, for all rows and all columns of the block.
    """
    rows = {d: (0, e - 1) for d, e in shape.extents.items()}
    made = []
    for first in range(0, shape.extents[found.column], width):
        spans = {**ranges, **rows, found.column: (first, first + width - 1)}
        made.append(tuple(decided(compute, spans) for compute in shape.group.computes))
    return made
