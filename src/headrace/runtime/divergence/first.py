"""The first element on which two levels differ, who wrote it on each of them, and where its values part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import HeadraceError, Location
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import Memory
from headrace.runtime.binding import Binding, bind
from headrace.runtime.checking import freedom, mismatch, typed
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import bound, run_program
from headrace.runtime.program import Program
from headrace.runtime.reference import MEMORY_BYTES, run_reference
from headrace.runtime.retime import retiming

if TYPE_CHECKING:
    from headrace.machine.check.recorded import Record

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
    values: Values | None = None

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
            "values": None if self.values is None else self.values.to_json(),
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
        if self.values is not None:
            lines += self.values.lines()
        return "\n".join(lines)


@dataclass(frozen=True)
class Values:
    """The first statement whose values part: `element` is an index in its result on that tile.

    `machine` and `unit` (the DFIR op that computes it otherwise) are None for a value that no op of the
    machine shows; `hidden` are statements before it that cannot be seen there. `statement` is None where all
    statements' values are on the core.
    """

    op: str
    statement: Location | None
    element: tuple[int, ...] = ()
    reference: float | None = None
    machine: float | None = None
    unit: Writer | None = None
    unit_op: str = ""
    hidden: tuple[tuple[str, Location], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The statement as one JSON object."""
        return {
            "op": self.op,
            "where": None if self.statement is None else str(self.statement),
            "element": list(self.element),
            "reference": self.reference,
            "machine": self.machine,
            "machine_op": self.unit_op or None,
            "machine_where": None if self.unit is None else str(self.unit.where),
            "by": None if self.unit is None else self.unit.by,
            "not_seen": [{"op": op, "where": str(where)} for op, where in self.hidden],
        }

    def lines(self) -> list[str]:
        """The statement for a person."""
        if self.statement is None:
            return [
                "  values     of all statements are on this core: they part on the way to memory,",
                "             or a reduction took other elements",
            ]
        at = f"{self.op} at {self.statement}, element {list(self.element)}"
        out = [f"  values     part first at {at}"]
        if self.unit is None:
            out.append(f"    reference  {self.reference!r}")
            out.append("    machine    no op of this core shows it; the next to be seen is what is stored")
        else:
            out.append(f"    reference  {self.reference!r}")
            out.append(
                f"    machine    {self.machine!r}, {self.unit_op} at {self.unit.where}, {self.unit.by}"
            )
        if self.hidden:
            out.append("    before it, not to be seen on the machine (fused, or wrong already):")
            out += [f"      {op} at {where}" for op, where in self.hidden]
        return out


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
    terms, between = freedom(program)
    found: list[tuple[_Storing | None, Divergence]] = []
    for argument in kernel.arguments_for(program.scalars):
        if argument.name not in run.outputs or argument.role not in ("out", "inout"):
            continue
        mine, theirs = run.outputs[argument.name], reference.outputs[argument.name]
        wrong = mismatch(mine, theirs, argument.dtype, terms, between).reshape(-1)
        if not wrong.any():
            continue
        first = int(wrong.argmax())
        right, wrong_value = (float(typed(a, argument.dtype).reshape(-1)[first]) for a in (theirs, mine))
        storing = _storing(kernel, program, argument, first, seed)
        transfer = _moving(program, argument.name, first * itemsize(argument.dtype))
        index = tuple(int(n) for n in np.unravel_index(first, mine.shape))
        count = int(wrong.sum())
        statement = None if storing is None else storing.writer
        one = Divergence(argument.name, index, right, wrong_value, count, wrong.size, statement, transfer)
        found.append((storing, one))
    if not found:
        return None
    storing, one = min(found, key=lambda each: math.inf if each[0] is None else each[0].number)
    if storing is None or one.transfer is None:
        return one
    return replace(one, values=_values(kernel, program, seed, storing, one.transfer))


