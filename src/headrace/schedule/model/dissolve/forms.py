"""What an entry or a value of a loop's body is to a running maximum m: how it changes as m grows.

With m' = max(m, peak), alpha = e^(c (m - m')), p = e^(c (x - m')) and sums s' = alpha s + terms of p, however
the iterations are cut, s is the sum of all terms over the last m. `rows` says which coordinate walks each
axis of m: an axis of a value, or a dim inside a Compute (None: the axis has one element); `own` the same for
a carried sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from headrace.schedule.graph import Access, Axis
from headrace.schedule.model.dissolve.stays import Stays

Place = int | str | None
Kind = Literal["line", "alpha", "prob", "carried", "scaled", "term", "sum", "low"]
ZERO_FROM = -6e4
"""The exponential of this and of anything less, scaled as usual, is 0 in every type."""


@dataclass(frozen=True)
class Form:
    """One of

    - "line": old x m + new x m', plus something else if `data`
    - "alpha", "prob": the exponential `power` = (op, c) of c (m - m') and of x - c m'
    - "carried" s, "scaled" alpha s, "term" a sum of p, "sum" alpha s + terms, `name` being the carried value
    - "low": whether m (old) or m' (new) is minus infinity, if `is_low`, or whether it is not

    `guarded`: no NaN where m' is minus infinity.
    """

    kind: Kind
    rows: tuple[Place, ...]
    old: float = 0.0
    new: float = 0.0
    data: bool = False
    power: tuple[str, float] = ("", 0.0)
    name: str = ""
    own: tuple[Place, ...] = ()
    guarded: bool = False
    is_low: bool = False

    def moved(self, place: Callable[[Place], Place]) -> Form:
        """The form with its coordinates named otherwise."""
        return replace(self, rows=tuple(map(place, self.rows)), own=tuple(map(place, self.own)))

    @property
    def is_maximum(self) -> bool:
        """Whether it is m or m', nothing else."""
        return self.kind == "line" and not self.data and sorted((self.old, self.new)) == [0.0, 1.0]


def places(shape: Sequence[int]) -> tuple[Place, ...]:
    """Where the axes of a value are in itself."""
    return tuple(None if n == 1 else k for k, n in enumerate(shape))


def read(form: Form, access: Access, shape: Sequence[int], extents: Mapping[str, int]) -> Form:
    """The form of a value of this shape where a Compute reads it; Stays if it reads a part of it."""

    def place(axis: Place) -> Place:
        if axis is None:
            return None
        assert isinstance(axis, int)
        found = access.axes[axis]
        if found.dim is None or found.offset or extents[found.dim] != shape[axis]:
            raise Stays
        return found.dim

    return form.moved(place)


def written(form: Form, axes: Sequence[Axis]) -> Form:
    """The form of the value a Compute writes; Stays if an axis of m is lost."""

    def place(dim: Place) -> Place:
        if dim is None:
            return None
        found = [k for k, a in enumerate(axes) if a == Axis(str(dim))]
        if len(found) != 1:
            raise Stays
        return found[0]

    return form.moved(place)


def reshaped(form: Form, before: Sequence[int], after: Sequence[int]) -> Form:
    """The form of a value with unit axes added or dropped; Stays for any other reshape."""
    old, new = ([k for k, n in enumerate(shape) if n != 1] for shape in (before, after))
    if [before[k] for k in old] != [after[k] for k in new]:
        raise Stays
    axes: dict[Place, Place] = dict(zip(old, new, strict=True))
    return form.moved(lambda axis: None if axis is None else axes[axis])


def combined(op: str, args: Sequence[Form | None], numbers: Sequence[float | None]) -> Form:
    """The form of an op of which at least one argument has a form; Stays where there is none.

    `numbers` are the arguments that are numbers. None of both: anything that no iteration before changes.
    """
    match op, list(args):
        case "arith.extf", [Form() as one]:
            return one
        case "arith.truncf", [Form(kind="prob") as one]:
            return one
        case "arith.negf", [Form(kind="line") as one]:
            return _times(one, -1.0)
        case "arith.addf" | "arith.subf", [one, other]:
            return _sum(one, other, 1.0 if op == "arith.addf" else -1.0)
        case "arith.mulf", [one, other]:
            return _product(one, other, numbers)
        case "arith.divf", [Form() as one, None]:
            by = numbers[1]
            return _product(one, None, (None, 1.0 / by if by else None))
        case "math.fma", [one, other, Form() as added]:
            product = None if one is other is None else _product(one, other, numbers)
            return _sum(product, added, 1.0)
        case (("math.exp" | "math.exp2"), [Form(kind="line") as one]):
            return _power(op, one)
        case "arith.select", [condition, one, other]:
            return _chosen(condition, (one, other), numbers[1:])
        case _:
            raise Stays


def _times(line: Form, factor: float) -> Form:
    return replace(line, old=line.old * factor, new=line.new * factor)


def _sum(one: Form | None, other: Form | None, sign: float) -> Form:
    if one is None or other is None:
        line = one or other
        if line is None or line.kind != "line":
            raise Stays
        return replace(line if one else _times(line, sign), data=True)
    if one.rows != other.rows:
        raise Stays
    if one.kind == other.kind == "line":
        by = _times(other, sign)
        parts = [f.guarded for f in (one, other) if f.new]
        guarded, data = bool(parts) and all(parts), one.data or other.data
        return replace(one, old=one.old + by.old, new=one.new + by.new, data=data, guarded=guarded)
    kinds = {one.kind, other.kind}
    if sign < 0 or one.power != other.power:
        raise Stays
    if kinds in ({"scaled", "term"}, {"sum", "term"}):
        grown = one if one.kind != "term" else other
        return replace(grown, kind="sum", guarded=one.guarded and other.guarded)
    if kinds in ({"term"}, {"prob"}):
        return replace(one, guarded=one.guarded and other.guarded)
    raise Stays


def _product(one: Form | None, other: Form | None, numbers: Sequence[float | None]) -> Form:
    if one is not None and other is not None:
        if {one.kind, other.kind} != {"alpha", "carried"}:
            raise Stays
        alpha, carried = (one, other) if one.kind == "alpha" else (other, one)
        return replace(alpha, kind="scaled", name=carried.name, own=carried.own)
    form = one or other
    assert form is not None
    if form.kind == "line":
        number = numbers[1] if one is not None else numbers[0]
        if number is None:
            raise Stays
        return _times(form, number)
    if form.kind in ("prob", "term"):
        return form
    raise Stays


def _power(op: str, line: Form) -> Form:
    if line.data and line.old == 0.0 and line.new < 0.0:
        return replace(line, kind="prob", old=0.0, new=0.0, data=False, power=(op, -line.new))
    if not line.data and line.old > 0.0 and line.new == -line.old:
        return replace(line, kind="alpha", old=0.0, new=0.0, power=(op, line.old))
    raise Stays


def _chosen(
    condition: Form | None, branches: tuple[Form | None, Form | None], numbers: Sequence[float | None]
) -> Form:
    """A select: something hidden, or what stands in for m where it is minus infinity."""
    if (branches[0] is None) == (branches[1] is None):
        raise Stays
    taken = 0 if branches[0] is not None else 1
    form, number = branches[taken], numbers[1 - taken]
    assert form is not None
    if number is None:
        raise Stays
    if condition is None:
        if (form.kind == "prob" and number == 0.0) or (
            form.kind == "line" and form.data and form.new < 0.0 and number <= ZERO_FROM
        ):
            return form
        raise Stays
    if condition.kind != "low" or condition.rows != form.rows or (taken == 1) != condition.is_low:
        raise Stays
    if form.is_maximum and form.new and condition.new and abs(number) < inf:
        return replace(form, guarded=True)
    if form.kind == "alpha" and (number == 0.0 or (number == 1.0 and condition.new)):
        return replace(form, guarded=True)
    if form.kind == "prob" and condition.new and number == 0.0:
        return replace(form, guarded=True)
    raise Stays


def compared(predicate: str, left: Form | None, right: Form | None, numbers: Sequence[float | None]) -> Form:
    """A comparison of m or m' with minus infinity; Stays for any other."""
    form, number = (left, numbers[1]) if left is not None else (right, numbers[0])
    if form is None or not form.is_maximum or number != -inf or (left is not None and right is not None):
        raise Stays
    turned = {"ogt": "olt", "ole": "oge", "ugt": "ult", "ule": "uge"}
    if left is None:
        predicate = {**turned, **{v: k for k, v in turned.items()}}.get(predicate, predicate)
    lows = {
        "oeq": True,
        "ueq": True,
        "ole": True,
        "ule": True,
        "one": False,
        "une": False,
        "ogt": False,
        "ugt": False,
    }
    if predicate not in lows:
        raise Stays
    return replace(form, kind="low", is_low=lows[predicate])
