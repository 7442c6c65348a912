"""Several tiles of one core that meet other tiles: cut at the places where they meet, and interleaved.

All tiles of a core come to a meeting before the core goes on, so a core stores the messages of all its tiles
before it waits for those of others. Loops in which tiles meet run in step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.graph import Handover, Linear, Loop, Statement
from headrace.schedule.model.statements import has_handovers, with_numbers

Block = tuple[Statement, ...]


def woven(bodies: Sequence[Block]) -> Block:
    """The statements of several tiles, those that meet others together."""
    if len(bodies) == 1:
        return bodies[0]
    rest = [list(body) for body in bodies]
    made: list[Statement] = []
    while True:
        for body in rest:
            while body and not _is_meeting(body[0]):
                made.append(body.pop(0))
        waiting = [body for body in rest if body]
        if not waiting:
            return tuple(made)
        key = _next(waiting)
        made.append(_together([body.pop(0) for body in waiting if _key(body[0]) == key]))


def on_cores(body: Block, cores: int) -> Block:
    """The block with the pairs of handovers as cores instead of tiles; those within a core are gone."""
    made: list[Statement] = []
    for s in body:
        if isinstance(s, Handover):
            pairs = sorted({(a % cores, b % cores) for a, b in s.pairs})
            s = replace(s, pairs=tuple((a, b) for a, b in pairs if a != b))
        elif isinstance(s, Loop):
            s = replace(s, body=on_cores(s.body, cores))
        made.append(s)
    return tuple(made)


def _is_meeting(s: Statement) -> bool:
    return isinstance(s, Handover) or (isinstance(s, Loop) and has_handovers(s.body))


def _key(s: Statement) -> object:
    return s.key if isinstance(s, Handover) else getattr(s, "where", None)


def _next(waiting: Sequence[Sequence[Statement]]) -> object:
    """A meeting that all tiles which still come to it have reached."""
    for body in waiting:
        key = _key(body[0])
        if not any(_key(s) == key for other in waiting if _key(other[0]) != key for s in other):
            return key
    first = waiting[0][0]
    hint = "let all tiles reach their inter-tile ops in one order"
    message = "tiles of one core come to their inter-tile ops in different orders"
    raise HeadraceError(Diagnostic(message, _where(first), _name(first), hint))


def _together(statements: Sequence[Statement]) -> Statement:
    """One handover, or one loop around what all tiles do in theirs."""
    first = statements[0]
    loops = [s for s in statements if isinstance(s, Loop)]
    if not isinstance(first, Loop):
        return first
    for s in loops:
        if (s.trip, s.start, s.step) != (first.trip, first.start, first.step):
            hint = "give the loop the same bounds on all tiles, or use a device with a core for each tile"
            message = "tiles of one core run a loop with inter-tile ops between different bounds"
            raise HeadraceError(Diagnostic(message, first.where, "scf.for", hint))
    bodies = [tuple(_over(s, loop.name, first.name) for s in loop.body) for loop in loops]
    carried = tuple(c for loop in loops for c in loop.carried)
    return replace(first, body=woven(bodies), carried=carried)


def _over(s: Statement, old: str, new: str) -> Statement:
    """The statement with the variable of one loop named as that of another."""

    def linear(v: Linear) -> Linear:
        return Linear(v.const, tuple((new if n == old else n, k) for n, k in v.terms))

    return with_numbers(s, linear, lambda n: n)


def _where(s: Statement):  # type: ignore[no-untyped-def]
    return s.where


def _name(s: Statement) -> str:
    return "scf.for" if isinstance(s, Loop) else "ktdp.inter_tile_produce"
