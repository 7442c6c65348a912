"""Operators on device tensors outside compiled graphs: metadata here, data on the host over device memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from headrace.frontend import attention, cells, session
from headrace.frontend.memory import (
    NAME,
    host_alias,
    is_device_tensor,
    new_storage,
    new_tensor,
    row_major,
    to_device,
)

aten = torch.ops.aten
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

METADATA_OPS = (
    "as_strided",
    "view",
    "_reshape_alias",
    "unfold",
    "set_.source_Storage_storage_offset",
    "set_.source_Storage",
    "set_.source_Tensor",
    "view_as_real",
    "view_as_complex",
)
"""Operators whose CPU kernels touch sizes, strides and storages only; they serve any device."""

LOW_PRECISION_OPS = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "scaled_dot_product_attention")
FULL_PRECISION_OPS = (
    "softmax.int",
    "log_softmax.int",
    "layer_norm",
    "nll_loss_forward",
    "exp",
    "pow.Tensor_Scalar",
)
"""What autocast casts to its type, and to f32."""


def overload(name: str) -> Any:
    """The ATen operator of a name such as "add.Tensor"."""
    base, _, which = name.partition(".")
    return getattr(getattr(aten, base), which or "default")


def run_on_host(op: Any, *args: Any, **keywords: Any) -> Any:
    """Runs `op` on host aliases of its device tensors; results that are not aliases are copied to the
    device.
    """
    session.note_host_op(str(op), (args, {name: x for name, x in keywords.items() if name != "out"}))
    _refuse_mixed_devices(op, args, keywords)
    aliases: dict[int, tuple[torch.Tensor, torch.Tensor, tuple[Any, ...]]] = {}

    def to_host(value: Any) -> Any:
        if is_device_tensor(value):
            alias = host_alias(value)
            aliases[id(alias)] = (alias, value, _shape_and_place(alias))
            return alias
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == NAME else value

    def back(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        return aliases[id(value)][1] if id(value) in aliases else to_device(value)

    host_args, host_keywords = pytree.tree_map(to_host, (_with_tensors(op, args), keywords))
    result = op(*host_args, **host_keywords)
    if op._schema.is_mutable:
        for alias, original, before in aliases.values():
            if _shape_and_place(alias) != before:
                _follow_resize(alias, original)
    return pytree.tree_map(back, result)


def _with_tensors(op: Any, args: Sequence[Any]) -> list[Any]:
    """The arguments with numbers in place of tensors (the dispatcher hands a scalar operand on as one) as
    tensors of the type the number gives the result.
    """
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    given = list(args)
    for k, (value, formal) in enumerate(zip(args, op._schema.arguments, strict=False)):
        if isinstance(value, bool | int | float) and isinstance(formal.type, torch.TensorType) and tensors:
            given[k] = torch.tensor(value, dtype=torch.result_type(tensors[0], value))
    return given


def _refuse_mixed_devices(op: Any, args: Any, keywords: Any) -> None:
    """RuntimeError when CPU tensors meet device tensors; scalars and indices may come from the CPU, as
    elsewhere.
    """
    name = op._schema.name.removeprefix("aten::")
    if "index" in name:
        return
    for value in pytree.tree_leaves((args, keywords)):
        if isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() > 0:
            raise RuntimeError(
                f"expected all tensors to be on the same device, but {name} got {NAME}:0 and cpu"
            )


def _shape_and_place(alias: torch.Tensor) -> tuple[Any, ...]:
    return (alias.data_ptr() if alias.numel() else 0, alias.size(), alias.stride())


def _follow_resize(alias: torch.Tensor, original: torch.Tensor) -> None:
    """Gives a device tensor the shape and bytes its alias took when the host kernel resized an `out=`."""
    original.resize_(alias.size())
    if alias.stride() != original.stride():
        original.as_strided_(alias.size(), alias.stride())
    if alias.numel():
        host_alias(original).copy_(alias)


def copy_between(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copies host to device, device to host or inside the device, converting the type."""
    session.note_transfer()
    host_source = host_alias(source) if is_device_tensor(source) else source
    host_target = host_alias(target) if is_device_tensor(target) else target
    host_target.copy_(host_source.expand(host_target.shape))
    return target


def _copy_and_resize(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if target.shape != source.shape:
        target.resize_(source.shape)
    return copy_between(source, target)


def _empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return new_tensor(size, None, dtype)
    return new_tensor(size, torch.empty(size, device="meta", memory_format=memory_format).stride(), dtype)


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> torch.Tensor:
    return new_tensor(size, stride, dtype)


def _set_empty(tensor: torch.Tensor) -> torch.Tensor:
    return aten.set_.source_Storage_storage_offset.redispatch(_CPU, tensor, new_storage(0), 0, [0], [1])


def _resize(tensor: torch.Tensor, size: Sequence[int], *, memory_format: Any = None) -> torch.Tensor:
    """Resizes like the CPU: row-major, keeping the bytes; new storage (with the old content) when it is
    too small.
    """
    storage = tensor.untyped_storage()
    offset = tensor.storage_offset()
    strides = row_major(size)
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, strides, strict=True))
    need = (offset + extent) * tensor.dtype.itemsize if extent else 0
    if need > storage.nbytes():
        larger = new_storage(need)
        _copy_bytes(storage, larger)
        storage = larger
    return aten.set_.source_Storage_storage_offset.redispatch(
        _CPU, tensor, storage, offset, list(size), strides
    )


