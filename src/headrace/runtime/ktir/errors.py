"""Errors of a kernel under construction: they name the line of Python that asked for the impossible."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from types import FrameType

from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location

_HERE = str(Path(__file__).parent)


def place() -> Location:
    """File, line and column of the innermost call from outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    if frame is None:
        return Location()
    spot = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    return Location(frame.f_code.co_filename, frame.f_lineno, (spot[2] or 0) + 1)


def wrong(message: str, hint: str = "", op: str = "") -> HeadraceError:
    """The error to raise for a request of the caller's."""
    return HeadraceError(Diagnostic(message, place(), op, hint))
