"""The checker passes sound programs and finds each fault put into one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.arch.presets import device
from headrace.ir.text import parse, print_module
from headrace.schedule.lower import lower
from headrace.schedule.verify import verify
from headrace.schedule.verify.programs.periods import Periods, period
from tests.schedule.machine_run import source

PROGRAMS = Path(__file__).parents[1] / "machine" / "programs"
OWN = [
    "attention",
    "dynamic",
    "elementwise",
    "gather",
    "matmul",
    "multicast",
    "ring_reduce",
    "softmax",
    "transpose",
]


def text_of(name: str) -> str:
    return print_module(lower(parse(source(name)), device("spyre")))


def faults(text: str) -> list[str]:
    return [found.message for found in verify(parse(text), device("spyre"))]


@pytest.mark.parametrize("name", OWN)
def test_sample_programs_are_sound(name: str) -> None:
    assert faults((PROGRAMS / f"{name}.mlir").read_text()) == []


@pytest.mark.parametrize("name", ["elementwise", "gather"])
def test_what_lower_writes_is_sound(name: str) -> None:
    assert faults(text_of(name)) == []


@pytest.mark.parametrize("name", ["elementwise", "gather"])
def test_no_signal_can_be_left_out(name: str) -> None:
    lines = text_of(name).split("\n")
    for k, line in enumerate(lines):
        if "dataflow.sync_send" in line and "fence" not in line or "dataflow.sync_recv" in line:
            assert faults("\n".join(lines[:k] + lines[k + 1 :])), (k, line)


def test_a_pair_of_signals_left_out_is_a_race() -> None:
    text = text_of("elementwise")
    cut = [x for x in text.split("\n") if '"free"' not in x]
    found = faults("\n".join(cut))
    assert found and all("in no order" in message or "in flight" in message for message in found)


def test_signals_in_another_order_are_found() -> None:
    text = text_of("elementwise").replace(
        'dataflow.sync_recv %mnilu {dbgName = "full"}', 'dataflow.sync_recv %mnilu {dbgName = "late"}', 1
    )
    assert any("the next signal is" in message for message in faults(text))


def test_a_message_of_another_type_is_found() -> None:
    text = text_of("elementwise").replace(
        "time_symbols()(%3:vector<1xf16>)", "time_symbols()(%3:vector<2xf16>)"
    )
    text = text.replace("dataflow.send %sfu, %3 : vector<1xf16>", "dataflow.send %sfu, %3 : vector<2xf16>")
    assert any("which is not what arrives" in message for message in faults(text))


def test_units_that_wait_for_each_other_are_named() -> None:
    text = text_of("elementwise")
    lines = text.split("\n")
    k = next(i for i, line in enumerate(lines) if "dataflow.sync_send" in line)
    found = verify(parse("\n".join(lines[:k] + lines[k + 1 :])), device("spyre"))
    assert any(f.message == "the units wait for each other" and "waits for" in f.hint for f in found)


def test_bytes_outside_a_buffer_are_found() -> None:
    text = text_of("elementwise").replace("memref<3x8x256xf16>", "memref<2x8x256xf16>")
    assert any("of dim 0, which has 2" in message for message in faults(text))


def test_bytes_outside_an_argument_are_found() -> None:
    text = text_of("elementwise")
    text = text.replace(
        'name = "y", role = "out", shape = [64, 256]', 'name = "y", role = "out", shape = [63, 256]'
    )
    assert any("of argument y" in message for message in faults(text))


def test_bytes_outside_the_scratchpad_are_found() -> None:
    text = text_of("elementwise").replace("%c6144 = arith.constant 6144", "%c6144 = arith.constant 1044480")
    assert any("of a scratchpad of 2097152" in message for message in faults(text))


def test_cores_that_write_the_same_bytes_are_found() -> None:
    text = text_of("elementwise").replace("%c32 = arith.constant 32", "%c32 = arith.constant 28")
    assert any("writes device memory that core" in message for message in faults(text))


def test_a_weight_block_larger_than_the_unit_is_found() -> None:
    text = (PROGRAMS / "matmul.mlir").read_text().replace("256x64x", "512x64x")
    assert any("a block of 65536 bytes" in message for message in faults(text))


def test_rows_larger_than_the_registers_are_found() -> None:
    text = (PROGRAMS / "softmax.mlir").read_text().replace("300x", "3000x")
    assert any("the register file has" in message for message in faults(text))


def test_a_loop_has_the_period_of_what_follows_from_its_variable() -> None:
    text = """
    module {
      func.func @f() {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c30 = arith.constant 30 : index
        %c40 = arith.constant 40 : index
        scf.for %m = %c0 to %c40 step %c1 {
          %a = affine.apply affine_map<(d0) -> (d0 mod 5)>(%m)
          scf.for %k = %c0 to %c30 step %c1 {
            %b = arith.addi %k, %c1 : index
            %c = affine.apply affine_map<(d0) -> (d0 mod 3)>(%b)
          }
        }
        scf.for %m = %c0 to %c40 step %c1 {
          %a = affine.apply affine_map<(d0) -> (d0 mod 2)>(%m)
        }
        func.return
      }
    }"""
    function = next(op for op in parse(text).walk() if op.name == "func.func")
    known = {op.result: op.value.value.data for op in function.walk() if op.name == "arith.constant"}
    periods = Periods(function, known)
    assert [periods.of(n) for n in (40, 30, 7)] == [10, 3, 1]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("%a = arith.muli %k, %c3 : index\n%b = arith.remui %a, %c7 : index", 7),
        ("%a = affine.apply affine_map<(d0) -> ((d0 + 1) floordiv 6 + d0 mod 4)>(%k)", 12),
        ("%a = arith.muli %k, %k : index", None),
        ("%a = arith.remui %c7, %k : index", None),
        ("%a = arith.minsi %k, %c7 : index", None),
        ("%a = arith.addi %k, %c3 : index\n%b = arith.cmpi eq, %a, %c7 : index", None),
        ("scf.for %j = %c3 to %k step %c3 {\n}", None),
        ("scf.for %j = %c3 to %c7 step %c3 {\n%a = affine.apply affine_map<(d0) -> (d0 mod 5)>(%k)\n}", 5),
    ],
)
def test_a_loop_whose_variable_decides_something_has_no_period(body: str, wanted: int | None) -> None:
    text = f"""
    module {{
      func.func @f() {{
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %c7 = arith.constant 7 : index
        scf.for %k = %c0 to %c7 step %c3 {{
          {body}
        }}
        func.return
      }}
    }}"""
    loop = next(op for op in parse(text).walk() if op.name == "scf.for")
    assert period(loop) == wanted


def test_a_loop_that_carries_numbers_has_no_period() -> None:
    text = """
    module {
      func.func @f() {
        %c0 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        %r = scf.for %k = %c0 to %c7 step %c7 iter_args(%x = %c0) -> (index) {
          scf.yield %k : index
        }
        func.return
      }
    }"""
    assert period(next(op for op in parse(text).walk() if op.name == "scf.for")) is None
