"""Accesses whose loads and stores go on a tape instead of moving bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.access import Access
from headrace.machine.execute.tape.record import Recorder
from headrace.machine.execute.tape.views import Array, NotRecordable


class RecordedAccess(Access):
    """An access whose loads and stores go on the tape."""

    recorder: Recorder

    def load(self, env: Sequence[Any], shape: tuple[int, ...], trips: Sequence[int] = ()) -> Array:
        """A value with the bytes of the box now, [instance, steps, *shape]."""
        views, is_joint = self._views(env, trips)
        times, run = self.shape(env)
        steps = prod((*trips, *times))
        if prod(run) != prod(shape) or not is_joint:
            raise NotRecordable
        out = self.recorder.new((self.count, steps, *shape), self.dtype)
        return self.recorder.add("move", out, [views[0]])

    def store(self, env: Sequence[Any], data: Array, trips: Sequence[int] = ()) -> None:
        """Writes an array of shape [instance, steps, *vector]; lanes beyond the run are dropped."""
        views, is_joint = self._views(env, trips)
        times, run = self.shape(env)
        steps, size = prod((*trips, *times)), prod(run)
        if not is_joint:
            raise NotRecordable
        rows = np.broadcast_to(data, (self.count, steps, *data.shape[2:]))
        if size != prod(data.shape[2:]):
            if rows.ndim != 3 or size > rows.shape[-1]:
                raise NotRecordable
            rows = rows[..., :size]
        self.recorder.add("move", views[0], [rows])

    def copy_to(self, target: Access, env: Sequence[Any], lanes: int) -> None:
        """Moves every vector of this box to `target`."""
        assert isinstance(target, RecordedAccess)
        source, one = self._views(env)
        goal, other = target._views(env)
        if not (one and other) or source[0].size != goal[0].size:
            raise NotRecordable
        self.recorder.add("move", goal[0], [source[0]])

    def _views(self, env: Sequence[Any], trips: Sequence[int] = ()) -> tuple[list[Array], bool]:
        if not self.is_linear:
            raise NotRecordable
        views, is_joint = self.views(env, trips)
        if any(v.size == 0 for v in views):
            raise NotRecordable
        return views, is_joint
