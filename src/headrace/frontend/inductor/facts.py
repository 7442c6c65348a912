"""Which operators of a graph run in our kernels and which on the host, read off Inductor's graph."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.virtualized import V

from headrace.frontend.inductor.native import why_on_host
from headrace.frontend.memory import NAME
from headrace.frontend.session import BOOKKEEPING, types_and_shapes

_TRANSFERS = (ir.DeviceCopy,)


def graph_facts() -> dict[str, Any]:
    """The facts of the current graph as a literal (see `recording.GraphFacts`)."""
    host, sources, host_nodes = _host_operators()
    ordered = sorted(host_nodes, key=str, reverse=True)
    reasons = {operator_name(node): why_on_host(node) for node in ordered}
    operands = {operator_name(node): operand_text(node) for node in ordered}
    native = _native_operators() - host_nodes
    counts = Counter(operator_name(node) for node in native)
    digest = hashlib.sha256(str(V.graph.module.graph).encode()).hexdigest()[:8]
    kind = "backward" if V.graph.is_backward else "graph"
    return {
        "name": f"{kind} {digest}",
        "native_ops": dict(sorted(counts.items())),
        "host_ops": dict(sorted(host.items())),
        "host_sources": sources,
        "host_reasons": {name: reasons.get(name, "no native form") for name in sorted(host)},
        "host_operands": {name: operands.get(name, "") for name in sorted(host)},
    }


def _native_operators() -> set[torch.fx.Node]:
    """FX nodes that are computed by our kernels."""
    nodes: set[torch.fx.Node] = set()
    for graph in _graphs():
        for operation in graph.operations:
            if not isinstance(operation, ir.ExternKernel) and _is_ours(operation):
                nodes |= {node for node in operation.get_origins() if is_operator(node)}
    return nodes


def _host_operators() -> tuple[Counter[str], dict[str, str], set[torch.fx.Node]]:
    """Names and counts of operators left to the host, a source line for each, and their FX nodes."""
    counts: Counter[str] = Counter()
    sources: dict[str, str] = {}
    nodes: set[torch.fx.Node] = set()
    for graph in _graphs():
        for operation in graph.operations:
            if isinstance(operation, ir.ExternKernel) and not isinstance(operation, _TRANSFERS):
                overload = getattr(operation, "op_overload", None)
                if not isinstance(overload, torch._ops.OpOverload) or base_name(overload) in BOOKKEEPING:
                    continue
                origins = [node for node in operation.get_origins() if node.target is overload]
                nodes |= set(origins)
                name = base_name(overload)
                counts[name] += 1
                sources.setdefault(name, source_line(origins))
    return counts, sources, nodes


def _graphs() -> list[Any]:
    """The current graph and its subgraphs."""
    found, open_graphs = [], [V.graph]
    while open_graphs:
        graph = open_graphs.pop()
        found.append(graph)
        for operation in graph.operations:
            for name in ("true_subgraph", "false_subgraph", "cond_subgraph", "body_subgraph", "subgraph"):
                inner = getattr(getattr(operation, name, None), "graph", None)
                if inner is not None and inner not in found and inner not in open_graphs:
                    open_graphs.append(inner)
    return found


def _is_ours(operation: Any) -> bool:
    device = operation.get_device()
    return device is not None and device.type == NAME


def is_operator(node: torch.fx.Node) -> bool:
    """Whether an FX node calls an operator (not `getitem` or arithmetic on sizes)."""
    return node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)


def operator_name(node: torch.fx.Node) -> str:
    """ "aten.add" and the like."""
    return base_name(node.target)


def operand_text(node: torch.fx.Node) -> str:
    """Types and shapes of a node's tensor operands: "float32[4, 8], int64[]"."""
    return types_and_shapes([arg.meta.get("val") for arg in node.all_input_nodes])


def base_name(overload: Any) -> str:
    """The name of an operator without its overload."""
    return ".".join(str(overload).split(".")[:2])


def source_line(nodes: Any) -> str:
    """ "file.py:12" of the innermost user code the nodes (or their operands) come from, "" when unknown."""
    own = list(nodes)
    for node in (*own, *(operand for user in own for operand in user.all_input_nodes)):
        trace = node.meta.get("stack_trace") or ""
        frames = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
        if frames:
            path, line = frames[-1].removeprefix('File "').split('", line ')
            return f"{path}:{line.split(',')[0]}"
    return ""
