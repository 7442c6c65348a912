"""Which unit signals which, where: the signals that keep conflicting accesses of a control tree in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from headrace.schedule.credits import Pass, Repeated, Signal, passing
from headrace.schedule.signals import Apart, Conflict, Edge, Pair, Path


@dataclass
class _Home:
    """The one block that holds all signals of a pair in some subtree, and the loops its credits may be
    hoisted over. `others` are further (block, send, receive) of the same stream of signals: they share the
    credits; `body` are all signals of the stream in one iteration of its loop.
    """

    block: Path
    send: int
    receive: int
    is_mixed: bool
    conflicts: list[Conflict]
    outer: int
    distance: int | None = None
    others: tuple[tuple[Path, int, int], ...] = ()
    body: tuple[Signal | Repeated, ...] = ()

    @property
    def credits(self) -> int:
        """Credits of the loop-carried edge; with other signals of the pair in the block only one is in
        order.
        """
        return 0 if self.distance is None else (1 if self.is_mixed else self.distance)


@dataclass
class _Found:
    """What a subtree needs: finished edges, and the home whose carried edge is still open."""

    edges: list[Edge] = field(default_factory=list)
    home: _Home | None = None

    @property
    def is_signalling(self) -> bool:
        return bool(self.edges) or (self.home is not None and self.home.distance is not None)

    @property
    def credits(self) -> int:
        """Credits of the open carried edge."""
        return 0 if self.home is None else self.home.credits

    @property
    def open(self) -> list[Conflict]:
        """Conflicts that no edge orders once the subtree runs again."""
        return self.home.conflicts if self.home is not None and self.home.distance is None else []


def order(pair: Pair, conflicts: Sequence[Conflict], is_fed: bool = False) -> tuple[Edge, ...]:
    """Return the edges that order every conflict of one ordered pair of units.

    `is_fed`: the receiver takes data from queues, so that the units before it stand still while it waits.
    """
    found = _block(pair, (), list(conflicts), is_fed)
    return (*found.edges, *_finish(pair, found.home))


def _block(pair: Pair, block: Path, conflicts: list[Conflict], is_fed: bool) -> _Found:
    """Order the conflicts inside a block and its loops, and across the iterations of the loop it is the body
    of.
    """
    depth = len(block)
    inside: dict[int, list[Conflict]] = {}
    across = []
    for c in conflicts:
        if c.first[depth] == c.second[depth] and len(c.first) > depth + 1:
            inside.setdefault(c.first[depth], []).append(c)
        else:
            across.append(c)
    children = {p: _block(pair, (*block, p), own, is_fed) for p, own in sorted(inside.items())}
    if depth and not across and len(children) == 1:
        child = next(iter(children.values()))
        if child.home is None or _widen(child.home, depth):
            return child
    return _own(pair, block, across, children, is_fed)


def _widen(home: _Home, depth: int) -> bool:
    """Let the only signalling loop of a block carry its credits across iterations of the loop around,
    too.

    False if that would cost more than it gives: fewer credits than the loop can have by itself, or a signal
    in each iteration for what the loop around can order as well.
    """
    if home.others:
        return False
    found = _least(c.apart(depth - 1, len(home.block)) for c in home.conflicts)
    if found is not None:
        if home.distance is None and not found.is_exact:
            return False
        if home.distance is not None and found.iterations < home.credits:
            return False
        home.distance = min(found.iterations, home.distance or found.iterations)
    home.outer = depth - 1
    return True


def _own(
    pair: Pair, block: Path, across: list[Conflict], children: dict[int, _Found], is_fed: bool
) -> _Found:
    """Order what a block's own positions conflict in; its loops keep their credits to themselves."""
    depth = len(block)
    places = {c: (c.first[depth], c.second[depth]) for c in across}
    forward = {(i, j) for c, (i, j) in places.items() if i < j and c.together(depth)}
    anchors = [position for position, child in children.items() if child.is_signalling]
    stream = None if forward or not depth else _stream(block, places, children, is_fed)
    if stream is not None:
        return _Found(home=stream)
    passed = _passed(block, [c for c in across if places[c] in forward], children)
    settled = {p for p in forward for before, after in passed if p[0] < after and p[1] > before}
    proofs = [position for position, child in children.items() if _is_proof(child, depth)]
    settled |= {(i, j) for i, j in forward if any(i < m < j for m in proofs)}
    kept = _reduce(forward - settled, anchors)
    found = _Found([Edge(pair, block, i, j) for i, j in kept])
    for position, child in children.items():
        found.edges += [*child.edges, *_handed(_finish(pair, child.home), position, passed)]
    tightest = _tightest(forward)
    carried = [c for c, (i, j) in places.items() if not _implied(i, j, tightest)]
    carried += [c for child in children.values() for c in child.open]
    if not depth or not carried:
        return found
    sends = [c.first[depth] for c in carried] + [i for i, _ in kept] + anchors
    receives = [c.second[depth] for c in carried] + [j for _, j in kept] + anchors
    distance = _least(c.apart(depth - 1, depth) for c in carried)
    is_mixed = bool(kept or anchors)
    credits = None if distance is None else distance.iterations
    found.home = _Home(block, max(sends), min(receives), is_mixed, carried, depth - 1, credits)
    return found


