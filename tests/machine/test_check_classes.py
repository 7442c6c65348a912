"""Every class of finding names the unit, the op and the line of the fault."""

from __future__ import annotations

import pytest

from headrace.machine.check import Finding, sanitize
from tests.machine import samples

HEAD = """
#same = affine_map<(d0) -> (d0)>
#zero = affine_map<(d0) -> (0)>
#once = affine_set<(d0) : (d0 == 0)>
#v64 = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @f() attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c65 = arith.constant 65 : index
    %c99 = arith.constant 99 : index
    %ld = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "LD", type = "mnilu"} : index
    %st = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "ST", type = "mnisu"} : index
    %rd = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "RD", type = "l1lu"} : index
    %a = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "A", type = "sfu"} : index
    %b = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "B", type = "sfu"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
"""
COPY = (
    "time_symbols(), load_iv(%v:vector<64xf16>) {load_order = #same, load_set = #v64, "
    "load_time_addr_map = #zero, store_order = #same, store_set = #v64, store_time_addr_map = #zero, "
    "time_order = #same, time_set = #once} { agen.yield } : memref<64xf16>, memref<64xf16>"
)


def view(name: str, unit: str, start: str = "%c0") -> str:
    return (
        f"%{name} = dataflow.get_logical_memory_view {unit}, {start} {{layout_map = #same}} "
        ": index, index, memref<64xf16>"
    )


def copy(source: str, target: str, at: str = "0") -> str:
    return f"agen.composite_load_and_store src:%{source}[{at}] dst:%{target}[0] {COPY}"


ONCE = "{store_order = #same, store_set = #v64}"


def spill(owner: str) -> list[str]:
    return [
        f'%r = dataflow.get_local_unit {owner} {{name = "sfu_reg"}} : index',
        view("m", "%r"),
        "%x = arith.constant dense<2.0> : vector<64xf16>",
        f"agen.vector_store %x, %m[0] {ONCE} : memref<64xf16>, vector<64xf16> //!",
    ]


