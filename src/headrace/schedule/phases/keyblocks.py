"""Rows of a softmax whose columns come in blocks: a loop carries the largest score of a row, the sum of its
exponentials and the product with them, and nothing as long as a row is ever kept.

The weights of the product are the exponentials: what divides them by their sum has been moved behind the
product (`phases/quotient.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.schedule.graph import Carried, Compute, Linear, Load, Loop, Scalar, Store
from headrace.schedule.phases.chain import accesses
from headrace.schedule.phases.decided import Spans
from headrace.schedule.phases.keyturn import Online, Turn
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import as_it_lies, kept_copy
from headrace.schedule.phases.softmax import softmax
from headrace.schedule.phases.statements import Block

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
    """Return the block with its softmax in blocks of `size` columns, as it is if it holds none or one that
    divides the weights; with `is_ahead` the scores of a block are computed before the product of the one
    before.

    A mask hides nothing in the first `seen` columns: they have a loop of their own, in which no condition is
    asked that holds wherever the loops around it (their variables lie in `spans`) are.
    """
    found = softmax(block, names)
    if found is None or found.quotient is not None:
        return block
    return _Walk(Online(block, names, found), size, is_ahead, spans or {}).block(seen)


class _Walk:
    """One block on its way into blocks of columns."""

    def __init__(self, online: Online, size: int, is_ahead: bool, spans: Spans) -> None:
        self.online, self.names, self.found = online, online.names, online.found
        self.size, self.is_ahead, self.spans = size, is_ahead, spans
        self.bodies = dict(online.old.bodies)

    def block(self, seen: int) -> Block:
        """Return the block: what is before the loops, the loops, what depends on their results."""
        extent = self.found.columns.extent
        cut = min(seen, extent) // self.size * self.size
        before, after = self._around()
        before += self._hold()
        runs = [(first, count) for first, count in ((0, cut), (cut, extent - cut)) if count]
        loops = [statement for first, count in runs for statement in self._loop(first, first + count)]
        if self.is_ahead and extent >= 2 * self.size:
            whole = [(first, count // self.size) for first, count in runs if count >= self.size]
            loops = [*self._one_ahead(whole), *self._loop(extent // self.size * self.size, extent)]
        return Block((*before, *self._starts(), *loops, *after), self.bodies)

    def _around(self) -> tuple[list[Statement], list[Statement]]:
        """The statements that do not walk columns, those first that need no result of the loops."""
        reduced = (self.found.top, self.found.total, self.found.mix)
        late = {self.online.compute(n).outs[0].value for n in reduced}
        before: list[Statement] = []
        after: list[Statement] = []
        for number, statement in enumerate(self.online.old.statements):
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
        held = self.online.held
        for number, column in self.found.columns.dims.items():
            compute = self.online.compute(number)
            for access in compute.ins if compute.contraction is not None else ():
                load = self.names.loads.get(access.value)
                is_column = any(a.dim == column for a in access.axes)
                if load is None or load.indirect or is_column or any(a.offset for a in access.axes):
                    continue
                extents = {d.name: d.extent for d in compute.dims}
                if access not in held:
                    held[access] = self.online.laid_out(access, as_it_lies(access, load), extents)
                    yield kept_copy(access, held[access], extents, self.names)

    def _starts(self) -> Iterator[Compute]:
        """What is carried before the first block."""
        least = self.online.top.init
        assert isinstance(least, float)
        starts = (max(least, LOWEST), 0.0, 0.0)
        numbers = (self.found.top, self.found.total, self.found.mix)
        for number, out, start in zip(numbers, self.online.carried, starts, strict=True):
            yield self.online.pointwise(number, out, [], [Scalar("const", (), "f32", start)])

    def _loop(self, first: int, last: int) -> Iterator[Statement]:
        """The columns from `first` to `last`: whole blocks in a loop, the rest by itself."""
        trips, rest = divmod(last - first, self.size)
        if trips:
            loop, places = self._turns(first, trips, self.size), self.online.places(self.size)
            turn = Turn(self.online, places, Linear(0, ((loop.name, 1),)), self.ranges(loop))
            self.bodies[loop.name] = Block(tuple(turn.statements()), {})
            yield loop
        if rest:
            places = self.online.places(rest)
            yield from Turn(self.online, places, Linear(last - rest), self.spans).statements()

    def _one_ahead(self, runs: Sequence[tuple[int, int]]) -> Iterator[Statement]:
        """Runs of whole blocks (first column, blocks), the scores of each block computed before the product
        of the one before: two in a turn of a loop, as the scores of both are kept.
        """
        even = self.online.places(self.size)
        places = (even, even.with_other_scores(self.online))
        firsts = [first + k * self.size for first, count in runs for k in range(count)]

        def turn(number: int) -> Turn:
            return Turn(self.online, places[number % 2], Linear(firsts[number]), self.spans)

        last = len(firsts) - 1
        yield from (*turn(0).bring_scores(), *turn(0).scores(), *turn(1).bring_scores())
        done = 0
        for first, count in runs:
            pairs = (count - 1) // 2
            if done + 2 * pairs == last:  # a turn of the loop brings in a factor for the block behind it
                pairs -= 1
            if pairs > 0:
                loop = self._turns(first, pairs, 2 * self.size)
                at, spans = Linear(0, ((loop.name, 1),)), self.ranges(loop)
                one, two, three, four = (
                    Turn(self.online, places[(done + k) % 2], add(at, k * self.size), spans) for k in range(4)
                )
                self.bodies[loop.name] = Block((*_joint(one, two, three), *_joint(two, three, four)), {})
                yield loop
            for number in range(done + 2 * max(0, pairs), done + count):
                later = [turn(n) if n <= last else None for n in (number + 1, number + 2)]
                yield from _joint(turn(number), *later)
            done += count

    def _turns(self, first: int, trips: int, step: int) -> Loop:
        self.names.count += 1
        carried = tuple(Carried(o.value, o.value, o.value, o.value) for o in self.online.carried)
        return Loop(f"columns{self.names.count}", trips, Linear(first), step, (), carried)

    def ranges(self, loop: Loop) -> Spans:
        """The first and last values of a loop over blocks and those around it."""
        first = loop.start.const
        assert isinstance(first, int) and isinstance(loop.trip, int)
        return {**self.spans, loop.name: (first, first + (loop.trip - 1) * loop.step)}


def _joint(turn: Turn, following: Turn | None, later: Turn | None) -> Iterator[Load | Compute]:
    """The weights of a block, the scores of the following one, the product of the first; before that, the
    factor of the scores after the following ones is brought in, so that it is there when the matrix unit is
    free.
    """
    yield from turn.bring_factor()
    yield from turn.weights()
    yield from following.scores() if following is not None else ()
    yield from later.bring_scores() if later is not None else ()
    yield from turn.mixed()
