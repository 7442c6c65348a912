"""A compiled kernel (Program) and what came of running it (Run)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headrace.arch.cost import Bound, Work, bound
from headrace.arch.device import Device
from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import parse, print_module


@dataclass
class Program:
    """One function for one device at every level; `arguments` are those of the source kernel, in its order.

    `scratch` lists device-memory arguments the schedule added. `meta` holds facts about the compilation.
    """

    name: str
    device: Device
    arguments: tuple[Argument, ...]
    dfir_module: Any
    ktdf_module: Any = None
    ktir: str = ""
    plan: Any = None
    grid: tuple[int, ...] = ()
    work: Work | None = None
    scalars: dict[str, float | int] = field(default_factory=dict)
    file: str = "<text>"
    meta: dict[str, Any] = field(default_factory=dict)
    timings: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def dfir(self) -> str:
        """The DFIR text."""
        return print_module(self.dfir_module)

    @cached_property
    def ktdf(self) -> str:
        """The KTDF text, "" for a program that started as DFIR."""
        return print_module(self.ktdf_module) if self.ktdf_module is not None else ""

    @cached_property
    def image(self) -> Any:
        """The decoded program, from the module in memory."""
        from headrace.machine.decode import decode
        from headrace.machine.options import Options

        options = Options(**self.meta.get("settings", {}))
        return decode(self.dfir_module, self.device, self.meta.get("entry"), options)

    @cached_property
    def scratch(self) -> tuple[Argument, ...]:
        """Device-memory arguments that only the schedule uses."""
        from headrace.runtime.declared import declared_arguments

        return tuple(a for a in declared_arguments(self.dfir_module) if a.role == "scratch")

    @property
    def is_foreign(self) -> bool:
        """Whether it started as DFIR: its scalar arguments are given at the launch."""
        return not self.ktir and self.ktdf_module is None

    def with_scalars(self, scalars: Mapping[str, float | int]) -> Program:
        """A foreign program with the extents that follow from other scalar values."""
        from headrace.runtime.foreign import foreign_arguments

        fresh = Program(**{name: getattr(self, name) for name in _FIELDS})
        fresh.scalars = dict(scalars)
        if any(a.kind == "scalar" for a in self.arguments):
            fresh.arguments = foreign_arguments(self.image, scalars)
        return fresh

    @cached_property
    def bound(self) -> Bound | None:
        """The lower bound in cycles; None for a module without `headrace.work`."""
        return bound(self.work, self.device) if self.work else None

    def illegalities(self) -> list[Diagnostic]:
        """What the independent checker of the emitted DFIR finds wrong; empty for a sound schedule."""
        from headrace.schedule.verify import verify

        return [found for found in verify(self.dfir_module, self.device) if found.severity == "error"]

    def require_legal(self) -> None:
        """HeadraceError with everything the checker finds."""
        found = self.illegalities()
        if found:
            raise HeadraceError(found)

    def reparsed(self) -> Program:
        """The same program, its DFIR printed and parsed again: what the command line executes.

        A program that started as DFIR is executed as it was written, so that faults name its own lines.
        """
        if self.is_foreign:
            return self
        fresh = Program(**{name: getattr(self, name) for name in _FIELDS})
        fresh.dfir_module = parse(self.dfir, f"{self.name}.dfir.mlir")
        return fresh

    def run(self, **inputs: Any) -> Run:
        """Runs on the virtual accelerator; keyword = argument name, value = array or number.

        A read argument that is missing, misshapen or of another type is a HeadraceError; one only written
        may be left
        out. A scalar argument with a new value compiles the program for that value first.
        """
        from headrace.runtime.launch import run_program

        return run_program(self, inputs)

    def save(self, folder: str | Path) -> None:
        """Writes ktir.mlir ktdf.mlir dfir.mlir plan.json device.mlir meta.json, all or nothing."""
        from headrace.runtime.artefact import save

        save(self, Path(folder))


_FIELDS = "name device arguments dfir_module ktdf_module ktir plan grid work scalars file meta".split()


@dataclass(frozen=True)
class Run:
    """The outcome of one run: arrays after it by key, and what the virtual accelerator measured.

    `timing` is None for the reference engine; `findings` is None unless the sanitizer ran.
    """

    program: Program | None
    outputs: Mapping[str, np.ndarray[Any, Any]]
    engine: str = "machine"
    timing: Any = None
    findings: Mapping[str, list[str]] | None = None
    execute_ms: float = 0.0
    timing_ms: float = 0.0
    kernel: Any = None
    reference: Any = None

    @property
    def cycles(self) -> int:
        """Cycles from the first instruction to the last retired access."""
        return int(math.ceil(self.timing.cycles)) if self.timing else 0

    @property
    def bound(self) -> Bound | None:
        """The lower bound of the program's work on its device."""
        return self.program.bound if self.program else None

    @property
    def time_us(self) -> float:
        """Simulated time of one launch, `launch_cycles` of the device included."""
        if not self.program:
            return 0.0
        return (self.cycles + self.program.device.launch_cycles) / self.program.device.clock_mhz

    def critical_path(self) -> tuple[Any, ...]:
        """The chain of waits that determined the end, links from 0 to `cycles`; times the program again."""
        from headrace.runtime.retime import retiming

        if self.program is None or self.timing is None:
            return ()
        return retiming(self.program).time(is_recorded=True).path

    def report(self) -> str:
        """A text summary: cycles, bound, ratio, bytes, busy and stalled units."""
        from headrace.runtime.summary import summary, summary_text

        return summary_text(summary(self))

    def trace(self, path: str | Path, is_whole: bool = False) -> None:
        """Writes a Chrome trace of the run (chrome://tracing, Perfetto): of alike cores one, or all."""
        from headrace.runtime.artefact import write_trace

        write_trace(self, Path(path), is_whole)


def open(folder: str | Path) -> Program:
    """The program that `Program.save` wrote into a folder; HeadraceError when it is none."""
    from headrace.runtime.artefact import load

    return load(Path(folder))
