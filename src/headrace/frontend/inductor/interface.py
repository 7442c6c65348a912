"""What Dynamo and Inductor ask about a device: properties, streams (one, always done) and code for guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface
from torch._inductor.codegen.common import DeviceOpOverrides

from headrace.frontend.memory import NAME
from headrace.runtime.selection import selection


@dataclass(frozen=True)
class Properties:
    """Device properties in Inductor's terms; a core is a multiprocessor."""

    multi_processor_count: int
    total_memory: int
    name: str
    warp_size: int = 32


def _properties(device: Any = None) -> Properties:
    current = selection().device
    return Properties(current.cores, current.memory("global").size_bytes, current.name)


class _Nothing:
    """A device context: there is one device."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _Worker:
    set_device = staticmethod(lambda device: None)
    current_device = staticmethod(lambda: 0)
    get_device_properties = staticmethod(_properties)


class Interface(DeviceInterface):
    """The device as Dynamo sees it: one, always available, never busy when asked."""

    Event = torch.Event
    Stream = torch.Stream
    device = _Nothing
    Worker = _Worker
    current_device = staticmethod(lambda: 0)
    set_device = staticmethod(lambda device: None)
    device_count = staticmethod(lambda: 1)
    is_available = staticmethod(lambda: True)
    current_stream = staticmethod(lambda device=None: torch.Stream(device=torch.device(NAME, 0)))
    maybe_exchange_device = staticmethod(lambda device: 0)
    exchange_device = staticmethod(lambda device: 0)
    synchronize = staticmethod(lambda device=None: None)
    get_compute_capability = staticmethod(lambda device=None: 0)
    get_device_properties = staticmethod(_properties)
    get_raw_stream = staticmethod(lambda device: 0)
    is_bf16_supported = staticmethod(lambda including_emulation=False: True)
    is_triton_capable = staticmethod(lambda device=None: False)

    @classmethod
    def is_dtype_supported(cls, dtype: torch.dtype, including_emulation: bool = False) -> bool:
        return True


class OpOverrides(DeviceOpOverrides):
    """The text generated code holds where other devices set guards and streams."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"def {name}(_): return 0"

    def set_device(self, device_idx: int) -> str:
        return "pass"

    def synchronize(self) -> str:
        return "pass"

    def device_guard(self, device_idx: int) -> str:
        return "contextlib.nullcontext()"
