"""What is done for neighbouring parts of a tensor one after the other is done for both at once.

A loop over rows whose step does not divide them leaves a shorter last step behind it: the same statements,
for the rows that follow. As one, they are tiled as if the author had not cut them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headrace.schedule.graph import (
    Axis,
    Compute,
    Dim,
    Linear,
    Load,
    Loop,
    Out,
    Scalar,
    Statement,
    Store,
    Value,
    View,
)
from headrace.schedule.model.statements import changed, coordinate, makes, reads, same_view
from headrace.schedule.phases.linear import add, scale

Walk = tuple[int | None, Linear, Linear]
"""The value axis that walks a dim of a view (None: it stays), and where it starts in two statements."""


def joined(body: Iterable[Statement], values: dict[str, Value]) -> tuple[Statement, ...]:
    """The block with such parts made one; `values` get the shapes of both parts together."""
    done = tuple(replace(s, body=joined(s.body, values)) if isinstance(s, Loop) else s for s in body)
    while (shorter := _once(done, values)) is not None:
        done = shorter
    return done


def _once(body: tuple[Statement, ...], values: dict[str, Value]) -> tuple[Statement, ...] | None:
    """The block with its first two such parts made one; None if there are none."""
    stores = [n for n, s in enumerate(body) if isinstance(s, Store)]
    for k, end in enumerate(stores):
        for last in stores[k + 1 :]:
            if not same_view(body[end].view, body[last].view):  # type: ignore[union-attr]
                continue
            second = range(end + 1, last + 1)
            first = _counterpart(body, end, second)
            if first and (found := _stretched(body, first, second, values)) is not None:
                return found
    return None


def _counterpart(body: Sequence[Statement], end: int, second: range) -> list[int]:
    """As many statements up to `end` as the second part has, leaving out those it depends on."""
    needed = {name for n in second for name in reads(body[n])}
    own: list[int] = []
    for n in range(end, -1, -1):
        if makes(body[n]) & needed:
            needed |= reads(body[n])
        elif len(own) < len(second):
            own.insert(0, n)
    return own if len(own) == len(second) else []


def _stretched(
    body: tuple[Statement, ...], first: list[int], second: range, values: dict[str, Value]
) -> tuple[Statement, ...] | None:
    """The block with the second part gone and the first one grown by it, if both do the same for neighbours
    and nothing else sees which of them comes first.
    """
    parts = [body[n] for n in (*first, *second)]
    if not all(isinstance(s, Load | Store | Compute) for s in parts) or _is_ordered(body, first, second):
        return None
    made = {name for s in parts for name in makes(s)}
    others = (s for n, s in enumerate(body) if n not in first and n not in second)
    if any(made & reads(s) for s in others):
        return None
    match = Match(values)
    grown: dict[int, Statement] = {}
    for n, m in zip(first, second, strict=True):
        statement = match.statement(body[n], body[m])
        if statement is None:
            return None
        grown[n] = statement
    if not any(match.axes.get(s.value) is not None for s in grown.values() if isinstance(s, Store)):
        return None
    values.update(match.shapes)
    return tuple(grown.get(n, s) for n, s in enumerate(body) if n not in second)


def _is_ordered(body: Sequence[Statement], first: list[int], second: range) -> bool:
    """Whether a memory that one part or a statement between them writes is read or written twice."""
    span = [body[n] for n in range(first[0], second[-1] + 1)]
    written = [(s.view.space, s.view.arg) for n in first if isinstance(s := body[n], Store)]
    between = changed(body[n] for n in range(first[0], second[0]) if n not in first)
    read = {(v.space, v.arg) for s in span if isinstance(s, Load) for v in _views(s)}
    return len(set(written)) < len(written) or bool(read & ({*written} | between))


def _views(s: Load) -> list[View]:
    return [s.view, *(i.index for i in s.indirect)]


@dataclass
class Match:
    """Two lists of statements compared in order; `axes` are the axes along which values continue (None: they
    are the same), `shapes` the values of both together.
    """

    values: Mapping[str, Value]
    pairs: dict[str, str] = field(default_factory=dict)
    axes: dict[str, int | None] = field(default_factory=dict)
    shapes: dict[str, Value] = field(default_factory=dict)

    def statement(self, one: Statement, other: Statement) -> Statement | None:
        """The first statement grown by the second, None if that does not continue it."""
        if isinstance(one, Load) and isinstance(other, Load):
            axis = self._moved(one, other)
            is_new = axis != -1 and self._note(one.value, other.value, axis)
            return one if is_new else None
        if isinstance(one, Store) and isinstance(other, Store):
            axis = self._moved(one, other)
            same = self.pairs.get(one.value) == other.value and self.axes.get(one.value) == axis
            return one if same else None
        if isinstance(one, Compute) and isinstance(other, Compute):
            return self._compute(one, other)
        return None

    def _note(self, one: str, other: str, axis: int | None) -> bool:
        """Remember that a value continues another; False if their other axes differ."""
        mine, theirs = self.values[one], self.values[other]
        shape = list(mine.shape)
        if axis is not None:
            shape[axis] = theirs.shape[axis]
        if tuple(shape) != theirs.shape or mine.dtype != theirs.dtype:
            return False
        if axis is not None:
            shape[axis] += mine.shape[axis]
        self.pairs[one], self.axes[one] = other, axis
        self.shapes[one] = replace(mine, shape=tuple(shape))
        return True

    def _moved(self, one: Load | Store, other: Load | Store) -> int | None:
        """The axis along which the second box follows the first, None if they are the same, -1 if neither."""
        if not same_view(one.view, other.view) or one.axes != other.axes:
            return -1
        walks: list[Walk] = list(zip(_dims_of(one), one.origin, other.origin, strict=True))
        if len(one.indirect) != len(other.indirect):
            return -1
        for a, b in zip(one.indirect, other.indirect, strict=True):
            if not same_view(a.index, b.index) or (a.view_dim, a.axes) != (b.view_dim, b.axes):
                return -1
            walks += zip(a.axes, a.origin, b.origin, strict=True)
        shape = self.values[one.value].shape
        found: dict[int, set[bool]] = {}
        for axis, start, after in walks:
            is_moved = start != after
            if is_moved and (axis is None or add(after, scale(start, -1)) != Linear(shape[axis])):
                return -1
            if axis is not None:
                found.setdefault(axis, set()).add(is_moved)
        moved = [axis for axis, kinds in found.items() if True in kinds]
        if len(moved) > 1 or any(len(found[axis]) > 1 for axis in moved):
            return -1
        return moved[0] if moved else None

    def _compute(self, one: Compute, other: Compute) -> Compute | None:
        if [d.kind for d in one.dims] != [d.kind for d in other.dims]:
            return None
        dims = {a.name: b.name for a, b in zip(one.dims, other.dims, strict=True)}
        grown: set[str | None] = set()
        for a, b in zip(one.ins, other.ins, strict=False):
            grown |= self._walked(a.value, b.value, a.axes, b.axes, dims)
        for out, theirs in zip(one.outs, other.outs, strict=False):
            if isinstance(out.init, str) and isinstance(theirs.init, str):
                grown |= self._walked(out.init, theirs.init, out.axes, theirs.axes, dims)
        alike = (len(one.ins), len(one.outs), one.contraction) == (len(other.ins), len(other.outs), None)
        if not alike or len(grown) > 1 or None in grown:
            return None
        dim = next(iter(grown), None) or ""
        extents = [b.extent if a.name == dim else a.extent for a, b in zip(one.dims, other.dims, strict=True)]
        if extents != [d.extent for d in other.dims] or not self._same_body(one, other, dims, dim):
            return None
        if any(d.name == dim and d.kind != "parallel" for d in one.dims):
            return None
        if not all(self._result(a, b, dims, dim) for a, b in zip(one.outs, other.outs, strict=True)):
            return None
        return replace(one, dims=tuple(_longer(a, b, dim) for a, b in zip(one.dims, other.dims, strict=True)))

    def _walked(
        self, one: str, other: str, mine: Sequence[Axis], theirs: Sequence[Axis], dims: Mapping[str, str]
    ) -> set[str | None]:
        """The dim that walks the axis along which a value continues; {None} if the accesses differ."""
        renamed = [Axis(dims[a.dim] if a.dim is not None else None, a.offset) for a in mine]
        is_pair = self.pairs.get(one) == other
        if renamed != list(theirs) or not (is_pair or one == other):
            return {None}
        axis = self.axes[one] if is_pair else None
        if axis is None:
            return set()
        return {mine[axis].dim if mine[axis].offset == 0 else None}

    def _result(self, one: Out, other: Out, dims: Mapping[str, str], dim: str) -> bool:
        renamed = tuple(Axis(dims[a.dim] if a.dim is not None else None, a.offset) for a in one.axes)
        is_number = not isinstance(one.init, str)
        if renamed != other.axes or (is_number and one.init != other.init):
            return False
        if (one.result, one.combiner) != (other.result, other.combiner):
            return False
        axes = [k for k, a in enumerate(one.axes) if a.dim == dim]
        if dim and (len(axes) != 1 or one.axes[axes[0]].offset):
            return False
        if isinstance(one.init, str) and self.axes.get(one.init) != (axes[0] if dim else None):
            return False
        return self._note(one.value, other.value, axes[0] if dim else None)

    def _same_body(self, one: Compute, other: Compute, dims: Mapping[str, str], dim: str) -> bool:
        """Whether the bodies are the same, coordinates along the dim going on where the first end."""
        extent = next((d.extent for d in one.dims if d.name == dim), 0)

        def expected(s: Scalar) -> Scalar:
            if s.op != "index":
                return s
            along, offset = coordinate(s)
            at = add(offset, extent) if along is not None and along == dim else offset
            return replace(s, attr=(dims[along] if along is not None else None, at))

        mine = [replace(expected(s), where=one.where) for s in one.body]
        return mine == [replace(s, where=one.where) for s in other.body]


def _dims_of(s: Load | Store) -> list[int | None]:
    """For every dim of the view the value axis that walks it."""
    return [next((k for k, d in enumerate(s.axes) if d == dim), None) for dim in range(len(s.origin))]


def _longer(one: Dim, other: Dim, dim: str) -> Dim:
    return replace(one, extent=one.extent + other.extent) if one.name == dim else one
