"""PyTorch storages over device memory: plain tensors whose `data_ptr()` is a device address no host can
read.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from headrace.numbers.memory import Memory, OutOfMemory
from headrace.runtime.memory import device_memory

NAME = "headrace"
BASE = 1 << 56
"""Added to every device address, so that a `data_ptr()` is neither null nor an address of the host."""

_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_set_storage = torch.ops.aten.set_.source_Storage_storage_offset


def is_device_tensor(value: object) -> bool:
    """Whether `value` is a tensor on the device."""
    return isinstance(value, torch.Tensor) and value.device.type == NAME


def new_storage(nbytes: int) -> torch.UntypedStorage:
    """Storage of `nbytes` on the device, given back when its last owner (Python or C++) dies.

    torch.OutOfMemoryError with the sizes when it does not fit. The finaliser is a weakref callback: a
    deleter called by C++ could run while a Python error is being raised.
    """
    memory = device_memory()
    address = _allocate(memory, nbytes)
    storage = torch._C._construct_storage_from_data_pointer(BASE + address, torch.device(NAME, 0), nbytes)
    weakref.finalize(storage, memory.free, address).atexit = False
    return storage


def _allocate(memory: Memory, nbytes: int) -> int:
    try:
        return memory.allocate(nbytes)
    except OutOfMemory:
        gc.collect()  # cycles may keep tensors nobody can reach
    try:
        return memory.allocate(nbytes)
    except OutOfMemory as error:
        raise torch.OutOfMemoryError(f"{NAME}: {error}") from None


def new_tensor(
    size: Sequence[int], stride: Sequence[int] | None = None, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """An uninitialised device tensor; row-major unless `stride` is given."""
    dtype = dtype or torch.get_default_dtype()
    size = [int(n) for n in size]
    stride = row_major(size) if stride is None else [int(n) for n in stride]
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    tensor = torch._C._acc.create_empty_tensor((0,), dtype)
    return _set_storage.redispatch(_CPU, tensor, new_storage(extent * dtype.itemsize), 0, size, stride)


def row_major(size: Sequence[int]) -> list[int]:
    """The strides of a contiguous tensor, in elements."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(int(n), 1)
    return strides[::-1]


def address_of(tensor: torch.Tensor) -> int:
    """The device address of the first byte of the tensor's storage (its offset is not included)."""
    return int(tensor.untyped_storage().data_ptr()) - BASE


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the very bytes of a device tensor: same sizes, strides and values, no copy."""
    storage = tensor.untyped_storage()
    if not storage.nbytes():
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    first = (
        int(storage.data_ptr()) - BASE
    ) // tensor.dtype.itemsize  # as_strided counts from the storage's start
    alias = _whole(device_memory(), tensor.dtype).as_strided(
        tensor.size(), tensor.stride(), first + tensor.storage_offset()
    )
    alias = alias.conj() if tensor.is_conj() else alias
    return torch._neg_view(alias) if tensor.is_neg() else alias


_views: dict[torch.dtype, tuple[Memory, torch.Tensor]] = {}


def _whole(memory: Memory, dtype: torch.dtype) -> torch.Tensor:
    """All of device memory as one flat CPU tensor of `dtype`."""
    known = _views.get(dtype)
    if known is None or known[0] is not memory:
        usable = memory.size_bytes // 16 * 16  # a multiple of every itemsize
        known = _views[dtype] = (memory, torch.from_numpy(memory.bytes[:usable]).view(dtype))
    return known[1]


def to_device(host: torch.Tensor) -> torch.Tensor:
    """A device copy of a CPU tensor, dense, in the dimension order of the original."""
    host = host.resolve_conj().resolve_neg()
    copy = new_tensor(host.size(), torch.empty_like(host, device="meta").stride(), host.dtype)
    if host.numel():
        host_alias(copy).copy_(host)
    return copy


def with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """A device tensor itself where its elements lie `strides` apart, else a copy that has them so."""
    differs = any(
        n > 1 and has != wanted
        for n, has, wanted in zip(tensor.size(), tensor.stride(), strides, strict=True)
    )
    if not differs or not tensor.numel():
        return tensor
    copy = new_tensor(tensor.size(), strides, tensor.dtype)
    host_alias(copy).copy_(host_alias(tensor))
    return copy


def route_storages_of_the_device() -> None:
    """Makes `torch.UntypedStorage(n, device="headrace")` allocate here.

    A Python back-end cannot register an allocator; without this the constructor calls a null pointer,
    which deepcopy, `storage.clone()` and `map_location` would reach.
    """
    original = torch.UntypedStorage.__new__

    def construct(cls: type, *args: Any, **keywords: Any) -> Any:
        device = keywords.get("device")
        if device is None or torch.device(device).type != NAME or not issubclass(cls, torch.UntypedStorage):
            return original(cls, *args, **keywords)
        content = args[0] if args else keywords.get("size", 0)
        if isinstance(content, int):
            return new_storage(content)
        return to_device(torch.tensor(list(content), dtype=torch.uint8)).untyped_storage()

    torch.UntypedStorage.__new__ = staticmethod(construct)
