"""When two accesses touch the same bytes: at the same iteration, and how many iterations apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headrace.numbers.dtypes import itemsize
from headrace.schedule.lower.index import (
    ZERO,
    Expr,
    Number,
    Term,
    Var,
    entries,
    interval,
    repeated,
    substitute,
    times,
    variables,
)
from headrace.schedule.lower.order.accesses import ANY_COPY, Access, Range
from headrace.schedule.lower.order.swing import Swing, swing


@dataclass(frozen=True)
class Gap:
    """One dim: the second box starts base + sum of coefficient x iteration distance (+ swing) after the
    first.

    The boxes meet along it where -`second` < gap < `first` (their extents).
    """

    base: Number
    moves: tuple[tuple[Var, Number], ...]
    first: Number
    second: Number
    swing: Swing | None = None


@dataclass(frozen=True)
class Turn:
    """Rotation: the copies are equal where (base + sum of moves) mod copies == 0."""

    base: Number
    moves: tuple[tuple[Var, Number], ...]
    copies: int


@dataclass(frozen=True)
class Meeting:
    """Two accesses of one memory as a function of the iteration distance; dims that say nothing are left out.

    `runs` is 0 for instances in which one of them never happens (a loop around it has no iteration).
    """

    gaps: tuple[Gap, ...]
    turn: Turn | None
    runs: Number = 1

    @property
    def instances(self) -> int:
        """For how many instances its numbers are given."""
        moving: list[Gap | Turn] = [*self.gaps, *([self.turn] if self.turn is not None else [])]
        moves = [n for one in moving for n in (one.base, *(c for _, c in one.moves))]
        return longest([self.runs, *moves, *(n for g in self.gaps for n in (g.first, g.second))])

    def at(self, distance: Mapping[Var, int]) -> bool:
        """True if they may touch the same bytes at iterations `distance` apart (steps of each loop
        variable).
        """
        if not distance:
            return any(map(self._is_touching, self._instances()))
        arrays = {var: np.array([[steps]]) for var, steps in distance.items()}
        return bool(self.mask(arrays).any())

    def _instances(self) -> set[tuple[int, ...]]:
        """The numbers of the instances that differ: `runs`, what turns, then three for each gap."""
        turned = self.turn.base if self.turn is not None else 0
        numbers = [self.runs, turned, *(n for g in self.gaps for n in (g.base, g.first, g.second))]
        count = longest(numbers)
        return set(zip(*(repeated(n, count) for n in numbers), strict=True))

    def _is_touching(self, numbers: tuple[int, ...]) -> bool:
        """What `at` answers for an instance at the same iteration."""
        runs, turned, *gaps = numbers
        if runs <= 0 or (self.turn is not None and turned % self.turn.copies):
            return False
        dims = zip(gaps[::3], gaps[1::3], gaps[2::3], strict=True)
        return all(-second < base < first for base, first, second in dims)

    def mask(self, distance: Mapping[Var, np.ndarray]) -> np.ndarray:
        """Return where they meet, [instances, distances], for arrays of distances of shape [1, n] or [1,
        1].
        """
        count = self.instances
        found: np.ndarray = (column(self.runs, count) > 0)[:, :, None]
        for gap in self.gaps:
            value = _value(gap.base, gap.moves, distance, count)[:, :, None]
            if gap.swing is not None and gap.swing.var in distance:
                steps = distance[gap.swing.var]
                value = value + gap.swing.difference(steps)
                found = found & gap.swing.happens(steps)
            first, second = (column(n, count)[:, :, None] for n in (gap.first, gap.second))
            found = found & (value < first) & (-value < second)
        met: np.ndarray = np.any(found, axis=2)
        if self.turn is not None:
            turned = _value(self.turn.base, self.turn.moves, distance, count)
            met = met & (turned % self.turn.copies == 0)
        return met


def longest(numbers: Iterable[Number]) -> int:
    """Return for how many instances numbers are given, all together."""
    return max(len(entries(number)) for number in numbers)


def column(number: Number, count: int) -> np.ndarray:
    """Return the number of each of so many instances, [instances, 1]."""
    return np.array(repeated(number, count), dtype=np.int64)[:, None]


def _value(
    base: Number, moves: Sequence[tuple[Var, Number]], distance: Mapping[Var, np.ndarray], count: int
) -> np.ndarray:
    value = column(base, count)
    for var, coefficient in moves:
        if var in distance:
            value = value + column(coefficient, count) * distance[var]
    return value


def meeting(
    first: Access,
    second: Access,
    loops: Mapping[Var, Range],
    shift: int,
    corelets: int,
    *,
    is_crossing: bool = False,
) -> Meeting | None:
    """Return how `first` and `second` (of the corelet `shift` further on) meet, or None if they never do.

    `loops` are those whose iterations may differ between the two; of all others it is the same iteration.
    `is_crossing`: each of `loops` is around one of both only, its distance is that from its first iteration.
    """
    if first.key != second.key:
        return None
    between = _crossing if is_crossing else _between
    turn = _turn(first, second, loops, shift, corelets, between)
    if (
        turn is not None
        and not turn.moves
        and turn.copies
        and all(b % turn.copies for b in entries(turn.base))
    ):
        return None
    gaps: list[Gap] = []
    for low, size, other_low, other_size in _pairs(first, second, shift, corelets):
        gap = _gap(low, size, other_low, other_size, loops, between)
        if gap is not None and _fits(gap, gaps):
            gaps.append(gap)
    runs = times(first.happens, _rolled(second.happens, shift, corelets))
    return None if runs == 0 else Meeting(tuple(gaps), turn, runs)


def _fits(gap: Gap, gaps: Sequence[Gap]) -> bool:
    """True if a gap swings with the same loop as the others, or not at all: one loop is tabulated at a
    time.
    """
    return gap.swing is None or all(g.swing is None or g.swing.var == gap.swing.var for g in gaps)


Dim = tuple[Expr | None, Expr | None, Expr | None, Expr | None]


def _pairs(first: Access, second: Access, shift: int, corelets: int) -> list[Dim]:
    """Return the boxes dim by dim where both see the memory alike, else as one range of bytes each."""
    a, b = first.memory, second.memory
    alike = (a.dtype, a.shape, a.strides, a.start) == (b.dtype, b.shape, b.strides, b.start)
    if alike and not _wraps(first) and not _wraps(second):
        lows = [_shifted(e, shift, corelets) for e in second.low]
        sizes = [_shifted(e, shift, corelets) for e in second.size]
        return list(zip(first.low, first.size, lows, sizes, strict=True))
    low, size = _flat(first)
    other, extent = _flat(second)
    return [(low, size, _shifted(other, shift, corelets), _shifted(extent, shift, corelets))]


def _wraps(access: Access) -> bool:
    """True if different coordinates of the array may be the same element (overlapping strides)."""
    memory = access.memory
    if memory.buffer is not None:
        return False
    reach = 0
    for stride, extent in sorted(zip(memory.strides, memory.shape, strict=True), key=lambda pair: pair[0]):
        if extent is None:
            return len(memory.shape) > 1
        if extent > 1 and stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def _flat(access: Access) -> tuple[Expr | None, Expr | None]:
    """The range of bytes from the first to the last element of the box."""
    memory = access.memory
    unit = itemsize(memory.dtype)
    low, reach = memory.start, ZERO
    for start, size, stride in zip(access.low, access.size, memory.strides, strict=True):
        if start is None or size is None or stride < 0:
            return None, None
        low = low + start.scaled(stride)
        reach = reach + (size - 1).scaled(stride)
    return low.scaled(unit), (reach + 1).scaled(unit)


def _shifted(expr: Expr | None, shift: int, corelets: int) -> Expr | None:
    """The form as the corelet `shift` further on sees it."""
    if expr is None or not shift:
        return expr
    terms = tuple((_shifted_atom(a, shift, corelets), _rolled(c, shift, corelets)) for a, c in expr.terms)
    return Expr(_rolled(expr.const, shift, corelets), terms)


def _shifted_atom(atom: Var | Term, shift: int, corelets: int) -> Var | Term:
    if isinstance(atom, Var):
        return atom
    left, right = _shifted(atom.left, shift, corelets), _shifted(atom.right, shift, corelets)
    assert left is not None and right is not None
    return Term(atom.op, left, right)


def _rolled(number: Number, shift: int, corelets: int) -> Number:
    if isinstance(number, int):
        return number
    if not shift:
        return number
    count = len(number)
    return tuple(number[place % count] for place in _places(count, shift, corelets))


@lru_cache(maxsize=256)
def _places(count: int, shift: int, corelets: int) -> tuple[int, ...]:
    """Where each instance finds the one of its core that is `shift` corelets further on."""
    return tuple(i - i % corelets + (i % corelets + shift) % corelets for i in range(count))


Moves = tuple[tuple[Var, Number], ...]
Between = Callable[[Expr, Expr, Mapping[Var, Range]], tuple[Number | None, Moves | None]]


def _between(low: Expr, other: Expr, loops: Mapping[Var, Range]) -> tuple[Number | None, Moves | None]:
    """How far another position is from one at the same iteration, and what each iteration adds; None where
    that is not known.
    """
    difference = other - low
    return difference.const if difference.is_number else None, _moves(other, loops)


def _crossing(low: Expr, other: Expr, loops: Mapping[Var, Range]) -> tuple[Number | None, Moves | None]:
    """The same where each loop moves one of both only, from the first iterations on."""
    difference = other - low
    at_first = substitute(difference, {var: loop.low for var, loop in loops.items()})
    moves = _moves(difference, loops)
    return at_first.const if at_first.is_number and moves is not None else None, moves


def _gap(
    low: Expr | None,
    size: Expr | None,
    other: Expr | None,
    extent: Expr | None,
    loops: Mapping[Var, Range],
    between: Between,
) -> Gap | None:
    """One dim of a meeting, or None if the dim cannot tell the boxes apart."""
    if low is None or size is None or other is None or extent is None:
        return None
    base, moves = between(low, other, loops)
    first, second = _bound(size), _bound(extent)
    if base is None or first is None or second is None:
        return None
    if moves is not None:
        return Gap(base, moves, first, second)
    bent = [(atom, c) for atom, c in other.terms if isinstance(atom, Term) and _depends(atom, loops)]
    if any(not isinstance(c, int) for _, c in bent):
        return None
    swung = swing(tuple((atom, c) for atom, c in bent if isinstance(c, int)), loops)
    moves = _moves(Expr(0, tuple(t for t in other.terms if t not in bent)), loops)
    return None if swung is None or moves is None else Gap(base, moves, first, second, swung)


def _bound(size: Expr) -> Number | None:
    if size.is_number:
        return size.const
    ends = interval(size, {})
    if ends is not None:
        return ends[1]
    if size.const == 0 and len(size.terms) == 1 and isinstance(size.terms[0][0], Term):
        term = size.terms[0][0]
        arms = [arm.const for arm in (term.left, term.right) if arm.is_number]
        return arms[0] if term.op == "min" and arms and size.terms[0][1] == 1 else None
    return None


def _moves(expr: Expr, loops: Mapping[Var, Range]) -> Moves | None:
    """What one more iteration of each loop adds to a form; None if the form is not linear in one of them."""
    moves = []
    for atom, c in expr.terms:
        if isinstance(atom, Var):
            if atom in loops:
                step = loops[atom].step
                if not step.is_number:
                    return None
                moves.append((atom, times(c, step.const)))
        elif _depends(atom, loops):
            return None
    return tuple(moves)


def _depends(atom: Term, loops: Mapping[Var, Range]) -> bool:
    return any(var in loops for var in variables(Expr(0, ((atom, 1),))))


def _turn(
    first: Access, second: Access, loops: Mapping[Var, Range], shift: int, corelets: int, between: Between
) -> Turn | None:
    buffer = first.memory.buffer
    a, b = first.memory.copy, _shifted(second.memory.copy, shift, corelets)
    if buffer is None or buffer.copies == 1 or b is None or ANY_COPY in (a, b):
        return None
    a, b = _unwrapped(a, buffer.copies), _unwrapped(b, buffer.copies)
    base, moves = between(a, b, loops)
    return None if base is None or moves is None else Turn(base, moves, buffer.copies)


def _unwrapped(copy: Expr, copies: int) -> Expr:
    """The form inside `mod copies`, or the copy number itself."""
    if copy.const == 0 and len(copy.terms) == 1:
        atom, c = copy.terms[0]
        if isinstance(atom, Term) and atom.op == "mod" and c == 1 and atom.right == Expr(copies):
            return atom.left
    return copy
