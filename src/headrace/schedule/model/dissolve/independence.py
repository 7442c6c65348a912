"""Whether the iterations of a loop may run in any order as far as memory is concerned."""

from __future__ import annotations

from headrace.schedule.graph import Load, Loop, Store
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.bodies.body import from_linear
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import everything, has_handovers, same_view

Access = Load | Store


def is_parallel(loop: Loop, state: State) -> bool:
    """Whether no iteration touches what another one writes, or waits for other cores."""
    if has_handovers(loop.body):
        return False
    accesses = [s for s in everything(loop.body) if isinstance(s, Load | Store)]
    written = {(s.view.space, s.view.arg) for s in accesses if isinstance(s, Store)}
    if any((i.index.space, i.index.arg) in written for s in accesses for i in s.indirect):
        return False
    return all(
        _are_disjoint([s for s in accesses if (s.view.space, s.view.arg) == memory], loop, state)
        for memory in written
    )


def _are_disjoint(accesses: list[Access], loop: Loop, state: State) -> bool:
    """All accesses walk one view, and along one dim every iteration keeps to a window of its own."""
    first = accesses[0]
    if any(s.indirect or not same_view(s.view, first.view) for s in accesses):
        return False
    return any(_has_window(accesses, d, loop, state) for d in range(len(first.origin)))


def _has_window(accesses: list[Access], dim: int, loop: Loop, state: State) -> bool:
    origins = [s.origin[dim] for s in accesses]
    factor = dict(origins[0].terms).get(loop.name, 0)
    low, high = None, None
    for s, origin in zip(accesses, origins, strict=True):
        if dict(origin.terms).get(loop.name, 0) != factor:
            return False
        offset = nm.sub(from_linear(origin), from_linear(origins[0]))
        if offset.fixed is None:
            return False
        extent = next((state.values[s.value].shape[k] for k, d in enumerate(s.axes) if d == dim), 1)
        low = offset.fixed if low is None else min(low, offset.fixed)
        high = offset.fixed + extent if high is None else max(high, offset.fixed + extent)
    assert low is not None and high is not None
    return high - low <= abs(factor) * loop.step