def _copy_bytes(source: torch.UntypedStorage, target: torch.UntypedStorage) -> None:
    nbytes = min(source.nbytes(), target.nbytes())
    if nbytes:
        ends = [
            torch.empty(0, dtype=torch.uint8, device=NAME).set_(s, 0, [nbytes], [1]) for s in (source, target)
        ]
        host_alias(ends[1]).copy_(host_alias(ends[0]))


def _fill(tensor: torch.Tensor, value: Any) -> torch.Tensor:
    host_alias(tensor).fill_(value)
    return tensor


def _zero(tensor: torch.Tensor) -> torch.Tensor:
    host_alias(tensor).zero_()
    return tensor


def _convolution(
    x: Any,
    w: Any,
    bias: Any,
    stride: Any,
    pad: Any,
    dilation: Any,
    transposed: bool,
    out_pad: Any,
    groups: int,
) -> Any:
    args = (x, w, bias, stride, pad, dilation, transposed, out_pad, groups)
    return run_on_host(aten.convolution.default, *args)


def _convolution_backward(
    grad: Any,
    x: Any,
    w: Any,
    stride: Any,
    pad: Any,
    dilation: Any,
    transposed: bool,
    out_pad: Any,
    groups: int,
    mask: Any,
) -> Any:
    bias_size = [w.shape[1] * groups if transposed else w.shape[0]]
    shape = (stride, pad, dilation, transposed, out_pad, groups, mask)
    return run_on_host(aten.convolution_backward.default, grad, x, w, bias_size, *shape)


def _can_shallow_copy(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Lets `param.data = converted` succeed, so that `module.to()` keeps parameters, ties and optimizer
    references.
    """
    devices = {a.device.type, b.device.type}
    return bool(a.layout == b.layout == torch.strided and devices <= {"cpu", NAME})


def _host_kernel(name: str) -> Any:
    """A kernel for the functional form, where the structured form the dispatcher would choose resizes its
    output.
    """
    return lambda *args, **keywords: run_on_host(overload(name), *args, **keywords)


KERNELS = {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "set_": _set_empty,
    "resize_": _resize,
    "_copy_from": copy_between,
    "_copy_from_and_resize": _copy_and_resize,
    "_local_scalar_dense": lambda tensor: host_alias(tensor).item(),
    "fill_.Scalar": _fill,
    "zero_": _zero,
    "record_stream": lambda tensor, stream: None,
    "_has_compatible_shallow_copy_type": _can_shallow_copy,
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
    **cells.CELLS,
    "mse_loss": _host_kernel("mse_loss"),
    "_linalg_check_errors": _host_kernel("_linalg_check_errors"),
}


def register_kernels() -> list[torch.library.Library]:
    """Registers everything with the dispatcher; the kernels live as long as the returned libraries."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(run_on_host, "PrivateUse1")
    ours = torch.library.Library("aten", "IMPL", "PrivateUse1")
    for name in METADATA_OPS:
        ours.impl(name, _as_cpu_metadata(overload(name)))
    for name, kernel in KERNELS.items():
        ours.impl(name, kernel)
    shapes = torch.library.Library("aten", "IMPL", "Meta")
    for name, kernel in cells.CELLS.items():
        shapes.impl(name, kernel)  # else a fake tensor would run the kernel to learn its shape
    attention_libraries = attention.register(run_on_host)
    return [everything, ours, shapes, *attention_libraries, *_copies_of_lazy_views(), *_autocast(everything)]


def _as_cpu_metadata(op: Any) -> Any:
    return lambda *args, **keywords: op.redispatch(_CPU, *args, **keywords)


def _copies_of_lazy_views() -> list[torch.library.Library]:
    """Lets copies see conjugated and negated views: materialising them would call the copy again, without
    end.
    """
    libraries = []
    for key in ("Conjugate", "Negative", "ZeroTensor"):
        library = torch.library.Library("aten", "IMPL", key)
        for name in ("_copy_from", "_copy_from_and_resize"):
            library.impl(name, torch.library.fallthrough_kernel)
        libraries.append(library)
    return libraries


def _autocast(everything: torch.library.Library) -> list[torch.library.Library]:
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    library = torch.library.Library("aten", "IMPL", "AutocastPrivateUse1")
    for name in LOW_PRECISION_OPS:
        library.impl(name, _caster(overload(name), lambda: torch.get_autocast_dtype(NAME)))
    for name in FULL_PRECISION_OPS:
        library.impl(name, _caster(overload(name), lambda: torch.float32))
    return [library]


def _caster(op: Any, target: Any) -> Any:
    autocast_key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def cast_and_call(*args: Any, **keywords: Any) -> Any:
        dtype = target()

        def cast(value: Any) -> Any:
            wanted = is_device_tensor(value) and value.is_floating_point() and value.dtype != torch.float64
            return value.to(dtype) if wanted else value

        with torch._C._ExcludeDispatchKeyGuard(autocast_key):
            return op(*pytree.tree_map(cast, args), **pytree.tree_map(cast, keywords))

    return cast_and_call
