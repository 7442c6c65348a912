"""A loop that carries values, cut in strips of rows: every strip runs the whole loop.

Where all that a loop computes and carries shares rows (the queries of online attention), a strip of rows
needs nothing of the others. A loop over strips around it hands strips from phase to phase that stay in the
scratchpad where whole values would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Carried, Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.chain import Walk, accesses, is_sound, walk
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block
from headrace.schedule.phases.strips import Cut, Strips

Statement = Load | Store | Compute | Loop | Handover


def loop_rows(block: Block, names: Names) -> Walk | None:
    """Return the rows along which a block with loops that carry values can be cut: those of the largest value
    that one Compute hands to another, if all that make carried values share them; None if there are none.
    """
    loops = [s for s in block.statements if isinstance(s, Loop)]
    inner = [s for loop in loops for s in block.bodies[loop.name].statements]
    if not any(loop.carried for loop in loops) or any(not isinstance(s, Load | Compute) for s in inner):
        return None
    flat = _flat(block)
    if any(isinstance(s, Handover) for s in flat.statements):
        return None
    computes = {n: s for n, s in enumerate(flat.statements) if isinstance(s, Compute)}
    made = {o.value for c in computes.values() for o in c.outs}
    read = {value for c in computes.values() for value, _ in accesses(c) if value in made}
    carried = {c.inner for loop in loops for c in loop.carried}

    def size(value: str) -> int:
        return prod(names.values[value].shape) * itemsize(names.values[value].dtype)

    for value in sorted(read, key=lambda v: (-size(v), v))[:1]:
        for axis, extent in enumerate(names.values[value].shape):
            found = walk(computes, (value, axis), made, names) if extent > 1 else None
            if found is None or not is_sound(found, flat, computes, names):
                continue
            others = [c for n, c in computes.items() if n not in found.dims]
            if not any(o.value in carried for c in others for o in c.outs):
                return found
    return None


def loop_in_strips(block: Block, names: Names, rows: Walk, strips: Strips) -> Block:
    """Return the block with what shares the rows in a loop over strips of `strips.rows`, a divisor of all."""
    return _LoopCut(block, names, rows, strips).block()


def _flat(block: Block) -> Block:
    """The statements of a block with those of its loops in the loops' places."""
    found: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, Loop):
            found += block.bodies[statement.name].statements
        else:
            found.append(statement)
    return Block(tuple(found), {})


class _LoopCut:
    """One block on its way into strips."""

    def __init__(self, block: Block, names: Names, rows: Walk, strips: Strips) -> None:
        flat = _flat(block)
        self.old, self.names, self.rows = block, names, rows
        self.cut = Cut(flat, names, rows, None, strips)
        self.numbers = {id(s): n for n, s in enumerate(flat.statements)}
        self.bodies = dict(block.bodies)
        (self.step,) = self.cut.steps()
        self.renamed = {value: self.cut.strip(value, self.step) for value in rows.axes}
        self.loaded: dict[Access, str] = {}

    def block(self) -> Block:
        """Return the block: what takes no part first, then the loop over strips."""
        before: list[Statement] = []
        body: list[Statement] = []
        for statement in self.old.statements:
            if isinstance(statement, Loop):
                body += self._loop(statement)
            elif self._is_ours(statement):
                body += self._cut(statement)
            else:
                before.append(statement)
        self.bodies[self.step.loop] = Block(tuple(body), self._inner())
        before.append(self.cut.loop(self.step))
        return Block(tuple(before), self.bodies)

    def _inner(self) -> dict[str, Block]:
        names = [s.name for s in self.old.statements if isinstance(s, Loop)]
        return {name: self.bodies.pop(name) for name in names}

    def _is_ours(self, statement: Statement) -> bool:
        if isinstance(statement, Store):
            return statement.value in self.rows.axes
        return self.numbers[id(statement)] in self.rows.dims

    def _cut(self, statement: Statement) -> list[Statement]:
        if isinstance(statement, Store):
            return [self.cut.store(statement, self.step, self.renamed)]
        assert isinstance(statement, Compute)
        number = self.numbers[id(statement)]
        return [*self.cut.compute(number, statement, self.step, self.renamed, self.loaded)]

    def _loop(self, loop: Loop) -> Iterator[Statement]:
        """The loop on one strip, behind loads of strips of what lies before it."""
        body: list[Statement] = []
        inside = self.old.bodies[loop.name].statements
        own = {s.value for s in inside if isinstance(s, Load)}
        for statement in inside:
            if not isinstance(statement, Compute) or not self._is_ours(statement):
                body.append(statement)  # every strip computes it again
                continue
            taken = {a for a in statement.ins if a.value in own}
            *loads, made = self._cut(statement)
            ours = {self.loaded.get(access) for access in taken}
            for load in loads:
                assert isinstance(load, Load)
                if load.value in ours:
                    body.append(load)
                else:
                    yield load
            body.append(made)
        self.bodies[loop.name] = Block(tuple(body), {})
        yield replace(loop, carried=tuple(_renamed(c, self.renamed) for c in loop.carried))


def _renamed(carried: Carried, names: Mapping[str, str]) -> Carried:
    fields = {k: names.get(v, v) for k, v in vars(carried).items()}
    return Carried(**fields)
