"""Scratchpad addresses: a best-fit packing of buffers by size and lifetime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


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
    floor = _live_peak(buffers, align)
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


def _live_peak(buffers: Sequence[Lifetime], align: int) -> int:
    """The most bytes alive at one step: no packing can be lower."""
    steps = {b.first for b in buffers}
    return max(
        (sum(_round_up(b.bytes, align) for b in buffers if b.first <= s <= b.last) for s in steps), default=0
    )


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align
