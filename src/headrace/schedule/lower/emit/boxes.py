"""How a box of memory is walked: which dims make one vector, which make time steps, in subscripts, sets and
maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from headrace.ir import affine
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.schedule.lower.emit.ops import affine_map, box, permutation
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.index import ONE, Expr
from headrace.schedule.lower.tree import Place


@dataclass(frozen=True)
class Walk:
    """One side of a composite op, dims of the view as in the memory (a rotating buffer's copy is dim 0).

    `extents` are the vector's extents along each dim, `order` lists the dims from slow to fast, `times`
    gives for each time dim the (dim, elements) it moves by; an empty tuple: it stays.
    """

    place: Place
    extents: tuple[Expr, ...]
    order: tuple[int, ...]
    times: tuple[tuple[tuple[int, int], ...], ...]
    corner: tuple[Expr, ...]


@dataclass(frozen=True)
class Side:
    """What a composite op needs of a side: the view, the subscript map and operands, set, order, time map."""

    view: SSAValue
    subscript: Attribute
    operands: tuple[SSAValue, ...]
    set: Attribute
    order: Attribute
    time_map: Attribute


class Symbols:
    """The values the symbols of a composite op's sets are bound to, in order of first use."""

    def __init__(self) -> None:
        self.exprs: list[Expr] = []

    def size(self, size: Expr) -> int | str:
        """Return a static size, or the name of the symbol that stands for it."""
        if size.is_number and isinstance(size.const, int):
            return size.const
        if size not in self.exprs:
            self.exprs.append(size)
        return f"s{self.exprs.index(size)}"


def side(walk: Walk, program: ProgramValues, symbols: Symbols, addresses: dict[str, int]) -> Side:
    """Return the attributes and operands of one side; every size must have been shown to `symbols` before."""
    memory = walk.place.memory
    rotates = memory.buffer is not None and memory.buffer.copies > 1
    corner = (memory.copy, *walk.corner) if rotates else walk.corner
    extents = (ONE, *walk.extents) if rotates else walk.extents
    shift = 1 if rotates else 0
    order = (0, *(d + 1 for d in walk.order)) if rotates else walk.order
    subscript, operands = program.subscripts(corner)
    sizes = tuple(symbols.size(e) for e in extents)
    count = len(symbols.exprs)
    used = count if any(isinstance(s, str) for s in sizes) else 0
    return Side(
        program.view(memory, addresses),
        subscript,
        tuple(operands),
        box(sizes, used),
        permutation(tuple(order)),
        _time_map(walk.times, len(corner), shift),
    )


def _time_map(times: Sequence[Sequence[tuple[int, int]]], rank: int, shift: int) -> Attribute:
    results: list[AffineExpr] = [AffineExpr.constant(0)] * rank
    for t, moves in enumerate(times):
        for dim, step in moves:
            part = affine.mul(AffineExpr.dimension(t), AffineExpr.constant(step))
            results[dim + shift] = affine.add(results[dim + shift], part)
    return affine_map(max(len(times), 1), tuple(results))


def vector_shape(walk: Walk, slot_elements: int | None, where: Location) -> tuple[int, ...]:
    """Return the static shape of the walk's vector, dims of extent 1 dropped; a dynamic extent takes its
    upper bound.
    """
    shape = []
    for d in walk.order:
        size = walk.extents[d]
        if size.is_number and isinstance(size.const, int):
            extent = size.const
        else:
            bound = walk.place.memory.shape[d]
            if bound is None:
                hint = "keep dynamic extents in boxes of buffers, whose shape is their bound"
                raise HeadraceError(Diagnostic("a vector has no static bound", where, hint=hint))
            extent = bound
        if extent != 1:
            shape.append(extent)
    found = tuple(shape) or (1,)
    if slot_elements is not None and _count(found) != slot_elements:
        if any(not (e.is_number and isinstance(e.const, int)) for e in walk.extents):
            return (slot_elements,)
        raise HeadraceError(
            Diagnostic(f"a box of {_count(found)} elements feeds a slot of {slot_elements}", where)
        )
    return found


def _count(shape: Sequence[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


@dataclass(frozen=True)
class Factor:
    """An iteration dim two boxes share: its size, and which dim of each it walks in steps of how many
    elements.
    """

    size: Expr
    left: tuple[int, int]
    right: tuple[int, int]


def factors(
    left: Sequence[Expr], right: Sequence[Expr], left_order: Sequence[int], where: Location
) -> list[Factor]:
    """Return the common iteration dims of two boxes walked row-major (the left in `left_order`), slowest
    first.
    """
    found: list[Factor] = []
    i, j = len(left_order) - 1, len(right) - 1
    rest: list[Expr | None] = [None, None]
    done = [1, 1]
    while i >= 0 or j >= 0:
        a = rest[0] if rest[0] is not None else (left[left_order[i]] if i >= 0 else ONE)
        b = rest[1] if rest[1] is not None else (right[j] if j >= 0 else ONE)
        if a == ONE and i >= 0:
            i, rest[0], done[0] = i - 1, None, 1
            continue
        if b == ONE and j >= 0:
            j, rest[1], done[1] = j - 1, None, 1
            continue
        common, a_rest, b_rest = _common(a, b, where)
        found.append(Factor(common, (left_order[max(i, 0)], done[0]), (max(j, 0), done[1])))
        if isinstance(common.const, int) and common.is_number:
            done[0], done[1] = done[0] * common.const, done[1] * common.const
        rest[0], rest[1] = a_rest, b_rest
    return found[::-1]


def _common(a: Expr, b: Expr, where: Location) -> tuple[Expr, Expr, Expr]:
    """Return the largest shared fast part of two extents and what is left of each."""
    if a == b:
        return a, ONE, ONE
    if a.is_number and b.is_number and isinstance(a.const, int) and isinstance(b.const, int):
        small = min(a.const, b.const)
        if small > 1 and a.const % small == 0 and b.const % small == 0:
            return Expr(small), Expr(a.const // small), Expr(b.const // small)
    hint = "both boxes have the same row-major element order and extents that divide each other"
    raise HeadraceError(Diagnostic("two boxes of a transfer do not match", where, hint=hint))


def run(found: Sequence[Factor], left: Place, right: Place) -> int:
    """Return how many of the fastest factors are contiguous on both sides: they make one vector."""
    done, count = 1, 0
    for factor in reversed(found):
        a = left.memory.strides[factor.left[0]] * factor.left[1]
        b = right.memory.strides[factor.right[0]] * factor.right[1]
        if a != done or b != done:
            break
        count += 1
        if not isinstance(factor.size.const, int) or not factor.size.is_number:
            break
        done *= factor.size.const
    return count
