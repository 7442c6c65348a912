"""The engine with handlers that write down instead of computing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.execute import vectors
from headrace.machine.execute.access import uniform
from headrace.machine.execute.arenas import Scratchpads
from headrace.machine.execute.arithmetic import binary
from headrace.machine.execute.contractions import accumulate, contract
from headrace.machine.execute.exchange import Queue, checked
from headrace.machine.execute.execution import Execution, Handlers
from headrace.machine.execute.folding import ASSOCIATIVE, Combine, Plan, plan_of
from headrace.machine.execute.gathered import Gathered, gathered
from headrace.machine.execute.handlers import HANDLERS, enter_loop
from headrace.machine.execute.lanes import LEAD
from headrace.machine.execute.marked import fold
from headrace.machine.execute.tape.accesses import RecordedAccess
from headrace.machine.execute.tape.products import product
from headrace.machine.execute.tape.record import LX, Recorder
from headrace.machine.execute.tape.views import Array, NotRecordable
from headrace.machine.execute.team import Team
from headrace.machine.image import (
    Box,
    Constant,
    Contract,
    Copy,
    Extract,
    If,
    Image,
    Load,
    Loop,
    Receive,
    Reduce,
    Send,
    Store,
    VectorOp,
)
from headrace.numbers.dtypes import numpy_dtype

_VIEWS = frozenset(("select", "shuffle", "broadcast", "splat", "shape_cast"))
"""Functions whose result is, in the common cases, a view of the operand."""
_BINARY = {
    "add": "add", "addf": "add", "sub": "sub", "subf": "sub", "mul": "mul", "mulf": "mul", "divf": "div",
    "max": "max", "maximumf": "max", "min": "min", "minimumf": "min",
}  # fmt: skip
_CASTS = {("f16", "f32"): "widen", ("f32", "f16"): "narrow"}
_UNARY = {
    "exp": "exp", "neg": "neg", "negf": "neg", "absf": "abs", "rsqrt": "rsqrt", "sqrt": "sqrt",
    "reciprocal": "reciprocal", "sigmoid": "sigmoid", "tanh": "tanh",
}  # fmt: skip
_REDUCTIONS = {"max": "row_max", "add": "row_sum"}


class RecordedQueue(Queue):
    """A queue whose messages are joined on the tape."""

    def __init__(self, order: list[int], recorder: Recorder) -> None:
        super().__init__(order)
        self.recorder = recorder

    def concatenated(self, parts: Sequence[Array]) -> Array:
        """The stand-in of messages one after the other."""
        first = parts[0]
        shape = (first.shape[0], sum(p.shape[1] for p in parts), *first.shape[2:])

        def kernel(out: Array, *given: Array) -> None:
            np.concatenate(given, axis=1, out=out)

        return self.recorder.add("concatenate", self.recorder.new(shape, first.dtype), parts, kernel)


class Recording(Execution):
    """One run on arrays without bytes; `recorder` holds the tape afterwards."""

    def __init__(
        self, image: Image, device_bytes: int, scalars: dict[str, Any], scratch: Scratchpads
    ) -> None:
        lx = next((m.size_bytes for m in image.memories if m.kind == "ct_local"), 0)
        sizes = {m.name: m.size_bytes for m in image.memories if m.kind == "register"}
        registers = {n: (len(scratch.registers[n]), size) for n, size in sizes.items()}
        self.recorder = Recorder(device_bytes, len(scratch.lx), lx, registers)
        memories = self.recorder.memories
        fakes = {n: memories[k].bytes for k, n in enumerate(registers, len(memories) - len(registers))}
        pads = Scratchpads(memories[LX].bytes, fakes)
        handlers: Handlers = {
            **HANDLERS, Copy: _copy, Constant: _constant, VectorOp: _vector, Reduce: _reduce,
            Contract: _contract, Extract: _refused, Loop: _loop, If: _if,
        }  # fmt: skip
        super().__init__(image, memories[0], scalars, pads, handlers)

    def access(self, team: Team, box: Box, where: Location) -> RecordedAccess:
        """How a team reaches a box, cached."""
        found = team.plans.get(id(box))
        if found is None:
            found = RecordedAccess(box, self.arenas.of(box.place), team.env, team.count, (), where)
            found.recorder = self.recorder
            team.plans[id(box)] = found
        assert isinstance(found, RecordedAccess)
        return found

    def new_queue(self, order: list[int]) -> Queue:
        """An empty queue."""
        return RecordedQueue(order, self.recorder)

    def record(self, team: Team, number: int, count: int) -> None:
        """Counts that depend on data are no part of a tape."""
        raise NotRecordable

    # ---- evaluation ----------------------------------------------------------------------------------------
    def vector(self, node: VectorOp, inputs: Sequence[Array], indices: Sequence[Any]) -> Array:
        """The stand-in of an op's result."""
        if node.function in _VIEWS:
            found = vectors.evaluate(node, inputs, indices, self.scalars)
            if any(np.may_share_memory(found, x) for x in inputs):
                return found
        leads = [vectors.leading(i) for i in indices]
        shape = (*_lead_of([*inputs, *leads]), *node.result.shape)
        dtype = numpy_dtype(node.result.dtype)
        scalars = self.scalars

        def kernel(out: Array, *given: Array) -> None:
            out[...] = vectors.evaluate(node, given, indices, scalars)

        native = _native(node)
        if native is not None and all(_fits(x.shape, shape) for x in inputs):
            wide = [np.broadcast_to(x, shape) for x in inputs]
            return self.recorder.add(native, self.recorder.new(shape, dtype), wide, kernel, ())
        return self.recorder.add(node.function, self.recorder.new(shape, dtype), inputs, kernel)

    def reduction(self, node: Reduce, x: Array) -> Array:
        """The stand-in of a row reduction."""
        dtype = numpy_dtype(node.operand.dtype)
        lanes = x.shape[LEAD:]
        tail = (*lanes[:-1], 1) if len(node.result.shape) == 1 else lanes[:-1]
        out = self.recorder.new((*x.shape[:LEAD], *tail), dtype)

        def kernel(out: Array, x: Array) -> None:
            out[...] = vectors.reduce(node, x)

        if node.operand.dtype == "f32" and node.function in _REDUCTIONS and x.strides[-1] == x.itemsize:
            return self.recorder.add(_REDUCTIONS[node.function], out, [x], kernel, ())
        return self.recorder.add("reduce", out, [x], kernel)

    def contraction(self, node: Contract, left: Array, right: Array, addend: Array | None) -> Array:
        """The stand-in of a product."""
        joined = product(self.recorder, node, left, right, addend)
        if joined is not None and node.result.dtype == "f16":
            narrow = self.recorder.new(joined.shape, np.dtype(np.float16))
            return self.recorder.add("narrow", narrow, [joined], _assigned, ())
        if joined is not None:
            return joined
        inputs = [self._wide(left), self._wide(right), *([] if addend is None else [addend])]
        shape = (*_lead_of(inputs), *node.result.shape)

        def kernel(out: Array, left: Array, right: Array, addend: Array | None = None) -> None:
            out[...] = contract(node, left, right, addend)

        return self.recorder.add(
            "contract", self.recorder.new(shape, numpy_dtype(node.result.dtype)), inputs, kernel
        )

    def _wide(self, x: Array) -> Array:
        """Half floats in f32, once for all products that read the same bytes."""
        if x.dtype != np.float16:
            return x
        out = self.recorder.new(x.shape, np.dtype(np.float32))
        return self.recorder.add("widen", out, [x], _assigned, ())

    def combined(self, team: Team, combine: Combine, steps: int) -> None:
        """The op that combines all iterations of a loop with what it started from."""
        node, values = combine.node, team.values
        initial = values[combine.carried.initial.number]
        if isinstance(node, Contract):
            left, right = (values[v.number] for v in (node.left, node.right))
            inputs = [self._wide(left), self._wide(right), initial]

            def kernel(out: Array, left: Array, right: Array, initial: Array) -> None:
                out[...] = accumulate(node, left, right, initial)

        else:
            other = next(v for v in node.operands if v != combine.carried.argument)
            x = values[other.number]
            inputs = [np.broadcast_to(x, (x.shape[0], steps, *x.shape[2:])), initial]
            function, dtype = ASSOCIATIVE[node.function], node.result.dtype

            def kernel(out: Array, x: Array, initial: Array) -> None:  # type: ignore[misc]
                out[...] = binary(
                    function, initial, vectors.reduce_axis(function, x, dtype, 1)[:, None], dtype
                )

        shape = (max(x.shape[0] for x in inputs), 1, *node.result.shape)
        out = self.recorder.new(shape, numpy_dtype(node.result.dtype))
        values[combine.carried.result.number] = self.recorder.add("combine", out, inputs, kernel)


