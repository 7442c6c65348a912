"""Rows of a softmax whose columns come in blocks: a loop carries the largest score of a row, the sum of its
exponentials and the product with them, and nothing as long as a row is ever kept.

    top' = max(top, scores of the block)           shrunk = exp(top - top')
    total' = total * shrunk + sum of exp(scores - top')
    mix' = mix * shrunk + exp(scores - top') x block of the other factor

A quotient by the sum between exponentials and product comes behind the loop: the product is linear in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from headrace.schedule.graph import (
    Access,
    Axis,
    Carried,
    Compute,
    Dim,
    Linear,
    Load,
    Loop,
    Out,
    Scalar,
    Store,
)
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.phases.chain import accesses
from headrace.schedule.phases.combiners import without_single_reductions
from headrace.schedule.phases.decided import Spans, decided
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import as_it_lies, as_taken, kept_copy, part_of
from headrace.schedule.phases.softmax import Softmax, softmax
from headrace.schedule.phases.statements import Block, without_unit_dims

LOWEST = -3.4028234663852886e38
"""The least finite f32: taken from a row of minus infinities, it leaves those and no NaN."""

Statement = Load | Store | Compute | Loop


def in_blocks(block: Block, names: Names, size: int, seen: int = 0, spans: Spans | None = None) -> Block:
    """Return the block with its softmax in blocks of `size` columns, as it is if it holds none.

    A mask hides nothing in the first `seen` columns: they have a loop of their own, in which no condition is
    asked that holds wherever the loops around it (their variables lie in `spans`) are.
    """
    found = softmax(block, names)
    return _Walk(block, names, found, size, spans or {}).block(seen) if found is not None else block


class _Walk:
    """One block on its way into blocks of columns."""

    def __init__(self, block: Block, names: Names, found: Softmax, size: int, spans: Spans) -> None:
        self.old, self.names, self.found, self.size, self.spans = block, names, found, size, spans
        self.bodies = dict(block.bodies)
        self.top, self.total, self.mix = (
            self.compute(n).outs[0] for n in (found.top, found.total, found.mix)
        )
        if found.quotient is not None:
            self.mix = replace(self.mix, value=self.like(self.mix.value))

    def compute(self, number: int) -> Compute:
        """The Compute at a place of the block."""
        compute = self.old.statements[number]
        assert isinstance(compute, Compute)
        return compute

    def like(self, value: str, axis: int | None = None, width: int = 0) -> str:
        """A new value like another one, `width` wide along an axis."""
        old = self.names.values[value]
        shape = tuple(width if k == axis else n for k, n in enumerate(old.shape))
        made = self.names.fresh(value, replace(old, shape=shape))
        self.names.computed.add(made.name)
        self.names.stripped.add(made.name)
        return made.name

    def block(self, seen: int) -> Block:
        """Return the block: what is before the loops, the loops, what depends on their results."""
        extent = self.found.columns.extent
        cut = min(seen, extent) // self.size * self.size
        before, after = self._around()
        loops = [*self._loop(0, cut), *self._loop(cut, extent)]
        return Block((*before, *self._starts(), *loops, *self._quotient(), *after), self.bodies)

    def _around(self) -> tuple[list[Statement], list[Statement]]:
        """The statements that do not walk columns, those first that need no result of the loops."""
        late = {self.compute(n).outs[0].value for n in (self.found.top, self.found.total, self.found.mix)}
        before: list[Statement] = []
        after: list[Statement] = []
        for number, statement in enumerate(self.old.statements):
            if number in self.found.columns.dims or isinstance(statement, Loop):
                continue
            assert isinstance(statement, Load | Store | Compute)
            is_late = isinstance(statement, Store)
            if isinstance(statement, Compute):
                is_late = any(value in late for value, _ in accesses(statement))
                late |= {o.value for o in statement.outs} if is_late else set()
            (after if is_late else before).append(statement)
        return before, after

    def _starts(self) -> Iterator[Compute]:
        """What is carried before the first block."""
        assert isinstance(self.top.init, float)
        starts = (max(self.top.init, LOWEST), 0.0, 0.0)
        numbers = (self.found.top, self.found.total, self.found.mix)
        for number, out, start in zip(numbers, (self.top, self.total, self.mix), starts, strict=True):
            yield self.pointwise(number, out, [], [Scalar("const", (), "f32", start)])

    def _quotient(self) -> Iterator[Compute]:
        """The product by the sum of each row, if the weights of the product were quotients."""
        if self.found.quotient is None:
            return
        pairs = zip(self.found.rows[self.found.total], self.found.rows[self.found.mix], strict=True)
        dims = {ours.dim: theirs.dim for ours, theirs in pairs}
        total = Access(self.total.value, tuple(Axis(dims[a.dim], a.offset) for a in self.total.axes))
        ins = [Access(self.mix.value, self.mix.axes), total]
        yield self.pointwise(self.found.mix, self.compute(self.found.mix).outs[0], ins, [_op("arith.divf")])

    def pointwise(self, number: int, out: Out, ins: Sequence[Access], ops: Sequence[Scalar]) -> Compute:
        """A Compute over the rows of statement `number` that applies ops in turn to f32 operands."""
        extents = {d.name: d.extent for d in self.compute(number).dims}
        walked = [a.dim for a in out.axes if a.dim is not None]
        body = [Scalar("in", (), "f32", k) for k in range(len(ins))]
        made = Compute(
            tuple(Dim(d, extents[d], "parallel") for d in walked),
            tuple(ins),
            (Out(out.value, out.axes, len(ins) + len(ops) - 1),),
            (*body, *ops),
            where=self.compute(number).where,
            source="online softmax",
        )
        return without_unit_dims(made)

    def _loop(self, first: int, last: int) -> Iterator[Statement]:
        """The columns from `first` to `last`: whole blocks in a loop, the rest by itself."""
        trips, rest = divmod(last - first, self.size)
        if trips:
            self.names.count += 1
            name = f"columns{self.names.count}"
            spans = {**self.spans, name: (first, first + (trips - 1) * self.size)}
            turn = _Turn(self, Linear(0, ((name, 1),)), self.size, spans)
            self.bodies[name] = Block(tuple(turn.statements()), {})
            yield Loop(name, trips, Linear(first), self.size, (), turn.carried())
        if rest:
            yield from _Turn(self, Linear(last - rest), rest, self.spans).statements()


class _Turn:
    """The statements of one block: `width` columns from `at` on."""

    def __init__(self, walk: _Walk, at: Linear, width: int, spans: Spans) -> None:
        self.walk, self.names, self.found = walk, walk.names, walk.found
        self.at, self.width, self.spans = at, width, spans
        self.renamed = {
            value: walk.like(value, axis, width) for value, axis in walk.found.columns.axes.items()
        }
        self.parts: dict[Access, Access] = {}
        self.shrunk = walk.like(walk.top.value)
        self.after = {out.value: walk.like(out.value) for out in (walk.top, walk.total, walk.mix)}

    def carried(self) -> tuple[Carried, ...]:
        """What the block hands to the next one."""
        return tuple(Carried(v, v, after, v) for v, after in self.after.items())

    def statements(self) -> Iterator[Load | Compute]:
        """Yield the statements in order; the last ones put what is carried in its place."""
        walk, found = self.walk, self.found
        for number in sorted(found.columns.dims):
            compute = walk.compute(number)
            yield from self._loads(compute, found.columns.dims[number])
            if number == found.top:
                yield from self._top(number)
            elif number in (found.total, found.mix):
                yield from self._sum(number, walk.total if number == found.total else walk.mix)
            else:
                yield self._part(number)
        for number, out in self._carried():
            yield walk.pointwise(number, out, [Access(self.after[out.value], out.axes)], [])

    def _carried(self) -> Iterator[tuple[int, Out]]:
        walk, found = self.walk, self.found
        yield from ((found.top, walk.top), (found.total, walk.total), (found.mix, walk.mix))

    def _loads(self, compute: Compute, column: str) -> Iterator[Load | Compute]:
        """The loads of columns that a statement is the first to need; a factor whose depth runs fastest is
        turned.
        """
        for access in compute.ins:
            load = self.names.loads.get(access.value)
            is_cut = any(a.dim == column for a in access.axes) and access.value not in self.renamed
            if load is None or not is_cut or access in self.parts:
                continue
            part = replace(access, value=part_of(access, load, {column: (self.at, self.width)}, self.names))
            yield self.names.loads[part.value]
            walked = [a.dim for a in access.axes if a.dim is not None]
            order = as_taken(compute.contraction, walked) if compute.contraction is not None else walked
            if compute.contraction is not None and order != as_it_lies(access, load):
                extents = {d.name: d.extent for d in compute.dims} | {column: self.width}
                straight, turned = (self._laid_out(access, dims, extents) for dims in (walked, order))
                self.names.apart |= {straight.value, turned.value}
                yield kept_copy(part, straight, extents, self.names)
                yield kept_copy(straight, turned, extents, self.names)
                part = turned
            self.parts[access] = part

    def _laid_out(self, access: Access, order: Sequence[str], extents: Mapping[str, int]) -> Access:
        """A new value with these dims as axes."""
        old = self.names.values[access.value]
        made = self.names.fresh(access.value, replace(old, shape=tuple(extents[d] for d in order)))
        self.names.computed.add(made.name)
        return Access(made.name, tuple(Axis(d) for d in order))

    def _top(self, number: int) -> Iterator[Compute]:
        """The maxima of the block, those of all columns by now, and what they shrink the sums by."""
        walk = self.walk
        found = walk.like(walk.top.value)
        new = self.after[walk.top.value]
        old, block, now = (Access(v, walk.top.axes) for v in (walk.top.value, found, new))
        yield self._part(number, found)
        yield walk.pointwise(number, replace(walk.top, value=new), [old, block], [_op("arith.maximumf")])
        powers = walk.compute(self.found.powers)
        ops = [_op("arith.subf"), _op(powers.body[powers.outs[0].result].op, 2)]
        yield walk.pointwise(number, replace(walk.top, value=self.shrunk), [old, now], ops)

    def _sum(self, number: int, out: Out) -> Iterator[Compute]:
        """What was summed before, shrunk, and the sum over the block."""
        walk = self.walk
        less, found = walk.like(out.value), walk.like(out.value)
        shrunk = Access(self.shrunk, self.found.rows[number])
        ins = [Access(out.value, out.axes), shrunk]
        yield walk.pointwise(number, replace(out, value=less), ins, [_op("arith.mulf")])
        yield self._part(number, found)
        ins = [Access(less, out.axes), Access(found, out.axes)]
        yield walk.pointwise(number, replace(out, value=self.after[out.value]), ins, [_op("arith.addf")])

    def _part(self, number: int, value: str = "") -> Compute:
        """A statement on the columns of the block; its result is `value` if that has no columns."""
        compute = self.walk.compute(number)
        if number == self.found.quotient:
            compute = _without_quotient(compute)
        column = self.found.columns.dims[number]
        made = replace(
            compute,
            dims=tuple(replace(d, extent=self.width) if d.name == column else d for d in compute.dims),
            ins=tuple(self._read(a) for a in compute.ins),
            outs=tuple(replace(o, value=value or self.renamed[o.value]) for o in compute.outs),
            body=tuple(self._entry(e, column) for e in compute.body),
        )
        spans = {**self.spans, **{d.name: (0, d.extent - 1) for d in made.dims}}
        plain = without_unit_dims(decided(made, spans))
        return without_single_reductions(plain, self.names.values)

    def _read(self, access: Access) -> Access:
        if access in self.parts:
            return self.parts[access]
        if access.value == self.walk.top.value:
            return replace(access, value=self.after[access.value])
        return replace(access, value=self.renamed.get(access.value, access.value))

    def _entry(self, entry: Scalar, column: str) -> Scalar:
        """An index entry counts from the first column of the block on."""
        if entry.op != "index":
            return entry
        dim, offset = coordinate(entry)
        return replace(entry, attr=(dim, add(offset, self.at))) if dim == column else entry


def _op(name: str, *args: int) -> Scalar:
    """An f32 op of the entries `args`, of the first two if none are given."""
    return Scalar(name, args or (0, 1), "f32")


def _without_quotient(compute: Compute) -> Compute:
    """The casts of a statement that casts and divides."""
    casts: list[Scalar] = []
    entry = compute.body[compute.outs[0].result]
    while entry.op != "in":
        casts += [entry] if entry.op != "arith.divf" else []
        entry = compute.body[entry.args[0]]
    assert isinstance(entry.attr, int)
    body = [replace(entry, attr=0)]
    body += [replace(cast, args=(k,)) for k, cast in enumerate(reversed(casts))]
    return replace(
        compute,
        ins=(compute.ins[entry.attr],),
        outs=(replace(compute.outs[0], result=len(body) - 1),),
        body=tuple(body),
    )
