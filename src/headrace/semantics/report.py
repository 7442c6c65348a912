"""What one interpretation did, apart from the results it left in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from headrace.ir.diagnostics import Diagnostic


@dataclass
class Report:
    """Figures of one call of `interpret`.

    `grid` of the last function run; bytes moved between device memory and tiles, each access counted; the
    largest number of bytes of live tensors and scratch in one tile, and an op that reaches it; each warning
    once.
    """

    grid: tuple[int, ...] = ()
    tiles: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    lx_peak_bytes: int = 0
    lx_peak_at: Operation | None = field(default=None, compare=False)
    warnings: list[Diagnostic] = field(default_factory=list)

    def note_peak(self, peak_bytes: int, at: Operation | None) -> None:
        """Notes the live bytes of a tile and the op they are reached at, when they are more than before."""
        if peak_bytes > self.lx_peak_bytes:
            self.lx_peak_bytes, self.lx_peak_at = peak_bytes, at

    def warn(self, warning: Diagnostic) -> None:
        """Adds a warning that is not there yet."""
        if warning not in self.warnings:
            self.warnings.append(warning)
