"""`torch.compile(model, backend="headrace")` on CPU tensors: the same path, with weights kept on the
device.

Inputs are copied to the device at every call, parameters once (again when they change), results come back
to the CPU. A result that is a view of an input is a copy here.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.node import map_aggregate
from torch.utils import _pytree as pytree

from headrace.frontend.memory import NAME, is_device_tensor

FACTORIES = frozenset(
    {
        torch.arange,
        torch.empty,
        torch.eye,
        torch.full,
        torch.linspace,
        torch.ones,
        torch.rand,
        torch.randint,
        torch.randn,
        torch.scalar_tensor,
        torch.tensor,
        torch.tril_indices,
        torch.triu_indices,
        torch.zeros,
    }
)
"""Functions that make a tensor on the CPU when they are given no device."""


def headrace(
    graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **options: Any
) -> Callable[..., Any]:
    """A callable that runs `graph` on the device and takes and gives CPU tensors."""
    if any(is_device_tensor(x) for x in example_inputs):
        return _compile(graph, example_inputs)
    return _OnDevice(_moved(graph))


def _compile(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    from torch._inductor.compile_fx import compile_fx

    from headrace.frontend.inductor.install import install

    install()  # before Inductor chooses the decompositions
    compiled: Callable[..., Any] = compile_fx(graph, list(inputs))
    return compiled


class _OnDevice:
    """A graph compiled for each kind of inputs it meets, with device copies of the parameters."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        self._graph = graph
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._copies: dict[int, tuple[Any, int, Any]] = {}  # weak reference, version, device copy

    def __call__(self, *inputs: Any) -> Any:
        """The results of the graph on the CPU; tensors it changes in place are changed."""
        moved = [self._to_device(x) for x in inputs]
        versions = [x._version if isinstance(x, torch.Tensor) else 0 for x in moved]
        key = (torch.is_grad_enabled(), *map(_kind, moved))
        if key not in self._compiled:
            self._compiled[key] = _compile(copy.deepcopy(self._graph), moved)
        results = self._compiled[key](*moved)
        for host, device, before in zip(inputs, moved, versions, strict=True):
            if is_device_tensor(device) and device._version != before:
                with torch.no_grad():
                    host.copy_(device)
        originals = {id(device): host for host, device in zip(inputs, moved, strict=True)}
        return pytree.tree_map(lambda x: originals.get(id(x), x.cpu()) if is_device_tensor(x) else x, results)

    def _to_device(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        if not isinstance(value, torch.nn.Parameter) or (value.requires_grad and torch.is_grad_enabled()):
            return value.to(NAME)  # the copy is part of the autograd graph
        known = self._copies.get(id(value))
        if known is None or known[0]() is not value or known[1] != value._version:
            key = id(value)
            reference = weakref.ref(value, lambda _: self._copies.pop(key, None))
            known = self._copies[key] = (reference, value._version, value.detach().to(NAME))
        return known[2]


def _kind(value: Any) -> Any:
    """What of an input the compiled code depends on."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.stride(), value.requires_grad
    return value


def _moved(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy of the graph that makes its tensors on the device."""
    moved = copy.deepcopy(graph).to(NAME)
    for module in moved.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                _move(node)
            module.recompile()
    return torch.fx.GraphModule(moved, moved.graph)


def _move(node: torch.fx.Node) -> None:
    node.meta = {key: value for key, value in node.meta.items() if key not in ("example_value", "val")}

    def to_device(value: Any) -> Any:
        is_cpu = (isinstance(value, torch.device) and value.type == "cpu") or value == "cpu"
        return torch.device(NAME) if is_cpu else value

    node.args, node.kwargs = map_aggregate(node.args, to_device), map_aggregate(node.kwargs, to_device)
    if node.op == "call_method" and node.target == "cpu":
        node.target, node.args = "to", (*node.args, torch.device(NAME))
    if node.op == "call_function" and node.target in FACTORIES and "device" not in node.kwargs:
        node.kwargs = {**node.kwargs, "device": torch.device(NAME)}
