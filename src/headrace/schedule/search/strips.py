"""Which strips are tried where values between phases do not fit the scratchpad."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from math import prod

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import CoreClass
from headrace.schedule.phases.cuts import extent
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.peaks import GRAIN
from headrace.schedule.phases.strips import Strips
from headrace.schedule.search.homes import live_bytes
from headrace.schedule.search.pricing import rates

ROWS = (128, 64, 32, 16, 8)
"""Rows of a strip that are tried, the most first."""

LOOP_ROWS = (1024, 512, 256, *ROWS)
"""The same where every strip runs a loop that carries values: what the loop loads comes once a strip."""

BLOCKS = (256, 128, 64)
"""Columns of a softmax that come at a time where whole rows of them do not fit."""

AHEAD = 128
"""The same where scores are computed one block ahead: of two blocks they are kept."""

STEPS = {8: 3}
"""Steps in which columns grow where a mask hides some, and by how many of them the results of early steps are
stored later than they are computed: with 8 steps, 1/16 of all points is computed in vain.
"""

MORE_STEPS = {16: 7}
"""The same for more effort: half as much in vain, twice the program to make."""


def choices(part: CoreClass, without: Container[str], effort: int = 1) -> Iterator[list[list[Strips]]]:
    """Yield the strips to try, those first whose factors stay in the scratchpad; of an inner list, the first
    that fits is better than the others. From effort 2 on, `MORE_STEPS` are tried, too.
    """
    found = extent(part)
    if found is None:
        return
    if found.is_loop:
        fitting = [rows for rows in LOOP_ROWS if rows < found.rows and found.rows % rows == 0]
        yield [[Strips(rows, kept=False) for rows in fitting]]
        return
    sizes = [rows for rows in ROWS if rows < found.rows]
    delays = {1: 0}
    if found.has_triangle:
        delays = STEPS | MORE_STEPS if effort > 1 else STEPS
    yield [
        [Strips(rows, steps, True, ahead, late=n, waiting=k) for rows in sizes]
        for steps, delay in delays.items()
        for ahead, n, k in _paces(steps, delay, without)
    ]
    steps = max(STEPS) if found.has_triangle else 1
    if not found.has_softmax:
        yield [[Strips(rows, steps, False) for rows in sizes]]
        return
    taller = even_rows(found.rows)
    turns = [(n, False) for n in BLOCKS]
    if "double-buffering" not in without:
        turns.append((AHEAD, True))
    yield [[Strips(rows, steps, False, ahead, block=n) for rows in taller] for n, ahead in turns]


def _paces(steps: int, delay: int, without: Container[str]) -> list[tuple[bool, int, int]]:
    """Whether strips begin one ahead, by how many steps results are late, those of how many steps wait."""
    if "double-buffering" in without:
        return [(False, 0, 0)]
    most = steps - delay if delay and "pacing" not in without else 0
    late = [(True, delay, n) for n in (most - 1, most) if n > 0]
    return [*late, (False, 0, 0), (True, 0, 0)] if late else [(True, 0, 0), (False, 0, 0)]


def even_rows(extent: int) -> list[int]:
    """Return the rows of strips that share out so many rows evenly, the most first."""
    counts = range(2, -(-extent // GRAIN) + 1)
    even = {-(-extent // count // GRAIN) * GRAIN for count in counts}
    low = {rows for rows in ROWS if rows < GRAIN}
    return sorted((rows for rows in even | low if rows < extent and rows <= LOOP_ROWS[0]), reverse=True)


def first_fitting(
    several: Sequence[Strips], outlined: Callable[[Strips], Outline], guess: int, room: int
) -> int:
    """Return the number of the first of several strips, the most rows first, whose values between phases
    leave room for phases.

    Tried first is a guess, then where a line through what the last two take meets the room, until what fits
    is where the line says.
    """
    low, high = 0, len(several)  # none before `low` fits, all from `high` on do
    points, at = [(0, 0)], guess
    while low < high:
        at = min(max(at, low), high - 1)
        strips, made = several[at], outlined(several[at])
        size = max(live_bytes(made, dict.fromkeys(made.homes, "lx"), strips.block > 0))
        if size < room:
            high = at
        else:
            low = at + 1
        points.append((strips.rows, size))
        (less, before), (rows, taken) = points[-2:]
        most = rows + (room - taken) * (rows - less) / ((taken - before) or 1)
        at = sum(other.rows > most for other in several)
        if high <= at and high < len(several) and len(points) > 2:
            break
    return high


def scratch_cycles(made: Outline, kinds: dict[str, str], cores: int, device: Device) -> float:
    """Return the cycles device memory needs to write values of all cores once and to read them once."""
    values = [made.names.values[v] for v, kind in kinds.items() if kind == "scratch"]
    size = float(sum(prod(v.shape) * itemsize(v.dtype) for v in values) * cores)
    return rates(device).cycles(size, size, 0.0, 0.0)
