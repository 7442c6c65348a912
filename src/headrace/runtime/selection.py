"""Which machine and which engine this process uses: `headrace.use` sets them, HEADRACE_DEVICE names the
first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.ir.diagnostics import HeadraceError

if TYPE_CHECKING:
    from headrace.arch.device import Device

ENGINES = ("machine", "reference")


@dataclass(frozen=True)
class Selection:
    """The device every compile and launch of the process is for, and what executes a launch."""

    device: Device
    engine: str = "machine"


_current: Selection | None = None


def _find(name: str, overrides: Mapping[str, Any] | None = None) -> Device:
    from headrace.arch.presets import device  # `import torch` loads this module and must not load the IR

    return device(name, overrides=dict(overrides or {}))


def selection() -> Selection:
    """The current selection; the first call reads HEADRACE_DEVICE (default "spyre")."""
    global _current
    if _current is None:
        _current = Selection(_find(os.environ.get("HEADRACE_DEVICE", "spyre")))
    return _current


def select(
    device: Device | str | None = None, engine: str | None = None, overrides: Mapping[str, Any] | None = None
) -> Selection:
    """Changes what is given and returns the selection before; HeadraceError for an unknown device or
    engine.
    """
    global _current
    before = selection()
    if engine is not None and engine not in ENGINES:
        raise HeadraceError(f"unknown engine '{engine}'", hint=f"engines are {', '.join(ENGINES)}")
    chosen = before.device
    if device is not None or overrides:
        name = before.device.name if device is None else device
        chosen = _find(name, overrides) if isinstance(name, str) else name
    _current = replace(before, device=chosen, engine=engine or before.engine)
    return before


def restore(before: Selection) -> None:
    """Makes a selection returned by `select` current again."""
    global _current
    _current = before
