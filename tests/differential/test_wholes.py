"""Random kernels of whole numbers mean the same at all levels, on devices of any size, to the last bit."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.checking import typed
from headrace.runtime.launch import run_program
from headrace.schedule.search import OPTIMISATIONS
from headrace.semantics import batched, plain
from tests.differential.wholes import Wholes

CHANGES: dict[str, tuple[int, ...]] = {
    "lx.size_bytes": (32768, 65536, 262144, 4194304),
    "core.count": (1, 2, 5, 7, 33, 64),
    "ddr.sustained_gbps": (20, 75, 300),
    "SFU_REG.size_bytes": (512, 1024, 16384),
    "ddr.multicast.max_consumers": (1, 2, 5),
}


def drawn(r: random.Random) -> tuple[Device, int, tuple[str, ...]]:
    """A device, an effort, what is left out."""
    name = r.choice(["spyre", "spyre", "tiny", "sample"])
    changed = r.sample(sorted(CHANGES), r.choice([0, 1, 2])) if name == "spyre" else ["lx.size_bytes"]
    left_out = tuple(sorted(r.sample(OPTIMISATIONS, r.choice([0, 0, 1, 2, len(OPTIMISATIONS)]))))
    return device(name, {key: r.choice(CHANGES[key]) for key in changed}), r.choice([0, 1, 1, 2]), left_out


def wanted(made: Wholes, engine: object) -> dict[str, np.ndarray]:
    """What a reference engine leaves in every array."""
    memory, kernel = Memory(1 << 33), made.kernel
    binding = bind(kernel.arguments, made.inputs, memory, 1)
    engine.interpret(kernel.module, memory, binding.values(kernel.arguments))  # type: ignore[attr-defined]
    return binding.outputs(memory)


@pytest.mark.parametrize(
    "seed", [*range(24), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(24, 400))]
)
def test_a_kernel_of_whole_numbers_gives_the_same_on_every_engine(seed: int) -> None:
    made = Wholes(seed)
    chip, effort, left_out = drawn(random.Random(seed))
    said = f"{chip.name}, effort {effort}, without {left_out}: {', '.join(made.steps)}"
    program = made.kernel.compile(chip, effort=effort, without=left_out)
    assert program.illegalities() == [], said
    run = run_program(program.reparsed(), made.inputs, is_checked=True)
    assert run.findings is not None and not any(run.findings.values()), (run.findings, said)
    assert run.bound is not None and run.cycles >= run.bound.cycles, said
    oracle, fast = (wanted(made, engine) for engine in (plain, batched))
    for argument in made.kernel.arguments:
        name, dtype = argument.name, argument.dtype
        for found in (run.outputs[name], fast[name]):
            np.testing.assert_array_equal(
                typed(found, dtype).astype(np.float64),
                typed(oracle[name], dtype).astype(np.float64),
                err_msg=f"{name}: {said}",
            )
    again = json.loads(json.dumps(program.plan))
    assert made.kernel.compile(chip, effort=effort, without=left_out, plan=again).dfir == program.dfir, said
