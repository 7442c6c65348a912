"""Which loops can be run as whole arrays, and how: marked ones (rule R5), and those that keep it unmarked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.machine.decode.tidy import operands
from headrace.machine.execute.access import Access, uniform
from headrace.machine.execute.exchange import Queue
from headrace.machine.execute.gathered import are_disjoint, nest_of
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
    VectorOp,
)
from headrace.numbers.dtypes import is_float

if TYPE_CHECKING:
    from headrace.machine.execute.execution import Execution
    from headrace.machine.execute.team import Team

_STRAIGHT = (Receive, Send, Load, Store, Constant, VectorOp, Reduce, Contract)
ASSOCIATIVE = {
    "add": "add", "addf": "add", "addi": "add", "mul": "mul", "mulf": "mul", "muli": "mul",
    "max": "max", "maximumf": "max", "maxsi": "max", "min": "min", "minimumf": "min", "minsi": "min",
    "and0": "and0", "andi": "and0", "or0": "or0", "ori": "or0",
}  # fmt: skip
_MOST_LANES = 1 << 21
"""Lanes from which the inner loops of a nest are folded on their own, so that messages do not pile up."""
_WIDE = ("f32", "f64", "i8", "i16", "i32", "i64")
"""Types in which sums of any order are as good as the sequential one."""


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


def plan_of(run: Execution, team: Team, node: Loop) -> Plan | None:
    """How to fold a loop, or None where it does not keep what its mark promises or needs plain iteration."""
    nest = nest_of(node) if node.kind is None else _nest(node)
    body = nest[-1].body
    if node.kind is None and not _keeps_the_promise(run, team, nest, body):
        return None
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
    if node.kind is None and len(nest) > 1 and _steps(nest, team) * lanes * team.count > _MOST_LANES:
        return None
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


def _steps(nest: Sequence[Loop], team: Team) -> int:
    """Iterations of a nest as its bounds are now."""
    steps = 1
    for loop in nest:
        lower, upper, step = (uniform(i.evaluate(team.env)) for i in (loop.lower, loop.upper, loop.step))
        steps *= max(0, -(-(upper - lower) // step))
    return steps


def _keeps_the_promise(run: Execution, team: Team, nest: Sequence[Loop], body: Sequence[Node]) -> bool:
    """Whether an unmarked loop is as good as a marked one.

    No iteration touches what another one stores, floats are not summed up in another order, and no message
    comes from the unit's own program, which it might have caused itself.
    """
    stores = [n for n in body if isinstance(n, Store)]
    places = {n.box.place.name for n in stores}
    if any(isinstance(n, Load) and n.box.place.name in places for n in body):
        return False
    if stores and not are_disjoint([n.box for n in stores], nest):
        return False
    if any(is_float(c.result.dtype) and not _is_exact(nest[-1], c) for c in nest[-1].carried):
        return False
    ivs = {loop.iv for loop in nest}
    ends = [n.peer for n in body if isinstance(n, Receive | Send)]
    if any(p.symbols & ivs for p in ends):
        return False
    senders = [n.peer for n in body if isinstance(n, Receive)]
    return not any(set(run.members(team, p)) & set(team.program.instances) for p in senders)


def _is_exact(loop: Loop, carried: Carried) -> bool:
    """Whether the op that combines a carried float gives the same in any order."""
    found = [n for n in loop.body if isinstance(n, VectorOp) and n.result == carried.yielded]
    return bool(found) and ASSOCIATIVE.get(found[0].function) in ("max", "min")


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
    function = ASSOCIATIVE.get(node.function)
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
