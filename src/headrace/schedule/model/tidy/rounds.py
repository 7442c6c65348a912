"""From tiles to cores: equal pieces are merged, tile t runs on core t mod cores, one tile after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.schedule.graph import CoreClass, Linear, Loop, Number, PerCore, Statement, Value
from headrace.schedule.model.dissolve.attempt import dissolved
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import everything, linears, renamed, with_numbers


@dataclass(frozen=True, eq=False)
class Piece:
    """What a set of tiles does; numbers that differ are `PerCore` in the order of `tiles`."""

    tiles: tuple[int, ...]
    values: dict[str, Value]
    body: tuple[Statement, ...]


def core_classes(pieces: Sequence[Piece], cores: int, state: State) -> tuple[CoreClass, ...]:
    """The pieces' tiles on the cores; `state` names new dims."""
    merged = _merged(pieces)
    home = {t: (i, k) for i, piece in enumerate(merged) for k, t in enumerate(piece.tiles)}
    lists: dict[int, list[int]] = {}
    for t in sorted(home):
        lists.setdefault(t % cores, []).append(t)
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for core, tiles in lists.items():
        by_shape.setdefault(tuple(home[t][0] for t in tiles), []).append(core)
    return tuple(
        _class(shape, members, [[home[t][1] for t in lists[c]] for c in members], merged, state)
        for shape, members in by_shape.items()
    )


def _class(
    shape: tuple[int, ...], cores: list[int], places: list[list[int]], pieces: Sequence[Piece], state: State
) -> CoreClass:
    """One class: `places[c][r]` is where the tile of round r of core c stands in its piece."""
    values: dict[str, Value] = {}
    body: list[Statement] = []
    at = 0
    for number, group in groupby(shape):
        count = len(list(group))
        table = np.array([row[at : at + count] for row in places])
        body += _run(pieces[number], table, at, values, state)
        at += count
    return CoreClass(tuple(cores), values, tuple(body))


def _run(
    piece: Piece, table: np.ndarray, first: int, values: dict[str, Value], state: State
) -> list[Statement]:
    """The statements of consecutive rounds that all do one piece."""
    if table.shape[1] == 1:
        return _round(piece, table[:, 0], first, values)
    looped = _looped(piece, table, f"round{first}." if first else "round")
    if looped is None:
        return [s for r in range(table.shape[1]) for s in _round(piece, table[:, r], first + r, values)]
    rename = _renaming(first)
    state.values = {rename(n): replace(v, name=rename(n)) for n, v in piece.values.items()}
    loop = renamed(looped, rename)
    assert isinstance(loop, Loop)
    statements = [
        replace(s, is_parallel=True) if isinstance(s, Loop) and s.name == loop.name else s
        for s in dissolved(loop, state)
    ]
    values.update(state.values)
    return statements


def _round(piece: Piece, places: np.ndarray, number: int, values: dict[str, Value]) -> list[Statement]:
    """One tile per core."""
    rename = _renaming(number)
    values.update({rename(n): replace(v, name=rename(n)) for n, v in piece.values.items()})

    def pick(n: Number) -> Number:
        return _number([n.values[p] for p in places]) if isinstance(n, PerCore) else n

    def dim(name: str) -> str:
        return f"{name}@{number}" if number else name

    return [
        renamed(with_numbers(s, lambda v: Linear(pick(v.const), v.terms), pick), rename, dim)
        for s in piece.body
    ]


def _looped(piece: Piece, table: np.ndarray, name: str) -> Loop | None:
    """The rounds as one loop, if every number changes by the same step on every core."""

    def linear(v: Linear) -> Linear:
        if not isinstance(v.const, PerCore):
            return v
        matrix = np.array(v.const.values)[table]
        slope = int(matrix[0, 1] - matrix[0, 0])
        if not (matrix == matrix[:, :1] + slope * np.arange(table.shape[1])).all():
            raise ValueError
        terms = (*v.terms, (name, slope)) if slope else v.terms
        return Linear(_number([int(x) for x in matrix[:, 0]]), terms)

    def trip(n: Number) -> Number:
        if not isinstance(n, PerCore):
            return n
        matrix = np.array(n.values)[table]
        if not (matrix == matrix[:, :1]).all():
            raise ValueError
        return _number([int(x) for x in matrix[:, 0]])

    try:
        body = tuple(with_numbers(s, linear, trip) for s in piece.body)
    except ValueError:
        return None
    return Loop(name, table.shape[1], Linear(0), 1, body, (), True, Location())


def _renaming(number: int) -> Callable[[str], str]:
    """Value names of one round, different from those of the others."""
    return lambda n: f"{n}.r{number}" if number else n


def _number(values: Sequence[int]) -> Number:
    return values[0] if all(v == values[0] for v in values) else PerCore(tuple(values))


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
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
        return _number([*_spread(x, len(a.tiles)), *_spread(y, len(b.tiles))])

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
