"""A loop over blocks of keys that carries a running maximum, sums and results is one block of all keys.

Recognised by what its values are (`forms`), whatever they are called and however the ops are cut: m' is the
larger of m and the peak of a block, every sum s' = alpha s + terms. Then the last m is the peak of all keys,
and each sum over all terms with the last m: every statement may walk all keys at once, with the values before
the loop as those of its only iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from headrace.numbers.dtypes import is_narrow_float
from headrace.schedule.graph import Carried, Compute, Loop, Out, Reshape, Scalar, Statement
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.dissolve.forms import Form, combined, compared, places, read, reshaped, written
from headrace.schedule.model.dissolve.restart import restarted
from headrace.schedule.model.dissolve.stays import Stays
from headrace.schedule.model.dissolve.visible import Beyond, FirstBlock
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import input_number, makes, reads

MAXIMA = ("arith.maximumf", "arith.maxnumf")
MONOTONE = ("arith.extf", "arith.truncf")


class Online:
    """The statements of a loop as those of one block, and which of them fold all keys; Stays if it carries
    anything but one running maximum and sums of exponentials under it.
    """

    def __init__(self, loop: Loop, state: State) -> None:
        self.state = state
        self.loop = loop
        self.maker = {name: s for s in loop.body for name in makes(s)}
        self.uses = Counter(name for s in loop.body for name in reads(s))
        self.uses.update(c.yielded for c in loop.carried)
        self.folds: dict[str, str | float | int | None] = {}
        """Values that fold all keys, and what they start from."""
        self.highest: set[str] = set()
        """Those that are maxima."""
        self.has_new = False
        self.peaks: set[str] = set()
        self.forms: dict[str, Form] = {}
        self.top = self._maximum()
        for c in loop.carried:
            self.forms[c.inner] = self._entering(c)
        for s in loop.body:
            self._follow(s)
        self._check()
        self.body, self.names = restarted(loop, state.values, state.fills)
        self.folds = {self.names.get(n, n): init for n, init in self.folds.items()}

    # -- what lifting asks -----------------------------------------------------------------------------------

    def of(self, out: Out) -> bool:
        """Whether an out folds what all iterations contribute."""
        return out.value in self.folds

    def result(self, out: Out) -> Out:
        """The out over the whole loop."""
        return out

    def check(self, lifts: Collection[str]) -> None:
        """Stays if something that one block of all keys has once differs from iteration to iteration."""
        once = {n for n, f in self.forms.items() if f.kind != "prob" and not (f.kind == "line" and f.data)}
        once |= {*self.peaks, *self.folds, *(n for n in self.folds.values() if isinstance(n, str))}
        if set(lifts) & ({self.names.get(n, n) for n in once} | {c.result for c in self.loop.carried}):
            raise Stays

    # -- what values are -------------------------------------------------------------------------------------

    def _maximum(self) -> Carried:
        """The running maximum: the one carried value that a maximum makes of what it was."""
        found = [c for c in self.loop.carried if self._is_maximum(c)]
        if len(found) != 1 or len(self.loop.carried) < 2:
            raise Stays
        return found[0]

    def _is_maximum(self, carried: Carried) -> bool:
        maker = self.maker.get(carried.yielded)
        while isinstance(maker, Reshape):
            maker = self.maker.get(maker.source)
        return isinstance(maker, Compute) and any(
            out.combiner == "max" or maker.body[out.result].op in (*MAXIMA, "arith.select")
            for out in maker.outs
        )

    def _entering(self, carried: Carried) -> Form:
        value = self.state.values[carried.inner]
        if carried.init in self.state.undefined:
            raise Stays
        if carried is self.top:
            return Form("line", places(value.shape), old=1.0)
        if is_narrow_float(value.dtype):
            raise Stays  # every iteration rounds
        return Form("carried", (), name=carried.inner, own=places(value.shape))

    def _follow(self, s: Statement) -> None:
        """Note the forms of what a statement makes."""
        if not reads(s) & self.forms.keys():
            return
        if isinstance(s, Reshape):
            shapes = (self.state.values[n].shape for n in (s.source, s.value))
            self.forms[s.value] = reshaped(self.forms[s.source], *shapes)
        elif isinstance(s, Compute):
            entries = self._entries(s)
            for out in s.outs:
                form = self._out(s, out, entries[out.result])
                if form is not None:
                    self.forms[out.value] = form
        else:
            raise Stays

    def _entries(self, c: Compute) -> list[Form | None]:
        extents = {d.name: d.extent for d in c.dims}
        found: list[Form | None] = []
        for position, entry in enumerate(c.body):
            form: Form | None = None
            args = [found[a] for a in entry.args]
            if entry.op == "in":
                access = c.ins[input_number(entry)]
                known = self.forms.get(access.value)
                if known is not None:
                    form = read(known, access, self.state.values[access.value].shape, extents)
            elif any(args):
                numbers = [self._number(c, a) for a in entry.args]
                if entry.op in MAXIMA:
                    form = self._larger(c, position, args)
                elif entry.op == "arith.cmpf":
                    form = compared(str(entry.attr), args[0], args[1], numbers)
                else:
                    form = combined(entry.op, args, numbers)
            found.append(form)
        return found

    def _number(self, c: Compute, position: int) -> float | None:
        """The number an entry is."""
        entry = c.body[position]
        if entry.op == "const" and isinstance(entry.attr, float | int):
            return float(entry.attr)
        if entry.op == "in":
            return self.state.fills.get(c.ins[input_number(entry)].value)
        return None

    def _larger(self, c: Compute, position: int, args: list[Form | None]) -> Form:
        """The new maximum, if an entry is the larger of the old one and of something of this block."""
        mine = [k for k, form in enumerate(args) if form is not None]
        old = args[mine[0]]
        if len(mine) != 1 or old is None or not old.is_maximum or not old.old:
            raise Stays
        self._fold_peak(c, c.body[position].args[1 - mine[0]])
        return self._new(old)

    def _new(self, old: Form) -> Form:
        """The new maximum; Stays if there is one already."""
        if self.has_new:
            raise Stays
        self.has_new = True
        return replace(old, old=0.0, new=1.0)

    def _fold_peak(self, c: Compute, position: int) -> None:
        """Let the maximum that an entry is, or grows with, fold all keys."""
        if sum(e.args.count(position) for e in c.body) + sum(o.result == position for o in c.outs) != 1:
            raise Stays
        entry = c.body[position]
        if entry.op in MONOTONE:
            self._fold_peak(c, entry.args[0])
        elif entry.op in ("arith.mulf", "arith.divf"):
            self._fold_peak(c, self._scaled(c, entry))
        elif entry.op == "in":
            self._fold_value(c.ins[input_number(entry)].value)

    def _scaled(self, c: Compute, entry: Scalar) -> int:
        """The other factor of a product with a positive number; Stays for any other."""
        first, second = entry.args
        numbers = [self._number(c, a) for a in entry.args]
        if (numbers[1] or 0.0) > 0.0:
            return first
        if entry.op == "arith.mulf" and (numbers[0] or 0.0) > 0.0:
            return second
        raise Stays

    def _fold_value(self, name: str) -> None:
        maker = self.maker.get(name)
        if self.uses[name] != 1 or maker is None:
            raise Stays
        self.peaks.add(name)
        if isinstance(maker, Reshape):
            self._fold_value(maker.source)
        elif isinstance(maker, Compute):
            (out,) = (o for o in maker.outs if o.value == name)
            if out.combiner == "max":
                self._fold(out)
                self.highest.add(name)
            elif out.combiner is None:
                self._fold_peak(maker, out.result)

    def _out(self, c: Compute, out: Out, form: Form | None) -> Form | None:
        init = self.forms.get(out.init) if isinstance(out.init, str) else None
        if out.combiner is None:
            return None if form is None else written(form, out.axes)
        if form is None and init is None:
            return None
        if out.combiner == "max" and form is None and init is not None:
            if not init.is_maximum or not init.old:
                raise Stays
            self._fold(out)
            self.highest.add(out.value)
            return self._new(init)
        if out.combiner != "add" or form is None or is_narrow_float(self.state.values[out.value].dtype):
            raise Stays
        if form.kind != "prob" or (init is None and out.init not in (0, None)):
            raise Stays
        self._fold(out)
        term = replace(written(form, out.axes), kind="term")
        return term if init is None else combined("arith.addf", [init, term], [None, None])

    def _fold(self, out: Out) -> None:
        self.folds[out.value] = out.init

    # -- whether that is all ---------------------------------------------------------------------------------

    def _check(self) -> None:
        """Every carried value comes back as what it stands for, and no row is hidden from its first block."""
        ends = {c.inner: self.forms.get(c.yielded) for c in self.loop.carried}
        for c in self.loop.carried:
            end, whole = ends[c.inner], places(self.state.values[c.inner].shape)
            if end is None or end.guarded and c is self.top:
                raise Stays
            if c is self.top and not (end.is_maximum and end.new and end.rows == whole):
                raise Stays
            if c is not self.top and not (end.kind == "sum" and end.name == c.inner and end.own == whole):
                raise Stays
        sums = [end for name, end in ends.items() if name != self.top.inner]
        if not all(end is not None and end.guarded for end in sums):
            first = FirstBlock(self.loop, self.state)
            if not first.shows(self.top.init) and not any(map(first.shows, self.highest)):
                raise Stays
        if self.state.end is not None:
            self._check_beyond(self.state.end)

    def _check_beyond(self, end: Num) -> None:
        """Nothing is seen of the iterations from the loop's own end on, and all of them may be loaded."""
        beyond = Beyond(self.loop, self.state, end)
        assert isinstance(self.loop.trip, int)
        if not beyond.reads_inside(self.loop.trip) or not all(map(beyond.hides, self.folds)):
            raise Stays
        self.state.read_further |= beyond.memories()
