"""Random programs: folding and jumping change nothing, and no program beats the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.arch.cost import Work, bound
from headrace.arch.device import Device
from headrace.arch.presets import device as preset
from headrace.ir.diagnostics import HeadraceError
from headrace.machine.image import Image, Index, Node
from headrace.machine.timing import Timing, engine, rounds, time
from headrace.machine.timing.compiled import memo
from tests.machine.timing_programs import Body, Chip

CORES = 4


@dataclass(frozen=True)
class Plan:
    """A tiled stream on every core: what varies between random programs."""

    tiles: tuple[int, ...]
    copies: int
    rows: int
    lanes: int
    ops: int
    sharing: str
    shift: int
    is_marked: bool
    stores: bool


plans = st.builds(
    Plan,
    tiles=st.one_of(
        st.integers(1, 6).map(lambda n: (n,) * CORES),
        st.tuples(st.integers(1, 4), st.integers(1, 4)).map(lambda t: (t[0], t[1], t[0], t[1])),
        st.tuples(*[st.integers(0, 4)] * CORES),
    ),
    copies=st.integers(1, 3),
    rows=st.integers(1, 40),
    lanes=st.sampled_from([1, 32, 64, 200, 700]),
    ops=st.integers(1, 12),
    sharing=st.sampled_from(["none", "none", "all", "pairs", "far pairs"]),
    shift=st.integers(0, 3),
    is_marked=st.booleans(),
    stores=st.booleans(),
)


def machine() -> Device:
    changes = {"core.count": CORES, "ddr.multicast.max_consumers": CORES, "mnilu.outstanding": 3}
    return preset("tiny", changes)


def groups_of(chip: Chip, sharing: str) -> Sequence[int] | None:
    """The multicast group of each core, None without sharing."""
    match sharing:
        case "all":
            return [chip.group(*range(CORES))] * CORES
        case "pairs":
            first, second = chip.group(0, 1), chip.group(2, 3)
            return [first, first, second, second]
        case "far pairs":
            first, second = chip.group(0, 2), chip.group(1, 3)
            return [first, second, first, second]
    return None


def program(plan: Plan) -> tuple[Chip, Image]:
    """Load, read, compute, write, store, with credits, and a signal to the next core after every tile."""
    chip = Chip(machine(), CORES)
    size = plan.rows * plan.lanes * 2
    is_even = len(set(plan.tiles)) == 1
    groups = groups_of(chip, plan.sharing) if is_even else None
    shift = plan.shift if is_even else 0

    def trips(b: Body) -> Index:
        return b.table(plan.tiles)

    def loader(b: Body) -> list[Node]:
        table = b.table(groups) if groups is not None else None
        turn = b.loop(trips(b), b.wait("L1LU"), b.load(size, table), b.send("L1LU"))
        return [turn, b.loop(plan.copies, b.wait("L1LU"))]

    def reader(b: Body) -> list[Node]:
        turn = [b.wait("MNILU"), b.read(plan.rows, plan.lanes), b.send("MNILU")]
        if shift:
            turn += [b.send("L1LU", shift), b.wait("L1LU", CORES - shift)]
        return [b.loop(plan.copies, b.send("MNILU")), b.loop(trips(b), *turn)]

    def writer(b: Body) -> list[Node]:
        free = [b.wait("MNISU")] if plan.stores else []
        full = [b.send("MNISU")] if plan.stores else []
        return [b.loop(trips(b), *free, b.write(plan.rows, plan.lanes), *full)]

    def storer(b: Body) -> list[Node]:
        turn = b.loop(trips(b), b.wait("L1SU"), b.store(size), b.send("L1SU"))
        return [b.send("L1SU"), turn]

    chip.program("MNILU", loader)
    chip.program("L1LU", reader)
    chip.program(
        "SFU", lambda b: [b.loop(trips(b), b.vector(plan.rows, plan.lanes, plan.ops, plan.is_marked))]
    )
    chip.program("L1SU", writer)
    if plan.stores:
        chip.program("MNISU", storer)
    return chip, chip.image()


def work(plan: Plan) -> Work:
    """Distinct bytes and vector work of a plan; a multicast reads once for its group."""
    size = plan.rows * plan.lanes * 2
    tiles = sum(plan.tiles)
    is_even = len(set(plan.tiles)) == 1
    members = {"all": CORES, "pairs": 2, "far pairs": 2}.get(plan.sharing, 1) if is_even else 1
    lanes = {("arith", "f16"): tiles * plan.rows * plan.lanes * plan.ops}
    return Work(size * tiles // members, size * tiles * plan.stores, {}, lanes)


def same(one: Timing, other: Timing) -> bool:
    facts = [(t.cycles, t.units, t.bytes, t.counts) for t in (one, other)]
    return facts[0] == facts[1]


@settings(max_examples=120, deadline=None)
@given(plans)
def test_folded_cores_and_single_cores_take_equal_time(plan: Plan) -> None:
    chip, image = program(plan)
    folded = time(image, {}, chip.device)
    single = time(image, {}, chip.device, is_folding=False)
    assert same(folded, single)
    if len(set(plan.tiles)) == 1:
        assert folded.classes == 1
    assert single.classes == CORES


def step_by_step(image: Image, device: Device) -> Timing:
    """Every message and every round simulated, nothing jumped over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LOOKS", 0)
        patch.setattr(rounds, "PATIENCE", 0)
        return time(image, {}, device)