def _assigned(out: Array, x: Array) -> None:
    out[...] = x


def _native(node: VectorOp) -> str | None:
    """The function of the compiled machine that an op is, if it is one."""
    if node.indices or any(node.detail(name) for name in ("mask", "bits")):
        return None
    if node.detail("version") in ("b", "slope"):
        return None
    source, result = [v.dtype for v in node.operands], node.result.dtype
    if len(source) == 1 and (source[0], result) in _CASTS and node.function in ("cast", "extf", "truncf"):
        return _CASTS[source[0], result]
    if len(source) == 2 and node.function in _BINARY and {*source, result} in ({"f16"}, {"f32"}):
        return f"{_BINARY[node.function]}_{result}"
    if len(source) == 1 and node.function in _UNARY and source[0] == result == "f32":
        return _UNARY[node.function]
    return None


def _fits(shape: tuple[int, ...], goal: tuple[int, ...]) -> bool:
    """Whether an array of this shape stretches to the goal."""
    return len(shape) == len(goal) and all(n in (1, m) for n, m in zip(shape, goal, strict=True))


# ---- handlers ----------------------------------------------------------------------------------------------
def _refused(run: Any, team: Team, node: Any) -> bool:
    raise NotRecordable


def _copy(run: Any, team: Team, node: Copy) -> bool:
    if node.indirect is not None:
        raise NotRecordable
    return HANDLERS[Copy](run, team, node)


