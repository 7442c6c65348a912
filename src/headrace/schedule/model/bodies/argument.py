"""argmax and argmin: a reduction that keeps a value and the integer that came with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.text import location
from headrace.numbers.dtypes import is_float
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.combiners import chosen, identity
from headrace.schedule.model.bodies.regions import Locals, evaluate, operand, scalar
from headrace.schedule.model.bodies.scalar_ops import attribute
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, Integer, plain_number, whole

Walks = tuple[tuple[Axis, ...], ...]
Prepare = Callable[[], tuple[Body, Locals, Walks]]
"""Makes a fresh body of the same nest: the body, its inputs entered, and the walks of the outs."""


@dataclass(frozen=True)
class Pair:
    """The region keeps the best `value` and, chosen by the same compare, the `payload` that came with it."""

    combiner: str
    predicate: str
    ops: tuple[Operation, ...]
    value: SSAValue
    payload: SSAValue
    order: tuple[int, int]
    """Positions of the value and of the payload among the outs."""

    @property
    def keeps_first(self) -> bool:
        """Whether of equal values the first one wins."""
        return not self.predicate.endswith("e")


def recognise_pair(
    block: Block, accumulators: tuple[SSAValue, ...], results: tuple[SSAValue, ...]
) -> Pair | None:
    """The pair a region keeps, or None."""
    if len(results) != 2 or any(not isinstance(r.owner, Operation) for r in results):
        return None
    for a, b in ((0, 1), (1, 0)):
        best, other = results[a].owner, results[b].owner
        if best.name != "arith.select" or other.name != "arith.select":
            continue
        found = chosen(best, accumulators[a])
        if found is None or other.operands[0] is not best.operands[0]:
            continue
        takes = 1 if best.operands[1] is found[2] else 2
        if other.operands[3 - takes] is accumulators[b]:
            predicate = _as_win(str(attribute(found[1])), found[1].operands[0] is found[2], takes == 1)
            ops = (best, other, found[1])
            return Pair(found[0], predicate, ops, found[2], other.operands[takes], (a, b))
    return None


_FLIP = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
_NEGATE = {"gt": "le", "le": "gt", "lt": "ge", "ge": "lt"}


def _as_win(predicate: str, value_is_left: bool, taken_if_true: bool) -> str:
    """The predicate p so that the value replaces the accumulator exactly when p(value, accumulator)."""
    prefix, relation = predicate[0], predicate[1:]
    relation = relation if value_is_left else _FLIP[relation]
    return prefix + (relation if taken_if_true else _NEGATE[relation])


def build(
    state: State, op: Operation, block: Block, pair: Pair, prepare: Prepare, outs: tuple[AnyTensor, ...]
) -> list[AnyTensor]:
    """Three nests: the best value, the first (last) payload that reaches it, the start where none does."""
    value_out, payload_out = (outs[k] for k in pair.order)
    starts = _start(value_out), _start(payload_out)
    best = _best(state, op, block, pair, prepare, value_out, starts[0])
    found = _payload(state, op, block, pair, prepare, (value_out, payload_out), starts, best)
    results: list[AnyTensor] = [best, _or_start(state, op, pair, found, starts[1])]
    return results if pair.order == (0, 1) else results[::-1]


def _best(
    state: State,
    op: Operation,
    block: Block,
    pair: Pair,
    prepare: Prepare,
    out: AnyTensor,
    start: Constant | Integer,
) -> AnyTensor:
    body, local, walks = prepare()
    evaluate(state, body, block, local, pair.ops)
    value = operand(state, body, pair.value, local)
    if is_float(out.dtype):
        is_nan = scalar(body, "arith.cmpf", [value, value], "i1", "uno")
        value = scalar(body, "arith.select", [is_nan, identity(pair.combiner, out.dtype), value], out.dtype)
    name = state.value(out.shape, out.dtype, location(op))
    walk = walks[pair.order[0]]
    state.compute(
        body, [Out(name, walk, body.place(value), pair.combiner, _number(start))], location(op), op.name
    )
    return whole(name, out.shape, out.dtype)


def _payload(
    state: State,
    op: Operation,
    block: Block,
    pair: Pair,
    prepare: Prepare,
    outs: tuple[AnyTensor, AnyTensor],
    starts: tuple[Constant | Integer, Constant | Integer],
    best: AnyTensor,
) -> AnyTensor:
    body, local, walks = prepare()
    evaluate(state, body, block, local, pair.ops)
    value, payload = (operand(state, body, v, local) for v in (pair.value, pair.payload))
    _check_rising(body, payload)
    kind = outs[1].dtype
    compare, equals = ("arith.cmpf", "oeq") if is_float(outs[0].dtype) else ("arith.cmpi", "eq")
    top = state.element(body, best, walks[pair.order[0]])
    equal = scalar(body, compare, [value, top], "i1", equals)
    wins = scalar(body, compare, [value, starts[0]], "i1", pair.predicate)
    counts = scalar(body, "arith.andi", [equal, wins], "i1")
    combiner = "min" if pair.keeps_first else "max"
    none = identity(combiner, kind)
    candidate = body.place(scalar(body, "arith.select", [counts, payload, none], kind))
    name = state.value(outs[1].shape, kind, location(op))
    out = Out(name, walks[pair.order[1]], candidate, combiner, _number(none))
    state.compute(body, [out], location(op), op.name)
    return whole(name, outs[1].shape, kind)


def _or_start(
    state: State, op: Operation, pair: Pair, found: AnyTensor, start: Constant | Integer
) -> AnyTensor:
    body = Body(state.dims(found.shape), state.ranges)
    walk = tuple(Axis(d.name) for d in body.dims)
    value = state.element(body, found, walk)
    none = identity("min" if pair.keeps_first else "max", found.dtype)
    missing = scalar(body, "arith.cmpi", [value, none], "i1", "eq")
    result = body.place(scalar(body, "arith.select", [missing, start, value], found.dtype))
    name = state.value(found.shape, found.dtype, location(op))
    state.compute(body, [Out(name, walk, result)], location(op), op.name)
    return whole(name, found.shape, found.dtype)


def _check_rising(body: Body, payload: Operand) -> None:
    """The payload must grow along the reduction, so that the first occurrence has the smallest one."""
    if isinstance(payload, Integer):
        reduced = [d for d in body.dims if d.kind == "reduction"]
        reach = 1
        for d in reversed(reduced):
            factor = payload.value.terms.get(d.name, 0)
            if factor < reach:
                break
            reach = factor * (d.extent - 1) + reach
        else:
            return
    raise Refused(
        "the index kept beside the value must be the row-major position",
        "use linalg.index of the reduced dims",
    )


def _start(tensor: AnyTensor) -> Constant | Integer:
    if isinstance(tensor, Filled) and isinstance(tensor.fill, Constant | Integer):
        if isinstance(tensor.fill, Constant) or tensor.fill.value.fixed is not None:
            return tensor.fill
    raise Refused("an argmax needs initial values that are numbers", "fill both outs")


def _number(value: Constant | Integer) -> float | int:
    number = plain_number(value)
    assert number is not None
    return number
