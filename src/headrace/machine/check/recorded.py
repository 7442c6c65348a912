"""A run that keeps what the vector ops of one core computed, step by step, without any shortcut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.machine.execute.arenas import new_scratchpads
from headrace.machine.execute.blas import single_threaded
from headrace.machine.execute.execution import Execution
from headrace.machine.execute.handlers import HANDLERS, enter_loop
from headrace.machine.execute.run import named
from headrace.machine.execute.team import Team
from headrace.machine.image import Contract, Image, Loop, Receive, Reduce, VectorOp
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]
Computing = VectorOp | Reduce | Contract | Receive
MOVES = frozenset(
    ("select", "shuffle", "mask", "rotate", "extract", "broadcast", "splat", "shape_cast", "bitcast", "pack")
    + ("argument", "index")
)
"""Functions of vector ops that move lanes or make them up: their results are no statement's."""


@dataclass
class Record:
    """What one op of the text did: per execution the instance, the operands' arrays and the result's.

    Arrays are as the op saw them, without the leading axes: of its vectors' shapes, or broadcasting to them.
    """

    node: Computing
    instances: list[int] = field(default_factory=list)
    inputs: list[tuple[Array, ...]] = field(default_factory=list)
    results: list[Array] = field(default_factory=list)


class _Recording(Execution):
    """Runs every loop step by step and keeps the ops of some instances, up to `limit` bytes."""

    is_folding_unmarked = False

    def __init__(
        self, image: Image, memory: Memory, scalars: dict[str, Any], kept: Collection[int], limit: int
    ) -> None:
        watched: dict[type, Any] = {kind: _noting(kind) for kind in (VectorOp, Reduce, Contract, Receive)}
        handlers = {**HANDLERS, **watched, Loop: _step_by_step}
        super().__init__(image, memory, scalars, new_scratchpads(image), handlers)
        self.records: dict[int, Record] = {}
        self.kept, self.left = kept, limit

    def note(self, team: Team, node: Any, inputs: Sequence[Array], result: Array) -> None:
        """Keeps one execution for those of the team's members that are asked for."""
        for row, instance in enumerate(team.ids):
            if instance not in self.kept or self.left <= 0:
                continue
            cut = [x[row if x.shape[0] > 1 else 0, 0] for x in (*inputs, result)]
            *operands, found = (np.array(x) for x in cut)
            self.left -= sum(x.nbytes for x in operands) + found.nbytes
            record = self.records.setdefault(id(node), Record(node))
            record.instances.append(instance)
            record.inputs.append(tuple(operands))
            record.results.append(found)


def _noting(kind: type) -> Any:
    """The handler of a kind of node that notes what it has done."""
    plain = HANDLERS[kind]

    def run_node(run: _Recording, team: Team, node: Any) -> bool:
        if not plain(run, team, node):
            return False
        if not (isinstance(node, VectorOp) and node.function in MOVES):
            run.note(
                team, node, [team.values[v.number] for v in _operands(node)], team.values[node.result.number]
            )
        return True

    return run_node


def _operands(node: Computing) -> tuple[Any, ...]:
    match node:
        case VectorOp():
            return node.operands
        case Reduce():
            return (node.operand,)
        case Contract():
            return (node.left, node.right, *(() if node.addend is None else (node.addend,)))
    return ()


def _step_by_step(run: Execution, team: Team, node: Loop) -> bool:
    enter_loop(run, team, node)
    return True


def recorded(
    image: Image, memory: Memory, scalars: dict[str, Any], instances: Collection[int], limit: int = 1 << 30
) -> list[Record]:
    """Return the records of the ops that some instances execute, in order of their first execution.

    Keeps at most about `limit` bytes; what comes later is left out. Faults as `execute` raises them.
    """
    values = named(image, scalars)
    run = _Recording(image, memory, values, frozenset(instances), limit)
    with single_threaded(), np.errstate(all="ignore"):
        for schedule in image.schedules:
            run.schedule(schedule)
    return list(run.records.values())
