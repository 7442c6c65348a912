"""Which runs are played from a tape: those repeated with the same arguments, once they have taken a while.

The compiled machine costs some 0.3 s to load and seconds to compile the first time ever (then it is kept on
disk), so that a process that runs programs once never meets it.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.machine.execute.access import NotUniform
from headrace.machine.execute.arenas import borrow, drop, give_back
from headrace.machine.execute.tape.views import NotRecordable
from headrace.machine.image import Image
from headrace.numbers.memory import Memory

if TYPE_CHECKING:
    from headrace.machine.execute.tape.program import Player

PATIENCE_S = 1.0
"""Seconds that the runs of an image have to take before they are written down."""
_KEPT = 4
"""Tapes kept of one image, the ones used last."""
_MOST_RECORDINGS = 16
"""Recordings of an image after which its arguments are taken to change all the time."""


@dataclass
class _Tapes:
    """What is known about an image: players by memory and arguments, None where only seen."""

    found: OrderedDict[Any, Player | None] = field(default_factory=OrderedDict)
    seconds: float = 0.0
    recordings: int = 0
    is_refused: bool = False


_TAPES: dict[int, _Tapes] = {}
_LOCK = threading.Lock()


def played(image: Image, memory: Memory, scalars: dict[str, Any]) -> bool:
    """Plays the run from its tape, which is made if the run is worth one; whether it did."""
    with _LOCK:
        tapes = _TAPES.get(id(image))
        if tapes is None or tapes.is_refused or tapes.seconds < PATIENCE_S:
            return False
        key = (id(memory.bytes), tuple(sorted(scalars.items())))
        is_known = key in tapes.found
        player = tapes.found.setdefault(key, None)
        tapes.found.move_to_end(key)
        while len(tapes.found) > _KEPT:
            tapes.found.popitem(last=False)
        if not is_known:
            return False
        if player is None:
            tapes.recordings += 1
            player = recorded(image, memory, scalars) if tapes.recordings <= _MOST_RECORDINGS else None
            if player is None:
                tapes.is_refused = True
                tapes.found.clear()
                return False
            tapes.found[key] = player
            drop()
    player.play()
    return True


def took(image: Image, seconds: float) -> None:
    """Notes how long a run without a tape has taken."""
    with _LOCK:
        if id(image) not in _TAPES:
            _TAPES[id(image)] = _Tapes()
            weakref.finalize(image, _TAPES.pop, id(image), None)
        _TAPES[id(image)].seconds += seconds


def recorded(image: Image, memory: Memory, scalars: dict[str, Any]) -> Player | None:
    """The run as a tape bound to this memory; None for one that a tape cannot repeat.

    That is: control that depends on data, indirect accesses, scratchpads whose bytes outlive the run, and
    whatever else would not be the same bytes to the bit.
    """
    if any(s.lx_in or s.lx_out for s in image.schedules):
        return None
    from headrace.machine.execute.tape.program import Player, prepare
    from headrace.machine.execute.tape.running import Recording

    pads = borrow(image)
    try:
        run = Recording(image, memory.size_bytes, scalars, pads)
        for schedule in image.schedules:
            run.schedule(schedule)
        prepared = prepare(run.recorder)
        return None if prepared is None else Player(prepared, memory.bytes)
    except (NotRecordable, NotUniform):
        return None
    finally:
        give_back(pads)
