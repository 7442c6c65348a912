"""One block of columns of a softmax: the statements from its loads to what is carried to the next block.

top' = max(top, scores of the block)           shrunk = exp(top - top')
total' = total * shrunk + sum of exp(scores - top')
mix' = mix * shrunk + exp(scores - top') x block of the other factor

What needs all columns of a row is computed row by row; what has one element a row (shrunk, total') for all
rows at once behind that. In a row an element would take a vector's time, and each would be sent by itself: as
the queue behind the vector unit holds few messages, fewer rows could begin while others wait for what they
reduce.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.schedule.graph import Access, Axis, Compute, Dim, Linear, Load, Out, Scalar
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.phases.chain import accesses
from headrace.schedule.phases.combiners import without_single_reductions
from headrace.schedule.phases.decided import Spans, decided
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import as_it_lies, as_taken, kept_copy, part_of
from headrace.schedule.phases.softmax import Softmax
from headrace.schedule.phases.statements import Block, without_unit_dims


class Online:
    """The online softmax of a block of statements: its parts, what is carried from block to block, factors
    that are `held` for all blocks.
    """

    def __init__(self, block: Block, names: Names, found: Softmax) -> None:
        self.old, self.names, self.found = block, names, found
        self.held: dict[Access, Access] = {}
        self.top, self.total, self.mix = (
            self.compute(n).outs[0] for n in (found.top, found.total, found.mix)
        )

    @property
    def carried(self) -> tuple[Out, ...]:
        """The largest score of a row, the sum of its exponentials and the product with them."""
        return self.top, self.total, self.mix

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

    def laid_out(self, access: Access, dims: Sequence[str], extents: Mapping[str, int]) -> Access:
        """A new value for a factor, with these dims as axes."""
        old = self.names.values[access.value]
        made = self.names.fresh(access.value, replace(old, shape=tuple(extents[d] for d in dims)))
        self.names.computed.add(made.name)
        self.names.apart.add(made.name)
        return Access(made.name, tuple(Axis(d) for d in dims))

    def pointwise(self, number: int, out: Out, ins: Sequence[Access], ops: Sequence[Scalar]) -> Compute:
        """A Compute over the rows of statement `number` that applies ops in turn to f32 operands."""
        return self.computed(number, [replace(out, result=len(ins) + len(ops) - 1)], ins, ops)

    def computed(
        self, number: int, outs: Sequence[Out], ins: Sequence[Access], ops: Sequence[Scalar]
    ) -> Compute:
        """The same with several results, each of an operand or of an op."""
        extents = {d.name: d.extent for d in self.compute(number).dims}
        walked = [a.dim for a in outs[0].axes if a.dim is not None]
        body = [Scalar("in", (), "f32", k) for k in range(len(ins))]
        made = Compute(
            tuple(Dim(d, extents[d], "parallel") for d in walked),
            tuple(ins),
            tuple(Out(out.value, out.axes, out.result) for out in outs),
            (*body, *ops),
            where=self.compute(number).where,
            source="online softmax",
        )
        return without_unit_dims(made)

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

    def with_other_scores(self, online: Online) -> Places:
        """The same places but for the scores, and for factors that are taken as they lie."""
        columns, top = online.found.columns, online.found.top
        early = {o.value for n in columns.dims if n < top for o in online.compute(n).outs}
        axes = columns.axes
        others = {v: online.like(v, axes[v], self.width) for v in sorted(early & self.renamed.keys())}
        return replace(self, renamed={**self.renamed, **others}, parity=1)


class Turn:
    """The statements of one block: the columns from `at` on."""

    def __init__(self, online: Online, places: Places, at: Linear, spans: Spans) -> None:
        self.online, self.names, self.found = online, online.names, online.found
        self.places, self.at, self.spans = places, at, spans
        self.parts: dict[Access, Access] = {}
        axes = online.found.columns.axes
        own = {v: online.like(v, axis, places.width) for v, axis in axes.items() if v not in places.renamed}
        self.renamed = {**own, **places.renamed}
        self.top, self.summed = online.like(online.top.value), online.like(online.total.value)
        numbers = sorted(online.found.columns.dims)
        self.early = [n for n in numbers if n < online.found.top]
        self.late = [n for n in numbers if n >= online.found.top and n != online.found.mix]

    def statements(self) -> Iterator[Load | Compute]:
        """Yield all statements in order."""
        yield from (*self.bring_scores(), *self.scores(), *self.bring_factor())
        yield from (*self.weights(), *self.mixed())

    def bring_scores(self) -> Iterator[Load | Compute]:
        """Bring in the factors of the scores."""
        return self._bring(self.early)

    def bring_factor(self) -> Iterator[Load | Compute]:
        """Bring in the other factor of the product."""
        return self._bring([self.found.mix])

    def scores(self) -> Iterator[Load | Compute]:
        """The scores of the block, masked."""
        for number in self.early:
            yield from self._loads(number)
            yield self._part(number)

    def weights(self) -> Iterator[Load | Compute]:
        """Maxima by now, exponentials and their sums over the block."""
        for number in self.late:
            yield from self._loads(number)
            if number == self.found.top:
                yield from self._top(number)
            else:
                yield self._part(number, self.summed if number == self.found.total else "")

    def mixed(self) -> Iterator[Compute]:
        """What is carried with this block in it: maxima and sums of all rows at once, then the product."""
        online, mix = self.online, self.found.mix
        yield self._sums()
        found = online.like(online.mix.value)
        yield self._part(mix, found)
        rows = self.found.rows[mix]
        ins = [Access(v, online.mix.axes) for v in (online.mix.value, found)]
        ins.append(Access(self.places.shrunk, rows))
        yield online.pointwise(mix, online.mix, ins, [op("arith.mulf", 0, 2), op("arith.addf", 3, 1)])

    def _loads(self, number: int) -> Iterator[Load]:
        """The loads of columns that a statement needs, but for factors."""
        for access, load in self._cut(number):
            if self.online.compute(number).contraction is None and access not in self.parts:
                self.parts[access] = self._part_of(number, access, load)
                yield self.names.loads[self.parts[access].value]

    def _bring(self, numbers: Sequence[int]) -> Iterator[Load | Compute]:
        """The factors of products as they lie, turned if their depth runs fastest: they come while the blocks
        before are computed.
        """
        brought: set[Access] = set()
        for number in numbers:
            for access, load in self._cut(number):
                ways = self._ways(number, access, load)
                if access in brought or not ways:
                    continue
                brought.add(access)
                part = self._part_of(number, access, load)
                yield self.names.loads[part.value]
                for made in ways:
                    yield kept_copy(part, made, self._extents(number), self.names)
                    part = made

    def _cut(self, number: int) -> Iterator[tuple[Access, Load]]:
        """The loaded operands of a statement that have columns."""
        column = self.found.columns.dims[number]
        for access in self.online.compute(number).ins:
            load = self.names.loads.get(access.value)
            if load is not None and any(a.dim == column for a in access.axes):
                yield access, load

    def _part_of(self, number: int, access: Access, load: Load) -> Access:
        """The columns of the block of what is loaded."""
        cut: dict[str | None, tuple[Linear, int]] = {
            self.found.columns.dims[number]: (self.at, self.places.width)
        }
        return replace(access, value=part_of(access, load, cut, self.names))

    def _extents(self, number: int) -> dict[str, int]:
        """The extents of the dims of a statement on the block."""
        extents = {d.name: d.extent for d in self.online.compute(number).dims}
        return extents | {self.found.columns.dims[number]: self.places.width}

    def _ways(self, number: int, access: Access, load: Load) -> list[Access]:
        """The places of a factor on its way to the matrix unit, none for what is no factor."""
        contraction = self.online.compute(number).contraction
        if contraction is None:
            return []
        order = as_taken(contraction, [a.dim for a in access.axes if a.dim is not None])
        ways = dict.fromkeys((tuple(as_it_lies(access, load)), tuple(order)))
        return [self._laid_out(access, dims, self._extents(number), len(ways) == 1) for dims in ways]

    def _laid_out(
        self, access: Access, dims: tuple[str, ...], extents: Mapping[str, int], is_rotating: bool
    ) -> Access:
        """The place of a factor with these dims as axes."""
        key = (access, dims, self.places.parity if is_rotating else 0)
        if key not in self.places.laid:
            self.places.laid[key] = self.online.laid_out(access, dims, extents)
        return self.places.laid[key]

    def _top(self, number: int) -> Iterator[Compute]:
        """The maxima of the block, and those of all columns by now."""
        online = self.online
        found = online.like(online.top.value)
        yield self._part(number, found)
        ins = [Access(v, online.top.axes) for v in (online.top.value, found)]
        yield online.pointwise(number, replace(online.top, value=self.top), ins, [op("arith.maximumf")])

    def _sums(self) -> Compute:
        """What larger maxima shrink the sums by, the sums with those of the block, the maxima: a phase of its
        own, as rows are vectors in it, where they are single elements beside the exponentials.
        """
        online, found = self.online, self.found
        powers, rows = online.compute(found.powers), found.rows[found.total]
        ins = [Access(online.top.value, rows), Access(self.top, rows)]
        ins += [Access(v, online.total.axes) for v in (online.total.value, self.summed)]
        ops = [op("arith.subf")]
        if found.scale != 1:
            ops += [Scalar("const", (), "f32", found.scale), op("arith.mulf", 4, 5)]
        shrunk = len(ins) + len(ops)
        ops += [op(powers.body[powers.outs[0].result].op, shrunk - 1)]
        ops += [op("arith.mulf", 2, shrunk), op("arith.addf", shrunk + 1, 3)]
        outs = [
            Out(self.places.shrunk, rows, shrunk),
            replace(online.total, result=shrunk + 2),
            Out(online.top.value, rows, 1),
        ]
        self.names.apart |= {out.value for out in outs}
        return online.computed(found.total, outs, ins, ops)

    def _part(self, number: int, value: str = "") -> Compute:
        """A statement on the columns of the block; its result is `value` if that has no columns."""
        compute = self.online.compute(number)
        column = self.found.columns.dims[number]
        made = replace(
            compute,
            dims=tuple(replace(d, extent=self.places.width) if d.name == column else d for d in compute.dims),
            ins=tuple(self._read(number, a) for a in compute.ins),
            outs=tuple(replace(o, value=value or self.renamed[o.value]) for o in compute.outs),
            body=tuple(self._entry(e, column) for e in compute.body),
        )
        spans = {**self.spans, **{d.name: (0, d.extent - 1) for d in made.dims}}
        plain = without_unit_dims(decided(made, spans))
        return without_single_reductions(plain, self.names.values)

    def _read(self, number: int, access: Access) -> Access:
        for factor, load in self._cut(number):
            if factor == access and (ways := self._ways(number, access, load)):
                return ways[-1]
        if (part := self.parts.get(access, self.online.held.get(access))) is not None:
            return part
        if access.value == self.online.top.value:
            return replace(access, value=self.top)
        return replace(access, value=self.renamed.get(access.value, access.value))

    def _entry(self, entry: Scalar, column: str) -> Scalar:
        """An index entry counts from the first column of the block on."""
        if entry.op != "index":
            return entry
        dim, offset = coordinate(entry)
        return replace(entry, attr=(dim, add(offset, self.at))) if dim == column else entry


def op(name: str, *args: int) -> Scalar:
    """An f32 op of the entries `args`, of the first two if none are given."""
    return Scalar(name, args or (0, 1), "f32")
