"""Cycles of an image: `time(image, scalars, device)`.

The way of an image through this room: `expand` walks its programs and prices what they do (`prices`,
`steps`, `transfers`, `access`; `influence` says which integers matter) into `activities`; `fold` makes
classes of alike cores; `engine` runs one core of each class (`unit`, `fifo`, `wiring`; `inflight` and
`fluid` for what shares device memory, ports and rings) and leaps where it can: `steady` and `solve` over
iterations of coupled streams, `rounds` over rounds of the whole schedule, or runs units in machine code
(`compiled`) where that takes less; `result` and `movers` account for every cycle, `deadlock` says who waits
for whom. With recording on, `causes` say why each moment came when it did, and `path` reads the critical path
off them.
"""

from headrace.machine.timing.path import Link, Stretch, stretches
from headrace.machine.timing.result import Interval, Timing, UnitTime
from headrace.machine.timing.simulate import time

__all__ = ["Interval", "Link", "Stretch", "Timing", "UnitTime", "stretches", "time"]
