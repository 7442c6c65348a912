"""What an affine mask leaves to see of the keys of a loop over blocks.

Where a running maximum can still be minus infinity after the first block, the loop's exponential of a
difference of two infinities is NaN, and that of one block of all keys is not. And where a loop ends earlier
on some tiles, it may go on to the longest end if all it would find there is hidden. Products of matrices
count as finite.
"""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np

from headrace.schedule.graph import Compute, Load, Loop, Out, Reshape, Store
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.bodies.body import from_linear
from headrace.schedule.model.dissolve.places import Places, Where
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import input_number

F16_LEAST = -6e4
Hidden = Literal["low", "zero"]
"""Minus infinity, or 0."""
EVERYWHERE: Where = {}


class FirstBlock:
    """Whether values are larger than minus infinity in the first iteration of a loop."""

    def __init__(self, loop: Loop, state: State) -> None:
        self.state = state
        self.places = Places(loop, state, from_linear(loop.start), {})

    def shows(self, name: str, where: Where = EVERYWHERE, least: float = -inf) -> bool:
        """Whether all elements of a float value at these places are larger than `least`."""
        number = self.state.fills.get(name)
        if number is not None:
            return number > least
        maker = self.places.maker(name)
        if isinstance(maker, Reshape):
            return self.shows(maker.source, EVERYWHERE, least)
        if maker is None:
            return False
        (out,) = (o for o in maker.outs if o.value == name)
        return self._out(maker, out, self.places.made(maker, name, where), least)

    def _out(self, c: Compute, out: Out, where: Where, least: float) -> bool:
        if out.combiner is None:
            return self._entry(c, out.result, where, least)
        init = out.init
        if out.combiner == "add":
            started = self.shows(init) if isinstance(init, str) else init is None or init > -inf
            return least == -inf and started and c.body[out.result].op == "arith.mulf"
        if out.combiner != "max":
            return False
        if init is not None and (self.shows(init) if isinstance(init, str) else init > least):
            return True
        reduced = [d for d in c.dims if d.kind == "reduction"]
        looks = [where, *({**where, d.name: Num(n)} for d in reduced for n in (0, d.extent - 1))]
        return any(self._entry(c, out.result, look, least) for look in looks)

    def _entry(self, c: Compute, position: int, where: Where, least: float) -> bool:
        entry = c.body[position]

        def arg(k: int, least: float = least) -> bool:
            return self._entry(c, entry.args[k], where, least)

        match entry.op:
            case "const":
                return isinstance(entry.attr, float | int) and entry.attr > least
            case "in":
                access = c.ins[input_number(entry)]
                return self.shows(access.value, self.places.read(access, where, c), least)
            case "arith.extf":
                return arg(0)
            case "arith.truncf":
                return arg(0, max(least, F16_LEAST) if entry.dtype == "f16" else least)
            case "arith.sitofp" | "arith.uitofp" | "math.tanh":
                return least == -inf
            case "arith.addf":
                return least == -inf and arg(0) and arg(1)
            case "arith.mulf" | "arith.divf":
                number = self._number(c, entry.args[1])
                other = 0 if number is not None else 1
                if number is None and entry.op == "arith.mulf":
                    number = self._number(c, entry.args[0])
                return least == -inf and number is not None and 0.0 < number < inf and arg(other)
            case "arith.maximumf" | "arith.maxnumf":
                return arg(0) or arg(1)
            case "arith.select":
                truth = self.places.truth(c, entry.args[0], where)
                return (truth is False or arg(1)) and (truth is True or arg(2))
            case _:
                return False

    def _number(self, c: Compute, position: int) -> float | None:
        entry = c.body[position]
        if entry.op == "const" and isinstance(entry.attr, float | int):
            return float(entry.attr)
        return self.state.fills.get(c.ins[input_number(entry)].value) if entry.op == "in" else None


class Beyond:
    """Whether the iterations of a loop from its own `end` on see nothing, on every tile."""

    def __init__(self, loop: Loop, state: State, end: Num) -> None:
        self.loop, self.state = loop, state
        self.further = f"{loop.name}+"
        at = nm.add(end, Num(0, {self.further: 1}))
        self.places = Places(loop, state, at, {self.further: (0, 1 << 32)})
        self.known: dict[str, Hidden | None] = {}

    def reads_inside(self, trip: int) -> bool:
        """Whether all accesses are loads that stay inside of their views up to the longest end."""
        low, high = nm.bounds(from_linear(self.loop.start), self.state.ranges)
        ranges = {**self.state.ranges, self.loop.name: (low, high + (trip - 1) * self.loop.step)}
        for s in self.loop.body:
            if isinstance(s, Store):
                return False
            if not isinstance(s, Load):
                continue
            if self.loop.name in dict(s.view.start.terms) or s.indirect:
                return False
            shape = self.state.values[s.value].shape
            for d, origin in enumerate(s.origin):
                extent = next((shape[k] for k, walked in enumerate(s.axes) if walked == d), 1)
                _, last = nm.bounds(from_linear(origin), ranges)
                if np.any(np.asarray(last) + extent > s.view.sizes[d]):
                    return False
        return True

    def memories(self) -> set[tuple[str, str]]:
        """What the loop reads: memory space and argument."""
        return {(s.view.space, s.view.arg) for s in self.loop.body if isinstance(s, Load)}

    def hides(self, name: str) -> bool:
        """Whether a value that folds all keys takes in nothing there."""
        maker = self.places.maker(name)
        if not isinstance(maker, Compute):
            return False
        (out,) = (o for o in maker.outs if o.value == name)
        state = self._entry(maker, out.result)
        return (out.combiner, state) in (("max", "low"), ("add", "zero"))

    def _value(self, name: str) -> Hidden | None:
        if name not in self.known:
            maker = self.places.maker(name)
            state: Hidden | None = None
            if isinstance(maker, Reshape):
                state = self._value(maker.source)
            elif maker is not None and len(maker.outs) == 1 and maker.outs[0].combiner is None:
                state = self._entry(maker, maker.outs[0].result)
            self.known[name] = state
        return self.known[name]

    def _entry(self, c: Compute, position: int) -> Hidden | None:
        """What an entry is at all places of these iterations."""
        entry = c.body[position]
        if entry.op == "in":
            return self._value(c.ins[input_number(entry)].value)
        if entry.op == "const":
            return "low" if entry.attr == -inf else "zero" if entry.attr == 0 else None
        if entry.op == "arith.select":
            truth = self.places.truth(c, entry.args[0], EVERYWHERE)
            one, other = (self._entry(c, a) for a in entry.args[1:])
            return one if truth is True else other if truth is False else one if one == other else None
        args = [self._entry(c, a) for a in entry.args]
        if entry.op in ("arith.extf", "arith.truncf"):
            return args[0]
        if entry.op in ("math.exp", "math.exp2") and args[0] == "low":
            return "zero"
        if entry.op == "arith.subf" and args == ["low", None]:
            return "low"
        if entry.op == "arith.mulf" and "zero" in args and "low" not in args:
            return "zero"
        if entry.op == "arith.mulf" and "low" in args:
            number = next((c.body[a].attr for a in entry.args if c.body[a].op == "const"), None)
            return "low" if isinstance(number, float) and number > 0.0 else None
        return None
