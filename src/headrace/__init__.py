"""Headrace: PyTorch → KTIR → Dataflow Scheduler → DFIR → virtual accelerator, every level open and runnable.

The public names load on first use: `import headrace` stays cheap (no torch, ortools, numba, networkx).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "HeadraceError": "headrace.ir.diagnostics",
    "Kernel": "headrace.runtime.kernel",
    "load": "headrace.runtime.kernel",
    "interpret": "headrace.runtime.kernel",
    "Program": "headrace.runtime.program",
    "Run": "headrace.runtime.program",
    "open": "headrace.runtime.program",
    "device": "headrace.arch.presets",
    "use": "headrace.frontend.session",
    "record": "headrace.frontend.session",
    "hints": "headrace.frontend.session",
    "set_fallback": "headrace.frontend.session",
}
_MODULES = {"ktir": "headrace.runtime.ktir", "testing": "headrace.numbers.tolerance"}

__all__ = [*_WHERE, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'headrace' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
