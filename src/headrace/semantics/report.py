"""What one interpretation did, apart from the results it left in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.ir.diagnostics import Diagnostic


@dataclass
class Report:
    """Figures of one call of `interpret`.

    `grid` of the last function run; bytes moved between device memory and tiles, each access counted; the
    largest number of bytes of live tensors and scratch in one tile; each warning once.
    """

    grid: tuple[int, ...] = ()
    tiles: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    lx_peak_bytes: int = 0
    warnings: list[Diagnostic] = field(default_factory=list)

    def warn(self, warning: Diagnostic) -> None:
        """Adds a warning that is not there yet."""
        if warning not in self.warnings:
            self.warnings.append(warning)
