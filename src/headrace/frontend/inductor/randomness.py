"""Random numbers of compiled graphs are the CPU's for a seed: their operators stay whole, and the host draws.

Inductor would draw them by a generator of its own, from seeds it takes from the CPU's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp.decompositions_for_rng import extra_random_decomps
from torch._inductor import compile_fx, config, decomposition
from torch.utils import _pytree as pytree

from headrace.frontend.inductor.settings import is_ours
from headrace.frontend.memory import NAME

KEEPING = {"fallback_random": True}


def install() -> None:
    """For graphs and tensors of our device."""
    table = decomposition.fast_random_decomps()
    for operator in extra_random_decomps:
        table[operator] = _for_others(table[operator])
    joint = compile_fx._recursive_joint_graph_passes
    compile_fx._recursive_joint_graph_passes = _kept(joint, lambda gm, *_: gm)
    lower = compile_fx._InProcessFxCompile.codegen_and_compile
    compile_fx._InProcessFxCompile.codegen_and_compile = _kept(lower, lambda _, gm, *__: gm)


def _kept(compiles: Callable[..., Any], module: Callable[..., Any]) -> Callable[..., Any]:
    """A step of compilation that leaves random operators alone in graphs of ours."""

    def call(*args: Any, **keywords: Any) -> Any:
        if not is_ours(module(*args)):
            return compiles(*args, **keywords)
        with config.patch(KEEPING):
            return compiles(*args, **keywords)

    return call


def _for_others(decompose: Callable[..., Any]) -> Callable[..., Any]:
    """A decomposition that does not take operators on our device apart."""

    def call(*args: Any, **keywords: Any) -> Any:
        return NotImplemented if _is_here(args, keywords) else decompose(*args, **keywords)

    return call


def _is_here(args: Any, keywords: Any) -> bool:
    leaves = [x for x in pytree.tree_leaves((args, keywords)) if isinstance(x, torch.Tensor | torch.device)]
    devices = [x.device if isinstance(x, torch.Tensor) else x for x in leaves]
    return any(device.type == NAME for device in devices)
