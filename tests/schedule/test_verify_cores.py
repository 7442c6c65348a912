"""One core runs for all that are alike, and what only another one does wrong is found."""

from __future__ import annotations

import pytest

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.schedule.verify import _Function, verify
from tests.mutants.rings import ring
from tests.schedule.test_verify_classes import messages

COPY = (
    "time_symbols(), load_iv(%v:vector<64xf16>) {load_order = #same, load_set = #row, "
    "load_time_addr_map = #zero, store_order = #same, store_set = #row, store_time_addr_map = #zero, "
    "time_order = #one, time_set = #once} { agen.yield }"
)
HEAD = """
#same = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0) -> (d0)>
#zero = affine_map<(d0) -> (0, 0)>
#once = affine_set<(d0) : (d0 == 0)>
#row = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#flat = affine_map<(d0, d1) -> (d0 * 64 + d1)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @f() attributes {grid = [1]} {
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
"""


def relay(first: list[int], written: list[int], second: list[int], to: list[int] | None = None) -> str:
    """Every core loads a row, stores it elsewhere and loads a second one, of rows by core.

    The second load waits for the store of the core whose entry in `to` it is; for none without `to`.
    """
    count = len(first)
    lines = [HEAD]
    for k in range(count):
        for kind in ("mnilu", "mnisu"):
            where = f'core = {k} : i32, corelet = 0 : i32, name = "{kind}{k}", type = "{kind}"'
            lines.append(f"%{kind}{k} = dataflow.get_unit {{{where}}} : index")
        lines.append(f'%lx{k} = dataflow.get_unit {{core = {k} : i32, name = "lx{k}", type = "lx"}} : index')
    numbers = sorted({0, *first, *written, *second})
    lines += [f"%c{n} = arith.constant {n} : index" for n in numbers]

    def mapped(name: str, kind: str, values: list[str]) -> list[str]:
        entries = ", ".join(f"[%{kind}{k} -> %{v}]" for k, v in enumerate(values))
        return [
            f"%{name}_map = uniform.def_immutable_mapping({entries}) : index",
            f"%{name} = uniform.query_map(map:%{name}_map, key:%me) : index",
        ]

    def views(kind: str) -> list[str]:
        shown = (("d", "%hbm", 4096), ("l", "%lx", 2))
        return mapped("lx", kind, [f"lx{k}" for k in range(count)]) + [
            f"%{name} = dataflow.get_logical_memory_view {unit}, %c0 {{layout_map = #flat}} : index, index, "
            f"memref<{rows}x64xf16>"
            for name, unit, rows in shown
        ]

    def load(place: str, row: int) -> str:
        kinds = "memref<4096x64xf16>, memref<2x64xf16>"
        return f"agen.composite_load_and_store src:%d[%{place}, 0] dst:%l[{row}, 0] {COPY} : {kinds}"

    def program(kind: str, ops: list[str]) -> list[str]:
        units = ", ".join(f"%{kind}{k}" for k in range(count))
        return [f"dataflow.program_unit iter_arg : %me -> ({units}) : {{", *views(kind), *ops, "}"]

    loads = mapped("st", "mnilu", [f"mnisu{k}" for k in range(count)])
    loads += mapped("p", "mnilu", [f"c{n}" for n in first]) + mapped("r", "mnilu", [f"c{n}" for n in second])
    loads += [load("p", 0), "dataflow.sync_send %st : index"]
    stores = mapped("ld", "mnisu", [f"mnilu{k}" for k in range(count)])
    stores += [*mapped("q", "mnisu", [f"c{n}" for n in written]), "dataflow.sync_recv %ld : index"]
    kinds = "memref<2x64xf16>, memref<4096x64xf16>"
    stores.append(f"agen.composite_load_and_store src:%l[0, 0] dst:%d[%q, 0] {COPY} : {kinds}")
    if to is not None:
        stores += [*mapped("next", "mnisu", [f"mnilu{k}" for k in to]), "dataflow.sync_send %next : index"]
        loads += mapped("before", "mnilu", [f"mnisu{to.index(k)}" for k in range(count)])
        loads += ["dataflow.sync_recv %before : index"]
    loads.append(load("r", 1))
    return "\n".join([*lines, *program("mnilu", loads), *program("mnisu", stores), "func.return }", "}"])