@pytest.mark.long
@settings(max_examples=250, deadline=None)
@given(plans, st.integers(1, 24))
def test_every_shortcut_at_once_changes_nothing_on_many_programs(plan: Plan, factor: int) -> None:
    """Folding, solving ahead and jumping, against every core and every message by itself, twice."""
    chip, image = program(Plan(**{**vars(plan), "tiles": tuple(n * factor for n in plan.tiles)}))
    found = time(image, {}, chip.device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LOOKS", 0)
        patch.setattr(rounds, "PATIENCE", 0)
        assert same(found, time(image, {}, chip.device, is_folding=False))
        assert same(found, time(image, {}, chip.device, is_folding=False, is_compiled=True))
    assert same(found, time(image, {}, chip.device))
    assert same(found, time(image, {}, chip.device, is_compiled=True))


@settings(max_examples=60, deadline=None)
@given(plans)
def test_solving_streams_ahead_changes_nothing(plan: Plan) -> None:
    chip, image = program(Plan(**{**vars(plan), "rows": plan.rows * 8}))
    assert same(time(image, {}, chip.device), step_by_step(image, chip.device))


@settings(max_examples=60, deadline=None)
@given(plans, st.integers(8, 40))
def test_jumping_over_rounds_changes_nothing(plan: Plan, factor: int) -> None:
    chip, image = program(Plan(**{**vars(plan), "tiles": tuple(n * factor for n in plan.tiles), "rows": 4}))
    assert same(time(image, {}, chip.device), step_by_step(image, chip.device))


@settings(max_examples=20, deadline=None)
@given(plans, st.integers(1, 40))
def test_machine_code_takes_the_same_time(plan: Plan, factor: int) -> None:
    chip, image = program(Plan(**{**vars(plan), "tiles": tuple(n * factor for n in plan.tiles)}))
    compiled = time(image, {}, chip.device, is_compiled=True)
    assert same(compiled, time(image, {}, chip.device, is_compiled=False))
    assert same(compiled, time(image, {}, chip.device, is_folding=False, is_compiled=True))


def test_queues_without_a_limit_grow_in_machine_code() -> None:
    """A reader that runs far ahead of its consumer, and many signals before the first is awaited."""
    tiny = preset("tiny")
    links = tuple(replace(link, queue_depth=None, queue_bytes=None) for link in tiny.links)
    chip = Chip(replace(tiny, links=links), 2)
    chip.program("L1LU", lambda b: [b.loop(500, b.send("SFU")), b.read(3000, 64)])
    chip.program("SFU", lambda b: [b.vector(3000, 64, 5), b.loop(500, b.wait("L1LU"))])
    chip.program("L1SU", lambda b: [b.write(3000, 64)])
    found = [time(chip.image(), {}, chip.device, is_compiled=flag) for flag in (True, False)]
    assert same(*found)


def test_a_deadlock_in_machine_code_says_who_waits() -> None:
    chip = Chip(preset("tiny"), 2)
    chip.program("L1LU", lambda b: [b.wait("SFU"), b.read(4, 64)])
    chip.program("SFU", lambda b: [b.vector(4, 64, 1), b.send("L1LU")])
    chip.program("L1SU", lambda b: [b.write(4, 64)])
    with pytest.raises(HeadraceError, match="deadlock"):
        time(chip.image(), {}, chip.device, is_compiled=True)


def test_rounds_of_a_long_schedule_are_jumped_over() -> None:
    plan = Plan((100_000,) * CORES, 2, 8, 64, 3, "none", 0, True, True)
    chip, image = program(plan)
    found = time(image, {}, chip.device)
    size = 8 * 64 * 2
    assert found.bytes["ddr_read"] == found.bytes["ddr_write"] == 100_000 * CORES * size
    assert found.units["SFU"].busy == 100_000 * CORES * 8 * 6
    assert found.cycles >= bound(work(plan), chip.device).cycles


@settings(max_examples=80, deadline=None)
@given(plans)
def test_no_program_is_faster_than_the_bound(plan: Plan) -> None:
    chip, image = program(plan)
    found = time(image, {}, chip.device)
    assert found.cycles >= bound(work(plan), chip.device).cycles
    moved = work(plan)
    assert found.bytes["ddr_read"] >= moved.read_bytes
    assert found.bytes["ddr_write"] >= moved.write_bytes
    for unit in found.units.values():
        parts = (unit.busy, unit.input, unit.space, unit.signal, unit.bandwidth, unit.setup, unit.idle)
        assert sum(parts) == unit.instances * found.cycles
        assert min(parts) >= 0


def test_rounds_of_an_outer_loop_are_found_where_its_inner_loops_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chip = Chip(machine(), CORES)
    monkeypatch.setattr(rounds, "PATIENCE", 12)
    sizes = [64 * (1 + k % 7) for k in range(rounds.PATIENCE)]

    def loader(b: Body) -> list[Node]:
        return [b.loop(12, *(b.loop(2, b.load(n), b.send("L1LU", waits=True)) for n in sizes))]

    chip.program("MNILU", loader)
    chip.program("L1LU", lambda b: [b.loop(24 * len(sizes), b.wait("MNILU"))])
    jumps = []
    real = rounds.Rounds._jump
    monkeypatch.setattr(rounds.Rounds, "_jump", lambda *a: jumps.append(a[-1]) or real(*a))
    found = time(chip.image(), {}, chip.device)
    assert max(jumps, default=0) > 5
    assert same(found, step_by_step(chip.image(), chip.device))


def nested(outer: int, inner: list[tuple[int, int, int, bool]], copies: int, fences: bool) -> Chip:
    """An outer loop around tile loops of (trips, rows, ops, stores), one after the other, of every unit."""
    chip = Chip(machine(), CORES)
    size = [rows * 128 for _, rows, _, _ in inner]

    def each(b: Body, turn: Callable[[int], list[Node]]) -> list[Node]:
        return [b.loop(outer, *(b.loop(trips, *turn(k)) for k, (trips, *_) in enumerate(inner)))]

    def loader(b: Body) -> list[Node]:
        return each(b, lambda k: [b.wait("L1LU"), b.load(size[k]), b.send("L1LU", waits=fences)])

    def reader(b: Body) -> list[Node]:
        free = [b.send("MNILU") for _ in range(copies)]
        turns = each(b, lambda k: [b.wait("MNILU"), b.read(inner[k][1], 64), b.send("MNILU")])
        return [*free, *turns]

    def writer(b: Body) -> list[Node]:
        def turn(k: int) -> list[Node]:
            stored = [b.wait("MNISU"), b.write(inner[k][1], 64), b.send("MNISU")]
            return stored if inner[k][3] else [b.write(inner[k][1], 64)]

        return each(b, turn)

    def storer(b: Body) -> list[Node]:
        turns = each(b, lambda k: [b.wait("L1SU"), b.store(size[k]), b.send("L1SU")] if inner[k][3] else [])
        return [b.send("L1SU"), *turns]

    chip.program("MNILU", lambda b: [*loader(b), b.loop(copies, b.wait("L1LU"))])
    chip.program("L1LU", reader)
    chip.program("SFU", lambda b: each(b, lambda k: [b.vector(inner[k][1], 64, inner[k][2])]))
    chip.program("L1SU", writer)
    chip.program("MNISU", storer)
    return chip


loops = st.tuples(st.integers(1, 40), st.integers(1, 3), st.integers(1, 12), st.booleans())


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 14), st.lists(loops, min_size=1, max_size=3), st.integers(1, 3), st.booleans())
def test_jumping_over_rounds_of_nested_loops_changes_nothing(
    outer: int, inner: list[tuple[int, int, int, bool]], copies: int, fences: bool
) -> None:
    chip = nested(outer, inner, copies, fences)
    found = time(chip.image(), {}, chip.device)
    assert same(found, step_by_step(chip.image(), chip.device))
    assert same(found, time(chip.image(), {}, chip.device, is_compiled=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "PATIENCE", 0)
        assert same(found, time(chip.image(), {}, chip.device, is_compiled=True))


def test_machine_code_remembers_runs_from_equal_states(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = nested(6, [(30, 2, 3, True), (20, 1, 9, False)], 2, True)
    monkeypatch.setattr(rounds, "PATIENCE", 0)
    known = []
    real = memo.Memo._apply
    monkeypatch.setattr(memo.Memo, "_apply", lambda *a: known.append(real(*a)) or known[-1])
    found = time(chip.image(), {}, chip.device, is_compiled=True)
    assert len(known) > 100 and all(known)
    assert same(found, step_by_step(chip.image(), chip.device))


def test_rounds_of_an_outer_loop_are_found_though_those_inside_are_jumped_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chip = nested(40, [(60, 2, 3, True), (50, 1, 9, False)], 2, True)
    jumps = []
    real = rounds.Rounds._jump
    monkeypatch.setattr(rounds.Rounds, "_jump", lambda *a: jumps.append(a[-1]) or real(*a))
    found = time(chip.image(), {}, chip.device)
    assert 2 < len(jumps) < 20  # 80 loops inside
    assert same(found, step_by_step(chip.image(), chip.device))


def test_a_long_loop_is_jumped_over() -> None:
    plan = Plan((1,) * CORES, 1, 200_000, 64, 3, "none", 0, True, False)
    chip, image = program(plan)
    runs = []
    with pytest.MonkeyPatch.context() as patch:
        real = engine.SteadyStates.look
        patch.setattr(engine.SteadyStates, "look", lambda *a: runs.append(1) or real(*a))
        found = time(image, {}, chip.device)
    assert found.units["SFU"].busy == 200_000 * 6 * CORES
    assert len(runs) < 100


@settings(max_examples=30, deadline=None)
@given(
    rows=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    pairing=st.sampled_from(["pairs", "far pairs", "all"]),
    tiles=st.integers(1, 12),
    copies=st.integers(1, 3),
)
def test_groups_whose_members_do_different_work_fold_exactly(
    rows: tuple[int, int], pairing: str, tiles: int, copies: int
) -> None:
    """Cores 0 and 2 compute one number of rows a tile, 1 and 3 another; groups join alike or unlike cores."""
    chip = Chip(machine(), CORES)
    groups = groups_of(chip, pairing)
    assert groups is not None
    per_core = (rows[0], rows[1], rows[0], rows[1])

    def loader(b: Body) -> list[Node]:
        table = b.table(groups)
        turn = b.loop(tiles, b.wait("L1LU"), b.load(512, table), b.send("L1LU"))
        return [turn, b.loop(copies, b.wait("L1LU"))]

    def reader(b: Body) -> list[Node]:
        turn = [b.wait("MNILU"), b.loop(b.table(per_core), b.read(1, 64)), b.send("MNILU")]
        return [b.loop(copies, b.send("MNILU")), b.loop(tiles, *turn)]

    chip.program("MNILU", loader)
    chip.program("L1LU", reader)
    chip.program("SFU", lambda b: [b.loop(tiles, b.vector(b.table(per_core), 64, 9))])
    chip.program("L1SU", lambda b: [b.loop(tiles, b.loop(b.table(per_core), b.write(1, 64)))])
    folded = time(chip.image(), {}, chip.device)
    assert same(folded, time(chip.image(), {}, chip.device, is_folding=False))
    assert same(folded, step_by_step(chip.image(), chip.device))
    assert folded.classes == len(set(rows))
