"""What a KTDF or DFIR module says of itself: its function, arguments (`headrace.args`) and work
(`headrace.work`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.arch.cost import Work
from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.plain import plain
from headrace.ir.text import location


def function_name(module: Any) -> str:
    """The name of the first function with a body, also inside nested modules."""
    for op in module.walk():
        if op.name == "func.func" and op.body.blocks:
            return str(op.sym_name.data)
    raise HeadraceError("the module has no function", hint="a program is a func.func with unit programs")


def declared_arguments(module: Any) -> tuple[Argument, ...]:
    """Memory arguments by `headrace.args`, in order; empty for a module that does not carry it.

    HeadraceError for entries of another form.
    """
    entries = plain(module.attributes.get("headrace.args")) or []
    try:
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
    except (KeyError, TypeError, ValueError):
        hint = "a list of {name, dtype, shape, role}"
        raise HeadraceError(
            Diagnostic("headrace.args of another form", location(module), hint=hint)
        ) from None


def declared_work(module: Any) -> Work | None:
    """The work of the KTIR the module came from; None for a module of another scheduler.

    HeadraceError for entries of another form.
    """
    attribute = module.attributes.get("headrace.work")
    if attribute is None:
        return None
    flat = plain(attribute)
    if not isinstance(flat, dict) or not all(type(count) is int and count >= 0 for count in flat.values()):
        hint = "counts by name, none negative"
        raise HeadraceError(Diagnostic("headrace.work of another form", location(module), hint=hint))
    try:
        return Work.from_attribute(flat)
    except HeadraceError as error:
        raise HeadraceError([replace(d, where=location(module)) for d in error.diagnostics]) from None
