"""Values loaded before a loop and read in it, brought into the scratchpad once, not in every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity, without_unit_dims
from headrace.schedule.phases.strips import KEEP

Statement = Load | Store | Compute | Loop | Handover


def held(block: Block, names: Names, room: int) -> Block:
    """Return the block with copies in the scratchpad of what its loops read of loads before them, as long as
    the copies take no more than `room` bytes together; loops read the copies.
    """
    copies: dict[str, Compute] = {}
    for value in dict.fromkeys(_wanted(block)):
        size = prod(names.values[value].shape) * itemsize(names.values[value].dtype)
        load = names.loads[value]
        if load.indirect or value in names.aliases.values() or size > room:
            continue
        room -= size
        made = names.fresh(f"{value}.held", names.values[value])
        names.computed.add(made.name)
        copies[value] = replace(without_unit_dims(identity(value, made, names)), source=KEEP)
    return _with_copies(block, copies) if copies else block


def _wanted(block: Block) -> Iterator[str]:
    """The loads of a block that its loops read, and those of the bodies of its loops."""
    ours = {s.value for s in block.statements if isinstance(s, Load)}
    for loop in (s for s in block.statements if isinstance(s, Loop) and s.trip != 1):
        body = block.bodies[loop.name]
        yield from (v for v in _read(body) if v in ours)
        yield from _wanted(body)


def _read(block: Block) -> Iterator[str]:
    """The values that the Computes of a block and of its loops take."""
    for statement in block.statements:
        if isinstance(statement, Compute):
            yield from (access.value for access in statement.ins)
        elif isinstance(statement, Loop):
            yield from _read(block.bodies[statement.name])


def _with_copies(block: Block, copies: dict[str, Compute], *, is_inner: bool = False) -> Block:
    """The block with a copy behind each load it holds; in loops, the copies are read."""
    made: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, Compute) and is_inner:
            statement = replace(statement, ins=tuple(_reading(a, copies) for a in statement.ins))
        made.append(statement)
        if isinstance(statement, Load) and statement.value in copies:
            made.append(copies[statement.value])
    bodies = {name: _with_copies(body, copies, is_inner=True) for name, body in block.bodies.items()}
    return Block(tuple(made), bodies)


def _reading(access: Access, copies: dict[str, Compute]) -> Access:
    copy = copies.get(access.value)
    return access if copy is None else replace(access, value=copy.outs[0].value)
