"""Scratchpad addresses: a best-fit packing of buffers by size and lifetime."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location


class ScratchpadFull(HeadraceError):
    """Buffers that do not fit the scratchpad: smaller tiles or fewer copies may."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `bytes` (all copies together), alive from step `first` to step `last`, both included."""

    name: str
    bytes: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """True if both are alive at some step."""
        return self.first <= other.last and other.first <= self.last


Range = tuple[int, int]
Order = Callable[[Lifetime], tuple[int, ...]]

ORDERS: tuple[Order, ...] = (
    lambda b: (-b.bytes, b.first, b.last),
    lambda b: (-b.bytes * (b.last - b.first + 1), b.first),
    lambda b: (-(b.last - b.first), -b.bytes, b.first),
    lambda b: (b.first, -b.bytes, b.last),
    lambda b: (-b.last, -b.bytes, b.first),
)


def pack(
    buffers: Sequence[Lifetime], capacity: int, align: int = 128, reserved: Sequence[Range] = ()
) -> dict[str, int] | None:
    """Byte addresses by name such that buffers alive together are disjoint, or None if no tried order fits.

    Addresses are multiples of `align`, ends stay below `capacity`, `reserved` byte ranges [lo, hi) stay
    free. Several orders are tried and the one with the lowest peak wins: deterministic, and tight where one
    order is.
    """
    best: dict[str, int] | None = None
    best_peak = capacity + 1
    floor = live_peak(buffers, align)
    for order in ORDERS:
        placed = _place(sorted(buffers, key=lambda b: (*order(b), b.name)), capacity, align, reserved)
        if placed is None:
            continue
        peak = max((placed[b.name] + b.bytes for b in buffers), default=0)
        if peak < best_peak:
            best, best_peak = placed, peak
        if best_peak <= floor:
            break
    return best


def peak_bytes(buffers: Sequence[Lifetime], addresses: dict[str, int]) -> int:
    """Bytes of the scratchpad up to the end of the highest buffer."""
    return max((addresses[b.name] + b.bytes for b in buffers), default=0)


def live_peak(buffers: Sequence[Lifetime], align: int = 128) -> int:
    """The most bytes alive at one step, sizes rounded up to `align`: no packing can be lower."""
    steps = {b.first for b in buffers}
    return max(
        (sum(_round_up(b.bytes, align) for b in buffers if b.first <= s <= b.last) for s in steps), default=0
    )


def read_csv(text: str, file: str = "<csv>") -> list[Lifetime]:
    """The buffers of a minimalloc problem: a line `id,lower,upper,size` each, alive in [lower, upper).

    Raises HeadraceError naming the line that is not such a row.
    """
    rows = csv.DictReader(io.StringIO(text))
    columns = ("id", "lower", "upper", "size")
    if not rows.fieldnames or not set(columns) <= set(rows.fieldnames):
        raise _bad_row(file, 1, f"the first line names no columns {', '.join(columns)}")
    found: list[Lifetime] = []
    for row in rows:
        try:
            lower, upper, size = (int(row[column]) for column in columns[1:])
        except (TypeError, ValueError):
            raise _bad_row(file, rows.line_num, f"not three whole numbers: {row}") from None
        if lower >= upper or size <= 0:
            raise _bad_row(file, rows.line_num, f"buffer {row['id']} lives never or has no bytes")
        found.append(Lifetime(row["id"], size, lower, upper - 1))
    return found


def _bad_row(file: str, line: int, why: str) -> HeadraceError:
    return HeadraceError(
        Diagnostic(why, Location(file, line, 1), hint="a row is id,lower,upper,size with lower < upper")
    )


def _place(
    order: Iterable[Lifetime], capacity: int, align: int, reserved: Sequence[Range]
) -> dict[str, int] | None:
    placed: list[tuple[int, int, Lifetime]] = []
    addresses: dict[str, int] = {}
    for buffer in order:
        taken = [(lo, hi) for lo, hi, other in placed if buffer.meets(other)]
        address = _best_gap(sorted([*taken, *reserved]), buffer.bytes, capacity, align)
        if address is None:
            return None
        placed.append((address, address + buffer.bytes, buffer))
        addresses[buffer.name] = address
    return addresses


def _best_gap(taken: Sequence[Range], size: int, capacity: int, align: int) -> int | None:
    """The start of the smallest gap between taken ranges that holds `size` bytes (the lowest one of equals),
    else the first free byte behind them; what fits does not depend on how much lies behind.
    """
    found: int | None = None
    slack = capacity + 1
    at = 0
    for lo, hi in taken:
        room = min(lo, capacity) - at - size
        if 0 <= room < slack:
            found, slack = at, room
        at = max(at, _round_up(hi, align))
    if found is None and at + size <= capacity:
        return at
    return found


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align
