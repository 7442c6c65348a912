"""Kernels in a row: the loads of the next one begin while the one before still computes."""

from __future__ import annotations

import re
from functools import cache

import pytest
from benchmarks.kernels import kernel_text

from headrace import ktir
from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.machine.timing import Timing, time
from headrace.runtime.kernel import Kernel


def waves(name: str, count: int) -> Kernel:
    """y = sin(sin(… x)): so many sines of [128, 512] keep the vector unit busy."""
    with ktir.kernel(name, grid=[32]) as k:
        x, y = (k.argument(f"{name}_{v}", (128, 512), "f16") for v in "xy")
        mine = slice(k.tile_id() * 4, k.tile_id() * 4 + 4)
        value = x[mine, :].load()
        for _ in range(count):
            value = ktir.sin(value)
        y[mine, :] = value
    return k.kernel


def product(name: str, m: int, k: int, n: int, grid: tuple[int, int]) -> Kernel:
    """c = a b with arguments of its own."""
    text = kernel_text("matmul", m=m, k=k, n=n, grid=grid)
    for argument in "abc":
        text = re.sub(rf"%{argument}\b", f"%{name}_{argument}", text)
    return Kernel(text.replace("@matmul(", f"@{name}("))


def module(*kernels: Kernel) -> Kernel:
    bodies = [k.text[k.text.index("func.func") : k.text.rindex("}")] for k in kernels]
    heads = [line for k in kernels for line in k.text.splitlines() if line.startswith("#")]
    return Kernel("\n".join([*dict.fromkeys(heads), "module {", *bodies, "}"]))


def timed(kernel: Kernel, chip: Device, is_traced: bool = False) -> Timing:
    image = kernel.compile(chip).image
    return time(image, {a.name: 0 for a in image.arguments}, chip, is_traced=is_traced)


def first_load(timing: Timing, argument: str) -> float:
    return min(i.start for i in timing.intervals if (i.label, i.name) == ("load", argument))


def last_step(timing: Timing, unit: str, before: float) -> float:
    """When the last computation of a unit that began by then ended."""
    steps = [i for i in timing.intervals if i.label == "step" and unit in i.track and i.start < before]
    return max(i.end for i in steps)


KERNELS = {
    "waves": waves("w", 40),
    "deep": product("deep", 512, 1024, 512, (4, 8)),
    "wide": product("wide", 512, 512, 1024, (4, 8)),
    "decode": product("decode", 16, 1024, 1024, (1, 32)),
}


def test_weights_come_while_the_vector_unit_of_the_kernel_before_is_busy():
    chip = device("spyre")
    apart = [timed(KERNELS[name], chip).cycles for name in ("waves", "decode")]
    timing = timed(module(KERNELS["waves"], KERNELS["decode"]), chip, is_traced=True)
    stored = max(i.end for i in timing.intervals if i.name == "w_y")
    assert first_load(timing, "decode_b") < 0.2 * apart[0]
    assert last_step(timing, "sfu", stored) > 0.9 * apart[0]
    assert timing.cycles < sum(apart) - 0.5 * apart[0]  # device memory is idle while the sines are computed


@cache
def alone(name: str, lx_bytes: int) -> float:
    return timed(KERNELS[name], tight(lx_bytes)).cycles


def tight(lx_bytes: int) -> Device:
    """A device that computes for longer than it loads."""
    return device("spyre", {"lx.size_bytes": lx_bytes, "hbm.sustained_gbps": 600.0})


@pytest.mark.parametrize("lx_bytes", [524288, 262144, 131072])
@pytest.mark.parametrize("names", [("deep", "decode"), ("deep", "wide"), ("decode", "deep")])
def test_kernels_in_a_row_take_no_longer_than_one_by_one(names: tuple[str, str], lx_bytes: int):
    """Whatever shares bytes of a scratchpad that is too small for both: a few signals more at most."""
    chip = tight(lx_bytes)
    program = module(*(KERNELS[name] for name in names)).compile(chip)
    program.require_legal()
    cycles = time(program.image, {a.name: 0 for a in program.image.arguments}, chip).cycles
    assert cycles <= sum(alone(name, lx_bytes) for name in names) + 2 * chip.signal_cycles
