"""Our Inductor back-end: what may share a kernel, and a kernel's loop program and call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.wrapper import pexpr
from torch._inductor.scheduler import BaseScheduling
from torch._inductor.utils import sympy_product
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from headrace.arch.cost import ddr_cycles
from headrace.frontend.inductor.chains import Chain
from headrace.frontend.inductor.definitions import Definition, definition
from headrace.frontend.inductor.facts import is_operator, operator_name
from headrace.frontend.inductor.fusion import can_share
from headrace.frontend.inductor.native import LeaveToHost
from headrace.frontend.inductor.record import (
    LoopKernel,
    Recorder,
    dtype_name,
    layout_of,
    storage_elements,
)
from headrace.frontend.ops import UNUSUAL_ACCESSES, VIEWS
from headrace.frontend.session import current_hints
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.selection import selection


@dataclass(frozen=True)
class Recorded:
    """Nodes as a loop program: the graph buffers and sizes to call it with, buffers that vanish inside it."""

    nodes: Sequence[Any]
    kernel: Definition
    buffers: list[str]
    sizes: list[Any]
    dead: Any


class Scheduling(BaseScheduling):  # type: ignore[misc]
    """Fuses what one kernel can hold (a contraction with its epilogue, or pointwise and reductions) and
    emits it.
    """

    @classmethod
    def get_backend_features(cls, device: Any) -> Any:
        """Reductions are never split; Inductor's own scans, sorts and foreach are not asked for."""
        return OrderedSet([BackendFeature.REDUCE_TO_SINGLE_ELEMENT, BackendFeature.MASKED_SCATTER_WITH_INDEX])

    def group_fn(self, sizes: Any) -> Any:
        """(elements, reduced elements): Inductor multiplies the two for every device but the CPU."""
        return tuple(V.graph.sizevars.simplify(sympy_product(s)) for s in sizes)

    def can_fuse_vertical(self, node1: Any, node2: Any) -> bool:
        """Whether the consumer `node2` may join the kernel of `node1`."""
        return can_share(node1, node2, is_vertical=True)

    def can_fuse_horizontal(self, node1: Any, node2: Any) -> bool:
        """Whether two nodes that read the same buffer may share a kernel."""
        return can_share(node1, node2, is_vertical=False)

    def can_fuse_multi_outputs_template(self, node1: Any, node2: Any) -> bool:
        return False

    def get_fusion_pair_priority(self, node1: Any, node2: Any) -> int:
        return 0

    def codegen_node(self, node: Any) -> None:
        """Writes a kernel for a group of nodes, or one for each when the group as a whole has no native
        form."""
        nodes = node.get_nodes()
        recorded = self._tried(nodes)
        if isinstance(recorded, HeadraceError) and len(nodes) > 1:
            for member in nodes:
                self._emit([member], self._tried([member]))
        else:
            self._emit(nodes, recorded)
        self.free_buffers_in_scheduler()

    def _tried(self, nodes: Sequence[Any]) -> Recorded | HeadraceError:
        """The loop program of the nodes, or why it has no native form."""
        try:
            recorded = self._record(nodes)
        except HeadraceError as error:
            return error
        return recorded.kernel.problem(recorded.sizes) or recorded

    def is_faster_joined(self, chain: Chain) -> bool:
        """Whether a chain has a native form as one kernel, which is predicted to take no more cycles than its
        parts.
        """
        whole = self._tried(chain.get_nodes())
        if isinstance(whole, HeadraceError):
            return False
        cycles = whole.kernel.predicted_cycles()
        if cycles <= ddr_cycles(chain.passed_bytes, chain.passed_bytes, selection().device):
            return True
        parts = [self._tried(part.get_nodes()) for part in chain.parts]
        known = [part for part in parts if not isinstance(part, HeadraceError)]
        return len(known) < len(parts) or cycles <= sum(part.kernel.predicted_cycles() for part in known)

    def _record(self, nodes: Sequence[Any]) -> Recorded:
        """The loop program of the nodes."""
        kernel = LoopKernel(lambda name: self.scheduler.mutation_real_name.get(name, name))
        with V.set_kernel_handler(kernel), V.set_ops_handler(Recorder(kernel)):
            for member in nodes:
                kernel.record(member)
            dead = self._fused_away(kernel, nodes)
            arguments = _arguments(kernel, dead)
            temps = {
                kernel.buffers[name]: (storage_elements(kernel, name), dtype_name(V.graph.get_dtype(name)))
                for name in dead
            }
            layouts = {
                local: layout_of(kernel, V.graph.get_buffer(name)) for name, local in kernel.buffers.items()
            }
        sizes = list(kernel.args.sizevars.items())
        program = {
            "args": [
                (kernel.buffers[name], role, dtype_name(V.graph.get_dtype(name))) for name, role in arguments
            ],
            "sizes": [symbol for _, symbol in sizes],
            "temps": temps,
            "layouts": layouts,
            "loops": kernel.loops,
        }
        if wishes := current_hints():
            program["hints"] = wishes
        defined, symbols = definition(program, nodes), [size for size, _ in sizes]
        buffers = [name for name, _ in arguments]
        return Recorded(nodes, defined, buffers, symbols, dead)

    def _fused_away(self, kernel: LoopKernel, nodes: Sequence[Any]) -> Any:
        """Buffers only this kernel sees."""
        fused = OrderedSet(node.get_name() for node in nodes)
        return OrderedSet(
            name
            for name in kernel.store_buffer_names
            if name in self.scheduler.name_to_buf
            and kernel.real_name(name) == name
            and name not in kernel.reads
            and self.scheduler.can_buffer_be_removed_through_fusion(name, fused)
        )

    def _emit(self, nodes: Sequence[Any], recorded: Recorded | HeadraceError) -> None:
        """Writes the kernel's definition and call; LeaveToHost when it has no native form."""
        if isinstance(recorded, HeadraceError):
            raise LeaveToHost(_computing(nodes), recorded)
        V.graph.removed_buffers |= recorded.dead  # before mark_run, which would allocate them
        for member in recorded.nodes:
            member.mark_run()
        V.graph.wrapper_code.generate_kernel_call(
            recorded.kernel.write(),
            recorded.buffers + [pexpr(size) for size in recorded.sizes],
            triton=False,
            device=recorded.nodes[0].get_device(),
            raw_args=recorded.sizes,
        )

    def codegen_sync(self) -> None:
        V.graph.wrapper_code.writeline("pass")

    def ready_to_flush(self) -> bool:
        return False

    def flush(self) -> None:
        return None

    def benchmark_fused_nodes(self, nodes: Any) -> tuple[float, str]:
        return 0.0, ""


def _computing(nodes: Sequence[Any]) -> list[frozenset[str]]:
    """Names of the FX nodes to leave to the host so that the scheduler nodes go, in the order of trying.

    First those with unusual accesses, then the last one, then all.
    """
    last = [member.node.get_origin_node() for member in nodes]
    every = [node for member in nodes for node in member.node.get_origins() if is_operator(node)]
    unusual = [node for node in every if _base_name(node) in UNUSUAL_ACCESSES]
    choices = [
        frozenset(n.name for n in some if n is not None and is_operator(n) and _base_name(n) not in VIEWS)
        for some in (unusual, last, every)
    ]
    return [choice for choice in choices if choice]


def _base_name(node: Any) -> str:
    return operator_name(node).split(".")[1]


def _arguments(kernel: LoopKernel, dead: Any) -> list[tuple[str, str]]:
    """Graph buffers the kernel takes, with their roles: what it reads first."""
    read = [(name, "inout" if name in kernel.writes else "in") for name in kernel.reads]
    written = [name for name in kernel.writes if name not in dead and name not in kernel.reads]
    return read + [(name, "inout" if name in kernel.updates else "out") for name in written]
