"""What every unit does to device memory: one touch an op and box, loops as further times of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from headrace.schedule.verify.programs.events import Event, Touch, Work
from headrace.schedule.verify.programs.linear import Linear, NotLinear, Number, Unclear
from headrace.schedule.verify.programs.program import Program
from headrace.schedule.verify.programs.transfers import TRANSFERS
from headrace.schedule.verify.programs.values import Handle, Scope, is_device

MOST_BOXES = 4096
"""Steps that move along several dims at once are taken apart into so many boxes at most."""

MOST_APART = 256
"""So many touches of an op stay apart, more become the boxes around them."""


@dataclass(frozen=True)
class Reach:
    """Device memory that touch number `place` of an op of a unit covers in all its runs together (one of the
    boxes).
    """

    handle: Handle
    touch: Touch
    op: Any
    place: int

    @property
    def core(self) -> int:
        return self.handle.core


def sweeps(programs: Mapping[Handle, Any], scopes: Mapping[Handle, Scope]) -> list[Reach]:
    """Return what every unit touches of device memory."""
    found: list[Reach] = []
    for handle, program in programs.items():
        if scopes[handle].asked(program, _views_device):
            scope = scopes[handle].copy()
            found += _reaches(handle, _Sweep(scope, None).events(program.region.block.ops))
    return found


def motions(reaches: Sequence[Reach]) -> dict[int, Any]:
    """Return how the accesses of every core to device memory move: all about them but where they begin."""
    found: dict[int, list[Any]] = {}
    for r in reaches:
        view, touch = r.touch.view, r.touch
        layout = (view.strides, view.itemsize, view.shape)
        motion = (id(r.op), r.place, touch.extents, touch.times, touch.is_indirect, layout)
        found.setdefault(r.core, []).append(motion)
    return {core: tuple(moves) for core, moves in found.items()}


def _views_device(program: Any) -> bool:
    views = (op for op in program.region.walk() if op.name == "dataflow.get_logical_memory_view")
    return any(is_device(op.unit) for op in views)


def _reaches(handle: Handle, events: Iterator[Event]) -> Iterator[Reach]:
    boxes: dict[tuple[Any, int], list[Touch]] = {}
    for event in events:
        if isinstance(event, Work):
            for place, touch in enumerate(event.touches):
                if touch.view.memory.kind == "hbm":
                    boxes.setdefault((event.op, place), []).extend(_boxes(touch))
    for (op, place), touches in boxes.items():
        for touch in touches if len(touches) <= MOST_APART else _merged(touches):
            yield Reach(handle, touch, op, place)


def _boxes(touch: Touch) -> Iterator[Touch]:
    """The touch as touches whose steps move along one dim each."""
    slanted = [time for time in touch.times if sum(map(bool, time[1])) > 1]
    count = 1
    for n, _ in slanted:
        count *= n
    if not slanted or count > MOST_BOXES:
        yield touch
        return
    straight = tuple(time for time in touch.times if time not in slanted)
    for at in product(*(range(n) for n, _ in slanted)):
        moves = [[k * m for m in move] for k, (_, move) in zip(at, slanted, strict=True)]
        low = tuple(map(sum, zip(touch.low, *moves, strict=True)))
        yield replace(touch, low=low, times=straight)


def _merged(touches: list[Touch]) -> list[Touch]:
    """The boxes around touches of one op, joined along the last dim they move in where they touch."""
    merged: list[Touch] = []
    for touch in touches:
        first, end = touch.hull()
        extents = tuple(b - a for a, b in zip(first, end, strict=True))
        box = Touch(touch.view, touch.is_write, first, extents, (), touch.is_indirect)
        if merged and (joined := _join(merged[-1], box)) is not None:
            merged[-1] = joined
        else:
            merged.append(box)
    return merged


def _join(a: Touch, b: Touch) -> Touch | None:
    if a.view != b.view:
        return None
    apart = [d for d in range(len(a.low)) if (a.low[d], a.extents[d]) != (b.low[d], b.extents[d])]
    if not apart:
        return a
    if len(apart) > 1:
        return None
    d = apart[0]
    low, high = min(a.low[d], b.low[d]), max(a.low[d] + a.extents[d], b.low[d] + b.extents[d])
    if high - low > a.extents[d] + b.extents[d]:
        return None
    lows = tuple(low if k == d else x for k, x in enumerate(a.low))
    extents = tuple(high - low if k == d else x for k, x in enumerate(a.extents))
    return Touch(a.view, a.is_write, lows, extents, (), a.is_indirect)


class _Sweep(Program):
    """Runs a loop once with its variable as a linear value; iteration by iteration where that decides
    anything.
    """

    def loop(self, op: Any) -> Iterator[Event]:
        if not self.scope.asked(op, _moves_data):
            return
        low, high, step = (self.scope[v] for v in (op.lb, op.ub, op.step))
        if any(isinstance(n, Linear) for n in (low, high, step)):
            raise NotLinear
        count = max(0, -(-(high - low) // step))
        if not any(v in self.scope.known for v in op.iter_args):
            try:
                self.scope.known[op.body.block.args[0]] = Linear(low, {op: step}, {op: count})
                found = [_swept(e) for e in self.events(op.body.block.ops)] if count > 1 else None
            except NotLinear:
                found = None
            if found is not None:
                yield from found
                return
        yield from super().loop(op)

    def signal(self, op: Any) -> Iterator[Event]:
        return iter(())


def _swept(event: Event) -> Event:
    """A transfer in a loop over linear values, its touches in numbers."""
    if not isinstance(event, Work):
        return event
    return replace(event, touches=tuple(map(_in_numbers, event.touches)), script=())


def _in_numbers(touch: Touch) -> Touch:
    """A touch of device memory whose corner is linear, with the loops as times."""
    if touch.view.memory.kind != "hbm":
        return touch
    lows: tuple[Number, ...] = touch.low
    if not isinstance(touch.view.start, int) or any(isinstance(value, Unclear) for value in lows):
        raise NotLinear
    moving = [value for value in lows if isinstance(value, Linear)]
    if not moving:
        return touch
    counts = {loop: value.counts[loop] for value in moving for loop in value.slopes}
    slopes = [value.slopes if isinstance(value, Linear) else {} for value in lows]
    times = tuple((count, tuple(s.get(loop, 0) for s in slopes)) for loop, count in counts.items())
    low = tuple(value.base if isinstance(value, Linear) else int(value) for value in lows)
    return replace(touch, low=low, times=(*touch.times, *times))


def _moves_data(loop: Any) -> bool:
    """Whether anything in a loop touches memory."""
    return any(op.name in TRANSFERS and op.name.startswith("agen.") for op in loop.body.walk())
