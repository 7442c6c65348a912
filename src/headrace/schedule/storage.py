"""Where values lie: bytes of an argument, of a scratch argument or of a scratchpad buffer, addressed by strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.schedule.graph import Axis, Indirect, Linear, Load, Store
from headrace.schedule.linear import add, scale

Kind = Literal["argument", "scratch", "lx"]


@dataclass(frozen=True)
class Storage:
    """Element (a0, a1, ...) of a value lies at base + sum of a_k x strides[k], in elements of `dtype` of memory `name`.

    `indirect` lists the dims of a gather or scatter: (stride, Indirect), the loaded integer times the stride is added.
    """

    kind: Kind
    name: str
    dtype: str
    base: Linear
    strides: tuple[int, ...]
    indirect: tuple[tuple[int, Indirect], ...] = ()


def of_access(statement: Load | Store) -> Storage:
    """Return where the value of a Load comes from or the value of a Store goes to."""
    view = statement.view
    strides = tuple(0 if axis is None else view.strides[axis] for axis in statement.axes)
    base = add(view.start, *(scale(o, s) for o, s in zip(statement.origin, view.strides, strict=True)))
    indirect = tuple((view.strides[i.view_dim], i) for i in statement.indirect)
    return Storage("argument", view.arg, view.dtype, base, strides, indirect)


def packed(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the row-major strides of a shape, in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def restrided(shape: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of the same bytes seen in another shape of equal size, or None if only a copy can do that."""
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
    """An access as addresses: element index = base + sum over dims of coordinate x strides[dim]."""

    base: Linear
    strides: tuple[tuple[str, int], ...]

    def stride(self, dim: str) -> int:
        """Return the elements between neighbours along a dim (0: the access does not move with it)."""
        return dict(self.strides).get(dim, 0)

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims the access moves with, largest stride first."""
        return tuple(d for d, _ in sorted(self.strides, key=lambda item: -item[1]))


def surface(storage: Storage, axes: Sequence[Axis]) -> Surface:
    """Return the addresses an access with these axes touches in a storage."""
    strides: dict[str, int] = {}
    base = storage.base
    for axis, stride in zip(axes, storage.strides, strict=True):
        base = add(base, axis.offset * stride)
        if axis.dim is not None:
            strides[axis.dim] = strides.get(axis.dim, 0) + stride
    return Surface(base, tuple((d, s) for d, s in strides.items() if s))
