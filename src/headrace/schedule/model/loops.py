"""scf.for: the body is evaluated once for all iterations, or once for each where that is not possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.text import location
from headrace.schedule.graph import Axis, Carried, Compute, Loop, Number, Out, PerCore, Statement
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.bodies.body import Body, linear
from headrace.schedule.model.bodies.combiners import identity
from headrace.schedule.model.bounds import Bounds, bounds_of, longest, parted
from headrace.schedule.model.dissolve.attempt import dissolved
from headrace.schedule.model.state import Binding, Refused, Split, State
from headrace.schedule.model.statements import aliased, defined
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, Integer, Tensor, whole
from headrace.schedule.model.tidy.cleanup import drop_dead, number_inits

UNROLL_LIMIT = 1024
Run = Callable[[State, Block], None]


def for_op(state: State, op: Operation, run: Run) -> list[Binding]:
    """The results of an scf.for."""
    inits = [state.get(v) for v in list(op.operands)[3:]]
    if len(inits) > 1 and state.blocks == "joined":
        found = longest(state, op)
        if found is not None and (joined := _one_block(state, op, found[0], inits, run, found[1])):
            state.has_blocks = True
            state.goes_on |= nm.sub(found[1], found[0].start).is_constant
            return joined
    return run_loop(state, op, bounds_of(state, op), inits, run)


def run_loop(state: State, op: Operation, bounds: Bounds, inits: list[Binding], run: Run) -> list[Binding]:
    """The results of an scf.for over some of its iterations, given what it carries into them."""
    block = op.regions[0].block
    if nm.same(bounds.trip, 0):
        return inits
    if nm.same(bounds.trip, 1):
        is_one = len(inits) > 1 and state.blocks != "apart"
        joined = _one_block(state, op, bounds, inits, run) if is_one else None
        return joined or _iterations(state, block, bounds, inits, run)
    mark = _Mark.of(state)
    name = state.fresh(f"{block.args[0].name_hint or 'i'}.")
    try:
        return _Symbolic(state, op, bounds, name, run).results(inits)
    except NotLinear as reason:
        if name not in reason.loops:
            raise
        mark.restore(state)
        flips = reason.flips
    for halves in (parted(bounds, name, flip) for flip in flips):
        if halves is not None:
            return run_loop(state, op, halves[1], run_loop(state, op, halves[0], inits, run), run)
    if isinstance(bounds.trip, np.ndarray):
        raise Split(bounds.trip)
    if bounds.trip > UNROLL_LIMIT:
        raise Refused(
            f"an index is not linear in this loop, whose {bounds.trip} iterations are too many to unroll",
            "use additions and multiplications by constants on the loop variable",
        )
    return _iterations(state, block, bounds, inits, run)


def _one_block(
    state: State, op: Operation, bounds: Bounds, inits: list[Binding], run: Run, end: Num | None = None
) -> list[Binding] | None:
    """The results of a loop over blocks of keys as one block; None if it is no such loop. `end`: where it
    really ends, if these bounds go further.
    """
    mark, had_blocks = _Mark.of(state), state.has_blocks
    state.has_blocks = False
    try:
        results = _Symbolic(state, op, bounds, state.fresh("i."), run, end).results(inits)
        if state.has_blocks:
            return results
    except (NotLinear, Refused):
        pass
    finally:
        state.has_blocks = had_blocks
    mark.restore(state)
    return None


@dataclass(frozen=True)
class _Mark:
    """Where an evaluation stood, to return to."""

    statements: int
    values: dict[str, object]
    findings: int
    stores: Counter[tuple[str, str]]
    runs: Counter[Operation]

    @staticmethod
    def of(state: State) -> _Mark:
        return _Mark(
            len(state.block),
            dict(state.values),
            len(state.diagnostics),
            state.stores.copy(),
            state.runs.copy(),
        )

    def restore(self, state: State) -> None:
        """Take back what was emitted since."""
        del state.block[self.statements :]
        del state.diagnostics[self.findings :]
        state.stores = self.stores
        state.runs = self.runs
        for name in [n for n in state.values if n not in self.values]:
            del state.values[name]


def _iterations(state: State, block: Block, bounds: Bounds, inits: list[Binding], run: Run) -> list[Binding]:
    """Every iteration in turn, its loop variable a number."""
    carried = inits
    for i in range(int(np.max(bounds.trip))):
        state.env[block.args[0]] = Integer(nm.add(bounds.start, Num(i * bounds.step)), "index")
        for argument, value in zip(list(block.args)[1:], carried, strict=True):
            state.env[argument] = value
        run(state, block)
        assert block.last_op is not None
        carried = [state.get(v) for v in block.last_op.operands]
    return carried


class _Symbolic:
    """One evaluation of a loop body for all its iterations."""

    def __init__(
        self, state: State, op: Operation, bounds: Bounds, name: str, run: Run, end: Num | None = None
    ) -> None:
        self.state, self.op, self.bounds, self.name, self.run = state, op, bounds, name, run
        self.end = end
        self.block = op.regions[0].block

    def results(self, inits: Sequence[Binding]) -> list[Binding]:
        """Emit the loop (or what it dissolves into) and return what it yields."""
        state, block = self.state, self.block
        outer = state.block
        arguments = list(block.args)[1:]
        bound = [self._enter(a, b) for a, b in zip(arguments, inits, strict=True)]
        state.block = []
        low, high = nm.bounds(self.bounds.start, state.ranges)
        last = nm.tidy(np.maximum(np.asarray(self.bounds.trip) - 1, 0) * self.bounds.step)
        state.ranges[self.name] = (low, nm.tidy(high + last))
        try:
            state.env[block.args[0]] = Integer(Num(0, {self.name: 1}), "index")
            self.run(state, block)
            assert block.last_op is not None
            yields = [state.get(v) for v in block.last_op.operands]
            carried = self._carry(bound, yields)
            kept = self._unchanged(bound, carried)
            body = tuple(aliased(s, kept) for s in state.block)
        finally:
            state.block = outer
            del state.ranges[self.name]
        self._emit(body, carried)
        return [self._after(b, c, y) for b, c, y in zip(bound, carried, yields, strict=True)]

    def _enter(self, argument: SSAValue, init: Binding) -> Binding:
        """Bind an iteration argument: integers by their step, tensors and floats as carried values."""
        state = self.state
        if isinstance(init, Integer):
            state.env[argument] = self._induction(argument, init)
            return init
        tensor = Filled((), init.dtype, init) if isinstance(init, Constant) else init
        if not isinstance(tensor, Tensor | Filled):
            raise Refused("a loop can carry tensors and numbers only")
        name = state.materialise(tensor, location(self.op), "init")
        inner = state.value(tensor.shape, tensor.dtype, location(self.op), argument.name_hint or "")
        state.env[argument] = whole(inner, tensor.shape, tensor.dtype)
        return whole(name, tensor.shape, tensor.dtype)

    def _induction(self, argument: SSAValue, init: Integer) -> Integer:
        """An integer that grows by the same number every iteration."""
        assert self.block.last_op is not None
        position = list(self.block.args).index(argument) - 1  # type: ignore[arg-type]
        grown = self.block.last_op.operands[position].owner
        if isinstance(grown, Operation) and grown.name == "arith.addi" and argument in grown.operands:
            other = next((v for v in grown.operands if v is not argument), None)
            by = self.state.get(other) if other is not None else None
            if (
                isinstance(by, Integer)
                and by.value.fixed is not None
                and by.value.fixed % self.bounds.step == 0
            ):
                since = nm.sub(Num(0, {self.name: 1}), self.bounds.start)
                return Integer(
                    nm.add(init.value, nm.scale(since, by.value.fixed // self.bounds.step)), init.dtype
                )
        raise NotLinear((self.name,))

    def _carry(self, bound: Sequence[Binding], yields: Sequence[Binding]) -> list[Carried | None]:
        state = self.state
        carried: list[Carried | None] = []
        arguments = list(self.block.args)[1:]
        for argument, init, value in zip(arguments, bound, yields, strict=True):
            inner = state.env[argument]
            if not isinstance(init, Tensor) or not isinstance(inner, Tensor) or value == inner:
                carried.append(None)
                continue
            tensor = Filled((), value.dtype, value) if isinstance(value, Constant | Integer) else value
            if not isinstance(tensor, Tensor | Filled):
                raise Refused("a loop can carry tensors and numbers only")
            taken = {c.yielded for c in carried if c is not None}
            yielded = self._produced(tensor, taken)
            result = state.value(tensor.shape, tensor.dtype, location(self.op))
            carried.append(Carried(inner.source, init.source, yielded, result))
        return carried

    def _unchanged(self, bound: Sequence[Binding], carried: Sequence[Carried | None]) -> dict[str, str]:
        """What iterations hand on as it is, by the name it has inside: the value before the loop."""
        found: dict[str, str] = {}
        for argument, init, one in zip(list(self.block.args)[1:], bound, carried, strict=True):
            inner = self.state.env[argument]
            if one is None and isinstance(init, Tensor) and isinstance(inner, Tensor):
                found[inner.source] = init.source
        return found

    def _produced(self, tensor: AnyTensor, taken: set[str]) -> str:
        """A value made in this iteration that holds the tensor, made by a copy if need be."""
        state = self.state
        name = state.materialise(tensor, location(self.op))
        if name in defined(state.block) and name not in taken:
            return name
        value = state.values[name]
        body = Body(state.dims(value.shape), state.ranges)
        walk = tuple(Axis(d.name) for d in body.dims)
        copy = state.value(value.shape, value.dtype, location(self.op))
        state.compute(body, [Out(copy, walk, body.read(name, walk, value.dtype))], location(self.op), "copy")
        return copy

    def _emit(self, body: tuple[Statement, ...], carried: Sequence[Carried | None]) -> None:
        state = self.state
        kept = tuple(c for c in carried if c is not None)
        alive = drop_dead(number_inits(body, state.fills), {c.yielded for c in kept})
        trip = self.bounds.trip
        number: Number = PerCore(tuple(int(t) for t in trip)) if isinstance(trip, np.ndarray) else int(trip)
        loop = Loop(
            self.name,
            number,
            linear(self.bounds.start),
            self.bounds.step,
            alive,
            kept,
            False,
            location(self.op),
        )
        state.end = self.end
        statements = dissolved(loop, state)
        state.end = None
        state.block.extend(self._started(s) if isinstance(s, Loop) else s for s in statements)

    def _started(self, loop: Loop) -> Loop:
        """The loop with accumulators nobody initialised starting from what their combiner leaves alone."""
        carried = []
        for c in loop.carried:
            if c.init in self.state.undefined:
                outs = [o for s in loop.body if isinstance(s, Compute) for o in s.outs if o.init == c.inner]
                if not outs or outs[0].combiner is None:
                    raise Refused("this loop reads a tensor.empty nothing was written to", "fill it first")
                value = self.state.values[c.inner]
                start = Filled(value.shape, value.dtype, identity(outs[0].combiner, value.dtype))
                c = replace(c, init=self.state.materialise(start, location(self.op), "init"))
            carried.append(c)
        return replace(loop, carried=tuple(carried))

    def _after(self, init: Binding, carried: Carried | None, value: Binding) -> Binding:
        if isinstance(init, Integer):
            total = value.value if isinstance(value, Integer) else None
            assert total is not None
            last = nm.add(self.bounds.start, nm.number(np.asarray(self.bounds.trip - 1) * self.bounds.step))
            factor = total.terms.get(self.name, 0)
            rest = Num(total.const, {n: c for n, c in total.terms.items() if n != self.name})
            return Integer(nm.add(rest, nm.scale(last, factor)), init.dtype)
        if carried is None:
            return init
        kept = self.state.values[carried.result]
        return whole(carried.result, kept.shape, kept.dtype)
