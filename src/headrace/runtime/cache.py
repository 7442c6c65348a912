"""The programs compiled last in this process, by content: equal text, device and options are compiled once.

What a text is called, and the file it came from, are no part of the key. A hit is a Program of its own that
shares the modules (nobody changes them) and what was simulated of them; it is decoded anew, for decoded
programs hold what their runs left behind.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.arch.device import Device
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program

if TYPE_CHECKING:
    from headrace.runtime.compiler import Options

KEPT = 64
"""Programs kept, the ones asked for last; one holds some MB of modules."""

_PROGRAMS: OrderedDict[str, tuple[Program, str]] = OrderedDict()
"""Programs by the digest of their content, each with its plan as JSON: the cheapest copy to make."""

_LOCK = threading.Lock()


def content_key(kernel: Kernel, device: Device, options: Options) -> str:
    """The digest of everything a program follows from."""
    said: list[Any] = [kernel.text, kernel.function, kernel.is_masked, kernel.parts, device.sha256]
    said += [sorted(options.without), options.effort, options.plan]
    said += [sorted((key, repr(value)) for key, value in found.items()) for found in _given(options)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _given(options: Options) -> tuple[Any, ...]:
    return options.scalars, options.settings


def known(key: str, kernel: Kernel, device: Device) -> Program | None:
    """The program of that content, as one of its own of this file and device."""
    with _LOCK:
        found = _PROGRAMS.get(key)
        if found is None:
            return None
        _PROGRAMS.move_to_end(key)
    program, plan = found
    return _of(program, plan, kernel.file, device)


def keep(key: str, program: Program) -> None:
    """Keep a program; the one not asked for the longest goes."""
    plan = json.dumps(program.plan)
    with _LOCK:
        _PROGRAMS[key] = _of(program, plan, program.file, program.device), plan
        _PROGRAMS.move_to_end(key)
        while len(_PROGRAMS) > KEPT:
            _PROGRAMS.popitem(last=False)


def clear() -> None:
    """Forget all programs: what is compiled next is compiled in full."""
    with _LOCK:
        _PROGRAMS.clear()


def _of(program: Program, plan: str, file: str, device: Device) -> Program:
    return replace(
        program,
        file=file,
        device=device,
        plan=json.loads(plan),
        scalars=dict(program.scalars),
        meta=dict(program.meta),
    )
