"""The device: memory, storages, views, moving modules, saving and loading."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn

from headrace.frontend import autoload
from headrace.frontend.memory import BASE, host_alias


def on_device(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).to("headrace")


def test_the_device_is_known_after_import_torch_alone() -> None:
    code = "import torch, sys; torch.zeros(1); assert 'torch._inductor.ir' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_our_room_first_registers_the_device_too() -> None:
    code = "import headrace.frontend.memory, torch; assert torch.zeros(2, device='headrace').is_headrace"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_failing_registration_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    import headrace.frontend.device as device

    def fail() -> None:
        raise RuntimeError("another owner")

    monkeypatch.setattr(device, "register", fail)
    with pytest.warns(UserWarning, match="another owner"):
        autoload.autoload()


def test_a_tensor_keeps_its_values_on_the_way_to_the_device_and_back() -> None:
    for dtype in (
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.bool,
        torch.float64,
    ):
        host = (torch.randn(3, 5) * 10).to(dtype)
        assert torch.equal(host.to("headrace").cpu(), host)


def test_a_device_address_is_never_one_of_the_host() -> None:
    x = on_device(4)
    assert x.data_ptr() >= BASE
    assert x[2:].data_ptr() == x.data_ptr() + 8


def test_views_share_memory_and_offsets_are_kept() -> None:
    x = on_device(6, 8)
    part = x[1:5:2, ::3].t()
    part.fill_(7)
    assert x.cpu()[1, 3] == 7 and x.cpu()[0, 0] != 7
    assert part._is_view() and part.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert torch.equal(host_alias(part), x.cpu()[1:5:2, ::3].t())


def test_memory_is_given_back_when_the_last_view_dies() -> None:
    gc.collect()
    before = torch.headrace.memory_allocated()
    x = on_device(1000)
    view = x[10:20]
    del x
    assert torch.headrace.memory_allocated() > before
    del view
    assert torch.headrace.memory_allocated() == before


def test_out_of_memory_names_the_sizes() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"4398046511104 bytes requested.*bytes free"):
        torch.empty(1 << 40, dtype=torch.float32, device="headrace")


def test_printing_copies_once_and_runs_no_operator() -> None:
    import headrace

    x = on_device(3)
    headrace.set_fallback("error")
    assert "device='headrace:0'" in repr(x)


def test_moving_a_module_keeps_parameters_and_ties() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    first = model[0].weight
    model.to("headrace")
    assert model[0].weight is first and model[1].weight is first and first.is_headrace
    assert model.cpu()[0].weight is first and not first.is_headrace


def test_state_dicts_travel_both_ways() -> None:
    host, device = nn.Linear(3, 2), nn.Linear(3, 2).to("headrace")
    device.load_state_dict(host.state_dict())
    assert torch.equal(device.weight.cpu(), host.weight)
    host.load_state_dict(device.state_dict(), assign=True)
    assert host.weight.is_headrace


def test_save_and_load_keep_aliasing_and_map_location() -> None:
    x = on_device(2, 3)
    file = io.BytesIO()
    torch.save({"x": x, "t": x.t()}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].is_headrace and loaded["x"].data_ptr() == loaded["t"].data_ptr()
    file.seek(0)
    assert torch.equal(torch.load(file, map_location="cpu")["t"], x.t().cpu())
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file, map_location="headrace").is_headrace


def test_deepcopy_and_pickle_make_new_device_tensors() -> None:
    x = on_device(2, 3)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.is_headrace and other.data_ptr() != x.data_ptr() and torch.equal(other.cpu(), x.cpu())


def test_a_storage_can_be_made_for_the_device() -> None:
    storage = torch.UntypedStorage(16, device="headrace")
    assert storage.device.type == "headrace" and storage.nbytes() == 16
    assert torch.UntypedStorage(4).device.type == "cpu"


def test_meta_modules_materialise_on_the_device() -> None:
    with torch.device("meta"):
        model = nn.Linear(3, 2)
    assert model.to_empty(device="headrace").weight.is_headrace


def test_factories_and_random_numbers_follow_the_seed() -> None:
    torch.manual_seed(3)
    first = torch.rand(4, device="headrace")
    torch.manual_seed(3)
    assert torch.equal(first.cpu(), torch.rand(4, device="headrace").cpu())
    with torch.device("headrace"):
        assert torch.arange(5).is_headrace and torch.full((2,), 3.0).is_headrace


def test_resizing_keeps_the_content() -> None:
    x = torch.arange(4.0, device="headrace")
    x.resize_(8)
    assert x[:4].tolist() == [0, 1, 2, 3]
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
