"""Results of exchanges that all classes plan alike, stored as a box: copied first, for messages are rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import prod

from headrace.schedule.graph import Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity, without_unit_dims
from headrace.schedule.phases.storage import of_access, restrided


def boxed(block: Block, names: Names, passed: Collection[str]) -> Block:
    """Return the block with a copy of every value in `passed` before it is stored where it is no row."""
    made: list[Load | Store | Compute | Loop | Handover] = []
    for statement in block.statements:
        if isinstance(statement, Store) and statement.value in passed and not _is_row(statement, names):
            target = names.fresh(f"{statement.value}.boxed", names.values[statement.value])
            names.computed.add(target.name)
            made.append(without_unit_dims(identity(statement.value, target, names)))
            statement = replace(statement, value=target.name)
        made.append(statement)
    return Block(tuple(made), block.bodies)


def _is_row(store: Store, names: Names) -> bool:
    """Whether the elements of a value, in order, go to places at equal distances."""
    shape, storage = names.values[store.value].shape, of_access(store)
    return not storage.indirect and restrided(shape, storage.strides, (prod(shape),)) is not None
