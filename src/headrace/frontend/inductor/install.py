"""Makes Inductor know our device: once, at its first question for a back-end."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch._dynamo import trace_rules
from torch._dynamo.device_interface import register_interface_for_device
from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides
from torch._inductor.custom_graph_pass import CustomGraphModulePass

from headrace.frontend.inductor import encoders, lowerings, native, randomness, settings
from headrace.frontend.inductor.interface import Interface, OpOverrides
from headrace.frontend.inductor.scheduling import Scheduling
from headrace.frontend.inductor.wrapper import Wrapper
from headrace.frontend.memory import NAME
from headrace.frontend.session import current_hints
from headrace.runtime.selection import selection


class SourceVersion(CustomGraphModulePass):  # type: ignore[misc]
    """Changes nothing; its identity is part of Inductor's cache keys, so that new sources of ours miss the
    cache: what a graph leaves to the host depends on the whole compiler and on the device.
    """

    def __call__(self, graph: torch.fx.GraphModule) -> None:
        return None

    def uuid(self) -> Any:
        chosen = selection()
        return f"{_version()} {chosen.device.sha256} {chosen.engine} {sorted(current_hints().items())}"


@cache
def _version() -> str:
    room = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def install() -> SimpleNamespace:
    """Registers everything with Dynamo and Inductor and returns the classes they look for."""
    trace_rules.add("headrace")  # Dynamo must not trace our kernels after a graph break
    for name in (NAME, f"{NAME}:0"):
        register_interface_for_device(name, Interface)
    register_device_op_overrides(NAME, OpOverrides())
    register_backend_for_device(NAME, Scheduling, Wrapper, None, None, SourceVersion())
    lowerings.install()
    encoders.install()
    randomness.install()
    native.leave_other_operators_to_the_host()
    native.restart_without_unsupported_nests()
    settings.apply_to_our_graphs()
    return SimpleNamespace(Scheduling=Scheduling, Wrapper=Wrapper)
