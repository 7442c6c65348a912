"""Functions: their grid, their run-time arguments, and who asks for a place in the grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import IntAttr, ModuleOp

from headrace.ir.arguments import functions, grid
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.rules.scope import Rule, Scope, error, function_of, warning

MOST_DIMS = 3


def _function(_: Scope, op: Any) -> Iterator[Diagnostic]:
    try:
        shape = grid(op)
    except HeadraceError as wrong:
        yield from wrong.diagnostics
        return
    if len(shape) > MOST_DIMS:
        yield error(op, f"the grid has {len(shape)} dims, more than {MOST_DIMS}", "fold dims into one")
    if len(op.body.blocks) > 1:
        hint = "write scf.if, scf.for or scf.while"
        yield error(op, f"the function branches between {len(op.body.blocks)} blocks", hint)
    if op.is_declaration and (op.sym_visibility is None or op.sym_visibility.data != "private"):
        yield error(op, "the function has no body", "end one with return, or declare it private")
    for argument in op.body.blocks[0].args if op.body.blocks else ():
        yield from _runtime_arg(op, argument)


def _runtime_arg(op: Any, argument: Any) -> Iterator[Diagnostic]:
    kind = argument.type
    step, limit = getattr(kind, "granularity", None), getattr(kind, "upperbound", None)
    if isinstance(step, IntAttr) and isinstance(limit, IntAttr) and limit.data % step.data:
        yield warning(
            op,
            f"upperbound {limit.data} of argument '{argument.name_hint or argument.index}' is no multiple of "
            f"its granularity {step.data}",
        )


def _tile_id(_: Scope, op: Any) -> Iterator[Diagnostic]:
    function = function_of(op)
    if function is None or "grid" not in function.attributes:
        return
    try:
        shape = grid(function)
    except HeadraceError:
        return
    wanted = len(op.results)
    if any(n > 1 for n in shape[wanted:]):
        yield error(
            op,
            f"{wanted} coordinates of a grid of {list(shape)}",
            f"name {len(shape)} results, or fold the grid into {wanted} dims",
        )


def _call(_: Scope, op: Any) -> Iterator[Diagnostic]:
    """No function comes back to itself: every tile runs the whole of its function once."""
    caller = function_of(op)
    module = None if caller is None else caller.parent_op()
    if caller is None or not isinstance(module, ModuleOp):
        return
    bodies = {f.sym_name.data: f for f in functions(module)}
    ahead, seen = [_callee(op)], set[str]()
    while ahead:
        name = ahead.pop()
        if name == caller.sym_name.data:
            yield error(op, f"@{name} calls itself", "write a loop")
            return
        if name in bodies and name not in seen:
            seen.add(name)
            ahead += [_callee(inner) for inner in bodies[name].walk() if inner.name == "func.call"]


def _callee(op: Any) -> str:
    return str(op.callee.root_reference.data)


FUNCTIONS: dict[str, Rule] = {
    "func.call": _call,
    "func.func": _function,
    "ktdp.get_compute_tile_id": _tile_id,
}
