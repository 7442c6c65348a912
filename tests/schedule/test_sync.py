"""Signals: every conflict ordered, one counter a pair, no deadlock, whatever the loops and copies are."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, product

import pytest

from headrace.arch.device import Link
from headrace.schedule.lower.index import ONE, ZERO, Expr, Var, combine
from headrace.schedule.lower.order.accesses import accesses
from headrace.schedule.lower.order.conflicts import Aliases, signals
from headrace.schedule.lower.order.placement import Step, place
from headrace.schedule.lower.tree import Block, Buffer, Loop, Memory, Place, Slot, Stage, Transfer
from headrace.schedule.signals import Edge, Pair


@dataclass(frozen=True)
class Kind:
    per: str


@dataclass(frozen=True)
class Machine:
    """What `signals` asks of a device."""

    corelets: int = 1
    links: tuple[Link, ...] = ()

    def unit(self, kind: str) -> Kind:
        return Kind("core")


def touch(
    unit: str, buffer: Buffer, copy: Expr, row: Expr, rows: int, is_write: bool, number: int = 0
) -> Stage:
    memory = Memory(buffer.dtype, buffer.shape, (1,), buffer, copy)
    box = Place(memory, (row,), (Expr(rows),))
    slot = Slot("X", "Y", buffer.dtype, rows)
    return Stage(unit, number, (Transfer(slot, box) if is_write else Transfer(box, slot),))


def loop(name: str, count: int, *body: Stage | Loop) -> Loop:
    return Loop(Var(name), ZERO, Expr(count), ONE, tuple(body))


def over(name: str, factor: int = 1) -> Expr:
    return Expr(0, ((Var(name), factor),))


def mod(expr: Expr, copies: int) -> Expr:
    return combine("mod", expr, Expr(copies))


def edges(block: Block, *links: Link, aliases: Aliases = frozenset()) -> tuple[Edge, ...]:
    return signals(block, list(accesses(block)), Machine(links=links), aliases)  # type: ignore[arg-type]


def buffers_of(block: Block) -> set[Buffer]:
    found: set[Buffer] = set()
    for item in block:
        if isinstance(item, Loop):
            found |= buffers_of(item.body)
        elif isinstance(item, Stage):
            (node,) = item.body
            assert isinstance(node, Transfer)
            box = node.target if isinstance(node.target, Place) else node.source
            assert isinstance(box, Place) and box.memory.buffer is not None
            found.add(box.memory.buffer)
    return found


def test_a_rotating_buffer_gives_as_many_credits_as_copies() -> None:
    x = Buffer("x", "f16", (8,), 3)
    t = mod(over("t"), 3)
    body = loop("t", 9, touch("P", x, t, ZERO, 8, True), touch("C", x, t, ZERO, 8, False))
    assert set(edges((body,))) == {
        Edge(Pair("P", "C"), (0,), 0, 1),
        Edge(Pair("C", "P"), (0,), 1, 0, 3, (0,)),
    }


def test_credits_span_every_loop_the_copies_rotate_over() -> None:
    x = Buffer("x", "f16", (8,), 2)
    phase = mod(over("i").scaled(5) + over("j"), 2)
    inner = loop("j", 5, touch("P", x, phase, ZERO, 8, True), touch("C", x, phase, ZERO, 8, False))
    assert Edge(Pair("C", "P"), (0, 0), 1, 0, 2, (0,)) in edges((loop("i", 4, inner),))


def test_partial_sums_are_signalled_block_by_block() -> None:
    psum = Buffer("p", "f32", (64,))
    block = over("n", 16)
    inner = loop(
        "n", 4, touch("R", psum, ZERO, block, 16, False, 1), touch("W", psum, ZERO, block, 16, True, 2)
    )
    found = edges((loop("k", 8, inner),))
    assert Edge(Pair("W", "R"), (0, 0), 1, 0, 4, (0,)) in found


def test_what_is_loaded_once_before_a_loop_is_signalled_once() -> None:
    x = Buffer("x", "f16", (8,))
    found = edges((touch("P", x, ZERO, ZERO, 8, True), loop("t", 4, touch("C", x, ZERO, ZERO, 8, False))))
    assert found == (Edge(Pair("P", "C"), (), 0, 1),)


def test_a_loop_of_varying_length_keeps_its_copies_and_drains() -> None:
    x = Buffer("x", "f16", (8,), 2)
    stages = touch("P", x, mod(over("j"), 2), ZERO, 8, True), touch("C", x, mod(over("j"), 2), ZERO, 8, False)
    triangle = loop("i", 4, Loop(Var("j"), ZERO, over("i") + 1, ONE, stages))
    assert Edge(Pair("C", "P"), (0, 0), 1, 0, 2, (0, 0)) in edges((triangle,))


def test_two_dims_walked_by_one_loop_stay_apart() -> None:
    x = Buffer("x", "f16", (64,))
    t = over("t")
    row = combine("floordiv", t, Expr(4)).scaled(32) + combine("mod", t, Expr(4)).scaled(8)
    body = touch("P", x, ZERO, row, 8, True), touch("C", x, ZERO, row, 8, False)
    assert edges((loop("t", 8, *body),)) == (Edge(Pair("P", "C"), (0,), 0, 1),)


def streams(counts: tuple[int, ...], copies: tuple[int, ...], name: str = "s") -> tuple[Stage | Loop, ...]:
    """Places where P hands a buffer of its own to C: once (0), or in a loop of so many iterations."""
    items: list[Stage | Loop] = []
    for k, (count, n) in enumerate(zip(counts, copies, strict=True)):
        buffer, copy = Buffer(f"{name}{k}", "f16", (8,), n), mod(over("t").scaled(max(count, 1)), n)
        if count:
            copy = mod(over("t").scaled(count) + over(f"k{k}"), n)
        pair = touch("P", buffer, copy, ZERO, 8, True), touch("C", buffer, copy, ZERO, 8, False)
        items += [loop(f"k{k}", count, *pair)] if count else pair
    return tuple(items)


def test_places_that_follow_each_other_alike_share_their_credits() -> None:
    found = edges((loop("t", 4, *streams((0, 6, 0), (1, 3, 1))),))
    free = [e for e in found if e.pair == Pair("C", "P")]
    assert [(e.block, e.credits, e.around) for e in free] == [
        ((0,), 3, (0,)),
        ((0, 2), 3, None),
        ((0,), 3, None),
    ]


FED = Link("X", "P", "core", queue_depth=4)


@pytest.mark.parametrize(
    "counts, copies, is_shared, is_shared_if_fed",
    [
        ((0, 6, 0), (1, 3, 1), True, False),  # 8 signals an iteration, 3 granted: the 4th waits for this one
        ((0, 3), (1, 2), True, False),
        ((0, 2), (1, 2), True, True),  # the loop reuses its copies in the next iteration only
        ((0, 0), (2, 2), True, True),  # 2 an iteration, 4 granted: every wait is for an earlier one
        ((0, 0), (1, 1), True, True),
    ],
)
def test_a_unit_fed_by_queues_never_waits_for_another_place_of_its_iteration(
    counts: tuple[int, ...], copies: tuple[int, ...], is_shared: bool, is_shared_if_fed: bool
) -> None:
    block = (loop("t", 4, *streams(counts, copies)),)
    for links, shares in (((), is_shared), ((FED,), is_shared_if_fed)):
        carried = [e for e in edges(block, *links) if e.pair == Pair("C", "P") and e.credits]
        assert any(e.around is None for e in carried) == shares
    idle = Link("P", "X", "core", queue_depth=4)  # it feeds others: nobody stands still before it
    assert edges(block, idle) == edges(block)
    check(block, FED)


def test_places_that_wait_for_later_ones_share_no_credits() -> None:
    a, b = (Buffer(name, "f16", (8,), 1) for name in "ab")
    writes = [touch("P", x, ZERO, ZERO, 8, True) for x in (a, b)]
    reads = [touch("C", x, ZERO, ZERO, 8, False) for x in (b, a)]
    block = (loop("t", 3, *writes, *reads),)
    assert sum(e.pair == Pair("C", "P") for e in edges(block)) == 1
    check(block)


def test_the_next_loop_takes_over_the_credits_of_the_one_before() -> None:
    block = loop("t", 4, *streams((0,), (3,))), loop("t", 5, *streams((0,), (2,)))
    placed = place(edges(block), "P")
    assert placed.before[1,] == [Step("wait", Pair("C", "P"), 1, "free")]
    assert placed.closing[()] == [Step("wait", Pair("C", "P"), 2, "free")]


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_of_places_runs_ordered_and_to_its_end(seed: int) -> None:
    rng = random.Random(seed)
    loops = []
    for number in range(rng.randint(1, 3)):
        places = rng.randint(1, 4)
        counts = tuple(rng.choice((0, 0, 2, 3, 5)) for _ in range(places))
        copies = tuple(rng.randint(1, 4) for _ in range(places))
        loops.append(loop("t", rng.randint(1, 4), *streams(counts, copies, f"s{number}")))
    check(tuple(loops))


def peeled(
    counts: tuple[int, ...], copies: tuple[int, ...], tiles: int, before: int, behind: int = 0
) -> Block:
    """Tiles in a loop, each of places like `streams`, with such tiles apart in front of it and behind it; all
    use the same buffers.
    """

    buffers = [Buffer(f"x{k}", "f16", (8,), n) for k, n in enumerate(copies)]

    def tile(name: str, first: int) -> tuple[Stage | Loop, ...]:
        items: list[Stage | Loop] = []
        for k, (count, n) in enumerate(zip(counts, copies, strict=True)):
            buffer, inner = buffers[k], f"{name}{k}"
            copy = over(name).scaled(max(count, 1)) if name == "t" else ZERO
            copy = mod(copy + (over(inner) if count else 0) + first * count, n)
            pair = touch("P", buffer, copy, ZERO, 8, True), touch("C", buffer, copy, ZERO, 8, False)
            items += [loop(inner, count, *pair)] if count else pair
        return tuple(items)

    front = [item for k in range(before) for item in tile(f"f{k}", k)]
    back = [item for k in range(behind) for item in tile(f"b{k}", before + tiles + k)]
    return (*front, loop("t", tiles, *tile("t", before)), *back)


def free(block: Block) -> list[Edge]:
    """The edges that carry credits back to P."""
    return [e for e in edges(block) if e.pair == Pair("C", "P") and e.around is not None]


def test_a_tile_in_front_of_the_loop_over_tiles_passes_its_credits_on() -> None:
    block = peeled((0, 6, 0), (1, 3, 1), 4, before=1)
    first, second = free(block)
    assert (first.credits, first.passed, second.taken) == (3, 3, 3)
    assert not [e for e in edges(block) if e.pair == Pair("C", "P") and not e.credits]
    check(block)


def test_a_place_between_two_loops_takes_one_of_the_credits() -> None:
    block = peeled((0, 6), (1, 3), 4, before=1, behind=1)
    (_, tiles, last) = free(block)
    assert tiles.leaves == (4,) and (tiles.passed, last.taken) == (2, 2)
    check(block)


def test_copies_that_do_not_go_on_where_they_ended_leave_fewer_credits() -> None:
    x = Buffer("x", "f16", (8,), 4)
    loops = []
    for name, count in (("i", 6), ("j", 9)):
        copy = mod(over(name), 4)
        loops += [loop(name, count, touch("P", x, copy, ZERO, 8, True), touch("C", x, copy, ZERO, 8, False))]
    first, second = free(tuple(loops))  # j = 0 reuses the copy of i = 4, i = 5 is the one signal in between
    assert (first.credits, first.passed, second.taken) == (4, 2, 2)
    check(tuple(loops))


@pytest.mark.parametrize("seed", range(40))
def test_any_tiles_apart_from_their_loop_run_ordered_and_to_their_end(seed: int) -> None:
    rng = random.Random(seed)
    passing = 0
    for _ in range(6):
        places = rng.randint(1, 4)
        counts = tuple(rng.choice((0, 0, 2, 3, 5)) for _ in range(places))
        copies = tuple(rng.randint(1, 4) for _ in range(places))
        block = peeled(counts, copies, rng.randint(1, 4), rng.randint(0, 2), rng.randint(0, 2))
        passing += sum(e.passed for e in free(block))
        check(block)
        check(block, FED)
    assert passing


def test_credits_pass_to_the_next_loop_beside_signals_before_the_first_and_after_the_next() -> None:
    once = streams((0,), (1,), "once")
    block = (*once, loop("t", 4, *streams((0,), (3,))), loop("t", 5, *streams((0,), (3,), "r")))
    aliases = frozenset({frozenset({b for b in buffers_of(block) if b.name in ("once0", "s0")})})
    placed = place(edges(block, aliases=aliases), "P")
    assert placed.before[2,] == [Step("wait", Pair("C", "P"), 1, "full")]
    assert not placed.before[3,]


def test_what_a_loop_between_has_proved_is_not_signalled_again() -> None:
    """P writes over what C reads before the loop only after it, where C has long come by."""
    first, last = streams((0,), (1,), "a"), streams((0,), (1,), "z")
    pair = frozenset({next(iter(buffers_of(first))), next(iter(buffers_of(last)))})
    for trips, is_proved in ((2, False), (3, False), (4, True)):
        block = (*first, loop("t", trips, *streams((0,), (3,))), *last)
        back = [e for e in edges(block, aliases=frozenset({pair})) if e.pair == Pair("C", "P")]
        assert [e.credits for e in back if not e.credits] == ([] if is_proved else [0])
        check(block, aliases=frozenset({pair}))


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_whose_buffers_share_bytes_runs_ordered_and_to_its_end(seed: int) -> None:
    rng = random.Random(seed)
    items: list[Stage | Loop] = []
    by_item: list[set[Buffer]] = []
    for number in range(rng.randint(2, 6)):
        counts = tuple(rng.choice((0, 0, 2, 3, 5)) for _ in range(rng.randint(1, 3)))
        copies = tuple(rng.randint(1, 4) for _ in counts)
        made = streams(counts, copies, f"s{number}")
        if rng.random() < 0.6:
            made = (loop("t", rng.randint(1, 6), *made),)
        else:  # no loop around: copies rotate within each place only
            made = tuple(m for m in streams((0,), (1,), f"s{number}"))
        items += made
        by_item.append(buffers_of(made))
    pairs = [frozenset((a, b)) for one, two in combinations(by_item, 2) for a, b in product(one, two)]
    check(tuple(items), aliases=frozenset(rng.sample(pairs, min(len(pairs), rng.randint(1, 4)))))


def test_disjoint_boxes_need_no_signal() -> None:
    x = Buffer("x", "f16", (8,))
    assert edges((touch("P", x, ZERO, ZERO, 4, True), touch("C", x, ZERO, Expr(4), 4, False))) == ()


# ---- any tree: run the programs the edges make and watch what happens ----


Event = tuple[str, object]


def program(block: Block, found: tuple[Edge, ...], unit: str, copies: dict[str, int]) -> list[Event]:
    """The sends, waits and touched elements of a unit, loops unrolled."""
    placed = place(found, unit)
    events: list[Event] = []

    def steps(listed: list[Step]) -> None:
        for step in listed:
            if step.kind == "fence":
                continue
            events.extend([(step.kind, step.pair)] * step.count)

    def value(expr: Expr, at: dict[str, int]) -> int:
        total = int(expr.const)  # type: ignore[arg-type]
        for atom, c in expr.terms:
            if isinstance(atom, Var):
                total += at[atom.name] * c  # type: ignore[operator]
            else:
                left, right = value(atom.left, at), value(atom.right, at)
                total += (left % right if atom.op == "mod" else left // right) * c  # type: ignore[operator]
        return total

    def run(items: Block, path: tuple[int, ...], at: dict[str, int]) -> None:
        for position, item in enumerate(items):
            here = (*path, position)
            steps(placed.before[here])
            if isinstance(item, Loop):
                for k in range(max(0, value(item.high, at))):
                    run(item.body, here, {**at, item.var.name: k})
            elif item.unit == unit:
                (node,) = item.body
                assert isinstance(node, Transfer)
                is_write = isinstance(node.target, Place)
                box = node.target if isinstance(node.target, Place) else node.source
                assert isinstance(box, Place) and box.memory.buffer is not None
                buffer = box.memory.buffer
                copy, low = value(box.memory.copy, at) % buffer.copies, value(box.corner[0], at)
                touched = frozenset((buffer.name, copy, low + e) for e in range(value(box.sizes[0], at)))
                events.append(("write" if is_write else "read", touched))
            steps(placed.after[here])
        steps(placed.closing[path])

    run(block, (), {})
    return events


def check(block: Block, *links: Link, aliases: Aliases = frozenset()) -> None:
    """Run all programs together with vector clocks; also compare the label order of every pair."""
    found = edges(block, *links, aliases=aliases)
    shared = {frozenset(b.name for b in pair) for pair in aliases}
    units = sorted({s for e in found for s in (e.pair.sender, e.pair.receiver)} | {"P", "Q", "R"})
    programs = {u: program(block, found, u, {}) for u in units}
    clock = {u: dict.fromkeys(units, 0) for u in units}
    pending: dict[object, list[dict[str, int]]] = defaultdict(list)
    at = dict.fromkeys(units, 0)
    log: list[tuple[str, int, str, frozenset[object], dict[str, int]]] = []
    moved = True
    while moved:
        moved = False
        for u in units:
            while at[u] < len(programs[u]):
                kind, what = programs[u][at[u]]
                if kind == "wait" and not pending[what]:
                    break
                clock[u][u] += 1
                if kind == "wait":
                    other = pending[what].pop(0)
                    clock[u] = {v: max(clock[u][v], other[v]) for v in units}
                elif kind == "send":
                    pending[what].append(dict(clock[u]))
                else:
                    log.append((u, clock[u][u], kind, what, dict(clock[u])))  # type: ignore[arg-type]
                at[u] += 1
                moved = True
    assert all(at[u] == len(programs[u]) for u in units), "deadlock"
    assert not any(pending.values()), "left-over signals"
    for (u, time, kind, what, seen), (v, late, other, where, known) in combinations(log, 2):
        names = {frozenset((a[0], b[0])) for a, b in product(what, where)} if shared else set()  # type: ignore[index]
        if u != v and "write" in (kind, other) and (what & where or names & shared):
            assert known[u] >= time or seen[v] >= late, ("unordered", u, v, what & where)


def random_block(
    rng: random.Random, depth: int, scope: list[tuple[str, int]], buffers: list[Buffer]
) -> Block:
    items: list[Stage | Loop] = []
    for k in range(rng.randint(1, 3)):
        if depth < 3 and rng.random() < 0.45:
            name, count = f"v{depth}{k}{rng.randint(0, 99)}", rng.randint(0, 4)
            inner = random_block(rng, depth + 1, [*scope, (name, count)], buffers)
            high = Expr(count)
            if scope and rng.random() < 0.3:  # as many iterations as the loop around has done
                high = over(rng.choice(scope)[0]) + rng.randint(0, 1)
            items.append(Loop(Var(name), ZERO, high, ONE, inner))
            continue
        buffer = rng.choice(buffers)
        copy, row = ZERO, ZERO
        if buffer.copies > 1 and scope and rng.random() < 0.8:
            for name, count in scope[rng.randrange(len(scope)) :]:
                copy = copy.scaled(count) + over(name)
            copy = mod(copy + rng.choice((0, 0, 1)), buffer.copies)
        if scope and rng.random() < 0.5:
            row = over(rng.choice(scope)[0], 2)
            if rng.random() < 0.3:  # two dims walked by one loop
                row = combine(rng.choice(("mod", "floordiv")), row, Expr(rng.choice((4, 6)))).scaled(2)
        items.append(
            touch(rng.choice("PQR"), buffer, copy, row, rng.choice((2, 2, 3)), rng.random() < 0.5, len(items))
        )
    return tuple(items)


@pytest.mark.parametrize("seed", range(12))
def test_any_control_tree_runs_ordered_and_to_its_end(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        buffers = [Buffer("a", "f16", (16,), rng.randint(1, 3)), Buffer("b", "f16", (16,), rng.randint(1, 3))]
        check(random_block(rng, 0, [], buffers))
