"""The price of a step: straight-line receives, vector ops and sends as phases of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.arch.cost import FREE, Port, StepOp, finished, matrix_cycles, op_class, step_cycles
from headrace.arch.device import GRANULE_BYTES, Unit
from headrace.arch.steps import bit_width
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.machine.boxes import Value
from headrace.machine.index import Index
from headrace.machine.nodes import (
    Contract,
    Load,
    Node,
    Receive,
    Reduce,
    Send,
    Step,
    Store,
    VectorOp,
    walk,
)
from headrace.machine.timing.access import access_cycles
from headrace.machine.timing.activities import Give, Peer, Phase, Take
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.ticks import TICKS, ticks

Where = Callable[[Index], Peer]
"""Resolves the index of a peer."""


@dataclass(frozen=True)
class Steps:
    """Phases of one iteration, and the latency of its last results."""

    phases: tuple[Phase, ...]
    latency: int
    traffic: tuple[tuple[str, int], ...]


def residents(body: tuple[Node, ...]) -> frozenset[int]:
    """Return the numbers of values that are the stationary operand of a contraction."""
    return frozenset(node.right.number for node in walk(body) if isinstance(node, Contract))


def steps(
    nodes: Sequence[Step], unit: Unit, stationary: frozenset[int], where: Where, prices: Prices
) -> Steps:
    """Return the phases of straight-line nodes; a receive after a send or a reduction begins a new phase, for
    which what is taken need not be there before.
    """
    ports = _ports(nodes)
    phases: list[Phase] = []
    latency = 0
    traffic: dict[str, int] = {}
    early: dict[int, float] = {}
    for part in _parts(nodes):
        cost, latency = _price(part, unit, ports, stationary, prices, early)
        early = {number: max(0.0, there - cost / TICKS) for number, there in early.items()}
        phases.append(_phase(part, unit, cost, latency, stationary, where, prices))
        for name, size in _traffic(part, unit, where, prices):
            traffic[name] = traffic.get(name, 0) + size
    return Steps(tuple(phases), latency, tuple(sorted(traffic.items())))


def _ports(nodes: Sequence[Step]) -> list[Port]:
    return [Port(v.lanes, v.dtype) for node in nodes if (v := _message(node)) is not None]


def _message(node: Step) -> Value | None:
    match node:
        case Receive():
            return node.result
        case Send():
            return node.value
    return None


def _parts(nodes: Sequence[Step]) -> Iterable[list[Step]]:
    part: list[Step] = []
    has_begun = False
    for node in nodes:
        if has_begun and isinstance(node, Receive):
            yield part
            part, has_begun = [], False
        part.append(node)
        has_begun = has_begun or isinstance(node, Send | Reduce)
    if part:
        yield part


def _price(
    part: Sequence[Step],
    unit: Unit,
    ports: list[Port],
    stationary: frozenset[int],
    prices: Prices,
    early: dict[int, float],
) -> tuple[int, int]:
    """Cost and latency in ticks of one phase. Results of phases before it are there `early` cycles after its
    start, by their numbers; its own are added. What a phase does not send waits for its own ops only: a core
    that passes messages on beside its sum does so at the pace of the messages.
    """
    scalar = sum(_memory_cycles(node, unit, prices) for node in part)
    swap = 0
    if unit.matrix is not None:
        takes = (node for node in part if isinstance(node, Receive))
        swap = sum(unit.matrix.swap_cycles for node in takes if node.result.number in stationary)
    if unit.matrix is not None and not unit.lanes:
        contractions = [node for node in part if isinstance(node, Contract)]
        cost = sum(_matrix(node, unit) for node in contractions)
        return ticks(cost + scalar + swap), ticks(unit.matrix.latency_cycles) if contractions else 0
    if not unit.lanes:
        return ticks(scalar), 0
    ops, waits, made = _ops(part, unit, early)
    own = _ports(part)
    priced = any(op.op_class != FREE for op in ops)
    moved = (ports if priced else own) if own else []  # what only passes costs what it moves itself
    try:
        cost = step_cycles(ops, moved, prices.device, unit)
    except HeadraceError as error:
        raise _placed(error, part[0].where) from None
    if not priced:
        return ticks(cost + scalar + swap), ticks(unit.op_latency.get("move", 1)) if moved else 0
    done = finished(ops, unit, waits)
    early |= dict(zip(made, done, strict=True))
    sent = {node.value.number for node in part if isinstance(node, Send)} or {*made}
    own_done = finished(ops, unit, [0.0] * len(ops))
    latency = max(max(own_done), *(d for number, d in zip(made, done, strict=True) if number in sent), 0.0)
    return ticks(cost + scalar + swap), ticks(latency or unit.op_latency.get("move", 1))


def _matrix(node: Contract, unit: Unit) -> float:
    assert unit.matrix is not None
    dtype = max(node.left.dtype, node.right.dtype, key=bit_width)
    try:
        return matrix_cycles(node.k, node.n, dtype, unit.matrix)
    except HeadraceError as error:
        raise _placed(error, node.where) from None


def _placed(error: HeadraceError, where: Location) -> HeadraceError:
    return HeadraceError([Diagnostic(d.message, where, hint=d.hint) for d in error.diagnostics])


def _ops(
    part: Sequence[Step], unit: Unit, early: Mapping[int, float]
) -> tuple[list[StepOp], list[float], list[int]]:
    """The ops of a phase with the positions of the ops whose results they use, the cycles until what they use
    of phases before it is there, and the numbers of their results.
    """
    ops: list[StepOp] = []
    waits: list[float] = []
    made: dict[int, int] = {}
    for node in part:
        found = _op(node, unit, made)
        if found is not None:
            op, result, operands = found
            made[result.number] = len(ops)
            ops.append(op)
            waits.append(max((early.get(value.number, 0.0) for value in operands), default=0.0))
    return ops, waits, list(made)


def _op(node: Step, unit: Unit, made: dict[int, int]) -> tuple[StepOp, Value, tuple[Value, ...]] | None:
    match node:
        case VectorOp():
            op = _step_op(_class(node, unit), node.operands, node.result, made)
            return op, node.result, node.operands
        case Reduce():
            kind = "integer" if _is_integer(node.operand) else "arith"
            args = _args((node.operand,), made)
            op = StepOp(kind, node.operand.lanes, node.operand.dtype, args, is_reduction=True)
            return op, node.result, (node.operand,)
        case Contract():
            dtype = max((node.left.dtype, node.right.dtype), key=bit_width)
            operands = (
                (node.left, node.right) if node.addend is None else (node.left, node.right, node.addend)
            )
            op = StepOp("arith", node.k * node.n, dtype, _args(operands, made))
            return op, node.result, operands
    return None


def _step_op(kind: str, operands: tuple[Value, ...], result: Value, made: dict[int, int]) -> StepOp:
    touched = (*operands, result)
    widest = max((value.dtype for value in touched), key=bit_width)
    return StepOp(kind, max(value.lanes for value in touched), widest, _args(operands, made))


def _args(operands: Iterable[Value], made: dict[int, int]) -> tuple[int, ...]:
    return tuple(made[value.number] for value in operands if value.number in made)


def _class(node: VectorOp, unit: Unit) -> str:
    """Price class; a shuffle that repeats one lane is wiring, arithmetic on integers is integer work."""
    if node.name == "vectorchain.shuffle" and len(node.detail("indices", ())) == 1:
        return FREE
    kind = op_class(node.name, unit, node.where)
    return "integer" if kind == "arith" and _is_integer(node.result) else kind


def _is_integer(value: Value) -> bool:
    return value.dtype.startswith("i")


def _memory_cycles(node: Step, unit: Unit, prices: Prices) -> float:
    """Cycles of a vector load or store outside the register file."""
    if not isinstance(node, Load | Store) or node.box.place.kind == "register":
        return 0.0
    lanes = node.result.lanes if isinstance(node, Load) else node.value.lanes
    direction = "read" if isinstance(node, Load) else "write"
    return access_cycles(node.box, lanes, unit, direction, prices)


def _traffic(part: Sequence[Step], unit: Unit, where: Where, prices: Prices) -> Iterable[tuple[str, int]]:
    """Bytes read and written in the scratchpad, and those of messages over all links of a ring they take."""
    for node in part:
        if isinstance(node, Load) and node.box.place.kind == "ct_local":
            yield "lx_read", node.result.bytes
        elif isinstance(node, Store) and node.box.place.kind == "ct_local":
            yield "lx_write", node.value.bytes
        elif isinstance(node, Send) and (hops := prices.message_hops(unit.kind, where(node.peer))):
            yield "ring", node.value.bytes * hops


def _phase(
    part: Sequence[Step],
    unit: Unit,
    cost: int,
    latency: int,
    stationary: frozenset[int],
    where: Where,
    prices: Prices,
) -> Phase:
    is_matrix = unit.matrix is not None
    takes = tuple(
        Take(where(node.peer), is_matrix and node.result.number in stationary)
        for node in part
        if isinstance(node, Receive)
    )
    sends = [(where(node.peer), node.value.bytes) for node in part if isinstance(node, Send)]
    links = [prices.channel(unit.kind, peer.kind, peer.corelet, peer.cores) for peer, _ in sends]
    durations = [
        0 if rate is None else ticks(size / rate)
        for (_, size), (rate, _, _) in zip(sends, links, strict=True)
    ]
    busiest: dict[Peer, int] = {}
    for (peer, _), duration in zip(sends, durations, strict=True):
        busiest[peer] = busiest.get(peer, 0) + duration
    cost = max([cost, *busiest.values()])
    gives = []
    after = dict(busiest)
    for (peer, size), duration, (_, link_latency, _) in zip(sends, durations, links, strict=True):
        offset = latency + cost - after[peer]
        after[peer] -= duration
        gives.append(Give(peer, granules_of(size), offset, duration, link_latency))
    return Phase(takes, cost, tuple(gives))


def granules_of(size: int) -> int:
    """Return the queue entries a message of `size` bytes takes."""
    return max(1, -(-size // GRANULE_BYTES))
