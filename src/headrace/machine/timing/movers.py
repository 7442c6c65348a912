"""Where the time of units went whose data moves while their program goes on: two lists of intervals,
merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.machine.timing.unit import CAUSES, SimulatedUnit

Program = Sequence[tuple[int, int, str]]
"""What the program did: (start, end, cause), in order, not overlapping."""
Moves = Sequence[tuple[int, int, int]]
"""When data moved: (start, end, ticks it would have taken alone), in order, not overlapping."""


def spent(unit: SimulatedUnit) -> dict[str, int]:
    """Return the ticks a unit spent by cause, idle left out."""
    if not unit.is_mover:
        return dict(unit.spent)
    found = merged(unit.program, unit.moves)
    return {cause: found[cause] + unit.skipped.get(cause, 0) for cause in CAUSES}


def merged(program: Program, moves: Moves) -> dict[str, int]:
    """Return ticks by cause: a mover is busy as long as its data would take alone, slower than that is
    bandwidth; what its program did counts while no data moves.
    """
    total = dict.fromkeys(CAUSES, 0)
    for start, end, alone in moves:
        total["busy"] += alone
        total["bandwidth"] += end - start - alone
    ahead = iter([*moves, (1 << 200, 1 << 200, 0)])
    begin, stop, _ = next(ahead)
    for start, end, cause in program:
        at = start
        while at < end:
            while stop <= at:
                begin, stop, _ = next(ahead)
            free = min(end, begin)
            if free > at:
                total[cause] += free - at
                at = free
            if at < end:
                at = min(end, max(at, stop))
    return total


def repeat(
    unit: SimulatedUnit, since: tuple[int, int], skipped: Mapping[str, int], period: int, times: int
) -> None:
    """Append what happened since two list lengths `times` times more, `period` apart; `skipped` are the sums
    there were then of what was not kept as intervals.

    The last rounds are kept as intervals, as many as the program may be ahead of the data (what follows may
    overlap them); of those before only the sums are kept.
    """
    for cause, sum_ in list(unit.skipped.items()):
        unit.skipped[cause] = sum_ + times * (sum_ - skipped.get(cause, 0))
    program, moves = list(unit.program), list(unit.moves)
    first, second = program[since[0] :], moves[since[1] :]

    def with_rounds(turns: Sequence[int]) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, int]]]:
        later = [period * turn for turn in turns]
        return (
            program + [(start + t, end + t, cause) for t in later for start, end, cause in first],
            moves + [(start + t, end + t, alone) for t in later for start, end, alone in second],
        )

    ends = [entries[-1][1] for entries in (program, moves) if entries]
    kept = 3 + -(-(max(ends, default=0) - min(ends, default=0)) // period)
    if times <= kept + 1:
        unit.program, unit.moves = with_rounds(range(1, times + 1))
        return
    unit.program, unit.moves = with_rounds(range(times - kept + 1, times + 1))
    some, more = merged(*with_rounds(range(1, kept + 1))), merged(*with_rounds(range(1, kept + 2)))
    stored = merged(unit.program, unit.moves)
    for cause in CAUSES:
        whole = more[cause] + (times - kept - 1) * (more[cause] - some[cause])
        unit.skipped[cause] = unit.skipped.get(cause, 0) + whole - stored[cause]
