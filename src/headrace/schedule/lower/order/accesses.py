"""Which parts of memory the stages of a control tree touch, as boxes over the loop variables around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from math import gcd, inf

from headrace.schedule.lower.index import (
    ONE,
    ZERO,
    Expr,
    Number,
    Var,
    combine,
    entries,
    interval,
    substitute,
    times,
    variables,
    zip_numbers,
)
from headrace.schedule.lower.tree import (
    Block,
    Buffer,
    Handover,
    Indirect,
    Loop,
    Memory,
    Node,
    Place,
    PointLoop,
    Transfer,
    trips,
)

Path = tuple[int, ...]
"""Where an item of the tree stands: its position in each block from the root on."""


@dataclass(frozen=True)
class Range:
    """The values of one loop variable: `count` values from `low` on by `step`."""

    var: Var
    low: Expr
    count: Expr
    step: Expr


@dataclass(frozen=True)
class Access:
    """A read or write of a box by a unit kind; None in `low` or `size` means anywhere along that dim.

    `loops` of the tree and `points` of the stage are around it, from outside to inside; `node` is the
    position in the stage's body.
    """

    unit: str
    path: Path
    pipeline: int
    is_write: bool
    memory: Memory
    low: tuple[Expr | None, ...]
    size: tuple[Expr | None, ...]
    loops: tuple[Range, ...]
    points: tuple[Range, ...]
    node: int = 0
    _hulls: dict[int, Access] = field(init=False, default_factory=dict, compare=False, repr=False)
    _runs: list[list[tuple[int, int, int]]] = field(
        init=False, default_factory=list, compare=False, repr=False
    )

    @cached_property
    def key(self) -> Buffer | str:
        """What must be equal for two accesses to meet: the buffer, or the argument's name."""
        return self.memory.buffer or self.memory.argument

    @cached_property
    def view(self) -> tuple[object, ...] | None:
        """How it sees its buffer as an array, None if it is of device memory."""
        memory = self.memory
        if memory.buffer is None:
            return None
        return memory.buffer, memory.dtype, memory.shape, memory.strides, memory.start

    @cached_property
    def happens(self) -> Number:
        """1 for instances in which all loops around it have iterations, as far as that is known."""
        found: Number = 1
        for around in (*self.loops, *self.points):
            if around.count.is_number and min(entries(around.count.const)) <= 0:
                found = zip_numbers(lambda a, n: a if n > 0 else 0, found, around.count.const)
        return found

    @cached_property
    def reach(self) -> tuple[tuple[float, float], ...]:
        """From where to where it reaches along each dim, over all its loops."""
        swept = hull(self, 0)
        return tuple(_ends(low, size) for low, size in zip(swept.low, swept.size, strict=True))


def accesses(block: Block, path: Path = (), loops: tuple[Range, ...] = ()) -> Iterator[Access]:
    """Yield every access of a control tree in text order."""
    for position, item in enumerate(block):
        here = (*path, position)
        if isinstance(item, Loop):
            around = Range(item.var, item.low, item.trips, item.step)
            yield from accesses(item.body, here, (*loops, around))
            continue
        if isinstance(item, Handover):
            continue
        for node, part in enumerate(item.body):
            for is_write, place, points in _touched((part,), ()):
                yield Access(
                    unit=item.unit,
                    path=here,
                    pipeline=item.pipeline,
                    is_write=is_write,
                    memory=place.memory,
                    low=place.corner,
                    size=place.sizes,
                    loops=loops,
                    points=points,
                    node=node,
                )


def _touched(
    nodes: Iterable[Node], points: tuple[Range, ...]
) -> Iterator[tuple[bool, Place, tuple[Range, ...]]]:
    for node in nodes:
        if isinstance(node, PointLoop):
            here = Range(node.var, node.low, trips(node.low, node.high, node.step), node.step)
            yield from _touched(node.body, (*points, here))
        elif isinstance(node, Transfer):
            if isinstance(node.source, Place):
                yield False, node.source, points
            if isinstance(node.target, Place):
                yield True, node.target, points
        elif isinstance(node, Indirect):
            yield False, node.index, points
            table = _any_row(node)
            yield node.kind == "scatter", table, points
            yield node.kind == "gather", node.tile, points


def _any_row(node: Indirect) -> Place:
    """The table of a gather: every row may be touched."""
    table = node.table
    extents = tuple(
        Expr(e) if e is not None else s for e, s in zip(table.memory.shape, table.sizes, strict=True)
    )
    corner = tuple(ZERO if d == node.dim else c for d, c in enumerate(table.corner))
    sizes = tuple(extents[d] if d == node.dim else s for d, s in enumerate(table.sizes))
    return Place(table.memory, corner, sizes)


def hull(access: Access, depth: int) -> Access:
    """Return the access over all values of its loops below the first `depth`: `low` names only outer
    variables.
    """
    found = access._hulls.get(depth)
    if found is not None:
        return found
    if depth < len(access.loops):
        found = _widen(hull(access, depth + 1), access.loops[depth])
    else:
        found = access
        for inner in reversed(access.points):
            found = _widen(found, inner)
    access._hulls[depth] = found
    return found


def is_far(one: Access, other: Access) -> bool:
    """Whether two accesses that see a buffer alike never touch the same, whatever the loops and copies
    are.
    """
    if not _sees_alike(one, other):
        return False
    for (low, last), (first, end) in zip(one.reach, other.reach, strict=True):
        if low >= end or first >= last:
            return True
    return False


def is_between(one: Access, other: Access) -> bool:
    """Whether two accesses that see a buffer alike go in equal steps, each in the gaps of the other."""
    return _sees_alike(one, other) and any(
        period and (second - first) % period >= reach and (first - second) % period >= width
        for runs, others in zip(_runs(one), _runs(other), strict=True)
        for first, reach, pace in runs
        for second, width, step in others
        if (period := gcd(pace, step))
    )


