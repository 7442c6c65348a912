"""Keeps what has no native form out of our kernels: such operators become calls to the host, with a warning.

Most are known by name or type (`ops`). Others show only when their loop nest is lowered: then compilation
of the
graph starts again with the operators of that nest left to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch._inductor import compile_fx
from torch._inductor import graph as inductor_graph
from torch.utils import _pytree as pytree

from headrace.frontend.memory import NAME
from headrace.frontend.ops import ANY_DTYPE, DTYPES, is_native
from headrace.ir.diagnostics import HeadraceError


class LeaveToHost(Exception):
    """A loop nest cannot become a kernel; `choices` are sets of FX nodes (names) to leave to the host
    instead."""

    def __init__(self, choices: Sequence[frozenset[str]], reason: HeadraceError) -> None:
        super().__init__(str(reason))
        self.choices, self.reason = choices, reason


_left_to_host: ContextVar[frozenset[str]] = ContextVar("left_to_host", default=frozenset())


def restart_without_unsupported_nests() -> None:
    """Wraps the compilation of one graph; HeadraceError when leaving more to the host does not help."""
    original = compile_fx._InProcessFxCompile.codegen_and_compile

    def codegen_and_compile(self: Any, gm: Any, *args: Any, **keywords: Any) -> Any:
        token = _left_to_host.set(frozenset())
        try:
            while True:
                try:
                    return original(self, gm, *args, **keywords)
                except LeaveToHost as request:
                    known = _left_to_host.get()
                    more = next((names for names in request.choices if not names <= known), None)
                    if more is None:
                        raise request.reason from None
                    _left_to_host.set(known | more)
        finally:
            _left_to_host.reset(token)

    compile_fx._InProcessFxCompile.codegen_and_compile = codegen_and_compile


def leave_other_operators_to_the_host() -> None:
    """Extends Inductor's own test for operators it must not lower; other devices keep their answer."""
    before: Callable[..., bool] = inductor_graph.fallback_node_due_to_unsupported_type

    def is_left_to_the_host(node: torch.fx.Node, *args: Any, **keywords: Any) -> bool:
        if before(node, *args, **keywords) or node.name in _left_to_host.get():
            return True
        return _is_on_device(node) and not _has_native_form(node)

    inductor_graph.fallback_node_due_to_unsupported_type = is_left_to_the_host


def _has_native_form(node: torch.fx.Node) -> bool:
    schema = node.target._schema
    name = schema.name.split("::")[1]
    if not is_native(name, schema.overload_name):
        return False
    accumulates = (
        name in ("index_put", "index_put_", "_unsafe_index_put") and len(node.args) > 3 and node.args[3]
    )
    return not accumulates and (name in ANY_DTYPE or all(tensor.dtype in DTYPES for tensor in _tensors(node)))


def _is_on_device(node: torch.fx.Node) -> bool:
    return any(tensor.device.type == NAME for tensor in _tensors(node))


def _tensors(node: torch.fx.Node) -> list[Any]:
    """Fake tensors of the operands and results."""
    values = [node.meta.get("val")]
    values += [arg.meta.get("val") for arg in node.all_input_nodes]
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
