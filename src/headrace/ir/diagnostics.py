"""What went wrong, where, and what to do instead: the one form every error of Headrace takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """A place in a text: file name (or "<text>"), line and column, both counted from 1; 0 where unknown."""

    file: str = "<text>"
    line: int = 0
    col: int = 0

    def __str__(self) -> str:
        known = [str(n) for n in (self.line, self.col) if n] if self.line else []
        return ":".join([self.file, *known])


@dataclass(frozen=True)
class Diagnostic:
    """One finding: lower-case message, the op it is about, where it stands, and a hint that says what to
    do.
    """

    message: str
    where: Location | None = None
    op: str = ""
    hint: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        head = f"{self.where}: " if self.where else ""
        op = f"{self.op}: " if self.op else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{head}{self.severity}: {op}{self.message}{hint}"


class HeadraceError(Exception):
    """The input or the request is wrong; carries every finding, not only the first (exit code 1 at the
    CLI).
    """

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic] | str, *, hint: str = "") -> None:
        if isinstance(diagnostics, str):
            diagnostics = Diagnostic(diagnostics, hint=hint)
        found: Iterable[Diagnostic] = [diagnostics] if isinstance(diagnostics, Diagnostic) else diagnostics
        self.diagnostics: tuple[Diagnostic, ...] = tuple(found)
        super().__init__("\n".join(str(d) for d in self.diagnostics))
