"""Plans that the fast engine keeps: used again only for what they were made for."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.kernel import Kernel
from headrace.semantics import batched, plain
from headrace.semantics.batches.tape import TAPED, Tape

from ..kernels.listed import CASES, FOLDER


def _kernel(name):
    return Kernel((FOLDER / f"{name}.mlir").read_text(), name)


def _run(engine, kernel, memory, inputs):
    binding = bind(kernel.arguments, inputs, memory, 5)
    report = engine.interpret(kernel.module, memory, binding.values(kernel.arguments))
    outputs = binding.outputs(memory)
    binding.release(memory)
    return outputs, report


def _assert_alike(kernel, memory, inputs=None):
    ours, report = _run(batched, kernel, memory, inputs)
    theirs, wanted = _run(plain, kernel, Memory(1 << 24), inputs)
    assert report == wanted
    for name, array in theirs.items():
        assert ours[name].tobytes() == array.tobytes(), name
    return ours


def test_a_kernel_that_was_changed_is_planned_anew():
    kernel, memory = _kernel("tile_control"), Memory(1 << 24)
    before = _assert_alike(kernel, memory)
    constants = [
        op
        for op in kernel.module.walk()
        if op.name == "arith.constant" and str(op.results[0].type) == "index"
    ]
    changed = 0
    for op in constants:
        value = op.properties["value"]
        if value.value.data == 2:
            op.properties["value"] = type(value)(1, value.type)
            changed += 1
    assert changed
    after = _assert_alike(kernel, memory)
    assert any(after[name].tobytes() != before[name].tobytes() for name in before)


@pytest.mark.parametrize("repeated", [[3, 3, 3, 3, 3, 3, 3, 3], [9, 0, 9, 3, 4, 9, 1, 0]])
def test_places_that_are_looked_up_are_compared_in_every_launch(repeated):
    kernel, memory = _kernel("scatter"), Memory(1 << 24)
    inputs, _ = CASES["scatter"]()
    apart = np.array([9, 0, 15, 3, 4, 8, 1, 12], np.int32)
    for ids in (apart, np.array(repeated, np.int32), apart):
        _assert_alike(kernel, memory, {**inputs, "ids": ids})


def test_arguments_in_another_place_have_a_plan_of_their_own():
    kernel, memory = _kernel("rope_4x2"), Memory(1 << 24)
    for first in range(0, 6):
        taken = memory.allocate(128 * (first + 1))
        _assert_alike(kernel, memory)
        if first % 2:
            memory.free(taken)


def test_a_tape_reads_back_what_was_found_and_keeps_no_more_than_it_may():
    tape = Tape()
    assert [tape.next(lambda k=k: k) for k in range(3)] == [0, 1, 2]
    again = Tape(tape.items)
    assert [again.next(lambda: -1) for _ in range(3)] == [0, 1, 2]
    long = Tape()
    for k in range(TAPED + 5):
        assert long.next(lambda k=k: k) == k
    assert len(long.items) == TAPED