def _passed(
    block: Path, forward: Sequence[Conflict], children: Mapping[int, _Found]
) -> dict[tuple[int, int], Pass]:
    """What signalling loops of a block pass on to the next ones, by the positions of both: all they can where
    no conflict crosses the border, else as much as orders those that do.
    """
    depth, found = len(block), {}
    signalling = [(p, child) for p, child in children.items() if child.is_signalling]
    for (before, one), (after, other) in pairwise(signalling):
        crossing = [c for c in forward if c.first[depth] < after and c.second[depth] > before]
        if not crossing and one.credits and other.credits:
            found[before, after] = Pass(min(one.credits, other.credits))
        loops = _loop(one, depth), _loop(other, depth)
        if crossing and loops[0] is not None and loops[1] is not None:
            made = passing((loops[0], one.credits), (loops[1], other.credits), crossing, depth)
            if made is not None:
                found[before, after] = made
    return found


def _loop(child: _Found, depth: int) -> Repeated | None:
    """The signals of a loop in a block that `depth` loops lie around, None if some are not counted."""
    home = child.home
    if child.edges or home is None or home.distance is None or home.is_mixed:
        return None
    body, innermost = home.body, depth if home.body else len(home.block) - 1
    body = body or (Signal(home.send, home.receive),)
    for level in range(innermost, depth - 1, -1):
        trips = {c.trips(level) for c in home.conflicts}
        count = trips.pop() if len(trips) == 1 else None
        if not count:
            return None
        body = (Repeated(home.block[level], count, body),)
    (loop,) = body
    return loop if isinstance(loop, Repeated) else None


def _is_proof(child: _Found, depth: int) -> bool:
    """Whether a receiver past a loop knows that the sender has begun it: it has waited there for more signals
    than were granted.
    """
    made = _loop(child, depth)
    return made is not None and made.count > child.credits


def _handed(edges: Sequence[Edge], position: int, passed: Mapping[tuple[int, int], Pass]) -> list[Edge]:
    """The edges of a loop at that position, with what it takes over and passes on."""
    found = list(edges)
    for (before, after), made in passed.items():
        if position == before:
            found[0] = replace(found[0], leaves=made.leaves, passed=made.credits)
        if position == after:
            found[0] = replace(found[0], taken=made.credits, grant=made.grant)
    return found


@dataclass(frozen=True)
class _Item:
    """One place of a stream of signals: the receiver waits at `receive` of the block (or in the loop there),
    the sender signals at `send`, `count` times an iteration of the block; `lags` are the distances of its own
    conflicts: (iterations of the block, further signals).
    """

    place: tuple[Path, int, int]
    receive: int
    send: int
    count: int
    lags: tuple[tuple[int, int], ...]


