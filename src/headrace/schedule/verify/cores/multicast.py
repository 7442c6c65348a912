"""Whether members of multicast groups issue the groups' loads in one order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.events import Work
from headrace.schedule.verify.programs.program import Program
from headrace.schedule.verify.programs.values import Handle, Scope

CLIPPED = 3


def multicast_order(
    programs: dict[Handle, Any], scopes: dict[Handle, Scope], likeness: dict[Handle, Any]
) -> Iterator[Diagnostic]:
    """Yield a finding if two members of common groups issue the groups' loads in different orders.

    `likeness` is equal for units that run through their program alike: each load of one is a load of the
    other, which differ in their groups at most.
    """
    shared = {h: loads for h, program in programs.items() if (loads := scopes[h].asked(program, _loads))}
    groups = {h: [scopes[h].known.get(op.multicast_info) for op in loads] for h, loads in shared.items()}
    sequences: dict[Handle, list[tuple[Any, Any]]] = {}
    for a, b in combinations(shared, 2):
        if likeness[a] == likeness[b] and _go_together(groups[a], groups[b], a, b):
            continue
        for handle in (a, b):
            if handle not in sequences:
                sequences[handle] = _sequence(scopes[handle], programs[handle])
        common = {g for g, _ in sequences[a] if a in g and b in g}
        mine = [g for g, _ in sequences[a] if g in common]
        if mine != [g for g, _ in sequences[b] if g in common]:
            op = next(op for g, op in sequences[a] if g in common)
            yield Diagnostic(f"{a} and {b} issue shared loads in different orders", location(op), op.name)
            return


def _loads(program: Any) -> list[Any]:
    """The loads of a program for several units."""
    copies = (op for op in program.region.walk() if op.name == "agen.composite_load_and_store")
    return [op for op in copies if op.multicast_info is not None]


def _go_together(mine: list[Any], others: list[Any], a: Handle, b: Handle) -> bool:
    """Whether every load of two units is for one group, or for none that has both as members."""
    return all(
        isinstance(g, tuple)
        and isinstance(h, tuple)
        and (g == h or not (a in g and b in g or a in h and b in h))
        for g, h in zip(mine, others, strict=True)
    )


def _sequence(scope: Scope, program: Any) -> list[tuple[Any, Any]]:
    """(group, op) of the loads in order, loops without their middle."""
    events = Program(scope.copy(), CLIPPED).events(program.region.block.ops)
    return [(e.group, e.op) for e in events if isinstance(e, Work) and isinstance(e.group, tuple)]
