"""Whether a schedule is simulated in machine code: by what either way costs, and what was missed so far."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headrace.machine.timing.activities import Body, Repeat, Stream, Transfer
from headrace.machine.timing.fold import CoreClass, activities
from headrace.machine.timing.unit import SimulatedUnit

STREAM_S, MESSAGE_S = 2e-4, 5e-8
"""Seconds a stream costs the engine, which leaps over its messages, and a message costs compiled."""
PATIENCE_S = 1.0
"""Seconds to be saved before the compiled code is loaded, which takes half of that from disk and several on
first use ever.
"""
_LOADED = "headrace.machine.timing.compiled.advance"


class Missed:
    """What machine code would have saved in this process, in seconds by estimate."""

    seconds = 0.0


def compilable(units: Sequence[SimulatedUnit]) -> list[SimulatedUnit]:
    """Return the units that can run compiled; none if one of the others has streams."""
    found = []
    for unit in units:
        kinds = {type(one) for one in activities(unit.stack[0][0])}
        if not unit.is_mover and Transfer not in kinds:
            found.append(unit)
        elif Stream in kinds:
            return []
    return found


def is_worth(classes: Sequence[CoreClass]) -> bool:
    """Return whether machine code simulates the classes faster, and is loaded or has been missed for long."""
    known: dict[int, tuple[int, int]] = {}
    streams = messages = 0
    for one in classes:
        for body in one.bodies.values():
            count = _counted(body, known)
            streams, messages = streams + count[0], messages + count[1]
    saved = STREAM_S * streams - MESSAGE_S * messages
    if saved <= 0:
        return False
    if _LOADED in sys.modules:
        return True
    Missed.seconds += saved
    return Missed.seconds > PATIENCE_S


def _counted(body: Body, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """(streams opened, messages in and out) of a body."""
    if id(body) not in known:
        streams = messages = 0
        for one in body:
            if isinstance(one, Stream):
                streams += 1
                messages += one.count * sum(len(p.takes) + len(p.gives) for p in one.phases)
            elif isinstance(one, Repeat):
                inside = _counted(one.body, known)
                streams, messages = streams + one.count * inside[0], messages + one.count * inside[1]
        known[id(body)] = streams, messages
    return known[id(body)]
