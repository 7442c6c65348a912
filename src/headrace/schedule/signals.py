"""Signals between units, and the conflicting accesses that they order.

Within a block, unit A signals B after position `send` and B waits before position `receive`. `credits` > 0
makes the edge loop-carried: B may run that many iterations ahead, which A grants in advance before the loop
`around` and B takes back after it. For every ordered pair of units sends and waits have the same order: one
counter a pair suffices.

Where both happen at one position, B waits for carried edges first and A signals them last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Path = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """Signals from `sender` to `receiver`; between units of corelets, to the corelet `shift` further on."""

    sender: str
    receiver: str
    shift: int = 0


@dataclass(frozen=True)
class Edge:
    """One signal per run of the block at path `block`; `around` is the loop whose ends carry the credits.

    Of its credits a loop takes over `taken` from the loop before and passes `passed` on to the next; the
    sender grants the others before position `grant` of the block around at the earliest. At the positions
    `leaves` between both loops the receiver waits for one signal each, which is then one credit less.
    """

    pair: Pair
    block: Path
    send: int
    receive: int
    credits: int = 0
    around: Path | None = None
    taken: int = 0
    leaves: tuple[int, ...] = ()
    passed: int = 0
    grant: int = 0


@dataclass(frozen=True, order=True)
class Apart:
    """The fewest iterations between two meetings; not exact: 1, because nothing better is known."""

    iterations: int
    is_exact: bool = True


@dataclass(frozen=True, eq=False)
class Conflict:
    """Access of the sender at path `first`, of the receiver at path `second`, that may touch the same bytes.

    `together(depth)`: do they meet in the same iteration of the outermost `depth` loops around both?
    `apart(outer, depth)`: the fewest iterations of the nest of loops outer..depth-1, the outermost
    advancing, between two meetings; None if they never meet. `trips(depth)`: how often the loop around both
    that many loops lie around runs; None if that is not one known number. `crosses(depth, firsts, seconds)`:
    do they meet where the loops of each below `depth` stand at the iterations [pairs, loops]?
    """

    first: Path
    second: Path
    together: Callable[[int], bool]
    apart: Callable[[int, int], Apart | None]
    trips: Callable[[int], int | None]
    crosses: Callable[[int, np.ndarray, np.ndarray], bool]