BOTH = [view("d", "%hbm"), view("l", "%lx")]
SEND = "dataflow.sync_send"
RECV = "dataflow.sync_recv"
ROW = "%x = arith.constant dense<2.0> : vector<64xf16>"
CASES: dict[str, tuple[dict[str, list[str]], str, str, str, str]] = {
    "race": (
        {"ld": [*BOTH, copy("d", "l"), f"{SEND} %st : index"],
         "st": [*BOTH, copy("l", "d") + " //!", f"{RECV} %ld : index"]},
        "races", "ST", "agen.composite_load_and_store", "byte 0 of lx not ordered after the write of LD",
    ),
    "transfer in flight": (
        {"ld": [*BOTH, copy("d", "l"), copy("d", "l") + " //!"]},
        "races", "LD", "agen.composite_load_and_store", "a fence is missing",
    ),
    "register file of two units": (
        {"a": spill("%a")[:-1] + [spill("%a")[-1].replace(" //!", "")], "b": spill("%a")},
        "races", "B", "agen.vector_store", "B writes SFU_REG of A: a register file has one user",
    ),
    "never written": (
        {"st": [*BOTH, copy("l", "d") + " //!"]},
        "uninitialised", "ST", "agen.composite_load_and_store", "byte 0 of lx, which nothing has written",
    ),
    "written as another buffer": (
        {"st": [
            view("d", "%hbm"),
            view("p", "%lx").replace("#same}", '#same, headrace.buffer = "p"}'),
            view("q", "%lx").replace("#same}", '#same, headrace.buffer = "q"}'),
            copy("d", "p"),
            f'{SEND} %st {{dbgName = "fence", wait_immediately_for_async_transfers = true}} : index',
            copy("q", "d") + " //!",
        ]},
        "uninitialised", "ST", "agen.composite_load_and_store",
        "reads byte 0 of lx as buffer q, which holds what was written as buffer p",
    ),
    "beyond the view": (
        {"ld": [*BOTH, copy("d", "l", "1") + " //!"]},
        "out_of_bounds", "LD", "agen.composite_load_and_store",
        "positions 1 to 64 are outside a view of size 64",
    ),
    "before the memory": (
        {"ld": [view("d", "%hbm"), "%n = arith.constant -64 : index", view("l", "%lx", "%n"),
                copy("d", "l") + " //!"]},
        "out_of_bounds", "LD", "agen.composite_load_and_store", "bytes -128 to 0 are outside lx",
    ),
    "granule": (
        {"ld": [view("d", "%hbm"), view("l", "%lx", "%c65"), copy("d", "l") + " //!"]},
        "alignment", "LD", "agen.composite_load_and_store",
        "a view of lx starts at byte 130, not a multiple of 128",
    ),
    "more sent than received": (
        {"a": [ROW, "dataflow.send %b, %x : vector<64xf16> //!"], "b": []},
        "fifo", "A", "dataflow.send", "left over at the end: 1 messages from A to B",
    ),
    "another message than expected": (
        {"a": [ROW, "dataflow.send %b, %x : vector<64xf16>"],
         "b": ["%y = dataflow.receive %a : vector<32xf16> //!"]},
        "fifo", "B", "dataflow.receive", "message of 64 x f16 from A where 32 x f16 is expected",
    ),
    "received before it is sent": (
        {"a": ["%y = dataflow.receive %b : vector<64xf16> //!"], "b": []},
        "deadlocks", "A", "dataflow.receive", "A waits for a message from B, which has ended",
    ),
    "lost signal": (
        {"ld": [f"{SEND} %st : index //!"], "st": []},
        "signals", "LD", "dataflow.sync_send", "left over at the end: 1 signals from LD to ST",
    ),
    "another signal than expected": (
        {"ld": [f'{SEND} %st {{dbgName = "full"}} : index'],
         "st": [f'{RECV} %ld {{dbgName = "free"}} : index //!']},
        "signals", "ST", "dataflow.sync_recv", "ST waits for free but the next signal of LD is full",
    ),
    "cycle of waits": (
        {"ld": [f"{RECV} %st : index //!", f"{SEND} %st : index"],
         "st": [f"{RECV} %ld : index", f"{SEND} %ld : index"]},
        "deadlocks", "LD", "dataflow.sync_recv",
        "LD waits for a signal from ST, which waits itself; cycle of waits: LD -> ST -> LD",
    ),
    "full queue": (
        {"rd": [ROW, "scf.for %i = %c0 to %c99 step %c1 {", "dataflow.send %a, %x : vector<64xf16> //!", "}",
                f"{SEND} %a : index"],
         "a": [f"{RECV} %rd : index", "scf.for %i = %c0 to %c99 step %c1 {",
               "%y = dataflow.receive %rd : vector<64xf16>", "}"]},
        "deadlocks", "RD", "dataflow.send",
        "RD waits for space to send 128 bytes to A, which waits itself; cycle of waits: RD -> A -> RD",
    ),
}  # fmt: skip


def program_text(programs: dict[str, list[str]]) -> str:
    """The module of these unit programs."""
    body = [
        line
        for unit, ops in programs.items()
        for line in (f"dataflow.program_unit iter_arg : %me -> (%{unit}) : {{", *ops, "}")
    ]
    return "\n".join([HEAD, *body, "func.return }", "}"])


def findings(programs: dict[str, list[str]]) -> tuple[list[Finding], list[str]]:
    text = program_text(programs)
    return sanitize(samples.image_of(text), samples.softmax().memory(), {}), text.split("\n")


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_found_with_unit_op_and_line(name: str) -> None:
    programs, category, unit, op, message = CASES[name]
    found, lines = findings(programs)
    mine = [f for f in found if f.category == category and message in f.message]
    assert mine, found
    assert mine[0].unit == unit and mine[0].op == op
    assert mine[0].where.line == next(k + 1 for k, line in enumerate(lines) if "//!" in line)


def test_the_same_register_file_is_free_to_its_own_unit() -> None:
    found, _ = findings({"a": spill("%a"), "b": spill("%b")})
    assert found == []
