"""Whether tiles that wait for each other all get there, equally often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.ir.diagnostics import Diagnostic
from headrace.schedule.graph import Handover, Loop, PerCore, Statement
from headrace.schedule.model.tidy.pieces import Piece


def missed(pieces: Sequence[Piece]) -> list[Diagnostic]:
    """A finding for every inter-tile op that one tile of a pair reaches more often than the other."""
    counts: dict[str, dict[int, int]] = {}
    places: dict[str, Handover] = {}
    for piece in pieces:
        for k, tile in enumerate(piece.tiles):
            for handover, runs in _runs(piece.body, k, 1):
                places.setdefault(handover.key, handover)
                reached = counts.setdefault(handover.key, {})
                reached[tile] = reached.get(tile, 0) + runs
    found: list[Diagnostic] = []
    for key, handover in places.items():
        for a, b in handover.pairs:
            mine, other = counts[key].get(a, 0), counts[key].get(b, 0)
            if mine != other:
                message = f"tile {a} comes here {mine} times and tile {b} {other} times: one waits for ever"
                hint = "let all tiles of a group reach the op equally often"
                op = "ktdp.inter_tile_produce"
                found.append(Diagnostic(message, handover.where, op, hint))
                break
    return found


def _runs(body: Sequence[Statement], tile: int, times: int) -> Iterator[tuple[Handover, int]]:
    for s in body:
        if isinstance(s, Handover):
            yield s, times
        elif isinstance(s, Loop):
            trip = s.trip.values[tile] if isinstance(s.trip, PerCore) else s.trip
            yield from _runs(s.body, tile, times * trip)
