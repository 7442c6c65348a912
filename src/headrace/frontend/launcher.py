"""What generated code calls: kernels by their loop programs, launched on the engine in use, written to
recordings.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from headrace.frontend import session
from headrace.frontend.memory import is_device_tensor, to_device
from headrace.frontend.recording import GraphFacts, Launch
from headrace.frontend.sizes import with_sizes

Engine = Callable[["LoopKernel", Sequence[torch.Tensor]], tuple[Any, Any] | None]
"""Runs a kernel on device tensors; returns what was compiled (or None) and the result of the run (or
None); None alone when it left the kernel to the host.
"""


class LoopKernel:
    """A kernel of a graph: its loop program, where it comes from, and what engines keep of it in
    `compiled`."""

    def __init__(self, program: dict[str, Any], source: str, operators: tuple[str, ...]) -> None:
        self.program, self.source, self.operators = program, source, operators
        self.compiled: dict[Any, Any] = {}
        self._for_sizes: dict[tuple[int, ...], LoopKernel] = {}

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.program["name"])

    def __call__(self, *arguments: Any) -> None:
        """Launches the kernel on its tensors and sizes, in the order of the program."""
        count = len(self.program["args"])
        tensors = [_on_device(tensor) for tensor in arguments[:count]]
        if all(not tensor.numel() for tensor in _written(self.program, tensors)):
            return
        self.with_sizes(tuple(int(size) for size in arguments[count:])).launch(tensors)

    def with_sizes(self, sizes: tuple[int, ...]) -> LoopKernel:
        """The kernel with its dynamic sizes replaced by numbers."""
        if not sizes:
            return self
        if sizes not in self._for_sizes:
            fixed = with_sizes(self.program, sizes)
            self._for_sizes[sizes] = LoopKernel(fixed, self.source, self.operators)
        return self._for_sizes[sizes]

    def launch(self, tensors: Sequence[torch.Tensor]) -> None:
        """Runs the kernel (which has no dynamic sizes) on device tensors and notes it in the recordings."""
        done = _engine()(self, tensors)
        if done is not None:
            session.note_launch(Launch(self.name, self.source, self.operators, self.program, *done))


def _written(program: dict[str, Any], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    pairs = zip(program["args"], tensors, strict=True)
    return [tensor for (_, role, _), tensor in pairs if role != "in"]


def _on_device(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself; a scalar that lives on the CPU is copied."""
    if is_device_tensor(tensor):
        return tensor
    session.note_transfer()
    return to_device(tensor)


_kernels: dict[str, LoopKernel] = {}


def load(program: str, facts: str) -> LoopKernel:
    """The kernel of a loop program (the text of a literal); equal texts give the same kernel."""
    known = _kernels.get(program)
    if known is None:
        described = ast.literal_eval(facts)
        known = LoopKernel(ast.literal_eval(program), described["source"], described["operators"])
        _kernels[program] = known
    return known


def within(facts: dict[str, Any], call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The entry point of a compiled graph, run so that recordings know the graph."""
    graph = GraphFacts(**facts)

    def run(arguments: Any) -> Any:
        with session.inside_graph(graph):
            return call(arguments)

    return run


_override: list[Engine] = []


@contextmanager
def engine_override(engine: Engine) -> Iterator[None]:
    """Runs every kernel on `engine` inside the `with` block (tests)."""
    _override.append(engine)
    try:
        yield
    finally:
        _override.pop()


def has_override() -> bool:
    """Whether kernels run on an engine given by a test."""
    return bool(_override)


def _engine() -> Engine:
    if _override:
        return _override[-1]
    from headrace.frontend.engine import run_kernel

    return run_kernel
