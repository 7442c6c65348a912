"""A kernel's name, the trial of its compilation, and its definition in the generated code."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch._inductor.virtualized import V

from headrace.frontend import launcher
from headrace.frontend.inductor.facts import is_operator, operator_name, source_line
from headrace.frontend.inductor.record import program_text
from headrace.frontend.ops import MOVEMENT
from headrace.frontend.sizes import with_sizes
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.selection import selection

SILENT = MOVEMENT | {"clone", "full", "iota", "convert_element_type", "to_copy", "unsafe_view", "copy"}
"""Operators that do not help to name a kernel."""


@dataclass(frozen=True)
class Definition:
    """A kernel of the graph being compiled: its program with its name, where it comes from."""

    program: dict[str, Any]
    key: str
    source: str
    operators: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kernel's name in the generated code."""
        return str(self.program["name"])

    def predicted_cycles(self) -> float:
        """What the scheduler predicts for a kernel of fixed size; 0 where a test runs it on an engine of its
        own, infinite where the device cannot run what the reference engine can.
        """
        from headrace.frontend.engine import compiled_kernel

        if launcher.has_override():
            return 0.0
        try:
            return float(compiled_kernel(self.program, selection().device).plan["predicted_cycles"])
        except HeadraceError:
            return math.inf

    def problem(self, sizes: Sequence[Any]) -> HeadraceError | None:
        """Why the kernel cannot be compiled (tried with typical values of its dynamic sizes), None when it
        can.
        """
        if self.key in V.graph.wrapper_code.src_to_kernel:
            return None
        from headrace.frontend.engine import compiled_or_refused

        typical = [V.graph.sizevars.optimization_hint(size) for size in sizes]
        program = with_sizes(self.program, typical) if typical else self.program
        chosen = selection()
        if launcher.has_override():
            chosen = replace(chosen, engine="reference")
        found = compiled_or_refused(program, chosen)
        return found if isinstance(found, HeadraceError) else None

    def write(self) -> str:
        """Writes the definition unless an equal one stands already; returns the name to call."""
        wrapper = V.graph.wrapper_code
        if self.key not in wrapper.src_to_kernel:
            wrapper.src_to_kernel[self.key] = self.name
            facts = program_text({"source": self.source, "operators": self.operators})
            load = f"headrace_launcher.load({program_text(self.program)!r}, {facts!r})"
            wrapper.define_kernel(self.name, load, None, gpu=False)
        return str(wrapper.src_to_kernel[self.key])


def definition(program: dict[str, Any], nodes: Sequence[Any]) -> Definition:
    """The definition of a loop program that scheduler nodes were recorded as."""
    key = program_text(program)
    origins = [node for member in nodes for node in member.node.get_origins() if is_operator(node)]
    operators = tuple(dict.fromkeys(map(operator_name, origins)))
    name = f"{_short_name(operators)}_{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return Definition({"name": name, **program}, key, source_line(reversed(origins)), operators)


def _short_name(operators: Sequence[str]) -> str:
    """The operators that compute, the first few, as an identifier."""
    names = [name.split(".")[1].strip("_") for name in operators]
    telling = [name for name in names if name not in SILENT] or names or ["copy"]
    return "_".join(dict.fromkeys(telling))[:40].strip("_")
