"""The static checker finds what the sanitizer finds, at the same line; in long loops too."""

from __future__ import annotations

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import parse
from headrace.schedule.verify import _Function, verify
from tests.machine.test_check_classes import CASES, program_text
from tests.mutants.rings import ring


def found(programs: dict[str, list[str]]) -> tuple[list[Diagnostic], list[str]]:
    text = program_text(programs)
    return verify(parse(text), device("spyre")), text.split("\n")


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_found_before_it_runs(name: str) -> None:
    errors, lines = found(CASES[name][0])
    assert errors and all(e.severity == "error" for e in errors)
    marked = [k + 1 for k, line in enumerate(lines) if "//!" in line]
    places = {e.where.line for e in errors if e.where is not None}
    # of two ops that meet, or two units that wait, either may be named
    hints = " ".join(e.hint for e in errors)
    assert places & set(marked) or f":{marked[0]}:" in hints or "waits for" in hints


def test_a_wait_cycle_is_named() -> None:
    errors, _ = found(CASES["cycle of waits"][0])
    assert "cycle of waits: mnilu of core 0 -> mnisu of core 0 -> mnilu of core 0" in errors[0].hint


def messages(text: str) -> str:
    return "; ".join(f"{e.message} {e.hint}" for e in verify(parse(text), device("spyre")))


def test_a_long_loop_is_sound() -> None:
    assert messages(ring()) == ""


@pytest.mark.parametrize("fewer", [1, 4, 12])
def test_iterations_missing_on_one_side_of_a_long_loop_are_found(fewer: int) -> None:
    """However many: what is left out of the run is counted."""
    assert "wait for each other" in messages(ring(stores=800 - fewer))


def test_the_last_iteration_of_a_long_loop_stays_in_bounds() -> None:
    assert "0..800 of dim 0, which has 799" in messages(ring(rows=799))


def test_a_credit_too_many_in_a_long_loop_is_a_race() -> None:
    assert "in no order" in messages(ring(credits=4))


def test_credits_that_are_taken_back_in_parts_need_no_full_run(monkeypatch) -> None:
    text = ring(copies=40, credits=40)
    take = "scf.for %i = %c0 to %k step %c1 {\ndataflow.sync_recv %st : index\n}"
    parts = "\n".join(take.replace("%k", "%h") for _ in range(2))
    text = text.replace(take, parts)
    assert text.count("%h step") == 2
    numbers = {"n": 800, "m": 800, "k": 40, "h": 20}
    lines = [x for x in text.split("\n") if not x.strip().startswith(("%n =", "%m =", "%k ="))]
    at = next(k for k, line in enumerate(lines) if "%c1 = arith.constant" in line) + 1
    lines[at:at] = [f"%{name} = arith.constant {n} : index" for name, n in numbers.items()]
    text = "\n".join(lines)
    clips = []
    run = _Function.run
    monkeypatch.setattr(_Function, "run", lambda *args: clips.append(args[2]) or run(*args))
    assert messages(text) == ""
    assert clips and None not in clips


def test_what_a_function_promises_to_leave_must_be_written() -> None:
    promise = 'headrace.lx_out = [{name = "h", address = 4096 : i64, bytes = 64 : i64}]'
    text = ring(loads=4, stores=4, rows=4).replace("{grid = [1]}", f"{{grid = [1], {promise}}}")
    assert promise in text and "leaves byte 4096 of the scratchpad unwritten" in messages(text)


def test_what_an_earlier_call_left_may_be_read() -> None:
    programs = CASES["never written"][0]
    text = program_text(programs)
    kept = 'headrace.lx_in = [{name = "h", address = 0 : i64, bytes = 128 : i64}]'
    assert "nothing has written" in messages(text)
    assert messages(text.replace("{grid = [1]}", f"{{grid = [1], {kept}}}")) == ""
