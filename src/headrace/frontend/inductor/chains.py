"""Attention as one kernel: a product, the softmax of its rows and the product with that are joined once
Inductor has fused all it can.

Inductor fuses nodes of one domain only; here two contractions share their rows, which the scheduler can cut
into strips, so that the scores stay in the scratchpad.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch._inductor import ir
from torch._inductor.dependencies import WeakDep
from torch._inductor.scheduler import FusedSchedulerNode, SchedulerNode
from torch._inductor.virtualized import V

from headrace.frontend.inductor.fusion import has_contraction
from headrace.frontend.memory import NAME
from headrace.frontend.session import current_hints


class Chain(FusedSchedulerNode):  # type: ignore[misc]
    """Kernels (`parts`, in order) that may become one: only the last leaves a result that others read."""

    def __init__(self, parts: Sequence[Any]) -> None:
        super().__init__(parts[0].scheduler, [member for part in parts for member in part.get_nodes()])
        self.parts = parts

    @property
    def passed_bytes(self) -> int:
        """Bytes that pass from part to part, which one kernel need not write and read."""
        read = {dep.name for part in self.parts for dep in part.unmet_dependencies}
        made = [b for part in self.parts[:-1] for b in part.get_outputs() if b.get_name() in read]
        return sum(_bytes(buffer.node) for buffer in made)


def join_chains(nodes: list[Any]) -> list[Any]:
    """The kernels of a graph in an order to run them, those of an attention joined where that is faster."""
    if "fusion" in current_hints().get("without", ()):
        return nodes
    place: dict[Any, Chain] = {}
    for chain in map(Chain, _chains(nodes)):
        scheduler = chain.scheduler
        if not scheduler.get_backend(chain.get_device()).is_faster_joined(chain):
            continue
        place |= dict.fromkeys(chain.parts, chain)
        for name in (chain.get_name(), *(member.get_name() for member in chain.get_nodes())):
            scheduler.name_to_fused_node[name] = chain
    joined = list(dict.fromkeys(place.get(node, node) for node in nodes))
    return list(nodes[0].scheduler.topological_sort_schedule(joined)) if place else nodes


def _chains(nodes: Sequence[Any]) -> Iterator[list[Any]]:
    """Product, softmax and product of every attention of fixed size; no node is in two of them."""
    readers, followers = _dependents(nodes, is_read=True), _dependents(nodes, is_read=False)
    taken: set[Any] = set()
    for node in nodes:
        softmax = _only_reader([node], readers)
        last = _only_reader([node, softmax], readers) if softmax is not None else None
        parts = [node, softmax, last]
        if last is None or taken & set(parts) or not all(map(_is_fixed, parts)):
            continue
        if not (has_contraction(node) and _is_softmax(softmax) and has_contraction(last)):
            continue
        between = {n for part in parts[:-1] for b in part.get_buffer_names() for n in followers.get(b, ())}
        if not any(n.get_operation_names() & last.ancestors for n in between - set(parts)):
            taken |= set(parts)
            yield parts


def _dependents(nodes: Sequence[Any], is_read: bool) -> dict[str, list[Any]]:
    """The nodes that read each buffer, or those that only have to follow the node that makes it."""
    found: dict[str, list[Any]] = {}
    for node in nodes:
        for name in {d.name for d in node.unmet_dependencies if isinstance(d, WeakDep) != is_read}:
            found.setdefault(name, []).append(node)
    return found


def _only_reader(parts: Sequence[Any], readers: Mapping[str, Sequence[Any]]) -> Any:
    """The node that alone reads the parts' results; None if there are several, or the graph returns one."""
    names = [name for part in parts for name in part.get_buffer_names()]
    if set(names) & set(V.graph.get_output_names()):
        return None
    found = {node for name in names for node in readers.get(name, ())} - set(parts)
    return found.pop() if len(found) == 1 else None


def _is_softmax(node: Any) -> bool:
    """Whether a node takes maxima and sums of rows."""
    loops = [member.node.data for member in node.get_nodes()]
    kinds = {data.reduction_type for data in loops if isinstance(data, ir.Reduction)}
    return {"max", "sum"} <= kinds or "online_softmax_reduce" in kinds


def _is_fixed(node: Any) -> bool:
    """Whether a node is loops of ours over plain numbers."""
    if not isinstance(node, (SchedulerNode, FusedSchedulerNode)) or node.get_device().type != NAME:
        return False
    sizes = [n for member in node.get_nodes() for group in member.get_ranges() for n in group]
    return all(getattr(n, "is_number", isinstance(n, int)) for n in sizes)


def _bytes(buffer: Any) -> int:
    return int(V.graph.sizevars.optimization_hint(buffer.get_numel())) * int(buffer.get_dtype().itemsize)
