"""The host side of a compiled graph: Python code that allocates device tensors and calls our kernels."""

from __future__ import annotations

from typing import Any

from torch._inductor import ir
from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen

from headrace.frontend.inductor.facts import graph_facts
from headrace.frontend.inductor.record import program_text
from headrace.frontend.memory import NAME


class _DeviceCalls:
    """What the wrapper of a graph and those of its subgraphs share."""

    def make_allocation(
        self,
        name: str,
        device: Any,
        dtype: Any,
        shape: Any,
        stride: Any,
        allocation_shape: Any = None,
        is_pinned: bool = False,
    ) -> str:
        """The code that allocates a buffer."""
        if device.type != NAME:
            stock: Any = super()
            return str(stock.make_allocation(name, device, dtype, shape, stride, allocation_shape, is_pinned))
        text = self.codegen_python_shape_tuple  # type: ignore[attr-defined]
        wanted, allocated, strides = text(shape), text(allocation_shape or shape), text(stride)
        code = f"{name} = headrace_memory.new_tensor({allocated}, {strides}, {dtype})"
        return code if wanted == allocated else f"{code}.as_strided({wanted}, {strides})"

    def generate_fallback_kernel(self, node: Any) -> None:
        """The code that calls an operator on the host."""
        stock: Any = super()
        stock.generate_fallback_kernel(node)
        self._give_expected_strides(node)

    def codegen_multi_output(self, node: Any) -> None:
        """The code that takes one result of several."""
        stock: Any = super()
        stock.codegen_multi_output(node)
        self._give_expected_strides(node)

    def _give_expected_strides(self, node: Any) -> None:
        """Kernels of the host choose strides (channels last) the graph does not know of: it read them off a
        kernel for devices in general.
        """
        layout = node.layout
        if not isinstance(layout, ir.Layout) or layout.device.type != NAME:
            return
        if any(ir.free_unbacked_symbols(step) for step in layout.stride):
            return  # these are defined after the call, by what it returned
        name, strides = node.get_name(), self.codegen_python_shape_tuple(layout.stride)  # type: ignore[attr-defined]
        self.writeline(f"{name} = headrace_memory.with_strides({name}, {strides})")  # type: ignore[attr-defined]

    def _generate_kernel_call_helper(
        self, kernel_name: str, call_args: Any, *, device: Any = None, triton: bool = True, **options: Any
    ) -> None:
        if device is not None and device.type == NAME and not triton:
            self.writeline(self.wrap_kernel_call(kernel_name, call_args))  # type: ignore[attr-defined]
            return
        stock: Any = super()
        stock._generate_kernel_call_helper(kernel_name, call_args, device=device, triton=triton, **options)


class SubgraphWrapper(_DeviceCalls, SubgraphPythonWrapperCodegen):  # type: ignore[misc]
    """Bodies of cond, while_loop and invoke_subgraph."""


class Wrapper(_DeviceCalls, PythonWrapperCodegen):  # type: ignore[misc]
    """A graph's wrapper: all it needs is in its text, so that a cached copy runs in another process."""

    @staticmethod
    def create(
        is_subgraph: bool, subgraph_name: Any, parent_wrapper: Any, partition_signatures: Any = None
    ) -> Any:
        """A wrapper for a graph or a subgraph."""
        if is_subgraph:
            return SubgraphWrapper(subgraph_name, parent_wrapper, partition_signatures)
        return Wrapper()

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice("import contextlib", strip=True)
        self.imports.splice("from headrace.frontend import launcher as headrace_launcher", strip=True)
        self.imports.splice("from headrace.frontend import memory as headrace_memory", strip=True)

    def generate_after_suffix(self, result: Any) -> None:
        """Wraps the entry point so that launches and host operators are put down to this graph."""
        super().generate_after_suffix(result)
        result.writeline(f"call = headrace_launcher.within({program_text(graph_facts())}, call)")
