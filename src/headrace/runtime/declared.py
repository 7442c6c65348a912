"""What a KTDF or DFIR module says of itself: its function, arguments (`headrace.args`) and work
(`headrace.work`).
"""

from __future__ import annotations

from typing import Any

from headrace.arch.cost import Work
from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.plain import plain


def function_name(module: Any) -> str:
    """The name of the first function with a body, also inside nested modules."""
    for op in module.walk():
        if op.name == "func.func" and op.body.blocks:
            return str(op.sym_name.data)
    raise HeadraceError("the module has no function", hint="a program is a func.func with unit programs")


def declared_arguments(module: Any) -> tuple[Argument, ...]:
    """Memory arguments by `headrace.args`, in order; empty for a module that does not carry it."""
    entries = plain(module.attributes.get("headrace.args")) or []
    return tuple(
        Argument(
            name=str(entry["name"]),
            kind="memory",
            dtype=str(entry["dtype"]),
            shape=tuple(int(n) for n in entry["shape"]),
            role=str(entry["role"]),
        )
        for entry in entries
    )


def declared_work(module: Any) -> Work | None:
    """The work of the KTIR the module came from; None for a module of another scheduler."""
    attribute = module.attributes.get("headrace.work")
    return Work.from_attribute(plain(attribute)) if attribute is not None else None