def _stream(
    block: Path, places: dict[Conflict, tuple[int, int]], children: dict[int, _Found], is_fed: bool
) -> _Home | None:
    """The signals of a block whose places follow each other alike at both units, as one stream whose credits
    last across all of them; None if places meet otherwise, or if a loop alone gives more credits.

    Wait number i of the receiver needs signal number i - lag of the sender, whichever place it belongs to, so
    the least lag of all places is what the sender may grant in advance. A wait may then be for an earlier
    place of the same iteration: what the sender does there must not need anything of the places after it. A
    receiver that is fed by queues may hold up the sender itself, so it never waits for the same iteration.
    """
    items = _leaves(block, places, children)
    loops = [_inner(block, p, child) for p, child in children.items()]
    if items is None or None in loops or len(items) + len(loops) < 2:
        return None
    listed = sorted([*items, *(item for item in loops if item)], key=lambda item: item.receive)
    if any(one.send >= after.receive for one, after in pairwise(listed)):
        return None
    total = sum(item.count for item in listed)
    lags = [times * total + rest for item in listed for times, rest in item.lags]
    alone = max((rest for item in listed for times, rest in item.lags if not times), default=0)
    if not lags or 2 * min(lags) < alone or (is_fed and min(lags) < total):
        return None
    (_, send, receive), *others = [item.place for item in listed]
    conflicts = [*places, *(c for child in children.values() if child.home for c in child.home.conflicts)]
    home = _Home(listed[0].place[0], send, receive, False, conflicts, len(block) - 1, min(lags))
    home.others = tuple(others)
    home.body = tuple(_signal(item, block) for item in listed)
    return home


def _signal(item: _Item, block: Path) -> Signal | Repeated:
    """The signals of an item of a stream."""
    inner, send, receive = item.place
    one = Signal(send, receive)
    return one if inner == block else Repeated(item.receive, item.count, (one,))


def _leaves(
    block: Path, places: dict[Conflict, tuple[int, int]], children: dict[int, _Found]
) -> list[_Item] | None:
    """The items that are no loops, None if one of them meets inside of a loop that is an item."""
    depth = len(block)
    found: dict[int, list[tuple[int, Apart]]] = {}
    for conflict, (i, j) in places.items():
        distance = conflict.apart(depth - 1, depth)
        if distance is not None:
            found.setdefault(j, []).append((i, distance))
            if {i, j} & children.keys():
                return None
    items = []
    for j, met in found.items():
        last = max(i for i, _ in met)
        items.append(_Item((block, last, j), j, last, 1, ((min(d for _, d in met).iterations, 0),)))
    return items


def _inner(block: Path, position: int, child: _Found) -> _Item | None:
    """The item of a loop with one place for its signals."""
    home, depth = child.home, len(block)
    if child.edges or home is None or home.others or home.is_mixed or home.block != (*block, position):
        return None
    counts = {c.trips(depth) for c in home.conflicts}
    count = counts.pop() if len(counts) == 1 else None
    if not count:
        return None
    across = _least(c.apart(depth - 1, depth + 1) for c in home.conflicts)
    lags = [(0, home.distance)] if home.distance is not None else []
    if across is not None:
        lags.append((1, across.iterations - count))
    return _Item((home.block, home.send, home.receive), position, position, count, tuple(lags))


def _finish(pair: Pair, home: _Home | None) -> list[Edge]:
    if home is None or home.distance is None:
        return []
    around = home.block[: home.outer + 1]
    first = Edge(pair, home.block, home.send, home.receive, home.credits, around)
    return [first, *(Edge(pair, block, i, j, home.credits) for block, i, j in home.others)]


def _least(distances: Iterable[Apart | None]) -> Apart | None:
    return min((d for d in distances if d is not None), default=None)


def _implied(i: int, j: int, tightest: Sequence[tuple[int, int]]) -> bool:
    """True if one of such edges puts position i of the sender before position j of the receiver."""
    place = bisect_left(tightest, (i, 0))
    return i < j and place < len(tightest) and tightest[place][1] <= j


def _tightest(edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges that no other one implies, in order: of both positions, for neither can fall."""
    kept: list[tuple[int, int]] = []
    for i, j in sorted(set(edges), key=lambda edge: (-edge[0], edge[1])):
        if not kept or j < kept[-1][1]:
            kept.append((i, j))
    return kept[::-1]


def _reduce(forward: set[tuple[int, int]], anchors: Sequence[int]) -> list[tuple[int, int]]:
    """Return the edges not implied by others, moved to cross no loop in which the pair signals."""
    moved = set()
    for i, j in forward:
        crossed = [m for m in anchors if i < m < j]
        moved.add((max(crossed, default=i), j))
    return _tightest(moved)
