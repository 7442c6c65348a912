"""The plan of a small kernel is as fast as the best of all its tiles and copies, each of them simulated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from benchmarks.kernels import kernel_text
from benchmarks.schedule import timed_cycles

from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel

ROWS = ("broadcast_add", "softmax", "rmsnorm", "layernorm", "copy", "chain", "broadcast_column", "cast")
NEAR = 1.004
"""A tile that divides nothing evenly may be a few cycles faster than all the search looks at."""


def every_plan(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The plan with every extent of its tiles and one to three copies of each buffer.

    Lanes come in whole steps; extents of a contraction in eighths of 64.
    """
    (phase,) = plan["classes"][0]["phases"]
    choices = []
    for dim in phase["tile"]:
        extent, grain = phase["extents"][dim], 1
        if phase["kind"] == "contract":
            grain = 8
        elif dim == phase["lane"]:
            grain = phase["step"]
        choices.append(sorted({min(extent, size) for size in range(grain, extent + grain, grain)}))
    for *tile, copies_in, copies_out in product(*choices, (1, 2, 3), (1, 2, 3)):
        edited = deepcopy(plan)
        (chosen,) = edited["classes"][0]["phases"]
        chosen["tile"] = dict(zip(phase["tile"], tile, strict=True))
        chosen["copies"] |= {"in": copies_in, "out": copies_out}
        yield edited


def gap(text: str, device: str = "tiny") -> float:
    """Cycles of the plan over those of the best one."""
    kernel = Kernel(text)
    scalars = default_scalars(kernel, {})
    program = kernel.compile(device, scalars=scalars, effort=2)
    found = mine = timed_cycles(program)
    for plan in every_plan(program.plan):
        with suppress(HeadraceError):  # too large for the scratchpad, or tiles that do not fit each other
            found = min(found, timed_cycles(kernel.compile(device, scalars=scalars, plan=plan)))
    return mine / found


@pytest.mark.parametrize("name", ["softmax", "transpose"])
def test_a_small_plan_equals_exhaustive_enumeration(name: str) -> None:
    extents = {"rows": 8, "columns": 24} if name == "transpose" else {"rows": 6, "columns": 256}
    assert gap(kernel_text(name, cores=2, **extents)) <= NEAR


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("vector_add", {"rows": 1, "columns": 4096, "cores": 2}),
        *((name, {"rows": 24, "columns": 256, "cores": 2}) for name in ROWS),
        ("transpose", {"rows": 32, "columns": 24, "cores": 2}),
        ("matmul", {"m": 32, "k": 64, "n": 64, "grid": (1, 2)}),
    ],
)
def test_plans_equal_exhaustive_enumeration(name: str, extents: dict[str, Any]) -> None:
    assert gap(kernel_text(name, **extents)) <= NEAR
