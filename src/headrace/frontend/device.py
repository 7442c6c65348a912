"""The PyTorch device "headrace": one PrivateUse1 device written in Python, known after `import torch`."""

from __future__ import annotations

from typing import Any

import torch

from headrace.frontend import eager
from headrace.frontend.memory import NAME, is_device_tensor, route_storages_of_the_device
from headrace.runtime.memory import device_memory


class _DeviceContext:
    """`with torch.headrace.device(0)`: there is one device, so nothing changes."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def __enter__(self) -> _DeviceContext:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class DeviceModule:
    """`torch.headrace`. The four capitalised properties are how Inductor finds the back-end, at its first
    compile.
    """

    __name__ = f"torch.{NAME}"
    device = _DeviceContext

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def set_device(self, device: Any) -> None:
        return None

    def synchronize(self, device: Any = None) -> None:
        return None

    def manual_seed(self, seed: int) -> None:
        """Random numbers are drawn on the host, whose generator `torch.manual_seed` has already seeded."""

    manual_seed_all = manual_seed

    def _is_in_bad_fork(self) -> bool:
        return False

    def get_rng_state(self, device: Any = NAME) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = NAME) -> None:
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16, torch.float32]

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes of device memory in use."""
        return int(device_memory().allocated_bytes)

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Free and total bytes of device memory."""
        memory = device_memory()
        return memory.size_bytes - memory.allocated_bytes, memory.size_bytes

    @property
    def Scheduling(self) -> Any:
        return _inductor().Scheduling

    @property
    def PythonWrapperCodegen(self) -> Any:
        return _inductor().Wrapper

    @property
    def CppWrapperCodegen(self) -> Any:
        return _inductor().Wrapper  # Inductor drops a back-end without one; C++ wrappers are never asked for

    @property
    def WrapperFxCodegen(self) -> None:
        return None


def _inductor() -> Any:
    from headrace.frontend.inductor import install

    return install.install()


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    def is_available(self) -> bool:
        return True

    def has_primary_context(self, index: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


class _Guard(torch._C._acc.DeviceGuard):
    def type_(self) -> Any:
        return torch._C._autograd.DeviceType.PrivateUse1


_libraries: list[torch.library.Library] = []


def register() -> None:
    """Makes the device known to PyTorch; nothing on a second call. RuntimeError when PrivateUse1 has
    another owner.
    """
    if _libraries:
        return
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(NAME, DeviceModule(), _Hooks(), _Guard())
    _libraries.extend(eager.register_kernels())
    route_storages_of_the_device()
    _print_a_host_copy()
    _install_before_a_graph_is_traced()


def _install_before_a_graph_is_traced() -> None:
    """Lets the first graph of a process with tensors of ours be decomposed by our rules: Inductor asks the
    device for its back-end when the table of decompositions is already chosen.
    """
    wrapper: Any = torch._TorchCompileInductorWrapper
    original = wrapper.__call__

    def call(self: Any, model: Any, inputs: Any, **keywords: Any) -> Any:
        if any(is_device_tensor(x) for x in inputs if isinstance(x, torch.Tensor)):
            _inductor()
        return original(self, model, inputs, **keywords)

    wrapper.__call__ = call


def _print_a_host_copy() -> None:
    """Lets tensors print from one copy instead of dozens of counted operators."""
    from torch import _tensor_str

    original = _tensor_str._tensor_str

    def on_host(tensor: torch.Tensor, indent: int) -> str:
        return str(original(tensor.cpu() if is_device_tensor(tensor) else tensor, indent))

    _tensor_str._tensor_str = on_host
