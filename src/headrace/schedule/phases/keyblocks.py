"""Rows of a softmax whose columns come in blocks: a loop carries the largest score of a row, the sum of its
exponentials and the product with them, and nothing as long as a row is ever kept.

    top' = max(top, scores of the block)           shrunk = exp(top - top')
    total' = total * shrunk + sum of exp(scores - top')
    mix' = mix * shrunk + exp(scores - top') x block of the other factor

A quotient by the sum between exponentials and product comes behind the loop: the product is linear in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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


def in_blocks(
    block: Block,
    names: Names,
    size: int,
    is_ahead: bool = False,
    seen: int = 0,
    spans: Spans | None = None,
) -> Block:
    """Return the block with its softmax in blocks of `size` columns, as it is if it holds none; with
    `is_ahead` the scores of a block are computed before the product of the one before.

    A mask hides nothing in the first `seen` columns: they have a loop of their own, in which no condition is
    asked that holds wherever the loops around it (their variables lie in `spans`) are.
    """
    found = softmax(block, names)
    walk = _Walk(block, names, found, size, is_ahead, spans or {}) if found is not None else None
    return walk.block(seen) if walk is not None else block


class _Walk:
    """One block on its way into blocks of columns."""

    def __init__(
        self, block: Block, names: Names, found: Softmax, size: int, is_ahead: bool, spans: Spans
    ) -> None:
        self.old, self.names, self.found = block, names, found
        self.size, self.is_ahead, self.spans = size, is_ahead, spans
        self.bodies = dict(block.bodies)
        self.held: dict[Access, Access] = {}
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
        before += self._hold()
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

    def _hold(self) -> Iterator[Compute]:
        """Bring in the factors that all blocks read."""
        for number, column in self.found.columns.dims.items():
            compute = self.compute(number)
            for access in compute.ins if compute.contraction is not None else ():
                load = self.names.loads.get(access.value)
                is_column = any(a.dim == column for a in access.axes)
                if load is None or load.indirect or is_column or any(a.offset for a in access.axes):
                    continue
                extents = {d.name: d.extent for d in compute.dims}
                if access not in self.held:
                    self.held[access] = self.laid_out(access, as_it_lies(access, load), extents)
                    yield kept_copy(access, self.held[access], extents, self.names)

    def laid_out(self, access: Access, dims: Sequence[str], extents: Mapping[str, int]) -> Access:
        """A new value for a factor, with these dims as axes."""
        old = self.names.values[access.value]
        made = self.names.fresh(access.value, replace(old, shape=tuple(extents[d] for d in dims)))
        self.names.computed.add(made.name)
        self.names.apart.add(made.name)
        return Access(made.name, tuple(Axis(d) for d in dims))

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
        if trips > 1 and self.is_ahead:
            yield from self._one_ahead(first, trips)
        elif trips:
            loop = self._turns(first, trips, self.size)
            turn = _Turn(self, self.places(self.size), Linear(0, ((loop.name, 1),)), self.ranges(loop))
            self.bodies[loop.name] = Block(tuple(turn.statements()), {})
            yield loop
        if rest:
            yield from _Turn(self, self.places(rest), Linear(last - rest), self.spans).statements()

    def _one_ahead(self, first: int, trips: int) -> Iterator[Statement]:
        """Whole blocks, the scores of each computed before the product of the one before: two in a turn of
        the loop, as the scores of both are kept.
        """
        even = self.places(self.size)
        odd = even.with_other_scores(self)
        start = _Turn(self, even, Linear(first), self.spans)
        yield from (*start.bring_scores(), *start.scores())
        pairs = (trips - 1) // 2
        if pairs:
            loop = self._turns(first, pairs, 2 * self.size)
            at, spans = Linear(0, ((loop.name, 1),)), self.ranges(loop)
            turns = [
                _Turn(self, places, add(at, k * self.size), spans)
                for k, places in enumerate((even, odd, even))
            ]
            body = (*_joint(turns[0], turns[1]), *_joint(turns[1], turns[2]))
            self.bodies[loop.name] = Block(body, {})
            yield loop
        ends = range(2 * pairs, trips)
        last = [
            _Turn(self, places, Linear(first + k * self.size), self.spans)
            for k, places in zip(ends, (even, odd), strict=False)
        ]
        for turn, following in zip(last, [*last[1:], None], strict=True):
            yield from _joint(turn, following)

    def _turns(self, first: int, trips: int, step: int) -> Loop:
        self.names.count += 1
        carried = tuple(Carried(o.value, o.value, o.value, o.value) for o in (self.top, self.total, self.mix))
        return Loop(f"columns{self.names.count}", trips, Linear(first), step, (), carried)

    def ranges(self, loop: Loop) -> Spans:
        """The first and last values of a loop over blocks and those around it."""
        first = loop.start.const
        assert isinstance(first, int) and isinstance(loop.trip, int)
        return {**self.spans, loop.name: (first, first + (loop.trip - 1) * loop.step)}

    def places(self, width: int) -> Places:
        """New values for blocks of a width, those that only one phase touches left out."""
        top, mix = self.found.top, self.found.mix
        read = {v for n in self.found.columns.dims if n >= top for v, _ in accesses(self.compute(n))}
        early = {o.value for n in self.found.columns.dims if n < top for o in self.compute(n).outs}
        passed = (read & early) | {v for v, _ in accesses(self.compute(mix))}
        axes = self.found.columns.axes
        renamed = {value: self.like(value, axes[value], width) for value in sorted(passed & axes.keys())}
        return Places(width, renamed, self.like(self.top.value), {})


@dataclass(frozen=True)
class Places:
    """Where blocks of `width` columns live: by value that of a block (`renamed`), what sums are shrunk by
    (`shrunk`), factors by their dims as they lie (`laid`).
    """

    width: int
    renamed: Mapping[str, str]
    shrunk: str
    laid: dict[tuple[Access, tuple[str, ...], int], Access]
    parity: int = 0

    def with_other_scores(self, walk: _Walk) -> Places:
        """The same places but for the scores, and for factors that are taken as they lie."""
        early = {o.value for n in walk.found.columns.dims if n < walk.found.top for o in walk.compute(n).outs}
        axes = walk.found.columns.axes
        others = {v: walk.like(v, axes[v], self.width) for v in sorted(early & self.renamed.keys())}
        return replace(self, renamed={**self.renamed, **others}, parity=1)


def _joint(turn: _Turn, following: _Turn | None) -> Iterator[Load | Compute]:
    """The weights of a block, the scores of the following one, the product of the first."""
    yield from turn.bring_factor()
    yield from following.bring_scores() if following is not None else ()
    yield from turn.weights()
    yield from following.scores() if following is not None else ()
    yield from turn.mixed()


class _Turn:
    """The statements of one block: the columns from `at` on."""

    def __init__(self, walk: _Walk, places: Places, at: Linear, spans: Spans) -> None:
        self.walk, self.names, self.found = walk, walk.names, walk.found
        self.places, self.at, self.spans = places, at, spans
        self.parts: dict[Access, Access] = {}
        axes = walk.found.columns.axes
        own = {v: walk.like(v, axis, places.width) for v, axis in axes.items() if v not in places.renamed}
        self.renamed = {**own, **places.renamed}
        self.after = {out.value: walk.like(out.value) for out in (walk.top, walk.total, walk.mix)}
        numbers = sorted(walk.found.columns.dims)
        self.early = [n for n in numbers if n < walk.found.top]
        self.late = [n for n in numbers if n >= walk.found.top and n != walk.found.mix]

    def statements(self) -> Iterator[Load | Compute]:
        """Yield all statements in order."""
        yield from (*self.bring_scores(), *self.scores(), *self.bring_factor())
        yield from (*self.weights(), *self.mixed())

    def bring_scores(self) -> Iterator[Load | Compute]:
        """Load what the scores are computed of."""
        return self._loads(self.early)

    def bring_factor(self) -> Iterator[Load | Compute]:
        """Load the other factor of the product."""
        return self._loads([*self.late, self.found.mix])

    def scores(self) -> Iterator[Compute]:
        """The scores of the block, masked."""
        return (self._part(number) for number in self.early)

    def weights(self) -> Iterator[Compute]:
        """Maxima, exponentials and their sums; what is carried of them gets to its place."""
        walk, found = self.walk, self.found
        for number in self.late:
            if number == found.top:
                yield from self._top(number)
            elif number == found.total:
                yield from self._sum(number, walk.total)
            else:
                yield self._part(number)
        yield self._carried(found.top, walk.top)
        yield self._carried(found.total, walk.total)

    def mixed(self) -> Iterator[Compute]:
        """The product, added to that of the blocks before."""
        yield from self._sum(self.found.mix, self.walk.mix)
        yield self._carried(self.found.mix, self.walk.mix)

    def _carried(self, number: int, out: Out) -> Compute:
        return self.walk.pointwise(number, out, [Access(self.after[out.value], out.axes)], [])

    def _loads(self, numbers: Sequence[int]) -> Iterator[Load | Compute]:
        """The loads of columns that statements need. Factors are brought in as they lie, while the block
        before is computed, and turned if their depth runs fastest.
        """
        for number in numbers:
            compute, column = self.walk.compute(number), self.found.columns.dims[number]
            for access in compute.ins:
                load = self.names.loads.get(access.value)
                is_cut = any(a.dim == column for a in access.axes)
                if load is None or not is_cut or access in self.parts:
                    continue
                cut: dict[str | None, tuple[Linear, int]] = {column: (self.at, self.places.width)}
                part = replace(access, value=part_of(access, load, cut, self.names))
                yield self.names.loads[part.value]
                if compute.contraction is not None:
                    order = as_taken(compute.contraction, [a.dim for a in access.axes if a.dim is not None])
                    ways = dict.fromkeys((tuple(as_it_lies(access, load)), tuple(order)))
                    extents = {d.name: d.extent for d in compute.dims} | {column: self.places.width}
                    for dims in ways:
                        made = self._laid_out(access, dims, extents, len(ways) == 1)
                        yield kept_copy(part, made, extents, self.names)
                        part = made
                self.parts[access] = part

    def _laid_out(
        self, access: Access, dims: tuple[str, ...], extents: Mapping[str, int], is_rotating: bool
    ) -> Access:
        """The place of a factor with these dims as axes."""
        key = (access, dims, self.places.parity if is_rotating else 0)
        if key not in self.places.laid:
            self.places.laid[key] = self.walk.laid_out(access, dims, extents)
        return self.places.laid[key]

    def _top(self, number: int) -> Iterator[Compute]:
        """The maxima of the block, those of all columns by now, and what they shrink the sums by."""
        walk = self.walk
        found = walk.like(walk.top.value)
        new = self.after[walk.top.value]
        old, block, now = (Access(v, walk.top.axes) for v in (walk.top.value, found, new))
        yield self._part(number, found)
        yield walk.pointwise(number, replace(walk.top, value=new), [old, block], [_op("arith.maximumf")])
        powers = walk.compute(self.found.powers)
        name = powers.body[powers.outs[0].result].op
        ops = [_op("arith.subf"), _op(name, 2)]
        if self.found.scale != 1:
            scale = Scalar("const", (), "f32", self.found.scale)
            ops = [_op("arith.subf"), scale, _op("arith.mulf", 2, 3), _op(name, 4)]
        yield walk.pointwise(number, replace(walk.top, value=self.places.shrunk), [old, now], ops)

    def _sum(self, number: int, out: Out) -> Iterator[Compute]:
        """What was summed before, shrunk, and the sum over the block."""
        walk = self.walk
        found = walk.like(out.value)
        shrunk = Access(self.places.shrunk, self.found.rows[number])
        yield self._part(number, found)
        ins = [Access(out.value, out.axes), shrunk, Access(found, out.axes)]
        ops = [_op("arith.mulf"), _op("arith.addf", 3, 2)]
        yield walk.pointwise(number, replace(out, value=self.after[out.value]), ins, ops)

    def _part(self, number: int, value: str = "") -> Compute:
        """A statement on the columns of the block; its result is `value` if that has no columns."""
        compute = self.walk.compute(number)
        if number == self.found.quotient:
            compute = _without_quotient(compute)
        column = self.found.columns.dims[number]
        made = replace(
            compute,
            dims=tuple(replace(d, extent=self.places.width) if d.name == column else d for d in compute.dims),
            ins=tuple(self._read(a) for a in compute.ins),
            outs=tuple(replace(o, value=value or self.renamed[o.value]) for o in compute.outs),
            body=tuple(self._entry(e, column) for e in compute.body),
        )
        spans = {**self.spans, **{d.name: (0, d.extent - 1) for d in made.dims}}
        plain = without_unit_dims(decided(made, spans))
        return without_single_reductions(plain, self.names.values)

    def _read(self, access: Access) -> Access:
        if (part := self.parts.get(access, self.walk.held.get(access))) is not None:
            return part
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
