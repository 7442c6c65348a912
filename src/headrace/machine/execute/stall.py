"""Says who waits for whom when nothing can move."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.ir.diagnostics import Diagnostic, Location
from headrace.machine.execute.team import Team
from headrace.machine.image import Index, Instance, Loop, Node, Receive, Wait, Write, walk

Members = Callable[[Team, Index], list[int]]
"""The instance numbers of a team's partners."""


def explain(teams: Sequence[Team], names: Sequence[Instance], members: Members) -> list[Diagnostic]:
    """One diagnostic for every blocked instance, those on a cycle of waits first."""
    waits: dict[int, tuple[int, str, Location]] = {}
    for team in teams:
        peer, what, where = _waiting(team, members)
        waits[team.ids[0]] = (peer, what, where)
    cycle = cycle_of({a: b for a, (b, _, _) in waits.items()})
    chain = " -> ".join(names[n].name for n in cycle)
    out = []
    for n in sorted(waits, key=lambda n: n not in cycle):
        peer, what, where = waits[n]
        state = "which has ended" if peer not in waits else f"which waits for {names[waits[peer][0]].name}"
        hint = f"cycle of waits: {chain}" if n in cycle else ""
        message = f"deadlock: {names[n].name} waits for a {what} from {names[peer].name}, {state}"
        out.append(Diagnostic(message, where, "", hint))
    return out


def _waiting(team: Team, members: Members) -> tuple[int, str, Location]:
    """(instance waited for, what for, place)."""
    frame = team.frames[-1]
    node = frame.nodes[frame.at]
    for inner in walk((node,)):
        if isinstance(inner, Loop):
            continue
        peer, what = _needs(inner)
        if peer is not None:
            return members(team, peer)[0], what, inner.where
    return team.ids[0], "message", node.where


def _needs(node: Node) -> tuple[Index | None, str]:
    match node:
        case Wait():
            return node.peer, f"signal{f' {node.tag}' if node.tag else ''}"
        case Receive():
            return node.peer, "message"
        case Write():
            return node.streams[0].peer, "message"
    return None, ""


def cycle_of(waits: dict[int, int]) -> list[int]:
    """The instances of a cycle of waits, the first one repeated at the end; empty if there is none."""
    for start in waits:
        seen: list[int] = []
        at = start
        while at in waits and at not in seen:
            seen.append(at)
            at = waits[at]
        if at in seen:
            return [*seen[seen.index(at) :], at]
    return []
