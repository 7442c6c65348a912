"""What several units do to device memory, and register files of other units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.sweeps import Reach
from headrace.schedule.verify.programs.values import ALIASES, Handle, Scope
from headrace.schedule.verify.spans import hulls, share_bytes


def meetings(reaches: Sequence[Reach]) -> Iterator[tuple[Reach, Reach]]:
    """Yield pairs that share bytes of device memory of which the first is written, each once.

    Scatters with each other are left out: equal targets are undefined, not wrong.
    """
    if not any(r.touch.is_write for r in reaches):
        return
    boxes = hulls([r.touch for r in reaches])
    writes = np.array([r.touch.is_write for r in reaches])
    scatters = writes & np.array([r.touch.is_indirect for r in reaches])
    everything = np.arange(len(reaches))
    for k in np.flatnonzero(writes).tolist():
        near = boxes.meet(everything, k)
        near[: k + 1] &= ~writes[: k + 1]
        if scatters[k]:
            near &= ~scatters
        for other in np.flatnonzero(near).tolist():
            if share_bytes(reaches[k].touch, reaches[other].touch):
                yield reaches[k], reaches[other]


def between_cores(met: Sequence[tuple[Reach, Reach]], joined: list[list[int]]) -> Iterator[Diagnostic]:
    """Yield a finding for device memory that one core writes and another touches: nothing orders cores.

    Cores that exchange signals or messages (sets of them: `joined`) are ordered or not by those.
    """
    party = {core: number for number, cores in enumerate(joined) for core in cores}
    reported = set()
    for a, b in met:
        key = (id(a.op), id(b.op))
        if party[a.core] != party[b.core] and key not in reported:
            reported.add(key)
            word = "writes" if b.touch.is_write else "reads"
            message = f"core {a.core} writes device memory that core {b.core} {word}, in no order"
            yield Diagnostic(message, location(a.op), a.op.name, f"the other access is at {location(b.op)}")


def shared_registers(programs: dict[Handle, Any], scopes: dict[Handle, Scope]) -> Iterator[Diagnostic]:
    """Yield a finding for every register file that is used by another unit than its own."""
    reported = set()
    for handle, program in programs.items():
        for op in scopes[handle].asked(program, _files):
            unit = scopes[handle].known.get(op.unit, handle)
            if isinstance(unit, Handle) and unit != handle and id(op) not in reported:
                reported.add(id(op))
                user = next((u.operation for v in op.result.uses for u in v.operation.results[0].uses), op)
                message = f"{handle} uses {op.unit_name.data} of {unit}: a register file has one user"
                yield Diagnostic(message, location(user), user.name)


def _files(program: Any) -> list[Any]:
    """The register files that a program names."""
    names = (op for op in program.region.walk() if op.name == "dataflow.get_local_unit")
    return [op for op in names if ALIASES.get(op.unit_name.data.lower(), op.unit_name.data.lower()) != "lx"]