@pytest.fixture
def runs(monkeypatch) -> list[int]:
    """The number of cores in every run."""
    found: list[int] = []
    run = _Function.run
    monkeypatch.setattr(
        _Function,
        "run",
        lambda self, units, *rest: found.append(len(units) // 2) or run(self, units, *rest),
    )
    return found


ROWS = [list(range(0, 4)), list(range(8, 12)), list(range(16, 20))]


def test_one_core_runs_for_those_that_differ_in_places_only(runs) -> None:
    assert messages(relay(*ROWS)) == "" and runs == [1]


@pytest.mark.parametrize("core", [1, 3])
def test_a_race_in_a_core_that_did_not_run_is_found(core: int) -> None:
    """Places make no difference, unless what a core touches meets."""
    first, written, second = ROWS
    second = [written[core] if k == core else row for k, row in enumerate(second)]
    found = messages(relay(first, written, second))
    assert f"of core {core}" in found and "in no order" in found


def test_rows_of_device_memory_that_overlap_are_shared_by_the_cores_that_write_them() -> None:
    """A view of rows 64 long that begin 32 apart, as of the windows of a convolution."""
    text = relay(*ROWS)
    view = "%d = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = "
    changed = text.replace(f"{view}#flat", f"{view}affine_map<(d0, d1) -> (d0 * 32 + d1)>")
    assert changed != text and "writes device memory that core" in messages(changed)


def test_cores_that_race_alike_are_found_by_one(runs) -> None:
    first, written, _ = ROWS
    assert "in no order" in messages(relay(first, written, written)) and runs == [1]


RING = [1, 2, 3, 0]
"""Whom every core tells that it has stored."""


def test_one_core_of_a_ring_runs_for_all(runs) -> None:
    """What a core loads is what the one before it stored."""
    first, written, _ = ROWS
    assert messages(relay(first, written, [written[k - 1] for k in range(4)], RING)) == "" and runs == [1]


@pytest.mark.parametrize("distance", [1, 2])
def test_rows_of_a_core_that_tells_nothing_are_a_race(distance: int) -> None:
    first, written, _ = ROWS
    found = messages(relay(first, written, [written[(k + distance) % 4] for k in range(4)], RING))
    assert "in no order" in found


@pytest.mark.parametrize("core", range(4))
def test_one_core_of_a_ring_that_loads_another_row_is_a_race(core: int) -> None:
    first, written, _ = ROWS
    second = [written[(k + 1) % 4] if k == core else written[k - 1] for k in range(4)]
    assert "in no order" in messages(relay(first, written, second, RING))


def test_one_core_runs_for_rings_of_different_lengths(runs) -> None:
    first, written = list(range(5)), list(range(8, 13))
    to = [1, 0, 3, 4, 2]
    second = [written[to.index(k)] for k in range(5)]
    text = relay(first, written, second, to)
    assert messages(text) == "" and runs == [1, 1]
    runs.clear()
    crossed = text.replace("%mnisu0 -> %mnilu1", "%mnisu0 -> %mnilu4").replace(
        "%mnisu3 -> %mnilu4", "%mnisu3 -> %mnilu1"
    )
    assert crossed != text and messages(crossed) != "" and max(runs) == 5


def test_a_swap_of_two_partners_in_one_core_is_found() -> None:
    first, written, _ = ROWS
    text = relay(first, written, [written[k - 1] for k in range(4)], RING)
    changed = text.replace("[%mnilu2 -> %mnisu1]", "[%mnilu2 -> %mnisu3]")
    assert changed != text and "wait for each other" in messages(changed)


def test_a_wait_cycle_of_several_cores_is_named_from_the_run_of_one() -> None:
    first, written, _ = ROWS
    text = relay(first, written, [written[k - 1] for k in range(4)], RING)
    wait = "dataflow.sync_recv %before : index"
    lines = [line for line in text.split("\n") if line != wait]
    at = next(k for k, line in enumerate(lines) if line == "dataflow.sync_send %st : index")
    (stuck,) = verify(parse("\n".join([*lines[:at], wait, *lines[at:]])), device("spyre"))
    assert stuck.message == "the units wait for each other"
    assert "cycle of waits" in stuck.hint and "core 0" in stuck.hint and "core 3" in stuck.hint


def test_device_memory_is_swept_to_the_end_of_a_long_loop() -> None:
    assert messages(ring(loads=30_000, stores=30_000, rows=30_000)) == ""
    found = messages(ring(loads=30_000, stores=30_000, rows=29_999))
    assert "0..30000 of dim 0, which has 29999" in found


@pytest.mark.parametrize("core", [0, 2])
def test_one_core_that_gathers_over_its_indices_is_found(core: int) -> None:
    """Each core has its own indices and results, two floats for an index; those of one lie together."""
    starts = [1024 + 64 * k for k in range(4)]
    results = [2 * starts[k] if k == core else 4096 + 512 * k for k in range(4)]
    assert "over the indices it reads" in messages(gathers(starts, results))
    assert messages(gathers(starts, [4096 + 512 * k for k in range(4)])) == ""


def gathers(indices: list[int], results: list[int]) -> str:
    """Every core gathers two rows through indices at one place of device memory to another place."""
    lines = [HEAD, "%c0 = arith.constant 0 : index"]
    for k, (first, second) in enumerate(zip(indices, results, strict=True)):
        where = f'core = {k} : i32, corelet = 0 : i32, name = "mnilu{k}", type = "mnilu"'
        lines.append(f"%mnilu{k} = dataflow.get_unit {{{where}}} : index")
        lines += [f"%i{k} = arith.constant {first} : index", f"%r{k} = arith.constant {second} : index"]
    units = ", ".join(f"%mnilu{k}" for k in range(len(indices)))
    lines.append(f"dataflow.program_unit iter_arg : %me -> ({units}) : {{")
    for name in "ir":
        entries = ", ".join(f"[%mnilu{k} -> %{name}{k}]" for k in range(len(indices)))
        lines.append(f"%{name}_map = uniform.def_immutable_mapping({entries}) : index")
        lines.append(f"%{name} = uniform.query_map(map:%{name}_map, key:%me) : index")
    views = (
        ("t", "%c0", "#flat", "8x64xf16"),
        ("n", "%i", "#one", "8xi32"),
        ("o", "%r", "#flat", "2x64xf16"),
    )
    for name, start, layout, kind in views:
        view = f"dataflow.get_logical_memory_view %hbm, {start} {{layout_map = {layout}}}"
        lines.append(f"%{name} = {view} : index, index, memref<{kind}>")
    lines.append("""
agen.composite_indirect_load_and_store indirect_src:%n[%c0] direct_src:%t[0, 0] direct_dst:%o[0, 0]
 time_symbols(), load_iv(%v:vector<64xf16>)
 {load_direct_time_addr_map = #zero, load_indirect_time_addr_map = #one, load_order = #same, load_set = #row,
  store_direct_time_addr_map = affine_map<(d0) -> (d0, 0)>, store_order = #same, store_set = #row,
  time_order = #one, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 1 >= 0)>}
{
  agen.yield
} : memref<8xi32>, memref<8x64xf16>, memref<2x64xf16>
}""")
    return "\n".join([*lines, "func.return }", "}"])


def test_a_scratchpad_that_a_unit_of_another_core_writes_is_watched() -> None:
    """The loads of core 1 also go where core 2 loads to."""
    text = relay(*ROWS)
    own = ", ".join(f"[%mnilu{k} -> %lx{k}]" for k in range(4))
    (line,) = (line for line in text.split("\n") if "dst:%l[1, 0]" in line)
    also = [
        f"%o_map = uniform.def_immutable_mapping({own}) : index",
        "%o = uniform.query_map(map:%o_map, key:%me) : index",
        "%also = dataflow.get_logical_memory_view %o, %c0 {layout_map = #flat} "
        ": index, index, memref<4x64xf16>",
        line.replace("dst:%l[1, 0]", "dst:%also[3, 0]").replace("2x64", "4x64"),
    ]
    text = text.replace(line, "\n".join([*also, line]))
    assert messages(text) == ""
    found = messages(text.replace(also[0], also[0].replace("[%mnilu1 -> %lx1]", "[%mnilu1 -> %lx2]")))
    assert "mnilu of core 2" in found and "bytes 384..512 of lx of core 2 in no order" in found


@pytest.mark.parametrize("waits", [4, 3])
def test_cores_that_tell_a_unit_of_the_device(waits: int) -> None:
    """Every core signals to one unit that is on no core, which waits for all of them, or for all but one."""
    host = '%host = dataflow.get_unit {corelet = 0 : i32, name = "host", type = "mnisu"} : index'
    told = "dataflow.sync_send %st : index"
    waiting = [f"dataflow.sync_recv %mnilu{k} : index" for k in range(waits)]
    program = "\n".join(["dataflow.program_unit iter_arg : %me -> (%host) : {", *waiting, "}"])
    text = relay(*ROWS).replace("%mnilu0 = dataflow.get_unit", f"{host}\n%mnilu0 = dataflow.get_unit")
    text = text.replace(told, f"{told}\ndataflow.sync_send %host : index")
    found = messages(text.replace("func.return }", f"{program}\nfunc.return }}"))
    assert (found == "") == (waits == 4) and ("never waited for" in found) == (waits == 3)
