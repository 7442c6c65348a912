"""Reductions to few results run on all cores: tiles share the reduced dim and combine what each has of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import headrace
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.summary import summary

from .conftest import Compared, compare

N = 8191  # a prime: what equal parts leave is computed by every tile
f16, bf16 = torch.float16, torch.bfloat16
torch.manual_seed(0)


def r(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*sizes).to(dtype)


def ties(*sizes: int, nan: int | None = None) -> torch.Tensor:
    """Whole numbers of which each occurs in many parts, with a NaN at a place of every row."""
    x = torch.randint(-3, 4, sizes).float()
    if nan is not None:
        x[..., nan] = torch.nan
    return x


FORMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum": (lambda x: x.sum(), (r(N),)),
    "sum, f16": (lambda x: x.sum(), (r(4 * N, dtype=f16),)),
    "mean, bf16": (lambda x: x.mean(), (r(4 * N, dtype=bf16),)),
    "sum of rows": (lambda x: x.sum(-1), (r(3, N),)),
    "sum of columns": (lambda x: x.sum(0), (r(N, 3),)),
    "product": (lambda x: x.prod(), (1 + 0.01 * r(N),)),
    "largest": (lambda x: x.amax(-1), (r(2, N),)),
    "least, with NaN": (lambda x: x.amin(-1), (ties(2, N, nan=N - 1),)),
    "any": (lambda x: (x > 3).any(), (r(4 * N),)),
    "all": (lambda x: (x < 9).all(-1), (r(3, 4 * N),)),
    "largest index": (lambda x: x.argmax(-1), (r(1, N),)),
    "first of equal ones": (lambda x: (x.argmax(-1), x.argmin(-1)), (ties(2, N),)),
    "first NaN": (lambda x: x.argmax(-1), (ties(2, N, nan=5000),)),
    "NaN in what is left": (lambda x: x.argmin(-1), (ties(2, N, nan=N - 1),)),
    "largest with its index": (lambda x: x.max(-1), (r(4, N),)),
    "variance": (lambda x: x.var(), (r(N) + 7,)),
    "deviation and mean": (lambda x: torch.std_mean(x, -1), (r(2, N),)),
    "softmax": (lambda x: torch.softmax(x, -1), (r(1, N),)),
    "softmax, f16": (lambda x: torch.softmax(x, -1), (r(2, 2 * N, dtype=f16),)),
    "log softmax, bf16": (lambda x: torch.log_softmax(x, -1), (r(1, 2 * N, dtype=bf16),)),
    "log of the sum of powers": (lambda x: torch.logsumexp(x, -1), (r(3, N),)),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (N,), w, b), (r(1, N), r(N), r(N))),
    "rms norm": (lambda x, w: F.rms_norm(x, (N,), w), (r(2, N), r(N))),
    "norm": (lambda x: torch.linalg.vector_norm(x), (r(N),)),
    "dot product": (lambda a, b: a @ b, (r(N) / 90, r(N) / 90)),
    "few rows, long depth": (lambda a, b: a @ b, (r(4, 4 * N) / 180, r(4 * N, 6))),
    "columns in boxes": (lambda a, b: a @ b, (r(4, 16384) / 128, r(16384, 64))),
    "loss": (lambda a, b: F.mse_loss(a, b), (r(61, 151), r(61, 151))),
    "integers": (lambda x: x.sum(), (torch.randint(-(2**62), 2**62, (N,)),)),
    "i32": (lambda x: (x.amax(), x.amin()), (torch.randint(-(2**31), 2**31, (2 * N,)).int(),)),
    "i8": (lambda x: x.amax(), (torch.randint(-128, 127, (8 * N,), dtype=torch.int8),)),
    "u8": (lambda x: x.amax(), (torch.randint(0, 255, (8 * N,), dtype=torch.uint8),)),
}  # fmt: skip


def shared(compared: Compared) -> bool:
    """Whether tiles combined results in some kernel."""
    return any("inter_tile_reduce" in launch.ktir for launch in compared.recording.launches)


QUICK = {
    "sum, f16", "sum of columns", "any", "first NaN", "NaN in what is left", "largest with its index",
    "variance", "softmax, f16", "layer norm", "few rows, long depth", "integers", "i8",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in FORMS]
)
def test_every_tile_has_a_part_and_all_have_the_result(name: str) -> None:
    function, args = FORMS[name]
    exact = name in ("integers", "i32", "i8", "u8") or "index" in name or "NaN" in name
    tolerance = None if exact or args[0].dtype in (f16, bf16) else 1e-4
    assert shared(compare(function, *args, tolerance=tolerance))


@pytest.mark.parametrize("name", ["first of equal ones", "softmax, f16", "few rows, long depth"])
def test_the_reference_engine_combines_parts_too(name: str) -> None:
    function, args = FORMS[name]
    with headrace.use(engine="reference"):
        assert shared(compare(function, *args, tolerance=1e-4 if args[0].dtype != f16 else None))


@pytest.mark.parametrize("device", ["tiny", "sample", "spyre-1core"])
def test_other_devices_combine_parts_through_memory_or_not_at_all(device: str) -> None:
    with headrace.use(device=device):
        sums = compare(lambda x: x.sum(-1), r(1, 20 * N), tolerance=1e-4)
        compare(lambda x: torch.softmax(x, -1), r(1, N))
    assert shared(sums) == (device != "spyre-1core")


@pytest.mark.parametrize("n", [1, 127, 32000, pytest.param(50257, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "dtype", [f16, *(pytest.param(t, marks=pytest.mark.long) for t in (torch.float32, bf16))]
)
def test_odd_lengths(n: int, dtype: torch.dtype) -> None:
    def read(x: torch.Tensor) -> Any:
        return x.sum(-1), x.argmax(-1), torch.softmax(x, -1)

    tolerance = 1e-4 if dtype == torch.float32 else None
    compare(read, torch.rand(1, n).to(dtype), tolerance=tolerance)


@pytest.mark.long
def test_a_prime_number_of_a_million_elements() -> None:
    compare(lambda x: (x.sum(), x.amax(), x.var()), r(1_000_003), tolerance=1e-3)


def test_lengths_of_a_dynamic_graph() -> None:
    def read(x: torch.Tensor) -> Any:
        return torch.softmax(x, -1), x.argmax(-1), x.sum()

    more = tuple((r(2, n),) for n in (17, 32000, 9001))
    assert shared(compare(read, r(2, N), more=more, dynamic=True, tolerance=1e-4))


def test_what_is_read_and_overwritten_is_not_shared_where_a_tile_could_see_it_too_early() -> None:
    def step(x: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
        x.sub_(x.mean())
        mean.mul_(0.9).add_(x.amax())
        return x * mean

    compare(step, r(N), r(1), tolerance=1e-4)


def test_running_statistics_are_updated_once() -> None:
    def run(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return F.batch_norm(x, mean, variance, None, None, True, 0.1), mean, variance

    compare(run, r(1, 2, 4 * N), torch.zeros(2), torch.ones(2), tolerance=1e-4)


def cycles(function: Any, *args: Any) -> int:
    return sum(launch.run.cycles for launch in compare(function, *args, tolerance=5e-2).recording.launches)


@pytest.mark.parametrize("n", [1024, *(pytest.param(n, marks=pytest.mark.long) for n in (300, 2500, 6000))])
@pytest.mark.parametrize("name", ["sum", "softmax", "largest index", "layer norm"])
def test_what_is_shared_is_not_slower(name: str, n: int) -> None:
    function = {
        "sum": lambda x: x.sum(-1),
        "softmax": lambda x: torch.softmax(x, -1),
        "largest index": lambda x: x.argmax(-1),
        "layer norm": lambda x: F.layer_norm(x, (n,)),
    }[name]
    x = r(2, n)
    ours = cycles(function, x)
    with headrace.hints(without=("division",)):
        assert ours <= cycles(function, x)


def test_what_is_read_again_once_all_have_the_result_is_loaded_once() -> None:
    """The maximum, the sum of powers and the quotients of a row read it one after the other."""
    (launch,) = compare(lambda x: torch.softmax(x, -1), r(1, 32000)).recording.launches
    assert "inter_tile_reduce" in launch.ktir
    assert 4 * 32000 <= summary(launch.run)["bytes"]["ddr_read"] < 1.1 * 4 * 32000


@pytest.mark.parametrize("name", ["division", "decide.division"])
def test_division_can_be_left_out(name: str) -> None:
    function, args = FORMS["sum"]
    with headrace.hints(without=(name,)):
        assert not shared(compare(function, *args, tolerance=1e-4))


def test_the_names_of_what_can_be_left_out_belong_to_rooms() -> None:
    kernel = Kernel("module {}")
    for name in ("schedule.division", "decide.fusion", "divisions"):
        with pytest.raises(HeadraceError, match="no such optimisation"):
            compile_kernel(kernel, "spyre", Options(without=(name,)))
        with pytest.raises(HeadraceError, match="no such optimisation"), headrace.hints(without=(name,)):
            pass
