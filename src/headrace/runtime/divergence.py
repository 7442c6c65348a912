"""The first element on which two levels differ, and who wrote it on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.ir.diagnostics import HeadraceError, Location
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.checking import mismatch, typed
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.program import Program
from headrace.runtime.reference import MEMORY_BYTES, run_reference
from headrace.runtime.retime import retiming

Array = np.ndarray[Any, Any]
POISON = 0xA5
"""Byte that marks an element nobody has written yet."""


@dataclass(frozen=True)
class Writer:
    """Who wrote an element: the op at `where`, as tile (coordinates of the grid) or as unit."""

    where: Location
    by: str


@dataclass(frozen=True)
class Divergence:
    """The first element that differs: argument, index, value by reference and by machine, how many differ.

    `statement` is the KTIR store that writes it, `transfer` the DFIR op that does; None if it was not found.
    """

    argument: str
    index: tuple[int, ...]
    reference: float
    machine: float
    count: int
    size: int
    statement: Writer | None
    transfer: Writer | None

    def to_json(self) -> dict[str, Any]:
        """The divergence as one JSON object."""
        return {
            "argument": self.argument,
            "index": list(self.index),
            "reference": self.reference,
            "machine": self.machine,
            "differing": self.count,
            "elements": self.size,
            "statement": _writer_json(self.statement),
            "transfer": _writer_json(self.transfer),
        }

    def text(self) -> str:
        """The divergence for a person."""
        lines = [
            f"first divergence between reference and machine: {self.argument}{list(self.index)}",
            f"  reference  {self.reference!r}",
            f"  machine    {self.machine!r}",
            f"  differing  {self.count:,} of {self.size:,} elements of {self.argument}",
        ]
        if self.statement is not None:
            lines.append(f"  statement  ktdp.store at {self.statement.where}, {self.statement.by}")
        if self.transfer is not None:
            lines.append(f"  transfer   at {self.transfer.where}, {self.transfer.by}")
        return "\n".join(lines)


def _writer_json(writer: Writer | None) -> dict[str, Any] | None:
    return None if writer is None else {"where": str(writer.where), "by": writer.by}


def first_divergence(kernel: Kernel, program: Program, seed: int = 0) -> Divergence | None:
    """Return where reference and machine first differ on seeded inputs, by order of the reference's stores;
    None where they agree within what a free order of summation allows.
    """
    if kernel.level != "ktir":
        hint = "give the KTIR, or the folder that `headrace compile` wrote from it"
        raise HeadraceError(f"{kernel.file}: {kernel.level} has no level above to compare with", hint=hint)
    run = run_program(program, None, seed)
    reference = run_reference(kernel, None, seed, program.scalars)
    terms = int(program.meta.get("reduction_terms", 0))
    found: list[tuple[float, Divergence]] = []
    for argument in kernel.arguments_for(program.scalars):
        if argument.name not in run.outputs or argument.role not in ("out", "inout"):
            continue
        mine, theirs = run.outputs[argument.name], reference.outputs[argument.name]
        wrong = mismatch(mine, theirs, argument.dtype, terms).reshape(-1)
        if not wrong.any():
            continue
        first = int(wrong.argmax())
        right, wrong_value = (float(typed(a, argument.dtype).reshape(-1)[first]) for a in (theirs, mine))
        order, statement = _storing(kernel, program, argument, first, seed)
        transfer = _moving(program, argument.name, first * itemsize(argument.dtype))
        index = tuple(int(n) for n in np.unravel_index(first, mine.shape))
        count = int(wrong.sum())
        one = Divergence(argument.name, index, right, wrong_value, count, wrong.size, statement, transfer)
        found.append((order, one))
    return min(found, key=lambda one: one[0])[1] if found else None


def _storing(
    kernel: Kernel, program: Program, argument: Any, element: int, seed: int
) -> tuple[float, Writer | None]:
    """(how many stores came before, the store of the reference that last wrote an element)."""
    from headrace.semantics.plain import interpret

    memory = Memory(MEMORY_BYTES)
    arguments = kernel.arguments_for(program.scalars)
    binding = bind(arguments, None, memory, seed)
    size = itemsize(argument.dtype)
    start = binding.addresses[argument.name] + element * size
    watched = memory.bytes[start : start + size]
    if argument.role == "out":
        watched[:] = POISON
    stores, last, held = 0, None, watched.copy()
    order = float("inf")

    def look(frame: Any, op: Any) -> None:
        nonlocal stores, last, held, order
        stores += 1
        if not (watched == held).all():
            held, order = watched.copy(), float(stores)
            grid = ", ".join(map(str, frame.coordinates))
            last = Writer(location(op) or Location(kernel.file), f"tile ({grid})")

    try:
        values = {**program.scalars, **binding.values(arguments)}
        interpret(kernel.module, memory, values, None, kernel.function, look)
    finally:
        binding.release(memory)
    return order, last


def _moving(program: Program, name: str, offset: int) -> Writer | None:
    """The transfer of the machine that writes a byte of an argument, of several the last in the text."""
    from headrace.machine.operands import visits

    values: Mapping[str, float] = retiming(program).values
    found = None
    for visit in visits(program.image, values):
        if visit.side != "write" or visit.name != name or not visit.is_known:
            continue
        places = visit.starts[:, None] + visit.offsets[None, :]
        rows, _ = np.nonzero((places <= offset) & (offset < places + visit.run_bytes))
        if len(rows):
            member = int(visit.members[rows[-1]])
            unit = program.image.instances[visit.program.instances[member]].name
            turn = int((visit.members[: rows[-1]] == member).sum())
            found = Writer(visit.node.where, f"{unit}, its tile {turn}")
    return found
