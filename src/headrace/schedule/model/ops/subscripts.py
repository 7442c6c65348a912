"""Subscripts of an indirect access tile: linear forms of its variables, cut where floordiv or mod asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.attributes import integers, literal
from headrace.schedule.model.state import MemoryView, Refused, State


@dataclass(frozen=True)
class Subscripts:
    """The subscripts of one tile: a number or an index per view dim, over variables that may have been cut.

    `parts[k]` are the positions in `names` (and `extents`) of what variable k was cut into, slowest first.
    """

    names: tuple[str, ...]
    extents: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]
    direct: tuple[Num | None, ...]
    indices: tuple[tuple[int, MemoryView, tuple[Num, ...]], ...]
    """(view dim, index view, where in it) of every indirect subscript."""

    def ranges(self) -> nm.Ranges:
        """Smallest and largest value of every variable."""
        return {n: (0, e - 1) for n, e in zip(self.names, self.extents, strict=True)}


def subscripts_of(state: State, op: Operation) -> tuple[Subscripts, MemoryView]:
    """The subscripts of `ktdp.construct_indirect_access_tile`, and the view they address."""
    _, n_indirect, n_captured, _ = integers(op, "operandSegmentSizes")
    operands = list(op.operands)
    bound = [state.get(v) for v in operands[: 1 + n_indirect]]
    views = [b for b in bound if isinstance(b, MemoryView)]
    if len(views) != len(bound):
        raise Refused("the base or an index of this access tile is no memory view")
    rest = [state.integer(v) for v in operands[1 + n_indirect :]]
    captured, symbols = rest[:n_captured], rest[n_captured:]
    corners = affine.box(literal(op, "variables_space_set").data, symbols)  # type: ignore[union-attr]
    if corners is None:
        raise Refused("the variables' space is no bounded box", "bound every variable from both sides")
    lows = [low for low, _ in corners]
    extents = [state.fixed(nm.add(nm.sub(high, low), Num(1))) for low, high in corners]
    cuts = _cuts(op, captured, lows, extents, state)
    return _by_dim(op, captured, lows, _Cut.of(extents, cuts), views, state), views[0]


@dataclass(frozen=True)
class _Cut:
    """Variables as sums of their parts."""

    names: tuple[str, ...]
    extents: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]
    values: tuple[Num, ...]

    @staticmethod
    def of(extents: Sequence[int], cuts: Sequence[Sequence[int]]) -> _Cut:
        """Every variable cut at the given strides (ascending, each dividing the next and the extent)."""
        names: list[str] = []
        sizes: list[int] = []
        parts: list[tuple[int, ...]] = []
        values: list[Num] = []
        for k, (extent, at) in enumerate(zip(extents, cuts, strict=True)):
            strides = [1, *at]
            ends = [*at, extent]
            own = range(len(names), len(names) + len(strides))
            fresh = [f"?{k}.{j}" for j in range(len(strides))]
            names += reversed(fresh)
            sizes += reversed([end // stride for stride, end in zip(strides, ends, strict=True)])
            parts.append(tuple(own))
            values.append(Num(0, dict(zip(fresh, strides, strict=True))))
        return _Cut(tuple(names), tuple(sizes), tuple(parts), tuple(values))


def _cuts(
    op: Operation, captured: Sequence[Num], lows: Sequence[Num], extents: Sequence[int], state: State
) -> list[list[int]]:
    """Where floordiv and mod ask to cut every variable."""
    whole = _Cut.of(extents, [()] * len(extents))
    ranges = {**state.ranges, **{n: (0, e - 1) for n, e in zip(whole.names, whole.extents, strict=True)}}
    inputs = [*captured, *(nm.add(a, v) for a, v in zip(lows, whole.values, strict=True))]
    asked: list[set[int]] = [set() for _ in extents]
    maps = literal(op, "per_dim_subscript_maps")
    assert isinstance(maps, ArrayAttr)
    for inner, divisor in (found for m in maps for e in m.data.results for found in _divisions(e)):
        try:
            terms = affine.evaluate(inner, inputs, [], ranges).terms
        except NotLinear:
            continue
        for k, name in enumerate(whole.names):
            step = abs(terms.get(name, 0))
            if step and divisor % step == 0 and extents[k] % (divisor // step) == 0:
                asked[k].add(divisor // step)
    return [_chain(cuts - {1, extent}) for cuts, extent in zip(asked, extents, strict=True)]


def _chain(cuts: set[int]) -> list[int]:
    """Cuts in ascending order, without those that are no multiple of the one before."""
    kept: list[int] = []
    for cut in sorted(cuts):
        if not kept or cut % kept[-1] == 0:
            kept.append(cut)
    return kept


def _divisions(expr: AffineExpr) -> Iterator[tuple[AffineExpr, int]]:
    """Every (dividend, constant divisor) of a floordiv or mod in an expression."""
    if isinstance(expr, AffineBinaryOpExpr):
        yield from _divisions(expr.lhs)
        yield from _divisions(expr.rhs)
        if expr.kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod):
            if isinstance(expr.rhs, AffineConstantExpr):
                yield expr.lhs, int(expr.rhs.value)


def _by_dim(
    op: Operation,
    captured: Sequence[Num],
    lows: Sequence[Num],
    cut: _Cut,
    views: Sequence[MemoryView],
    state: State,
) -> Subscripts:
    kinds, maps = literal(op, "per_dim_subscript_kinds"), literal(op, "per_dim_subscript_maps")
    assert isinstance(kinds, ArrayAttr) and isinstance(maps, ArrayAttr)
    inputs = [*captured, *(nm.add(a, v) for a, v in zip(lows, cut.values, strict=True))]
    ranges = {**state.ranges, **{n: (0, e - 1) for n, e in zip(cut.names, cut.extents, strict=True)}}
    direct: list[Num | None] = []
    indices: list[tuple[int, MemoryView, tuple[Num, ...]]] = []
    for d, (kind, amap) in enumerate(zip(kinds, maps, strict=True)):
        try:
            values = affine.apply(amap.data, inputs, ranges)
        except NotLinear as error:
            if any(n in cut.names for n in error.loops):
                raise Refused(
                    "a subscript with this floordiv or mod is not supported",
                    "let the divisor divide the extent of the variable",
                ) from None
            raise
        if kind.value.data:
            indices.append((d, views[1 + len(indices)], tuple(values)))
        direct.append(None if kind.value.data else values[0])
    return Subscripts(cut.names, cut.extents, cut.parts, tuple(direct), tuple(indices))
