"""Keeps what has no native form out of our kernels: such operators become calls to the host, with a warning.

Most are known by name or type (`ops`). Others show only when their loop nest is lowered: then compilation
of the
graph starts again with the operators of that nest left to the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch._inductor import compile_fx
from torch._inductor import graph as inductor_graph
from torch.utils import _pytree as pytree

from headrace.frontend.memory import NAME
from headrace.frontend.ops import DTYPES, LONGEST_SORT, MOST_SCATTER_STEPS, VIEWS, is_native
from headrace.ir.diagnostics import HeadraceError


class LeaveToHost(Exception):
    """A loop nest cannot become a kernel; `choices` are sets of FX nodes (names) to leave to the host
    instead."""

    def __init__(self, choices: Sequence[frozenset[str]], reason: HeadraceError) -> None:
        super().__init__(str(reason))
        self.choices, self.reason = choices, reason


SORTS = {"sort": 1, "topk": 2, "kthvalue": 2, "median": 1, "nanmedian": 1}
SCANS = {"cummax": 1, "cummin": 1, "logcumsumexp": 1}
"""Operators that compare all elements of a row with all, and which of their operands names the dim."""

_left_to_host: ContextVar[dict[str, str]] = ContextVar("left_to_host")
"""FX nodes (by name) to leave to the host while this graph is compiled, and why."""


def restart_without_unsupported_nests() -> None:
    """Wraps the compilation of one graph; HeadraceError when leaving more to the host does not help."""
    original = compile_fx._InProcessFxCompile.codegen_and_compile

    def codegen_and_compile(self: Any, gm: Any, *args: Any, **keywords: Any) -> Any:
        token = _left_to_host.set({})
        try:
            while True:
                try:
                    return original(self, gm, *args, **keywords)
                except LeaveToHost as request:
                    known = _left_to_host.get()
                    more = next((names for names in request.choices if not names <= known.keys()), None)
                    if more is None:
                        raise request.reason from None
                    _left_to_host.set({**dict.fromkeys(more, summary(request.reason)), **known})
        finally:
            _left_to_host.reset(token)

    compile_fx._InProcessFxCompile.codegen_and_compile = codegen_and_compile


def leave_other_operators_to_the_host() -> None:
    """Extends Inductor's own test for operators it must not lower; other devices keep their answer."""
    before: Callable[..., bool] = inductor_graph.fallback_node_due_to_unsupported_type

    def is_left_to_the_host(node: torch.fx.Node, *args: Any, **keywords: Any) -> bool:
        if before(node, *args, **keywords) or node.name in _left_to_host.get({}):
            return True
        return _is_on_device(node) and obstacle(node) is not None

    inductor_graph.fallback_node_due_to_unsupported_type = is_left_to_the_host


def why_on_host(node: torch.fx.Node) -> str:
    """Why an operator of the graph being compiled runs on the host."""
    known = _left_to_host.get({}).get(node.name)
    return known or obstacle(node) or "Inductor has no loops for it"


def obstacle(node: torch.fx.Node) -> str | None:
    """Why an operator has no native form, known by its name, overload, types and sizes; None when it may."""
    schema = node.target._schema
    name = schema.name.split("::")[1]
    if torch.Tag.nondeterministic_seeded in node.target.tags:
        return "random numbers are drawn on the host"
    if not is_native(name, schema.overload_name):
        return "no native form"
    if too_large := _too_large(name, node):
        return too_large
    computed = [
        x for own in (node, *node.all_input_nodes) if not _numbers_positions(own) for x in _values(own)
    ]
    foreign = sorted({str(x.dtype).removeprefix("torch.") for x in computed if x.dtype not in DTYPES})
    return f"no native arithmetic in {', '.join(foreign)}" if foreign else None


def _numbers_positions(node: torch.fx.Node) -> bool:
    """Whether a node only numbers positions (in any integer type, as `eye` does): such values are not
    stored.
    """
    if node.target is torch.ops.prims.iota.default:
        return True
    is_view = isinstance(node.target, torch._ops.OpOverload) and _name(node) in VIEWS
    return is_view and all(map(_numbers_positions, node.all_input_nodes))


def _name(node: torch.fx.Node) -> str:
    return str(node.target._schema.name).split("::")[1]  # type: ignore[union-attr]


def _too_large(name: str, node: torch.fx.Node) -> str | None:
    """Why the work of an operator that compares all with all is left to the host."""
    values = [arg.meta["val"] for arg in node.args if isinstance(arg, torch.fx.Node) and "val" in arg.meta]
    if (name in SORTS or name in SCANS) and values and values[0].dim():
        n = _row_length(name, node, values[0])
        what = "scans" if name in SCANS else "sorts"
        return f"{what} {n} elements, more than {LONGEST_SORT}" if n > LONGEST_SORT else None
    steps = _scatter_steps(name, node, values)
    if steps and math.prod(steps) > MOST_SCATTER_STEPS:
        return f"accumulates {steps[0]} rows into a tensor of {steps[1]} elements"
    return None


def _row_length(name: str, node: torch.fx.Node, x: Any) -> Any:
    """The elements that are compared with each other."""
    if node.target._schema.overload_name == "" and name in ("median", "nanmedian"):  # type: ignore[union-attr]
        return x.numel()
    given = (SORTS | SCANS)[name]
    if node.target is torch.ops.aten.sort.stable:
        given = len(node.args)  # by keyword only
    return x.shape[node.kwargs.get("dim", node.args[given] if len(node.args) > given else -1)]


def _scatter_steps(name: str, node: torch.fx.Node, values: Sequence[Any]) -> tuple[Any, Any] | None:
    """(rows, elements of the result) of an operator that tries every row at every element."""
    if name in ("index_put", "index_put_", "_unsafe_index_put", "_unsafe_index_put_") and _flag(node, 3):
        indices = [arg.meta["val"] for arg in node.args[1] if arg is not None]  # type: ignore[union-attr]
        return math.prod(torch.broadcast_shapes(*[i.shape for i in indices])), values[0].numel()
    if name in ("scatter_add", "scatter_reduce"):
        return (values[1].shape[node.args[1]] if values[1].dim() else 1), values[0].numel()
    if name == "histc":
        return values[0].numel(), _values(node)[0].numel()
    if name in ("_embedding_bag", "_embedding_bag_forward_only"):
        return values[1].numel(), _values(node)[0].numel()
    return None


def _flag(node: torch.fx.Node, position: int) -> bool:
    return len(node.args) > position and bool(node.args[position])


def summary(error: HeadraceError) -> str:
    """What an error says in one line, without its place."""
    return "; ".join(dict.fromkeys(found.message for found in error.diagnostics))


def _is_on_device(node: torch.fx.Node) -> bool:
    return any(tensor.device.type == NAME for tensor in _tensors(node))


def _tensors(node: torch.fx.Node) -> list[Any]:
    """Fake tensors of the operands and results."""
    return [x for own in (node, *node.all_input_nodes) for x in _values(own)]


def _values(node: torch.fx.Node) -> list[Any]:
    """Fake tensors of a node's results."""
    return [x for x in pytree.tree_leaves(node.meta.get("val")) if isinstance(x, torch.Tensor)]
