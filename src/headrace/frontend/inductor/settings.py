"""Inductor settings for graphs on our device, in force only while such a graph is lowered and scheduled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from torch.utils import _pytree as pytree

from headrace.frontend.inductor.chains import join_chains
from headrace.frontend.memory import NAME

SETTINGS: dict[str, Any] = {
    "unroll_reductions_threshold": 1,  # short reductions stay reductions
    "split_reductions": False,
    "inplace_buffers": False,  # a kernel may read an operand again after it wrote the result
    "max_autotune": False,
    "comprehensive_padding": False,
    "shape_padding": False,
    "layout_optimization": False,
    "loop_ordering_after_fusion": False,
    "loop_reindexing_after_fusion": False,
    "realize_reads_threshold": 1,  # a value used twice is computed once
    "_post_fusion_custom_pass": join_chains,
}


def apply_to_our_graphs() -> None:
    """Wraps lowering and code generation of graphs that hold a tensor of ours."""
    for name in ("run", "compile_to_module"):
        setattr(GraphLowering, name, _with_settings(getattr(GraphLowering, name)))


def _with_settings(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(graph: Any, *args: Any, **keywords: Any) -> Any:
        if not is_ours(graph.module):
            return method(graph, *args, **keywords)
        with config.patch(SETTINGS):
            return method(graph, *args, **keywords)

    return call


def is_ours(module: Any) -> bool:
    """Whether a graph module computes with tensors of our device."""
    values = [node.meta.get("val") for node in module.graph.nodes]
    leaves = pytree.tree_leaves(values)
    return any(isinstance(value, torch.Tensor) and value.device.type == NAME for value in leaves)
