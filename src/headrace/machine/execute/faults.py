"""Faults of a running program, by the categories of `--check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location

Category = Literal["races", "deadlocks", "uninitialised", "out_of_bounds", "alignment", "fifo", "signals"]
CATEGORIES: tuple[Category, ...] = (
    "races", "deadlocks", "uninitialised", "out_of_bounds", "alignment", "fifo", "signals"
)  # fmt: skip


class Fault(HeadraceError):
    """The program does something no run may do."""

    def __init__(self, category: Category, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.category: Category = category


def fault(category: Category, message: str, where: Location | None = None, op: str = "") -> Fault:
    """A fault with one diagnostic."""
    return Fault(category, Diagnostic(message, where, op))