def _sees_alike(one: Access, other: Access) -> bool:
    """Whether two accesses see one buffer as the same array."""
    return one.view is not None and one.view == other.view


def _runs(access: Access) -> list[list[tuple[int, int, int]]]:
    """Along each dim, the ways to see the boxes of an access as one that repeats: where one begins, its
    extent, what divides all distances to the others. Loops with short steps may count as part of a box.
    """
    if not access._runs:
        loops = {r.var: r for r in (*access.loops, *access.points)}
        dims = zip(access.low, access.size, strict=True)
        access._runs.extend(_repeated(low, size, loops) for low, size in dims)
    return access._runs


def _repeated(low: Expr | None, size: Expr | None, loops: Mapping[Var, Range]) -> list[tuple[int, int, int]]:
    if low is None or size is None or not size.is_number or not isinstance(size.const, int):
        return []
    start, moves = low.const, list[tuple[int, int]]()
    if not isinstance(start, int):
        return []
    for var, factor in low.terms:
        around = loops.get(var) if isinstance(var, Var) else None
        if around is None or not all(e.is_number for e in (around.low, around.step, around.count)):
            return []
        first, step, count = around.low.const, around.step.const, around.count.const
        if not all(isinstance(n, int) for n in (factor, first, step, count)) or factor * step < 0:  # type: ignore[operator]
            return []
        start += factor * first  # type: ignore[operator]
        moves.append((factor * step, count))  # type: ignore[arg-type,operator]
    moves.sort()
    reaches = accumulate((pace * (count - 1) for pace, count in moves), initial=size.const)
    paces = [gcd(*(pace for pace, _ in moves[k:])) for k in range(len(moves) + 1)]
    return [(start, reach, pace) for reach, pace in zip(reaches, paces, strict=True)]


def _ends(low: Expr | None, size: Expr | None) -> tuple[float, float]:
    if low is None or size is None or not low.is_number or not size.is_number:
        return -inf, inf
    return min(entries(low.const)), max(entries((low + size).const))


def _widen(access: Access, over: Range) -> Access:
    last = over.low + combine("mul", over.count - 1, over.step)
    lows: list[Expr | None] = []
    sizes: list[Expr | None] = []
    for low, size in zip(access.low, access.size, strict=True):
        bigger = None if size is None else _highest(size, over.var, over.low, last)
        moved = None if low is None or bigger is None else _sweep(low, bigger, over, last)
        lows.append(moved[0] if moved else None)
        sizes.append(moved[1] if moved else None)
    copy = access.memory.copy
    if over.var in variables(copy):
        memory = replace(access.memory, copy=ANY_COPY)
        return replace(access, memory=memory, low=tuple(lows), size=tuple(sizes))
    return replace(access, low=tuple(lows), size=tuple(sizes))


def renamed(access: Access, outer: int, inner: int) -> Access:
    """Return the access with new variables for its loops outer..inner-1."""
    new = {r.var: Var(f"{r.var.name} before") for r in access.loops[outer:inner]}
    forms = {var: Expr(0, ((other, 1),)) for var, other in new.items()}
    changed = [
        tuple(form if form is None else substitute(form, forms) for form in dims)
        for dims in (access.low, access.size)
    ]
    loops = tuple(
        Range(new.get(r.var, r.var), *(substitute(form, forms) for form in (r.low, r.count, r.step)))
        for r in access.loops
    )
    memory = replace(access.memory, copy=substitute(access.memory.copy, forms))
    return replace(access, memory=memory, low=changed[0], size=changed[1], loops=loops)


ANY_COPY = Expr(-1)
"""The copy of an access that rotates inside the loops it is widened over."""


def _sweep(low: Expr, size: Expr, over: Range, last: Expr) -> tuple[Expr, Expr] | None:
    moving = [(atom, c) for atom, c in low.terms if _depends(atom, over.var)]
    if not moving:
        return low, size
    if len(moving) == 1 and moving[0][0] == over.var:
        coefficient = moving[0][1]
        signs = {x > 0 for x in entries(coefficient)}
        if len(signs) == 1:
            first = over.low if True in signs else last
            reach = combine("mul", over.count - 1, over.step).scaled(
                coefficient if True in signs else times(coefficient, -1)
            )
            return substitute(low, {over.var: first}), size + reach
    rest = Expr(low.const, tuple(t for t in low.terms if t not in moving))
    ends = interval(Expr(0, tuple(moving)), _bounds(over, last))
    return (rest + ends[0], size + (ends[1] - ends[0])) if ends else None


def _highest(size: Expr, var: Var, low: Expr, last: Expr) -> Expr | None:
    """An upper bound of `size` that does not name `var`."""
    if var not in variables(size):
        return size
    span = Range(var, low, ONE, ONE)
    ends = interval(size, _bounds(span, last))
    return Expr(ends[1]) if ends else _arm(size)


def _arm(size: Expr) -> Expr | None:
    """The constant arm of a min: a bound that holds whatever the rest is."""
    if size.const == 0 and len(size.terms) == 1:
        term, c = size.terms[0]
        if not isinstance(term, Var) and term.op == "min" and c == 1:
            return term.left if term.left.is_number else (term.right if term.right.is_number else None)
    return None


def _bounds(over: Range, last: Expr) -> dict[Var, tuple[int, int]]:
    lows, highs = interval(over.low, {}), interval(last, {})
    return {over.var: (lows[0], max(highs[1], lows[0]))} if lows and highs else {}


def _depends(atom: object, var: Var) -> bool:
    return var in variables(Expr(0, ((atom, 1),)))  # type: ignore[arg-type]
