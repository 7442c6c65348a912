"""Packs minimalloc's eleven challenging sets into their capacity: `headrace bench packing`.

A set is packed as the scheduler packs: by the exact search, and by constraints where its nodes run out. It
counts when the packing found within 60 s (of one core: either has one thread) passes a check that shares
nothing with them. The gap is how far the scheduler's own quick heuristic ends above the most
bytes alive at one time (no packing is lower).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from headrace.schedule.buffers import Lifetime, live_peak, pack, peak_bytes, read_csv
from headrace.schedule.packing import solve

SETS = Path(__file__).with_name("minimalloc")
ALIGN = 1024
"""All sizes of the sets are multiples of it."""
NODES = 200_000
"""Nodes of the exact search, at most some seconds."""
WORK = 4.0
"""Deterministic time of the constraint solver after it, about ten seconds a unit."""
SECONDS = 60.0
GOAL = 9


def rows() -> list[dict[str, Any]]:
    """Two rows a set, the seconds of its packing (-1 without one) and the heuristic's gap; then how many of
    the sets are packed.
    """
    found: list[dict[str, Any]] = []
    packed = 0
    solve([Lifetime("warm", ALIGN, 0, 0)], ALIGN, ALIGN)
    for path in sorted(SETS.glob("*.csv")):
        name, capacity = path.name.split(".")[:2]
        buffers = read_csv(path.read_text(), path.name)
        start = time.process_time()
        addresses = solve(buffers, int(capacity), ALIGN, NODES, WORK)
        seconds = time.process_time() - start
        if addresses is not None:
            check(buffers, addresses, int(capacity))
        is_met = addresses is not None and seconds <= SECONDS
        packed += is_met
        quick = pack(buffers, 1 << 40, ALIGN)
        assert quick is not None
        check(buffers, quick, 1 << 40)
        gap = peak_bytes(buffers, quick) / live_peak(buffers, ALIGN) - 1
        found += [
            _row(f"{name} packed in", -1.0 if addresses is None else seconds, "s", SECONDS, is_met),
            _row(f"{name} heuristic above live bytes", 100 * gap, "%"),
        ]
    found.append(_row(f"sets of {len(found) // 2} packed", packed, "sets", GOAL, packed >= GOAL))
    return found


def check(buffers: list[Lifetime], addresses: dict[str, int], capacity: int) -> None:
    """Sweep over time and compare neighbours by address; AssertionError if two buffers share a byte."""
    starts, ends = {}, {}
    for buffer in buffers:
        starts.setdefault(buffer.first, []).append(buffer)
        ends.setdefault(buffer.last + 1, []).append(buffer)
    alive: set[Lifetime] = set()
    for step in sorted({*starts, *ends}):
        alive.difference_update(ends.get(step, ()))
        alive.update(starts.get(step, ()))
        stacked = sorted((addresses[b.name], addresses[b.name] + b.bytes, b.name) for b in alive)
        for (_, end, below), (start, _, above) in zip(stacked, stacked[1:], strict=False):
            assert end <= start, f"{below} and {above} share bytes at step {step}"
        if stacked:
            assert stacked[0][0] >= 0 and stacked[-1][1] <= capacity, f"outside the capacity at step {step}"


def _row(
    name: str, value: float, unit: str, target: float | None = None, is_met: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "target": target, "met": is_met}
