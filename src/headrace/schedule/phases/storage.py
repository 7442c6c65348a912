"""Where values lie: in an argument, in a scratch argument or in the scratchpad, addressed by strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from headrace.schedule.graph import Axis, Indirect, Linear, Load, Store
from headrace.schedule.phases.linear import add, scale

ROW = 1 << 40
"""The stride a row of a gather stands for where only the order of strides counts."""

Kind = Literal["argument", "scratch", "lx", "tile"]


@dataclass(frozen=True)
class Storage:
    """Element (a0, a1, ...) of a value lies at base + sum of a_k x strides[k], in elements of `dtype` of
    memory `name`.

    `indirect` lists the dims of a gather or scatter: (stride, Indirect), the loaded integer times the
    stride is added;
    `rows` is the extent of the first of them.
    """

    kind: Kind
    name: str
    dtype: str
    base: Linear
    strides: tuple[int, ...]
    indirect: tuple[tuple[int, Indirect], ...] = ()
    rows: int = 1


def of_access(statement: Load | Store) -> Storage:
    """Return where the value of a Load comes from or the value of a Store goes to."""
    view = statement.view
    found = {i.view_dim for i in statement.indirect}
    strides = tuple(0 if axis is None else view.strides[axis] for axis in statement.axes)
    direct = [
        (o, s) for d, (o, s) in enumerate(zip(statement.origin, view.strides, strict=True)) if d not in found
    ]
    base = add(view.start, *(scale(o, s) for o, s in direct))
    indirect = tuple((view.strides[i.view_dim], i) for i in statement.indirect)
    rows = view.sizes[statement.indirect[0].view_dim] if statement.indirect else 1
    return Storage("argument", view.arg, view.dtype, base, strides, indirect, rows)


def packed(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the row-major strides of a shape, in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def restrided(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of the same bytes seen in another shape of equal size, or None if only a copy can
    do that.
    """
    runs: list[list[int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = [runs[-1][0] * extent, stride]
        else:
            runs.append([extent, stride])
    found = [0] * len(target)
    at = len(runs) - 1
    left, step = (runs[at][0], runs[at][1]) if runs else (1, 0)
    for k in reversed(range(len(target))):
        if target[k] == 1:
            continue
        if left == 1 and at > 0:
            at -= 1
            left, step = runs[at]
        if left % target[k]:
            return None
        found[k] = step
        left, step = left // target[k], step * target[k]
    return tuple(found)


@dataclass(frozen=True)
class Surface:
    """An access as addresses: element index = base + sum over dims of coordinate x strides[dim].

    `indirect` are the dims (with their strides in the index) that walk a table of indices instead.
    """

    base: Linear
    strides: tuple[tuple[str, int], ...]
    indirect: tuple[tuple[str, int], ...] = ()

    def stride(self, dim: str) -> int:
        """Return the elements between neighbours along a dim (0: the access does not move with it).

        Dims that choose a row through an index count as slower than all others, in the order of the index.
        """
        return self._steps.get(dim, 0)

    @cached_property
    def _steps(self) -> dict[str, int]:
        direct = {d: s for d, s in self.strides if s}
        return {d: s * ROW for d, s in self.indirect} | direct

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The dims the access moves with, largest stride first."""
        slow = sorted(self.indirect, key=lambda item: -item[1])
        return tuple(d for d, _ in (*slow, *sorted(self.strides, key=lambda item: -item[1])))


def surface(storage: Storage, axes: Sequence[Axis]) -> Surface:
    """Return the addresses an access with these axes touches in a storage."""
    strides: dict[str, int] = {}
    base = storage.base
    for axis, stride in zip(axes, storage.strides, strict=True):
        base = add(base, axis.offset * stride, scale(axis.moved, stride))
        if axis.dim is not None:
            strides[axis.dim] = strides.get(axis.dim, 0) + stride
    return Surface(base, tuple((d, s) for d, s in strides.items() if s))


def index_storage(found: Indirect, rank: int) -> Storage:
    """Return where the indices of a gather lie, by the axes of the value of `rank` axes."""
    view = found.index
    base = add(view.start, *(scale(o, s) for o, s in zip(found.origin, view.strides, strict=True)))
    strides = [0] * rank
    for axis, stride in zip(found.axes, view.strides, strict=True):
        if axis is not None:
            strides[axis] += stride
    return Storage("argument", view.arg, view.dtype, base, tuple(strides))