@dataclass(frozen=True)
class _Storing:
    """The store of the reference that last wrote an element: how many came before it, plus one, and the tile;
    `element` is the place of the element in its argument.
    """

    number: int
    tile: int
    argument: Argument
    element: int
    writer: Writer


def _storing(
    kernel: Kernel, program: Program, argument: Argument, element: int, seed: int
) -> _Storing | None:
    """The store of the reference that last wrote an element; None if none changed it."""
    from headrace.semantics.plain import interpret

    with _bound(kernel, program, seed) as (memory, binding):
        size = itemsize(argument.dtype)
        start = binding.addresses[argument.name] + element * size
        watched = memory.bytes[start : start + size]
        if argument.role == "out":
            watched[:] = POISON
        stores, last, held = 0, None, watched.copy()

        def look(frame: Any, op: Any) -> None:
            nonlocal stores, last, held
            stores += 1
            if not (watched == held).all():
                held = watched.copy()
                grid = ", ".join(map(str, frame.coordinates))
                writer = Writer(location(op) or Location(kernel.file), f"tile ({grid})")
                last = _Storing(stores, frame.tile, argument, element, writer)

        values = {**program.scalars, **binding.values(kernel.arguments_for(program.scalars))}
        interpret(kernel.module, memory, values, None, kernel.function, look)
        return last


@contextmanager
def _bound(kernel: Kernel, program: Program, seed: int) -> Iterator[tuple[Memory, Binding]]:
    """Memory with the seeded inputs of the reference."""
    memory = Memory(MEMORY_BYTES)
    binding = bind(kernel.arguments_for(program.scalars), None, memory, seed)
    try:
        yield memory, binding
    finally:
        binding.release(memory)


def _values(
    kernel: Kernel, program: Program, seed: int, storing: _Storing, transfer: Writer
) -> Values | None:
    """The first statement on the way to a store whose values the core that writes it does not have."""
    from headrace.machine.nodes import op_name
    from headrace.runtime.divergence.parting import parting
    from headrace.runtime.divergence.statements import trail

    with _bound(kernel, program, seed) as (memory, binding):
        values = {**program.scalars, **binding.values(kernel.arguments_for(program.scalars))}
        address = binding.addresses[storing.argument.name] + storing.element * itemsize(
            storing.argument.dtype
        )
        path = trail(kernel.module, memory, values, kernel.function, storing.tile, storing.number, address)
    instances = program.image.instances
    core = next(i.core for i in instances if i.name == transfer.by.split(",")[0])
    sound = _as_compiled(kernel, program)
    found = parting(
        path, _recorded(program, core, seed), None if sound is None else _recorded(sound, core, seed)
    )
    if found is None:
        return Values(path.store.name, None)
    hidden = tuple((op.name, location(op)) for op in found.hidden)
    unit, unit_op = None, ""
    if found.record is not None:
        unit_op = op_name(found.record.node)
        unit = Writer(found.record.node.where, instances[found.instance].name)
    return Values(
        found.op.name,
        location(found.op),
        found.element,
        found.reference,
        found.machine,
        unit,
        unit_op,
        hidden,
    )


def _as_compiled(kernel: Kernel, program: Program) -> Program | None:
    """The program as the compiler writes it, if it was edited since."""
    from headrace.runtime.compiler import Options, compile_kernel

    settings = program.meta.get("settings", {})
    try:
        options = Options(plan=program.plan or None, scalars=program.scalars, settings=settings)
        sound = compile_kernel(kernel, program.device, options)
    except HeadraceError:
        return None
    return None if sound.dfir == program.dfir else sound


def _recorded(program: Program, core: int, seed: int) -> list[Record]:
    """What the vector ops of one core compute on the seeded inputs."""
    from headrace.machine.check.recorded import recorded

    memory = Memory(program.device.memory("global").size_bytes)
    with bound(program, None, memory, seed) as arguments:
        kept = {i.number for i in program.image.instances if i.core == core}
        return recorded(program.image, memory, arguments, kept)


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
