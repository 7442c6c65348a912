"""Tile loops: the parts of an iteration space that run as equal tiles, and tails as code of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod

from headrace.schedule.build.emitter import Emitter
from headrace.schedule.build.indices import Index


@dataclass(frozen=True)
class Part:
    """Equal tiles: for each tiled dim its first coordinate, how many tiles and their extent; `tile` gives
    all extents.
    """

    runs: tuple[tuple[str, int, int, int], ...]
    tile: Mapping[str, int]

    @property
    def trips(self) -> int:
        """How many tiles the part has."""
        return prod(count for _, _, count, _ in self.runs)


def parts(extents: Mapping[str, int], tile: Mapping[str, int], unit: Mapping[str, int]) -> list[Part]:
    """Return the parts of a space, whole tiles first; the tail of a dim with a `unit` is cut once more at
    its multiple.
    """
    choices: list[list[tuple[str, int, int, int]]] = []
    for dim, size in tile.items():
        extent, step = extents[dim], unit.get(dim, 1)
        size = size if size % step == 0 else max(size // step * step, min(size, step))
        runs = [(dim, 0, extent // size, size)]
        start = extent // size * size
        whole = (extent - start) // step * step
        if whole and whole < extent - start:
            runs.append((dim, start, 1, whole))
            start += whole
        if start < extent:
            runs.append((dim, start, 1, extent - start))
        choices.append(runs)
    return [Part(runs, {dim: size for dim, _, _, size in runs}) for runs in product(*choices)]


def tapered(dim: str, sizes: Sequence[int], alone: int = 0) -> list[Part]:
    """Return the parts of a dim cut into tiles of these sizes in order; the first `alone` are parts by
    themselves.
    """
    found: list[Part] = []
    start = 0
    for number, size in enumerate(sizes):
        if found and number > alone and found[-1].tile[dim] == size:
            (_, first, count, _) = found[-1].runs[0]
            found[-1] = Part(((dim, first, count + 1, size),), {dim: size})
        else:
            found.append(Part(((dim, start, 1, size),), {dim: size}))
        start += size
    return found


def first_apart(part: Part) -> list[Part]:
    """Return a part of tiles along one dim as two: its first tile, and the others if there are any."""
    ((dim, start, count, size),) = part.runs
    found = [Part(((dim, start, 1, size),), part.tile)]
    return found if count == 1 else [*found, Part(((dim, start + size, count - 1, size),), part.tile)]


@contextmanager
def tile_loop(emit: Emitter, part: Part, name: str) -> Iterator[tuple[dict[str, Index], Index]]:
    """Open the loop over the tiles of a part; yields the first coordinate of every dim and the number of
    the tile.
    """
    if part.trips == 1:
        yield {dim: Index(start) for dim, start, _, _ in part.runs}, Index(0)
        return
    with emit.loop(part.trips, name) as number:
        yield _origin(emit, part, number), number


def _origin(emit: Emitter, part: Part, number: Index) -> dict[str, Index]:
    origin: dict[str, Index] = {}
    inner = part.trips
    for dim, start, count, size in part.runs:
        if count == 1:
            origin[dim] = Index(start)
            continue
        outer, inner = inner, inner // count
        digit = number if outer == part.trips else emit.remainder(number, outer)
        origin[dim] = emit.quotient(digit, inner) * size + start
    return origin
