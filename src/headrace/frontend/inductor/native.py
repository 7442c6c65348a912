"""Keeps operators without a native form out of our kernels: they become calls to the host, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import graph as inductor_graph
from torch.utils import _pytree as pytree

from headrace.frontend.memory import NAME
from headrace.frontend.ops import ANY_DTYPE, DTYPES, is_native


def leave_other_operators_to_the_host() -> None:
    """Extends Inductor's own test for operators it must not lower; other devices keep their answer."""
    before: Callable[..., bool] = inductor_graph.fallback_node_due_to_unsupported_type

    def is_left_to_the_host(node: torch.fx.Node, *args: Any, **keywords: Any) -> bool:
        return before(node, *args, **keywords) or (_is_on_device(node) and not _has_native_form(node))

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
