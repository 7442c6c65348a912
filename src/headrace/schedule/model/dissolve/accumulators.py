"""Carried values that only gather contributions: once an iteration out = out (+) term, nobody else looks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from headrace.numbers.dtypes import is_narrow_float
from headrace.schedule.graph import Access, Carried, Compute, Loop, Out
from headrace.schedule.model.bodies.body import pruned
from headrace.schedule.model.bodies.combiners import identity
from headrace.schedule.model.dissolve.stays import Stays
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import reads
from headrace.schedule.model.tensors import Constant

_POINTWISE = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "max",
    "arith.maxsi": "max",
    "arith.minimumf": "min",
    "arith.minsi": "min",
    "arith.andi": "and",
    "arith.ori": "or",
}


class Accumulators:
    """The carried values of a loop as reductions; Stays unless every one of them is an accumulator.

    `body` is the loop's body with pointwise accumulations written as `Out.init` and combiner.
    """

    def __init__(self, loop: Loop, state: State) -> None:
        self.state = state
        self.by_inner = {c.inner: c for c in loop.carried}
        self.body = tuple(self._as_reduction(s) if isinstance(s, Compute) else s for s in loop.body)
        self._used: set[str] = set()
        for c in loop.carried:
            self._check(c)

    def of(self, out: Out) -> Carried | None:
        """The carried value an out accumulates into."""
        return self.by_inner.get(out.init) if isinstance(out.init, str) else None

    def result(self, out: Out) -> Out:
        """The out as a reduction over the whole loop, starting from the carried value's init."""
        carried = self.of(out)
        assert carried is not None and out.combiner is not None
        self._used.add(carried.inner)
        init: str | float | int = carried.init
        if carried.init in self.state.undefined:
            neutral = identity(out.combiner, self.state.values[out.value].dtype)
            init = neutral.value if isinstance(neutral, Constant) else neutral.value.fixed or 0
        return replace(out, value=carried.result, init=init)

    def check(self, lifts: Collection[str]) -> None:
        """Every carried value was accumulated into by a statement that runs over the loop."""
        if self._used != set(self.by_inner):
            raise Stays

    def _check(self, carried: Carried) -> None:
        if any(carried.inner in reads(s) for s in self.body if not isinstance(s, Compute)):
            raise Stays
        users = [s for s in self.body if isinstance(s, Compute) and carried.inner in reads(s)]
        readers = [s for s in self.body if carried.yielded in reads(s)]
        if len(users) != 1 or readers or any(a.value == carried.inner for a in users[0].ins):
            raise Stays
        outs = [o for o in users[0].outs if o.init == carried.inner]
        if len(outs) != 1 or outs[0].value != carried.yielded:
            raise Stays
        if outs[0].combiner in ("add", "mul") and is_narrow_float(self.state.values[carried.inner].dtype):
            raise Stays  # every iteration rounds

    def _as_reduction(self, c: Compute) -> Compute:
        """A pointwise out = in (+) term, `in` a carried value, as a reduction of `term` starting from it."""
        if len(c.outs) != 1 or c.outs[0].combiner is not None:
            return c
        out = c.outs[0]
        root = c.body[out.result]
        if root.op not in _POINTWISE or self.state.values[out.value].dtype == "i1":
            return c
        for position in root.args:
            entry = c.body[position]
            if entry.op != "in" or not isinstance(entry.attr, int):
                continue
            access, others = c.ins[entry.attr], [a for a in root.args if a != position]
            if access.value in self.by_inner and access.axes == out.axes and len(others) == 1:
                if self._single_use(c, position):
                    return _accumulating(c, out, others[0], _POINTWISE[root.op], access)
        return c

    @staticmethod
    def _single_use(c: Compute, position: int) -> bool:
        return sum(e.args.count(position) for e in c.body) == 1


def _accumulating(c: Compute, out: Out, term: int, combiner: str, access: Access) -> Compute:
    body, results, ins = pruned(c.body, (term,), c.ins)
    return replace(
        c, ins=ins, body=body, outs=(replace(out, result=results[0], combiner=combiner, init=access.value),)
    )
