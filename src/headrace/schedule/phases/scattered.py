"""Values that are scattered and needed elsewhere: the scatter takes a copy, which lies beside its indices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from headrace.schedule.graph import Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity, source_of, without_unit_dims


def scattered(block: Block, names: Names) -> Block:
    """Return the block with a copy of every computed value before it is scattered, if Computes read it or
    another scatter takes it: a tile of results lies beside one tile of indices, and in no other place.
    """
    return _with_copies(block, names, Counter(_uses(block, names)))


def _with_copies(block: Block, names: Names, uses: Counter[str]) -> Block:
    made: list[Load | Store | Compute | Loop | Handover] = []
    for statement in block.statements:
        if isinstance(statement, Store) and statement.indirect:
            value = source_of(statement.value, names)
            if value in names.computed and uses[value] > 1:
                target = names.fresh(f"{value}.scattered", names.values[statement.value])
                names.computed.add(target.name)
                made.append(without_unit_dims(identity(statement.value, target, names)))
                statement = replace(statement, value=target.name)
        made.append(statement)
    bodies = {name: _with_copies(body, names, uses) for name, body in block.bodies.items()}
    return Block(tuple(made), bodies)


def _uses(block: Block, names: Names) -> Iterator[str]:
    """The value of every read by a Compute and of every scatter."""
    for statement in block.statements:
        found: list[str] = []
        if isinstance(statement, Compute):
            found = [a.value for a in statement.ins] + [
                o.init for o in statement.outs if isinstance(o.init, str)
            ]
        elif isinstance(statement, Store) and statement.indirect:
            found = [statement.value]
        elif isinstance(statement, Loop):
            yield from _uses(block.bodies[statement.name], names)
        for value in found:
            own = source_of(value, names)
            yield names.aliases.get(own, own)
