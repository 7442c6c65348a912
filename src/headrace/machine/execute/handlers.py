"""What a team does at each kind of node; every handler returns False if the team must wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.machine.execute import indirect, vectors
from headrace.machine.execute.access import uniform
from headrace.machine.execute.contractions import contract
from headrace.machine.execute.exchange import checked
from headrace.machine.execute.gathered import Gathered, gathered
from headrace.machine.execute.lanes import flat
from headrace.machine.execute.marked import run_marked
from headrace.machine.execute.streams import run_read, run_write
from headrace.machine.execute.team import Frame, Team
from headrace.machine.image import (
    Constant,
    Contract,
    Copy,
    Extract,
    If,
    Load,
    Loop,
    Read,
    Receive,
    Reduce,
    Send,
    Signal,
    Store,
    VectorOp,
    Wait,
    Write,
)

if TYPE_CHECKING:
    from headrace.machine.execute.execution import Execution


def _copy(run: Execution, team: Team, node: Copy) -> bool:
    source, target = run.access(team, node.source, node.where), run.access(team, node.target, node.where)
    if node.indirect is None:
        source.copy_to(target, team.env, node.lanes)
    else:
        indirect.run(node, source, target, run.access(team, node.indirect.box, node.where), team.env)
    return True


def _signal(run: Execution, team: Team, node: Signal) -> bool:
    is_fence, sent, _ = run.peers(team, node.peer)
    if not is_fence:
        run.counts[sent] += 1
    return True


def _wait(run: Execution, team: Team, node: Wait) -> bool:
    _, _, received = run.peers(team, node.peer)
    counts = run.counts[received]
    if not counts.all():
        return False
    run.counts[received] = counts - 1
    return True


def _receive(run: Execution, team: Team, node: Receive) -> bool:
    queue = run.queue(team, node.peer, False)
    if not queue.available:
        return False
    result = node.result
    (message,) = queue.take(1, 1, node.where)
    team.values[result.number] = checked(
        message, result.shape, result.dtype, node.where, run.partner(team, node.peer)
    )
    return True


def _send(run: Execution, team: Team, node: Send) -> bool:
    value = team.values[node.value.number]
    run.queue(team, node.peer, True).push([np.broadcast_to(value, (team.count, *value.shape[1:]))], 1)
    return True


def _load(run: Execution, team: Team, node: Load) -> bool:
    access = run.access(team, node.box, node.where)
    team.values[node.result.number] = access.load(team.env, node.result.shape)
    return True


def _store(run: Execution, team: Team, node: Store) -> bool:
    run.access(team, node.box, node.where).store(team.env, team.values[node.value.number])
    return True


def _constant(run: Execution, team: Team, node: Constant) -> bool:
    team.values[node.result.number] = vectors.constant(node)
    return True


def _vector(run: Execution, team: Team, node: VectorOp) -> bool:
    inputs = [team.values[v.number] for v in node.operands]
    indices = [i.evaluate(team.env) for i in node.indices]
    team.values[node.result.number] = vectors.evaluate(node, inputs, indices, run.scalars)
    return True


def _reduce(run: Execution, team: Team, node: Reduce) -> bool:
    team.values[node.result.number] = vectors.reduce(node, team.values[node.operand.number])
    return True


def _contract(run: Execution, team: Team, node: Contract) -> bool:
    addend = None if node.addend is None else team.values[node.addend.number]
    left, right = team.values[node.left.number], team.values[node.right.number]
    team.values[node.result.number] = contract(node, left, right, addend)
    return True


def _extract(run: Execution, team: Team, node: Extract) -> bool:
    lanes = flat(team.values[node.value.number], node.value)[:, 0, node.lane].astype(np.int64)
    team.env[node.symbol.slot] = int(lanes[0]) if team.count == 1 else np.broadcast_to(lanes, (team.count,))
    return True


def enter_loop(run: Execution, team: Team, node: Loop) -> None:
    """Begin a loop that goes step by step; one that runs not once gives what it would have carried."""
    lower, upper, step = (uniform(i.evaluate(team.env)) for i in (node.lower, node.upper, node.step))
    if node.is_data_dependent:
        run.record(team, node.number, max(0, -(-(upper - lower) // step)))
    is_empty = lower >= upper
    for c in node.carried:
        team.values[(c.result if is_empty else c.argument).number] = team.values[c.initial.number]
    for i in node.indices:
        team.env[(i.result if is_empty else i.argument).slot] = i.initial.evaluate(team.env)
    if not is_empty:
        team.env[node.iv.slot] = lower
        team.frames[-1].at += 1
        team.frames.append(Frame(node.body, 0, node, lower, upper, step))


def _loop(run: Execution, team: Team, node: Loop) -> bool:
    if not team.is_unfolded:
        found = run_marked(run, team, node) if node.kind is not None else _run_unmarked(run, team, node)
        if found is not None:
            return found
    enter_loop(run, team, node)
    return True


def _run_unmarked(run: Execution, team: Team, node: Loop) -> bool | None:
    """An unmarked loop at once, as transfers or as arrays; None where it has to go step by step."""
    if not run.is_folding_unmarked or ("single", id(node)) in team.plans:
        return None
    key = ("gathered", id(node))
    if key not in team.plans:
        team.plans[key] = gathered(node)
    whole: Gathered | None = team.plans[key]
    if whole is None:
        return run_marked(run, team, node)
    if not all(uniform(t.evaluate(team.env)) for t in whole.trips):
        return True
    done = [run.handlers[type(n)](run, team, n) for n in whole.nodes]
    return all(done)


def _if(run: Execution, team: Team, node: If) -> bool:
    is_then = bool(uniform(node.condition.evaluate(team.env)))
    if node.is_data_dependent:
        run.record(team, node.number, int(is_then))
    team.frames[-1].at += 1
    team.frames.append(Frame(node.then if is_then else node.otherwise, branch=node, is_then=is_then))
    return True


HANDLERS: dict[type, Callable[[Any, Team, Any], bool]] = {
    Copy: _copy,
    Read: run_read,
    Write: run_write,
    Signal: _signal,
    Wait: _wait,
    Receive: _receive,
    Send: _send,
    Load: _load,
    Store: _store,
    Constant: _constant,
    VectorOp: _vector,
    Reduce: _reduce,
    Contract: _contract,
    Extract: _extract,
    Loop: _loop,
    If: _if,
}
