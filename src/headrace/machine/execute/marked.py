"""Marked loops as whole arrays: the body is evaluated once, all iterations along an axis (rule R5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.machine.decode.tidy import operands
from headrace.machine.execute import vectors
from headrace.machine.execute.arenas import Access, uniform
from headrace.machine.execute.arithmetic import binary
from headrace.machine.execute.contractions import accumulate, contract
from headrace.machine.execute.exchange import Queue, checked
from headrace.machine.image import (
    Carried,
    Constant,
    Contract,
    Load,
    Loop,
    Node,
    Receive,
    Reduce,
    Send,
    Store,
    Value,
    VectorOp,
)

if TYPE_CHECKING:
    from headrace.machine.execute.run import Execution
    from headrace.machine.execute.team import Team

Array = np.ndarray[Any, Any]
_STRAIGHT = (Receive, Send, Load, Store, Constant, VectorOp, Reduce, Contract)
_ASSOCIATIVE = {
    "add": "add", "addf": "add", "addi": "add", "mul": "mul", "mulf": "mul", "muli": "mul",
    "max": "max", "maximumf": "max", "maxsi": "max", "min": "min", "minimumf": "min", "minsi": "min",
    "and0": "and0", "andi": "and0", "or0": "or0", "ori": "or0",
}  # fmt: skip
_WIDE = ("f32", "f64", "i8", "i16", "i32", "i64")
"""Types in which sums of any order are as good as the sequential one."""
BLOCK = 1 << 17
"""Lanes that are computed at once: the arrays in between stay in the second-level cache."""


@dataclass(frozen=True)
class Combine:
    """A loop-carried vector and the op that combines it with what an iteration computes."""

    carried: Carried
    node: VectorOp | Contract


@dataclass(frozen=True)
class Plan:
    """A nest of marked loops ready to run folded; `body` leaves out the combining ops of a reduction.

    `is_divisible`: blocks of instances and iterations can be computed one after the other. `lanes`: the
    widest vector that is computed, 0 if all is passed on.
    """

    loops: tuple[Loop, ...]
    body: tuple[Node, ...]
    combines: tuple[Combine, ...]
    receives: tuple[tuple[Queue, int], ...]
    accesses: dict[int, Access]
    has_indices: bool
    is_divisible: bool
    is_contracting: bool
    lanes: int

    def trips(self, team: Team) -> list[int]:
        """Trip counts of the nest now."""
        out = []
        for loop in self.loops:
            lower, upper, step = (uniform(i.evaluate(team.env)) for i in (loop.lower, loop.upper, loop.step))
            out.append(max(0, -(-(upper - lower) // step)))
        return out


def run_marked(run: Execution, team: Team, node: Loop) -> bool | None:
    """Runs a marked loop folded: True done, False messages are missing, None if it cannot be folded."""
    key = ("marked", id(node))
    if key not in team.plans:
        team.plans[key] = _plan(run, team, node)
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
    taken = {id(queue): iter(queue.take(steps, count)) for queue, count in plan.receives}
    _body(run, team, plan, trips, taken)
    for combine in plan.combines:
        _combine(team, combine, steps)
    return True


# ---- running -----------------------------------------------------------------------------------------------
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


def _combine(team: Team, combine: Combine, steps: int) -> None:
    node, values = combine.node, team.values
    initial = values[combine.carried.initial.number]
    if isinstance(node, Contract):
        left, right = values[node.left.number], values[node.right.number]
        values[combine.carried.result.number] = accumulate(node, left, right, initial)
        return
    other = next(v for v in node.operands if v != combine.carried.argument)
    x = values[other.number]
    x = np.broadcast_to(x, (x.shape[0], steps, *x.shape[2:]))
    function = _ASSOCIATIVE[node.function]
    dtype = node.result.dtype
    total = vectors.reduce_axis(function, x, dtype, 1)[:, None]
    values[combine.carried.result.number] = binary(function, initial, total, dtype)


# ---- planning ----------------------------------------------------------------------------------------------
def _plan(run: Execution, team: Team, node: Loop) -> Plan | None:
    """How to fold a loop, or None where it does not keep what its mark promises or needs plain iteration."""
    nest = _nest(node)
    body = nest[-1].body
    if not all(isinstance(n, _STRAIGHT) for n in body) or any(loop.is_data_dependent for loop in nest):
        return None
    combines = _combines(nest[-1])
    if combines is None or (combines and len(nest) > 1):
        return None
    accesses = _accesses(run, team, nest, body)
    if accesses is None:
        return None
    kept = tuple(n for n in body if not any(n is c.node for c in combines))
    counts: dict[int, tuple[Queue, int]] = {}
    for n in body:
        if isinstance(n, Receive):
            queue = run.queue(team, n.peer, False)
            counts[id(queue)] = (queue, counts.get(id(queue), (queue, 0))[1] + 1)
    has_indices = any(isinstance(n, VectorOp) and any(i.symbols for i in n.indices) for n in body)
    is_divisible = not combines and not any(isinstance(n, Store) for n in body)
    is_contracting = any(isinstance(n, Contract) for n in body)
    lanes = max((n.result.lanes for n in body if isinstance(n, VectorOp | Contract)), default=0)
    return Plan(
        tuple(nest),
        kept,
        combines,
        tuple(counts.values()),
        accesses,
        has_indices,
        is_divisible,
        is_contracting,
        lanes,
    )


def _nest(node: Loop) -> list[Loop]:
    """The perfect nest of parallel loops that starts at `node`."""
    nest = [node]
    while nest[-1].kind == "parallel" and not nest[-1].carried and len(nest[-1].body) == 1:
        inner = nest[-1].body[0]
        ivs = {loop.iv for loop in nest}
        if not isinstance(inner, Loop) or inner.kind != "parallel" or inner.carried or inner.indices:
            break
        if any(i.symbols & ivs for i in (inner.lower, inner.upper, inner.step)):
            break
        nest.append(inner)
    return nest


def _combines(loop: Loop) -> tuple[Combine, ...] | None:
    """The combining op of every carried vector; None if one is used in any other way."""
    if loop.indices:
        return None
    uses = Counter(v for n in loop.body for v in operands(n))
    out = []
    for c in loop.carried:
        found = [n for n in loop.body if c.argument in operands(n)]
        if uses[c.argument] != 1 or uses[c.yielded] or len(found) != 1:
            return None
        node = found[0]
        if isinstance(node, Contract):
            if (node.addend, node.result) != (c.argument, c.yielded) or node.result.dtype not in _WIDE:
                return None
        elif not isinstance(node, VectorOp) or not _is_combining(node, c):
            return None
        out.append(Combine(c, node))
    return tuple(out)


def _is_combining(node: VectorOp, carried: Carried) -> bool:
    function = _ASSOCIATIVE.get(node.function)
    if function is None or node.result != carried.yielded or node.details or len(node.operands) != 2:
        return False
    is_exact = function not in ("add", "mul") or node.result.dtype in _WIDE
    return is_exact and node.operands[0] != node.operands[1]


def _accesses(
    run: Execution, team: Team, nest: Sequence[Loop], body: Sequence[Node]
) -> dict[int, Access] | None:
    """How the loads and stores of the body reach memory, with the loop variables as axes."""
    found: dict[int, Access] = {}
    ivs = []
    for loop in nest:
        step = loop.step.constant
        if step is None:
            return None
        ivs.append((loop.iv, loop.lower, step))
    for node in body:
        if not isinstance(node, Load | Store):
            continue
        used = {loop.iv for loop in nest}
        is_fixed = not (node.box.base.symbols & used)
        if any(d.extent.symbols & used for d in node.box.run) or (is_fixed and isinstance(node, Store)):
            return None
        arena = run.arenas.of(node.box.place)
        access = Access(node.box, arena, team.env, team.count, () if is_fixed else ivs, node.where)
        if not access.is_foldable or (isinstance(node, Store) and 0 in access.fold):
            return None
        found[id(node)] = access
    return found