def _if(run: Any, team: Team, node: If) -> bool:
    if node.is_data_dependent:
        raise NotRecordable
    return HANDLERS[If](run, team, node)


def _constant(run: Any, team: Team, node: Constant) -> bool:
    team.values[node.result.number] = run.recorder.constant(vectors.constant(node))
    return True


def _vector(run: Any, team: Team, node: VectorOp) -> bool:
    inputs = [team.values[v.number] for v in node.operands]
    indices = [i.evaluate(team.env) for i in node.indices]
    team.values[node.result.number] = run.vector(node, inputs, indices)
    return True


def _reduce(run: Any, team: Team, node: Reduce) -> bool:
    team.values[node.result.number] = run.reduction(node, team.values[node.operand.number])
    return True


def _contract(run: Any, team: Team, node: Contract) -> bool:
    addend = None if node.addend is None else team.values[node.addend.number]
    left, right = team.values[node.left.number], team.values[node.right.number]
    team.values[node.result.number] = run.contraction(node, left, right, addend)
    return True


def _loop(run: Any, team: Team, node: Loop) -> bool:
    if node.is_data_dependent:
        raise NotRecordable
    if not team.is_unfolded:
        found = (
            fold(run, team, node, _plan, _body, Recording.combined)
            if node.kind is not None
            else _unmarked(run, team, node)
        )
        if found is not None:
            return found
    enter_loop(run, team, node)
    return True


def _unmarked(run: Recording, team: Team, node: Loop) -> bool | None:
    """A loop of transfers at once; any other one step by step, so that messages are never joined."""
    if ("single", id(node)) in team.plans:
        return None
    key = ("gathered", id(node))
    if key not in team.plans:
        team.plans[key] = gathered(node)
    whole: Gathered | None = team.plans[key]
    if whole is None:
        return None
    if not all(uniform(t.evaluate(team.env)) for t in whole.trips):
        return True
    return all([run.handlers[type(n)](run, team, n) for n in whole.nodes])


def _plan(run: Recording, team: Team, node: Loop) -> Plan | None:
    plan = plan_of(run, team, node)
    if plan is not None:
        if plan.has_indices:
            raise NotRecordable
        for key, access in plan.accesses.items():
            recorded = RecordedAccess.__new__(RecordedAccess)
            recorded.__dict__.update(access.__dict__)
            recorded.recorder = run.recorder
            plan.accesses[key] = recorded
    return plan


def _body(run: Recording, team: Team, plan: Plan, trips: Sequence[int], taken: dict[int, Any]) -> None:
    steps, values = prod(trips), team.values
    parts: dict[int, tuple[Queue, list[Array]]] = {}
    for node in plan.body:
        match node:
            case Receive():
                message = next(taken[id(run.queue(team, node.peer, False))])
                sender = run.partner(team, node.peer)
                result = node.result
                values[result.number] = checked(message, result.shape, result.dtype, node.where, sender)
            case Load():
                access = plan.accesses[id(node)]
                inner = trips if access.fold else ()
                values[node.result.number] = access.load(team.env, node.result.shape, inner)
            case Store():
                plan.accesses[id(node)].store(team.env, values[node.value.number], trips)
            case Send():
                sent = values[node.value.number]
                whole = np.broadcast_to(sent, (team.count, steps, *sent.shape[2:]))
                queue = run.queue(team, node.peer, True)
                parts.setdefault(id(queue), (queue, []))[1].append(whole)
            case VectorOp() | Reduce() | Contract() | Constant():
                run.handlers[type(node)](run, team, node)
    for queue, arrays in parts.values():
        queue.push(arrays, steps)


def _lead_of(arrays: Sequence[Array]) -> tuple[int, ...]:
    """The leading axes of what comes from these arrays."""
    return np.broadcast_shapes((1, 1), *(a.shape[:LEAD] for a in arrays))
