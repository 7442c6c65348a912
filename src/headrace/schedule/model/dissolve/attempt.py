"""Author loops become iteration dims: independent iterations side by side, accumulators as reductions.

A value that differs from iteration to iteration is *lifted*: its iterations are laid one after the other
along one of its axes (when the loop walks a view in tiles that touch each other) or along a new leading axis.
Statements are lifted in order; the first that cannot be makes the loop stay a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headrace.schedule.graph import (
    Compute,
    Insert,
    Linear,
    Load,
    Loop,
    PerCore,
    Reshape,
    Statement,
    Store,
    Value,
)
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.dissolve.accumulators import Accumulators
from headrace.schedule.model.dissolve.independence import is_parallel
from headrace.schedule.model.dissolve.lifting import Gathered, Lift, lift_compute
from headrace.schedule.model.dissolve.online import Online
from headrace.schedule.model.dissolve.stays import Stays
from headrace.schedule.model.state import Split, State

SPLIT_LIMIT = 8


def dissolved(loop: Loop, state: State) -> list[Statement]:
    """The statements that do the same as a loop: itself, marked parallel if it is, or statements without it.

    Split: the loop dissolves, but not all tiles run it equally often.
    """
    parallel = is_parallel(loop, state)
    stays: list[Statement] = [replace(loop, is_parallel=parallel and not loop.carried)]
    if not parallel:
        return stays
    trips = np.asarray(loop.trip.values) if isinstance(loop.trip, PerCore) else None
    if trips is not None and len(np.unique(trips)) > SPLIT_LIMIT:
        return stays
    trip = int(trips.max()) if trips is not None else loop.trip
    assert isinstance(trip, int)
    for ways, is_continued in ((Accumulators, False), (Accumulators, True), (Online, True)):
        if state.blocks == "apart" if ways is Online else state.end is not None:
            continue
        try:
            attempt = _Attempt(loop, trip, state, ways(loop, state), is_continued)
            statements = attempt.run()
        except Stays:
            continue
        if trips is not None:
            raise Split(trips)
        state.values.update(attempt.values)
        state.has_blocks |= ways is Online
        return statements
    return stays


@dataclass(frozen=True)
class _Step:
    """How one access moves with the loop: the view (or index view) dim, and by how much per iteration."""

    dim: int
    by: int
    index: int | None = None
    """Number of the `Indirect` whose index view moves; None: the view itself."""


class _Attempt:
    """One try to lift every statement of a loop; `values` are those whose shapes change. May raise Stays."""

    def __init__(self, loop: Loop, trip: int, state: State, gathered: Gathered, is_continued: bool) -> None:
        self.loop, self.trip, self.state = loop, trip, state
        self.gathered, self.is_continued = gathered, is_continued
        self.values: dict[str, Value] = {}
        self.lifts: dict[str, Lift] = {}

    def run(self) -> list[Statement]:
        """The lifted statements; raises Stays."""
        statements: list[Statement] = []
        for s in self.gathered.body:
            if isinstance(s, Load):
                s = self._load(s)
            elif isinstance(s, Store):
                s = self._store(s)
            elif isinstance(s, Compute):
                s = lift_compute(
                    s,
                    self.loop,
                    self.trip,
                    self.lifts,
                    self.gathered,
                    self._lifted,
                    self.state,
                    self.is_continued,
                )
            elif isinstance(s, Reshape):
                self._reshape(s)
            elif isinstance(s, Insert):
                s = self._insert(s)
            else:
                raise Stays
            statements.append(s)
        self.gathered.check(self.lifts)
        return statements

    def _lifted(self, name: str, lift: Lift) -> None:
        """Note that a value is lifted, and its new shape."""
        old = self.state.values[name]
        self.lifts[name] = lift
        if lift.axis is None:
            shape = (self.trip, *old.shape)
        else:
            shape = tuple(n * self.trip if k == lift.axis else n for k, n in enumerate(old.shape))
        self.values[name] = replace(old, shape=shape)

    def _moves(self, s: Load | Store) -> _Step | None:
        """How an access moves; Stays when it moves in more than one place or by its start address."""
        name = self.loop.name
        if name in dict(s.view.start.terms) or any(name in dict(i.index.start.terms) for i in s.indirect):
            raise Stays
        found = [_Step(d, dict(o.terms)[name]) for d, o in enumerate(s.origin) if name in dict(o.terms)]
        for j, i in enumerate(s.indirect):
            found += [
                _Step(d, dict(o.terms)[name], j) for d, o in enumerate(i.origin) if name in dict(o.terms)
            ]
        if len(found) > 1:
            raise Stays
        return replace(found[0], by=found[0].by * self.loop.step) if found else None

    def _load(self, s: Load) -> Load:
        step = self._moves(s)
        if step is None:
            return s
        walk = s.axes if step.index is None else s.indirect[step.index].axes
        axis = self._axis(walk, step, step.index is not None)
        extent = 1 if axis is None else self.state.values[s.value].shape[axis]
        if step.by != extent:
            raise Stays
        self._lifted(s.value, Lift(axis, extent))
        s = self._from_start(s, step)  # type: ignore[assignment]
        if axis is not None:
            return s
        axes: tuple[int | None, ...] = (step.dim if step.index is None else None, *s.axes)
        indirect = tuple(
            replace(
                i,
                axes=tuple(
                    0 if j == step.index and d == step.dim else None if a is None else a + 1
                    for d, a in enumerate(i.axes)
                ),
            )
            for j, i in enumerate(s.indirect)
        )
        return replace(s, axes=axes, indirect=indirect)

    @staticmethod
    def _axis(walk: tuple[int | None, ...], step: _Step, is_index: bool) -> int | None:
        """The value axis that walks the moving dim, if any."""
        if is_index:
            return walk[step.dim]
        return next((k for k, d in enumerate(walk) if d == step.dim), None)

    def _from_start(self, s: Load | Store, step: _Step) -> Load | Store:
        """The access with the loop variable at its first value."""
        if step.index is None:
            origin = tuple(self._at_start(o) if d == step.dim else o for d, o in enumerate(s.origin))
            return replace(s, origin=origin)
        indirect = list(s.indirect)
        moved = indirect[step.index]
        origin = tuple(self._at_start(o) if d == step.dim else o for d, o in enumerate(moved.origin))
        indirect[step.index] = replace(moved, origin=origin)
        return replace(s, indirect=tuple(indirect))

    def _at_start(self, value: Linear) -> Linear:
        factor = dict(value.terms)[self.loop.name]
        rest = replace(value, terms=tuple(t for t in value.terms if t[0] != self.loop.name))
        return linear(nm.add(from_linear(rest), nm.scale(from_linear(self.loop.start), factor)))

    def _store(self, s: Store) -> Store:
        step, lift = self._moves(s), self.lifts.get(s.value)
        if step is None or lift is None or s.indirect:
            raise Stays
        shape = self.state.values[s.value].shape
        axes: list[int | None] = list(s.axes)
        others = [k for k, d in enumerate(axes) if d == step.dim and k != lift.axis]
        if step.by != lift.extent or any(shape[k] != 1 for k in others):
            raise Stays
        if lift.axis is not None and axes[lift.axis] != step.dim and lift.extent != 1:
            raise Stays
        for k in others:
            axes[k] = None
        if lift.axis is None:
            axes = [step.dim, *axes]
        else:
            axes[lift.axis] = step.dim
        return replace(self._from_start(s, step), axes=tuple(axes))  # type: ignore[return-value]

    def _reshape(self, s: Reshape) -> None:
        lift = self.lifts.get(s.source)
        if lift is None:
            return
        if lift.axis is None:
            self._lifted(s.value, lift)
            return
        before = self.state.values[s.source].shape[: lift.axis]
        shape = self.state.values[s.value].shape
        if any(n != 1 for n in before) or not shape:
            raise Stays
        self._lifted(s.value, Lift(0, shape[0]))

    def _insert(self, s: Insert) -> Insert:
        lift = self.lifts.get(s.source)
        if lift != (lift if s.dest is None else self.lifts.get(s.dest)):
            raise Stays
        if lift is None:
            return s
        self._lifted(s.value, lift)
        if lift.axis is None:
            return replace(s, offsets=(0, *s.offsets))
        if s.offsets[lift.axis] or self.state.values[s.value].shape[lift.axis] != lift.extent:
            raise Stays
        return s
