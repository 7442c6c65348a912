"""Tiles that do the same up to numbers are one piece; how its numbers change from round to round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headrace.schedule.graph import Linear, Loop, Number, PerCore, Statement, Value
from headrace.schedule.model.statements import everything, linears, renamed, with_numbers


@dataclass(frozen=True, eq=False)
class Piece:
    """What a set of tiles does; numbers that differ are `PerCore` in the order of `tiles`."""

    tiles: tuple[int, ...]
    values: dict[str, Value]
    body: tuple[Statement, ...]


def periods(piece: Piece, table: np.ndarray) -> list[int] | None:
    """Trip counts of nested loops, fastest first, in which every number is linear; None if there are none.

    `table[c, r]` is where the tile of core c and round r stands in the piece.
    """
    numbers = [(np.array(n.values)[table], free) for n, free in _numbers(piece) if isinstance(n, PerCore)]
    rounds, levels = table.shape[1], []
    while rounds > 1:
        trip = next((t for t in range(rounds, 1, -1) if rounds % t == 0 and _is_linear(numbers, t)), None)
        if trip is None:
            return None
        levels.append(trip)
        numbers = [(m[:, ::trip], free) for m, free in numbers]
        rounds //= trip
    return levels


def _numbers(piece: Piece) -> list[tuple[Number, bool]]:
    """Every number of a piece, and whether it may change from round to round (trip counts may not)."""
    found: list[tuple[Number, bool]] = [(v.const, True) for s in piece.body for v in linears(s)]
    return found + [(s.trip, False) for s in everything(piece.body) if isinstance(s, Loop)]


def _is_linear(numbers: Sequence[tuple[np.ndarray, bool]], trip: int) -> bool:
    """Whether runs of `trip` rounds change every number by one step, the same in all runs and cores."""
    for matrix, may_change in numbers:
        runs = matrix.reshape(-1, trip)
        step = runs[0, 1] - runs[0, 0]
        if (step and not may_change) or not (runs == runs[:, :1] + step * np.arange(trip)).all():
            return False
    return True


def over_rounds(
    piece: Piece, table: np.ndarray, names: Sequence[str], levels: Sequence[int]
) -> list[Statement]:
    """The piece's statements with numbers as linear forms of the loops over its rounds."""

    def steps(matrix: np.ndarray) -> tuple[tuple[str, int], ...]:
        found, apart = [], 1
        for name, trip in zip(names, levels, strict=True):
            found.append((name, int(matrix[0, apart] - matrix[0, 0])))
            apart *= trip
        return tuple((name, step) for name, step in found if step)

    def linear(v: Linear) -> Linear:
        if not isinstance(v.const, PerCore):
            return v
        matrix = np.array(v.const.values)[table]
        return Linear(number([int(x) for x in matrix[:, 0]]), (*v.terms, *steps(matrix)))

    def trip(n: Number) -> Number:
        return number([n.values[p] for p in table[:, 0]]) if isinstance(n, PerCore) else n

    return [with_numbers(s, linear, trip) for s in piece.body]


def number(values: Sequence[int]) -> Number:
    """One number, or one per core where they differ."""
    return values[0] if all(v == values[0] for v in values) else PerCore(tuple(values))


def merged_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces that differ in numbers only as one piece; tiles in ascending order."""
    found: dict[str, Piece] = {}
    for piece in pieces:
        piece = _canonical(piece)
        key = _skeleton(piece)
        found[key] = _joined(found[key], piece) if key in found else piece
    return [_sorted(p) for p in found.values()]


def _canonical(piece: Piece) -> Piece:
    """The piece with values and dims named by order of appearance."""
    names: dict[str, str] = {}
    dims: dict[str, str] = {}

    def name(n: str) -> str:
        return names.setdefault(n, f"v{len(names)}")

    def dim(d: str) -> str:
        return dims.setdefault(d, f"d{len(dims)}")

    body = tuple(renamed(s, name, dim) for s in piece.body)
    values = {names[n]: replace(piece.values[n], name=names[n]) for n in names}
    return Piece(piece.tiles, values, body)


def _skeleton(piece: Piece) -> str:
    """Equal for pieces that differ in numbers only."""
    blank = tuple(with_numbers(s, lambda v: Linear(0, v.terms), lambda n: 0) for s in piece.body)
    kinds = [(v.name, v.shape, v.dtype) for v in piece.values.values()]
    return repr((blank, kinds))


def _joined(a: Piece, b: Piece) -> Piece:
    """The piece of the tiles of both."""
    others = iter([v.const for s in b.body for v in linears(s)])
    trips = iter([s.trip for s in everything(b.body) if isinstance(s, Loop)])

    def both(x: Number, y: Number) -> Number:
        return number([*_spread(x, len(a.tiles)), *_spread(y, len(b.tiles))])

    body = tuple(
        with_numbers(
            s, lambda v: Linear(both(v.const, next(others)), v.terms), lambda n: both(n, next(trips))
        )
        for s in a.body
    )
    return Piece(a.tiles + b.tiles, a.values, body)


def _spread(n: Number, count: int) -> tuple[int, ...]:
    return n.values if isinstance(n, PerCore) else (n,) * count


def _sorted(piece: Piece) -> Piece:
    order = sorted(range(len(piece.tiles)), key=lambda k: piece.tiles[k])

    def arrange(n: Number) -> Number:
        return PerCore(tuple(n.values[k] for k in order)) if isinstance(n, PerCore) else n

    body = tuple(with_numbers(s, lambda v: Linear(arrange(v.const), v.terms), arrange) for s in piece.body)
    return Piece(tuple(piece.tiles[k] for k in order), piece.values, body)
