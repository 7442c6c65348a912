"""Values loaded before a loop and read in it, brought into the scratchpad once, not in every iteration; and
those read before and after cores exchange values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import KEEP
from headrace.schedule.phases.statements import Block, identity, without_unit_dims
from headrace.schedule.ring import ring_entry

Statement = Load | Store | Compute | Loop | Handover


def held(block: Block, names: Names, room: int) -> Block:
    """Return the block with copies in the scratchpad of what its loops read of loads before them, and of what
    is read on both sides of an exchange, as long as the copies that live at a time take no more than `room`
    bytes together; loops and what comes after an exchange read the copies.
    """
    copies = _copies(block, names, room)
    return _with_copies(block, copies) if copies else block


def _copies(block: Block, names: Names, room: int) -> dict[str, Compute]:
    """By value the copy of it; loops of one block run one after the other, each with the same room."""
    copies: dict[str, Compute] = {}
    loops = [s for s in block.statements if isinstance(s, Loop)]
    ours = {s.value for s in block.statements if isinstance(s, Load)}
    read = (v for loop in loops if loop.trip != 1 for v in _read(block.bodies[loop.name]))
    for value in dict.fromkeys((*(v for v in read if v in ours), *_across(block))):
        size = prod(names.values[value].shape) * itemsize(names.values[value].dtype)
        load = names.loads[value]
        if load.indirect or value in names.aliases.values() or size > room:
            continue
        room -= size
        made = names.fresh(f"{value}.held", names.values[value])
        names.computed.add(made.name)
        copies[value] = replace(without_unit_dims(identity(value, made, names)), source=KEEP)
    for loop in loops:
        copies |= _copies(block.bodies[loop.name], names, room)
    return copies


def _across(block: Block) -> Iterator[str]:
    """The loads of a block that Computes read before and after an exchange between cores."""
    ours = {s.value for s in block.statements if isinstance(s, Load)}
    first: dict[str, int] = {}
    exchanges = 0
    for statement in block.statements:
        exchanges += _is_exchange(statement)
        if isinstance(statement, Compute):
            for access in statement.ins:
                if access.value in ours and first.setdefault(access.value, exchanges) < exchanges:
                    yield access.value


def _is_exchange(statement: Statement) -> bool:
    """Whether cores exchange values in a statement."""
    is_ring = isinstance(statement, Compute) and ring_entry(statement) is not None
    return is_ring or isinstance(statement, Handover)


def _read(block: Block) -> Iterator[str]:
    """The values that the Computes of a block and of its loops take."""
    for statement in block.statements:
        if isinstance(statement, Compute):
            yield from (access.value for access in statement.ins)
        elif isinstance(statement, Loop):
            yield from _read(block.bodies[statement.name])


def _with_copies(block: Block, copies: dict[str, Compute], *, is_inner: bool = False) -> Block:
    """The block with a copy behind each load it holds, which is read in loops and after an exchange."""
    made: list[Statement] = []
    is_read = is_inner
    for statement in block.statements:
        is_read |= _is_exchange(statement)
        if isinstance(statement, Compute) and is_read:
            statement = replace(statement, ins=tuple(_reading(a, copies) for a in statement.ins))
        made.append(statement)
        if isinstance(statement, Load) and statement.value in copies:
            made.append(copies[statement.value])
    bodies = {name: _with_copies(body, copies, is_inner=True) for name, body in block.bodies.items()}
    return Block(tuple(made), bodies)


def _reading(access: Access, copies: dict[str, Compute]) -> Access:
    copy = copies.get(access.value)
    return access if copy is None else replace(access, value=copy.outs[0].value)
