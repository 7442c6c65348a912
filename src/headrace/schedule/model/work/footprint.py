"""Distinct bytes of device memory that accesses touch: runs of addresses, merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Indirect, Load, Store, Value, View
from headrace.schedule.model.work.points import Points

RUN_LIMIT = 1 << 23
"""More runs than this of one access are counted as if they did not overlap."""


@dataclass
class Footprint:
    """Bytes touched, by argument: runs (first byte, byte after the last), counts of those not laid out."""

    runs: dict[str, list[np.ndarray]] = field(default_factory=dict)
    counted: int = 0

    def add(self, s: Load | Store, values: dict[str, Value], points: Points) -> None:
        """Note what an access touches at all its points."""
        if s.view.space != "global" or not len(points):
            return
        shape = values[s.value].shape
        extents = {d: shape[k] for k, d in enumerate(s.axes) if d is not None}
        if s.indirect:
            self.counted += _gathered(s, shape, extents, points)
            return
        walked = [(extents.get(d, 1), stride) for d, stride in enumerate(s.view.strides)]
        self._lay(s.view, points.linear(s.view.start) + _anchor(s.view, s.origin, points), walked)

    def add_index(self, i: Indirect, shape: tuple[int, ...], points: Points) -> None:
        """Note the indices a gather or scatter reads."""
        if i.index.space == "global":
            walked = [
                (1 if a is None else shape[a], stride)
                for a, stride in zip(i.axes, i.index.strides, strict=True)
            ]
            self._lay(i.index, points.linear(i.index.start) + _anchor(i.index, i.origin, points), walked)

    def _lay(self, view: View, starts: np.ndarray, walked: Sequence[tuple[int, int]]) -> None:
        size, starts = itemsize(view.dtype), np.unique(starts)
        outer, length = _coalesced(walked)
        if len(starts) * prod(n for n, _ in outer) > RUN_LIMIT:
            self.counted += min(len(starts) * prod(n for n, _ in walked), prod(view.sizes)) * size
            return
        runs = np.stack([starts, starts + length])
        for n, stride in outer:
            runs = _merged(runs)
            if stride > 0 and np.all(runs[1] - runs[0] >= stride):  # tiles side by side
                runs[1] += (n - 1) * stride
            else:
                runs = (runs[:, :, None] + stride * np.arange(n)).reshape(2, -1)
        self.runs.setdefault(view.arg, []).append(_merged(runs) * size)

    @property
    def size_bytes(self) -> int:
        """Distinct bytes."""
        found = 0
        for runs in self.runs.values():
            starts, ends = _merged(np.concatenate(runs, axis=1))
            found += int((ends - starts).sum())
        return self.counted + found


def _anchor(view: View, origin: Iterable, points: Points) -> np.ndarray:  # type: ignore[type-arg]
    total = np.zeros(len(points), np.int64)
    for o, stride in zip(origin, view.strides, strict=True):
        total = total + points.linear(o) * stride
    return total


def _coalesced(walked: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], int]:
    """Outer (extent, stride) pairs and the length of the contiguous run inside."""
    length = 1
    outer: list[tuple[int, int]] = []
    for n, stride in sorted((w for w in walked if w[0] > 1 and w[1]), key=lambda w: w[1]):
        if stride == length:
            length *= n
        else:
            outer.append((n, stride))
    return outer, length


def _merged(runs: np.ndarray) -> np.ndarray:
    """The union of runs (a row of first places, one of those after the last): runs apart, in order."""
    starts, ends = runs[:, np.argsort(runs[0])]
    ends = np.maximum.accumulate(ends)
    is_first = np.ones(len(starts), bool)
    is_first[1:] = starts[1:] > ends[:-1]
    return np.stack([starts[is_first], ends[np.append(is_first[1:], True)[: len(ends)]]])


def _gathered(s: Load | Store, shape: tuple[int, ...], extents: dict[int, int], points: Points) -> int:
    """Rows asked for, at most those of the table, times their bytes, for every part of a row touched."""
    indexed = {i.view_dim for i in s.indirect}
    row = prod(n for d, n in extents.items() if d not in indexed)
    direct = np.stack(
        [points.linear(o) for d, o in enumerate(s.origin) if d not in indexed] or [points.core * 0]
    )
    _, group = np.unique(direct, axis=1, return_inverse=True)
    asked = np.zeros(int(group.max()) + 1, np.int64)
    for part in range(len(asked)):
        here = group.ravel() == part
        chosen = Points(points.core[here], {n: v[here] for n, v in points.variables.items()})
        for i in s.indirect:
            index = Footprint()
            index.add_index(i, shape, chosen)
            asked[part] = max(asked[part], index.size_bytes // itemsize(i.index.dtype))
    table = prod(s.view.sizes[d] for d in indexed)
    return int(np.minimum(asked, table).sum()) * row * itemsize(s.view.dtype)
