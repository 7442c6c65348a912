"""What the sanitizer reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.ir.diagnostics import Diagnostic, Location
from headrace.machine.execute.faults import CATEGORIES, Category

LIMIT = 100
"""Findings kept per category; a broken loop repeats itself."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a program: which unit, at which op and line, and with whom it collides."""

    category: Category
    message: str
    unit: str = ""
    op: str = ""
    where: Location = field(default=Location(), compare=False)
    other: Location | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """One line: place, what, and where the other access is."""
        head = f"{self.where}: " if self.where.line else ""
        tail = f" (the other access: {self.other})" if self.other is not None and self.other.line else ""
        return f"{head}{self.message}{tail}"

    def diagnostic(self) -> Diagnostic:
        """The finding as an error."""
        hint = "" if self.other is None or not self.other.line else f"the other access is at {self.other}"
        return Diagnostic(self.message, self.where, self.op, hint)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        out: dict[str, Any] = {"message": self.message, "unit": self.unit, "op": self.op}
        out |= {"file": self.where.file, "line": self.where.line, "col": self.where.col}
        if self.other is not None:
            out["other"] = {"file": self.other.file, "line": self.other.line, "col": self.other.col}
        return out


class Findings:
    """Collects findings, each place once."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._seen: set[tuple[Any, ...]] = set()
        self._count: dict[str, int] = {}

    def add(self, finding: Finding, key: tuple[Any, ...] = ()) -> None:
        """Keeps a finding unless the same category was found for the same key before."""
        whole = (finding.category, *(key or (finding.message, finding.where)))
        if whole in self._seen or self._count.get(finding.category, 0) >= LIMIT:
            return
        self._seen.add(whole)
        self._count[finding.category] = self._count.get(finding.category, 0) + 1
        self.found.append(finding)


def by_category(findings: Iterable[Finding]) -> dict[str, list[dict[str, Any]]]:
    """The findings as the `check` object of `--json`: every category, empty where nothing was found."""
    out: dict[str, list[dict[str, Any]]] = {c: [] for c in CATEGORIES}
    for finding in findings:
        out[finding.category].append(finding.as_dict())
    return out
