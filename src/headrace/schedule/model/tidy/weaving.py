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
Meeting = Handover | Loop
"""Where tiles meet: a handover, or a loop with one inside."""


def woven(bodies: Sequence[Block]) -> Block:
    """The statements of several tiles, those that meet others together."""
    if len(bodies) == 1:
        return bodies[0]
    rest = [list(body) for body in bodies]
    made: list[Statement] = []
    while True:
        for body in rest:
            while body and _meeting(body[0]) is None:
                made.append(body.pop(0))
        heads = [m for body in rest if body and (m := _meeting(body[0])) is not None]
        if not heads:
            return tuple(made)
        key = _next(heads, rest)
        made.append(_together([m for m in heads if _key(m) == key]))
        for body in rest:
            if body and _key(body[0]) == key:
                body.pop(0)


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


def _meeting(s: Statement) -> Meeting | None:
    if isinstance(s, Handover) or (isinstance(s, Loop) and has_handovers(s.body)):
        return s
    return None


def _key(s: Statement) -> object:
    """Equal for the meetings of several tiles that are one."""
    met = _meeting(s)
    return met.key if isinstance(met, Handover) else (met.where if met is not None else None)


def _next(heads: Sequence[Meeting], rest: Sequence[Sequence[Statement]]) -> object:
    """A meeting that all tiles which still come to it have reached."""
    for head in heads:
        key = _key(head)
        if not any(_key(s) == key for body in rest if body and _key(body[0]) != key for s in body):
            return key
    hint = "let all tiles reach their inter-tile ops in one order"
    message = "tiles of one core come to their inter-tile ops in different orders"
    raise HeadraceError(Diagnostic(message, heads[0].where, "ktdp.inter_tile_produce", hint))


def _together(meetings: Sequence[Meeting]) -> Meeting:
    """One handover, or one loop around what all tiles do in theirs."""
    first = meetings[0]
    if isinstance(first, Handover):
        return first
    loops = [m for m in meetings if isinstance(m, Loop)]
    for loop in loops:
        if (loop.trip, loop.start, loop.step) != (first.trip, first.start, first.step):
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
