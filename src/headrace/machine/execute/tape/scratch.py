"""Scratchpads and register files as values: of each only what is touched, apart where nothing joins it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headrace.machine.execute.tape.record import VALUES, Op, Recorder
from headrace.machine.execute.tape.views import View

_ALIGNMENT = 64
Ends = tuple[int, int]
"""The first byte and the one behind the last."""


@dataclass(frozen=True)
class _Piece:
    """Bytes of every owner of a region that lie in the value at `start`, `span` for each owner."""

    low: int
    span: int
    start: int


def as_values(ops: Sequence[Op], recorder: Recorder) -> list[Op]:
    """The ops on values only, and on device memory and constants.

    Bytes that no view touches together become values of their own, which live as long as they are used.
    """
    found: dict[int, list[Ends]] = {}
    owners: dict[int, int] = {}
    for view in (v for op in ops for v in (op.out, *op.inputs)):
        if recorder.owner_sizes[view.region]:
            low, high, last = recorder.inside(view)
            found.setdefault(view.region, []).append((low, high))
            owners[view.region] = max(owners.get(view.region, 0), last + 1)
    pieces: dict[int, list[_Piece]] = {}
    for region, ends in found.items():
        for low, high in _joined(ends):
            span = -(-(high - low) // _ALIGNMENT) * _ALIGNMENT
            value = recorder.new((owners[region] * span,), np.dtype(np.uint8))
            start = recorder.view(value).offset
            pieces.setdefault(region, []).append(_Piece(low, span, start))

    def moved(view: View) -> View:
        size = recorder.owner_sizes[view.region]
        if not size:
            return view
        low = recorder.inside(view)[0]
        every = pieces[view.region]
        piece = every[bisect_right([p.low for p in every], low) - 1]
        strides = tuple(s // size * piece.span if s % size == 0 else s for s in view.strides)
        offset = piece.start + view.offset // size * piece.span + view.offset % size - piece.low
        return View(VALUES, offset, view.shape, strides, view.dtype)

    return [replace(op, out=moved(op.out), inputs=tuple(map(moved, op.inputs))) for op in ops]


def _joined(ends: Iterable[Ends]) -> list[Ends]:
    """The ranges of bytes, those that overlap made one, in order."""
    out: list[Ends] = []
    for low, high in sorted(set(ends)):
        if out and low < out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], high)
        else:
            out.append((low, high))
    return out
