"""A tape made ready to play: what nobody needs left out, values given places, tables of instructions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.machine.execute.blas import product_address
from headrace.machine.execute.tape.fused import fused
from headrace.machine.execute.tape.groups import aheads, grouped
from headrace.machine.execute.tape.places import in_place, placed
from headrace.machine.execute.tape.products import folded
from headrace.machine.execute.tape.record import CONSTANTS, DEVICE, Op, Recorder
from headrace.machine.execute.tape.rows import DIMS, FUNCTIONS, PRODUCTS, Row, Spot, row_of
from headrace.machine.execute.tape.scratch import as_values
from headrace.machine.execute.tape.slabs import slabs
from headrace.machine.execute.tape.stores import direct, parts
from headrace.machine.execute.tape.views import Array

COLUMNS = 1 + DIMS + 3 * (1 + DIMS) + 1
_FREE = frozenset(f for f in FUNCTIONS if f not in PRODUCTS and f != "move" and not f.startswith("row_"))
"""Functions that work element by element."""
_ALIGNMENT = 64
MOST_VALUE_BYTES = 1 << 27
"""Bytes of values at one time above which a run is not played from a tape."""


@dataclass
class Prepared:
    """The groups of a tape in order, the place of every value, the bytes of all of them."""

    groups: list[list[Row]]
    places: Mapping[int, int]
    value_bytes: int
    constants: bytes


def prepare(recorder: Recorder) -> Prepared | None:
    """The tape of a recorded run; None if it takes too much memory."""
    ops = direct(recorder, fused(recorder, folded(recorder, _needed(recorder.ops))), _FREE)
    plain: list[Op] = []
    for op in ops.values():
        if op.function == "product":
            plain += slabs(op, recorder)
        else:
            plain += parts(op) if op.function == "concatenate" else [op]
    has_blas = product_address() is not None
    rows = [row_of(op, recorder, has_blas) for op in as_values(plain, recorder)]
    groups = in_place(list(grouped(rows)))
    places, total = placed(groups)
    if total > MOST_VALUE_BYTES:
        return None
    return Prepared(groups, places, total, bytes(recorder.constants) or bytes(_ALIGNMENT))


def _needed(ops: Sequence[Op]) -> list[int]:
    """The ops that write device memory and all they read, in order."""
    wanted = [op.out.region == DEVICE for op in ops]
    for number in range(len(ops) - 1, -1, -1):
        if wanted[number]:
            for other in ops[number].needs:
                wanted[other] = True
    return [k for k, want in enumerate(wanted) if want]


# ---- playing -----------------------------------------------------------------------------------------------
class Player:
    """A prepared tape bound to memories; `play` runs it again."""

    def __init__(self, prepared: Prepared, device: Array) -> None:
        self._lock = threading.Lock()
        self._memories = {
            -1 - DEVICE: device,
            -1 - CONSTANTS: _aligned(np.frombuffer(prepared.constants, np.uint8)),
        }
        self.value_bytes = prepared.value_bytes
        self._values = _aligned(np.zeros(prepared.value_bytes, np.uint8))
        self._places = prepared.places
        self._steps: list[tuple[Callable[..., None], Sequence[Any]]] = []
        run: list[list[Row]] = []
        for group in [*prepared.groups, None]:
            if group is not None and group[0].kernel is None:
                run.append(group)
                continue
            if run:
                self._steps.append(self._compiled(run))
            if group is not None:
                kernel = group[0].kernel
                assert kernel is not None
                self._steps.append((kernel, self._arrays(group[0])))
            run = []

    def play(self) -> None:
        """Runs every step."""
        with self._lock:
            for function, arrays in self._steps:
                function(*arrays)

    def _at(self, spot: Spot) -> tuple[Array, int]:
        """The memory of a spot and the byte in it."""
        space, offset = spot
        return (self._values, self._places[space] + offset) if space >= 0 else (self._memories[space], offset)

    def _arrays(self, row: Row) -> list[Array]:
        return [
            np.ndarray(v.shape, v.dtype, *self._at(spot), v.strides)
            for v, spot in zip(row.views, row.spots, strict=True)
        ]

    def _compiled(self, groups: Sequence[list[Row]]) -> tuple[Callable[..., None], Sequence[Any]]:
        """The compiled machine and its tables for groups that follow each other."""
        from headrace.machine.execute.tape.vm import play

        flat = [row for group in groups for row in group]
        table = np.zeros((len(flat), COLUMNS), np.int64)
        for r, row in enumerate(flat):
            table[r, 0] = FUNCTIONS[row.function]
            table[r, 1 : 1 + DIMS] = [d[0] for d in row.dims]
            for k, spot in enumerate(row.spots):
                at = (1 + DIMS) * (k + 1)
                memory, offset = self._at(spot)
                table[r, at] = int(memory.__array_interface__["data"][0]) + offset
                table[r, at + 1 : at + 1 + DIMS] = [d[k + 1] for d in row.dims]
        table[:, -1] = [ahead for group in groups for ahead in aheads(group)]
        return play, (table, np.cumsum([0, *map(len, groups)], dtype=np.int64), product_address() or 0)


def _aligned(x: Array) -> Array:
    """A copy that begins with a line of the cache."""
    whole = np.zeros(len(x) + _ALIGNMENT, np.uint8)
    at = -int(whole.__array_interface__["data"][0]) % _ALIGNMENT
    out = whole[at : at + len(x)]
    out[...] = x
    return out
