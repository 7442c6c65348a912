"""Broken DFIR ends in one error with a place, or runs: it never ends in a bug of ours."""

from collections.abc import Iterator

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.machine.check import sanitize
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.image import Loop, walk
from headrace.machine.timing import time
from headrace.numbers.memory import Memory
from tests.machine import samples
from tests.machine.mangled import mangled

SMALL = ("softmax", "ops", "gather", "transpose", "ring_pull", "multicast", "public_square")
PROGRAMS = (
    *SMALL,
    *("elementwise", "dynamic", "ring_reduce", "matmul", "resident", "layernorm", "attention"),
    *("public_column_sum", "public_bias_add"),
)
MOST_WORK = 5000
"""Loop iterations of one program from which a mangled text is left alone: it may loop for hours."""


def _device(name: str) -> str:
    return "sample" if name.startswith("public") else "spyre"


def _is_long(image) -> bool:  # type: ignore[no-untyped-def]
    loops = [n for s in image.schedules for p in s.programs for n in walk(p.body) if isinstance(n, Loop)]
    return any((n.upper - n.lower).high is None or (n.upper - n.lower).high > MOST_WORK for n in loops)  # type: ignore[operator]


def _try(name: str, seed: int, is_generic: bool) -> str:
    """How a mangled text ends: the stage that refuses it, or "runs"; errors must have a place."""
    text = mangled(samples.text(name, is_generic), seed)
    stage = "parse"
    try:
        module = parse(text, "mangled.mlir")
        stage = "verify"
        errors = [d for d in verify(module) if d.severity == "error"]
        if errors:
            raise HeadraceError(errors)
        stage = "decode"
        chosen = device(_device(name))
        image = decode(module, chosen)
        if _is_long(image):
            return "long"
        stage = "run"
        memory = Memory(1 << 21)
        memory.bytes[:] = np.random.default_rng(seed).integers(0, 60, memory.size_bytes, np.uint8)
        scalars = dict.fromkeys((a.name for a in image.arguments), 256)
        result = execute(image, memory, scalars)
        stage = "time"
        time(image, scalars, chosen, trips=result.trips or None)
        stage = "check"
        sanitize(image, memory, scalars)
        return "runs"
    except HeadraceError as error:
        has_place = any(d.where and d.where.line for d in error.diagnostics)
        whole = ("left over", "the module", "no value", "cycles")
        is_about_all = error.diagnostics[0].message.startswith(whole)
        assert has_place or is_about_all, f"{name} {seed}: {error} has no place"
        return stage


def _seeds(programs: tuple[str, ...], count: int) -> Iterator[tuple[str, int, bool]]:
    for seed in range(count):
        name = programs[seed % len(programs)]
        has_generic = name != "public_column_sum"
        yield name, seed, seed % 3 == 0 and has_generic


def test_mangled_programs_end_in_an_error_or_run() -> None:
    ends = [_try(*each) for each in _seeds(SMALL, 70)]
    assert {"parse", "verify", "decode", "runs"} <= set(ends)


def test_a_type_a_unit_does_not_compute_has_a_place() -> None:
    """An arithmetic op of f64: only its price asks for lanes of that type."""
    assert _try("public_square", 102, False) == "time"


def test_messages_of_different_types_in_one_loop_have_a_place() -> None:
    assert _try("elementwise", 2519, 2519 % 3 == 0) != "runs"


def test_a_factor_that_is_a_part_of_a_longer_vector_is_no_whole_one() -> None:
    """A select that takes 64 of 256 lanes is not looked through."""
    assert _try("matmul", 2906, False) in ("verify", "decode", "run", "time", "check", "runs")


@pytest.mark.long
def test_many_mangled_programs_end_in_an_error_or_run() -> None:
    for each in _seeds(PROGRAMS, 3000):
        _try(*each)
