"""From tiles to cores: equal pieces are merged, tile t runs on core t mod cores, one tile after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.schedule.graph import CoreClass, Linear, Loop, Number, PerCore, Statement, Value
from headrace.schedule.model.dissolve.attempt import dissolved
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import has_handovers, renamed, with_numbers
from headrace.schedule.model.tidy.pieces import Piece, merged_pieces, number, over_rounds, periods
from headrace.schedule.model.tidy.weaving import on_cores, woven


def core_classes(pieces: Sequence[Piece], cores: int, state: State) -> tuple[CoreClass, ...]:
    """The pieces' tiles on the cores; `state` names new dims.

    Tiles do not depend on each other, so a core runs its tiles piece by piece, unless they meet others.
    """
    merged = merged_pieces(pieces)
    if any(has_handovers(p.body) for p in merged):
        return _meeting_classes(merged, cores)
    home = {t: (i, k) for i, piece in enumerate(merged) for k, t in enumerate(piece.tiles)}
    places: dict[int, dict[int, list[int]]] = {}
    for t, (piece_number, place) in sorted(home.items()):
        places.setdefault(t % cores, {}).setdefault(piece_number, []).append(place)
    by_shape: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for core, lists in places.items():
        by_shape.setdefault(tuple((i, len(rounds)) for i, rounds in lists.items()), []).append(core)
    return tuple(
        _class(
            members,
            [(merged[i], np.array([places[core][i] for core in members])) for i, _ in shape],
            state,
        )
        for shape, members in by_shape.items()
    )


def _meeting_classes(pieces: Sequence[Piece], cores: int) -> tuple[CoreClass, ...]:
    """The cores where tiles wait for each other: the tiles of a core run side by side, meeting by meeting."""
    home = {t: (i, k) for i, piece in enumerate(pieces) for k, t in enumerate(piece.tiles)}
    tiles: dict[int, list[tuple[int, int]]] = {}
    for t in sorted(home):
        tiles.setdefault(t % cores, []).append(home[t])
    alike: dict[tuple[int, ...], list[int]] = {}
    for core, own in tiles.items():
        alike.setdefault(tuple(i for i, _ in own), []).append(core)
    made = []
    for numbers, members in alike.items():
        values: dict[str, Value] = {}
        bodies = [
            tuple(_round(pieces[i], np.array([tiles[core][r][1] for core in members]), r, values))
            for r, i in enumerate(numbers)
        ]
        made.append(CoreClass(tuple(members), values, on_cores(woven(bodies), cores)))
    return tuple(made)


def _class(cores: list[int], parts: Sequence[tuple[Piece, np.ndarray]], state: State) -> CoreClass:
    """One class: `table[c, r]` is where the r-th tile of a piece that core c runs stands in the piece."""
    values: dict[str, Value] = {}
    body: list[Statement] = []
    first = 0
    for piece, table in parts:
        body += _run(piece, table, first, values, state)
        first += table.shape[1]
    return CoreClass(tuple(cores), values, tuple(body))


def _run(
    piece: Piece, table: np.ndarray, first: int, values: dict[str, Value], state: State
) -> list[Statement]:
    """The statements of all rounds of one piece: as nested loops where numbers allow it, else one by one."""
    rounds = table.shape[1]
    levels = periods(piece, table)
    if levels is None:
        return [s for r in range(rounds) for s in _round(piece, table[:, r], first + r, values)]
    names = [f"round{first + k}" if first + k else "round" for k in range(len(levels))]
    rename = _renaming(first)
    state.values = {rename(n): replace(v, name=rename(n)) for n, v in piece.values.items()}
    body = [renamed(s, rename, _dims(first)) for s in over_rounds(piece, table, names, levels)]
    body = _without_loops(body, list(zip(names, levels, strict=True)), state)
    values.update(state.values)
    return body


def _without_loops(body: list[Statement], loops: list[tuple[str, int]], state: State) -> list[Statement]:
    """The block over all rounds, with as few of the loops (by name and trip count) as possible.

    Rounds do not depend on each other, so whichever loop dissolves may be the innermost.
    """
    left: list[Loop] = []
    for name, trip in loops:
        loop = Loop(name, trip, Linear(0), 1, tuple(body), (), True, Location())
        flat = dissolved(loop, state)
        if any(isinstance(s, Loop) and s.name == name for s in flat):
            left.append(loop)
        else:
            body = flat
    for loop in left:
        body = [replace(loop, body=tuple(body))]
    return body


def _round(piece: Piece, places: np.ndarray, turn: int, values: dict[str, Value]) -> list[Statement]:
    """One tile per core."""
    rename = _renaming(turn)
    values.update({rename(n): replace(v, name=rename(n)) for n, v in piece.values.items()})

    def pick(n: Number) -> Number:
        return number([n.values[p] for p in places]) if isinstance(n, PerCore) else n

    return [
        renamed(with_numbers(s, lambda v: Linear(pick(v.const), v.terms), pick), rename, _dims(turn))
        for s in piece.body
    ]


def _renaming(number: int) -> Callable[[str], str]:
    """Value names of one round, different from those of the others."""
    return lambda n: f"{n}.r{number}" if number else n


def _dims(number: int) -> Callable[[str], str]:
    """Dim names of one round."""
    return lambda n: f"{n}@{number}" if number else n
