"""Marked loops as whole arrays: the body is evaluated once, all iterations along an axis (rule R5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from headrace.machine.execute import vectors
from headrace.machine.execute.access import uniform
from headrace.machine.execute.arithmetic import binary
from headrace.machine.execute.contractions import accumulate, contract
from headrace.machine.execute.exchange import Queue, checked
from headrace.machine.execute.folding import ASSOCIATIVE, Combine, Plan, plan_of
from headrace.machine.image import (
    Constant,
    Contract,
    Load,
    Loop,
    Receive,
    Reduce,
    Send,
    Store,
    Value,
    VectorOp,
)

if TYPE_CHECKING:
    from headrace.machine.execute.execution import Execution
    from headrace.machine.execute.team import Team

Array = np.ndarray[Any, Any]
Run = TypeVar("Run", bound="Execution")
BLOCK = 1 << 17
"""Lanes that are computed at once: the arrays in between stay in the second-level cache."""


def run_marked(run: Execution, team: Team, node: Loop) -> bool | None:
    """Runs a marked loop folded: True done, False messages are missing, None if it cannot be folded."""
    return fold(run, team, node, plan_of, _body, _combine)


def fold(
    run: Run,
    team: Team,
    node: Loop,
    plan_for: Callable[[Run, Team, Loop], Plan | None],
    run_body: Callable[[Run, Team, Plan, Sequence[int], dict[int, Any]], None],
    combine: Callable[[Run, Team, Combine, int], None],
) -> bool | None:
    """A marked loop at once, in whatever way bodies are run and iterations combined; as `run_marked`."""
    key = ("marked", id(node))
    if key not in team.plans:
        team.plans[key] = plan_for(run, team, node)
    plan: Plan | None = team.plans[key]
    if plan is None:
        return None
    trips = plan.trips(team)
    steps = prod(trips)
    if steps == 0:
        for c in node.carried:
            team.values[c.result.number] = team.values[c.initial.number]
        return True
    if any(queue.available < steps * count for queue, count in plan.receives):
        return False
    taken = {id(queue): iter(queue.take(steps, count, node.where)) for queue, count in plan.receives}
    run_body(run, team, plan, trips, taken)
    for each in plan.combines:
        combine(run, team, each, steps)
    return True


def _body(run: Execution, team: Team, plan: Plan, trips: Sequence[int], taken: dict[int, Any]) -> None:
    steps = prod(trips)
    before: dict[int, Array] = {}
    for node in plan.body:
        if isinstance(node, Receive):
            message = next(taken[id(run.queue(team, node.peer, False))])
            result = node.result
            sender = run.partner(team, node.peer)
            before[result.number] = checked(message, result.shape, result.dtype, node.where, sender)
        elif isinstance(node, Load) and plan.is_divisible:
            before[node.result.number] = _loaded(team, plan, node, trips)
    env = _iteration_env(team, plan, trips) if plan.has_indices else team.env
    if plan.is_divisible:
        sent = _in_blocks(run, team, plan, steps, before, env)
    else:
        block = Block(team.values, before, slice(None), slice(None))
        sent = [block.whole(v, team.count, steps) for v in _evaluate(run, team, plan, block, env, trips)]
        for number, array in block.own.items():
            team.values[number] = array
    _push(run, team, plan, sent, steps)


@dataclass
class Block:
    """Some instances and iterations of a loop: values from before it are cut to them, its own kept."""

    outer: list[Any]
    own: dict[int, Array]
    instances: slice
    iterations: slice

    def get(self, value: Value) -> Array:
        """The array of a register, [instance or 1, iteration or 1, *vector]."""
        found = self.own.get(value.number)
        if found is None:
            found = self.own[value.number] = self.cut(self.outer[value.number])
        return found

    def cut(self, x: Array) -> Array:
        """The part of an array that belongs to this block."""
        rows = self.instances if x.shape[0] > 1 else slice(None)
        return x[rows, self.iterations if x.shape[1] > 1 else slice(None)]

    @staticmethod
    def whole(x: Array, count: int, steps: int) -> Array:
        """An array with all its instances and iterations."""
        return np.broadcast_to(x, (count, steps, *x.shape[2:]))


def _evaluate(
    run: Execution, team: Team, plan: Plan, block: Block, env: list[Any], trips: Sequence[int]
) -> list[Array]:
    """Runs the body on a block; what its sends send, in order."""
    own, out = block.own, []
    for node in plan.body:
        match node:
            case VectorOp():
                indices = [vectors.leading(i.evaluate(env)) for i in node.indices]
                inputs = [block.get(v) for v in node.operands]
                cut = [block.cut(i) for i in indices]
                own[node.result.number] = vectors.evaluate(node, inputs, cut, run.scalars)
            case Reduce():
                own[node.result.number] = vectors.reduce(node, block.get(node.operand))
            case Contract():
                addend = None if node.addend is None else block.get(node.addend)
                left, right = block.get(node.left), block.get(node.right)
                own[node.result.number] = contract(node, left, right, addend)
            case Send():
                out.append(block.get(node.value))
            case Load() if not plan.is_divisible:
                own[node.result.number] = _loaded(team, plan, node, trips)
            case Store():
                plan.accesses[id(node)].store(team.env, block.get(node.value), trips)
            case Constant():
                own[node.result.number] = vectors.constant(node)
    return out


def _loaded(team: Team, plan: Plan, node: Load, trips: Sequence[int]) -> Array:
    access = plan.accesses[id(node)]
    return access.load(team.env, node.result.shape, trips if access.fold else ())


def _in_blocks(
    run: Execution, team: Team, plan: Plan, steps: int, before: dict[int, Array], env: list[Any]
) -> list[Array]:
    """Evaluates the body block by block, so that what is computed in between stays in the cache."""
    out: list[Array] = []
    rows = max(1, min(team.count, BLOCK // max(1, plan.lanes * steps)))
    columns = steps if rows > 1 or plan.is_contracting else max(1, min(steps, BLOCK // max(1, plan.lanes)))
    for i in range(0, team.count, rows):
        for t in range(0, steps, columns):
            block = Block(team.values, {}, slice(i, i + rows), slice(t, t + columns))
            block.own = {number: block.cut(x) for number, x in before.items()}
            sent = _evaluate(run, team, plan, block, env, ())
            shape = (min(rows, team.count - i), min(columns, steps - t))
            if shape == (team.count, steps):
                return [np.broadcast_to(x, (*shape, *x.shape[2:])) for x in sent]
            out = out or [np.empty((team.count, steps, *x.shape[2:]), x.dtype) for x in sent]
            for whole, x in zip(out, sent, strict=True):
                whole[block.instances, block.iterations] = x
    return out


def _push(run: Execution, team: Team, plan: Plan, sent: Sequence[Array], steps: int) -> None:
    """Appends what was sent to the queues, one chunk per queue."""
    parts: dict[int, tuple[Queue, list[Array]]] = {}
    sends = (node for node in plan.body if isinstance(node, Send))
    for node, array in zip(sends, sent, strict=True):
        queue = run.queue(team, node.peer, True)
        parts.setdefault(id(queue), (queue, []))[1].append(array)
    for queue, arrays in parts.values():
        queue.push(arrays, steps)


def _iteration_env(team: Team, plan: Plan, trips: Sequence[int]) -> list[Any]:
    """The environment with loop variables along the iteration axis, per-instance numbers along the first."""
    env = [v.reshape(-1, 1) if isinstance(v, np.ndarray) else v for v in team.env]
    for k, loop in enumerate(plan.loops):
        lower, step = uniform(loop.lower.evaluate(team.env)), uniform(loop.step.evaluate(team.env))
        shape = [1] * len(trips)
        shape[k] = trips[k]
        iv = np.broadcast_to((lower + step * np.arange(trips[k])).reshape(shape), tuple(trips))
        env[loop.iv.slot] = iv.reshape(1, -1)
    return env


def _combine(_: Execution, team: Team, combine: Combine, steps: int) -> None:
    node, values = combine.node, team.values
    initial = values[combine.carried.initial.number]
    if isinstance(node, Contract):
        left, right = values[node.left.number], values[node.right.number]
        values[combine.carried.result.number] = accumulate(node, left, right, initial)
        return
    other = next(v for v in node.operands if v != combine.carried.argument)
    x = values[other.number]
    x = np.broadcast_to(x, (x.shape[0], steps, *x.shape[2:]))
    function = ASSOCIATIVE[node.function]
    dtype = node.result.dtype
    total = vectors.reduce_axis(function, x, dtype, 1)[:, None]
    values[combine.carried.result.number] = binary(function, initial, total, dtype)
