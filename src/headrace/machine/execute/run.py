"""Runs an image on device memory, as the tape of an earlier run where there is one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.execute.arenas import Scratchpads, borrow, give_back
from headrace.machine.execute.blas import single_threaded
from headrace.machine.execute.execution import Execution
from headrace.machine.execute.handlers import HANDLERS
from headrace.machine.execute.tape import played, took
from headrace.machine.image import (
    Image,
)
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]


@dataclass
class Result:
    """What a run leaves besides the bytes in memory.

    `trips`: for every (instance number, loop or branch number) with data-dependent bounds the counts taken,
    in order (of a branch: 1 for then, 0 for else).
    """

    trips: dict[tuple[int, int], list[int]] = field(default_factory=dict)


def execute(
    image: Image, memory: Memory, scalars: dict[str, Any], scratch: Scratchpads | None = None
) -> Result:
    """Runs an image on device memory; `scalars` gives every run-time argument by name (or "arg<position>").

    Scratchpads keep their bytes from run to run; `scratch` gives others than those of the last run.

    Raises HeadraceError for a deadlock (saying who waits for whom), messages or signals left over, messages
    of the wrong type, accesses outside a view or memory, and indices that name no row.
    """
    values = named(image, scalars)
    if scratch is None:
        with single_threaded(), np.errstate(all="ignore"):
            if played(image, memory, values):
                return Result()
    pads = scratch or borrow(image)
    start = time.perf_counter()
    try:
        run = Execution(image, memory, values, pads, HANDLERS)
        with single_threaded(), np.errstate(all="ignore"):
            for schedule in image.schedules:
                run.schedule(schedule)
        return Result(run.trips)
    finally:
        if scratch is None:
            give_back(pads)
            took(image, time.perf_counter() - start)


def named(image: Image, scalars: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an image by name; a fault for one that is missing."""
    out = {}
    for k, argument in enumerate(image.arguments):
        key = argument.name if argument.name in scalars else f"arg{k}"
        if key not in scalars:
            raise HeadraceError(f"no value for argument {argument.name}")
        out[argument.name] = scalars[key]
    return out
