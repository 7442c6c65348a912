"""Attention is one kernel: every form of it, where that is faster and nobody else reads the scores."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

import headrace
from headrace.frontend import session
from headrace.frontend.inductor.scheduling import Scheduling
from headrace.ir.diagnostics import HeadraceError

from .conftest import Compared, compare

torch.manual_seed(0)
r = torch.randn
attend = F.scaled_dot_product_attention
f16, bf16 = torch.float16, torch.bfloat16
padding = torch.ones(2, 1, 1, 21, dtype=torch.bool)
padding[1, ..., 13:] = False
nothing_seen = torch.rand(5, 21) > 0.4
nothing_seen[2] = False

FORMS = {
    "all keys": (attend, (r(2, 3, 5, 16), r(2, 3, 21, 16), r(2, 3, 21, 8))),
    "causal": (lambda q, k, v: attend(q, k, v, is_causal=True), (r(1, 2, 70, 16),) * 3),
    "causal, more keys than queries": (
        lambda q, k, v: attend(q, k, v, is_causal=True),
        (r(1, 2, 19, 16), r(1, 2, 33, 16), r(1, 2, 33, 16)),
    ),
    "grouped heads and padding": (
        lambda q, k, v, mask: attend(q, k, v, attn_mask=mask, enable_gqa=True),
        (r(2, 6, 21, 16), r(2, 2, 21, 16), r(2, 2, 21, 16), padding),
    ),
    "grouped heads, f16": (
        lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True),
        (r(2, 4, 40, 16, dtype=f16), r(2, 2, 40, 16, dtype=f16), r(2, 2, 40, 16, dtype=f16)),
    ),
    "additive mask and scale, bf16": (
        lambda q, k, v, mask: attend(q, k, v, attn_mask=mask, scale=0.3),
        (*(r(1, 2, n, 16, dtype=bf16) for n in (9, 21, 21)), r(9, 21, dtype=bf16)),
    ),
    "rows that see nothing": (
        lambda q, k, v, mask: attend(q, k, v, attn_mask=mask),
        (r(1, 2, 5, 16), r(1, 2, 21, 16), r(1, 2, 21, 16), nothing_seen),
    ),
    "one query": (attend, (r(2, 3, 1, 16), r(2, 3, 37, 16), r(2, 3, 37, 16))),
    "heads behind the length": (
        lambda x: attend(*[x.view(2, 9, 3, 16).transpose(1, 2)] * 3).transpose(1, 2).reshape(2, 9, 48),
        (r(2, 9, 48),),
    ),
}


def cycles(compared: Compared) -> int:
    return sum(launch.run.cycles for launch in compared.recording.launches)


@pytest.mark.parametrize("name", FORMS)
def test_attention_is_one_kernel(name: str) -> None:
    function, args = FORMS[name]
    recording = compare(function, *args).recording
    assert len(recording.launches) == 1 and not recording.fallback_ops


@pytest.mark.parametrize("name", ["causal", "one query", "heads behind the length"])
def test_attention_is_no_slower_than_its_parts(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    function, args = FORMS[name]
    whole = compare(function, *args)
    monkeypatch.setattr(Scheduling, "is_faster_joined", lambda self, chain: False)
    with headrace.hints(effort=1):  # another program: nothing of the first is taken from the cache
        apart = compare(function, *args)
    assert len(apart.recording.launches) > 2 and cycles(whole) <= cycles(apart)


def test_attention_that_a_device_cannot_schedule_runs_on_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise HeadraceError("no unit for this")

    monkeypatch.setattr("headrace.frontend.engine.compile_kernel", refuse)
    function, args = FORMS["all keys"]
    with headrace.use(engine="reference"):
        recording = compare(function, *args).recording
    assert recording.launches and not recording.fallback_ops


def test_a_row_that_sees_nothing_gives_zeros() -> None:
    function, args = FORMS["rows that see nothing"]
    [result] = compare(function, *args).results
    assert not result[:, :, 2].any() and result[:, :, 1].all()


def test_scores_that_the_program_returns_are_a_kernel_of_their_own() -> None:
    def weighed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = torch.softmax(q @ k.transpose(-2, -1), -1)
        return weights @ v, weights

    compared = compare(weighed, r(2, 5, 8), r(2, 7, 8), r(2, 7, 8))
    assert len(compared.recording.launches) == 3


def test_a_softmax_between_two_products_written_by_hand_is_one_kernel() -> None:
    compared = compare(lambda q, k, v: torch.softmax(q @ k, -1) @ v, r(3, 5, 8), r(3, 8, 7), r(3, 7, 8))
    assert len(compared.recording.launches) == 1


def test_queries_that_are_normalised_leave_their_product_to_its_own_kernel() -> None:
    def attention(x: torch.Tensor, w: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return attend(F.rms_norm(x @ w, (16,)), k, k)

    recording = compare(attention, r(1, 2, 9, 8), r(8, 16), r(1, 2, 21, 16)).recording
    assert [launch.ktir.count('"reduction"') > 3 for launch in recording.launches] == [False, False, True]


def test_dynamic_lengths_keep_separate_kernels() -> None:
    compiled = torch.compile(attend, dynamic=True)
    for length in (12, 23):
        q, k, v = (r(1, 2, length, 8) for _ in range(3))
        with headrace.record() as recording, torch.no_grad():
            result = compiled(*(x.to("headrace") for x in (q, k, v))).cpu()
        torch.testing.assert_close(result, attend(q, k, v), rtol=1e-5, atol=1e-5)
        assert len(recording.launches) == 3 and not recording.fallback_ops


def test_every_tile_has_one_head_and_its_share_of_the_queries() -> None:
    """2 batches, 2 groups of 2 heads: 8 heads on 32 cores, four parts of the queries each; a grid has three
    dims."""
    function, _ = FORMS["grouped heads, f16"]
    args = (r(2, 4, 128, 64, dtype=f16), r(2, 2, 128, 64, dtype=f16), r(2, 2, 128, 64, dtype=f16))
    [launch] = compare(function, *args).recording.launches
    [grid] = re.findall(r"grid = \[([\d, ]+)\]", launch.ktir)
    assert [int(n) for n in grid.split(",")] == [4, 2, 4]


def test_positions_are_compared_as_indices_and_scores_masked_once() -> None:
    function, args = FORMS["causal"]
    [launch] = compare(function, *args).recording.launches
    assert set(re.findall(r"arith.cmpi sgt, .* : (\w+)", launch.ktir)) == {"index"}
    assert launch.ktir.count("arith.cmpi") == launch.ktir.count("linalg.index 2 :")


@pytest.mark.parametrize("name", ["all keys", "one query"])
def test_maxima_of_scores_without_a_mask_are_taken_once(name: str) -> None:
    function, args = FORMS[name]
    (launch,) = compare(function, *args).recording.launches
    assert launch.ktir.count("arith.maximumf") == 1 and "arith.cmpf" not in launch.ktir


@pytest.mark.parametrize("scale", [-0.5, 0.0, 3.0])
def test_scores_may_be_scaled_by_any_number(scale: float) -> None:
    compare(lambda q, k, v: attend(q, k, v, scale=scale), r(1, 2, 9, 16), r(1, 2, 21, 16), r(1, 2, 21, 16))


def test_hints_keep_kernels_apart() -> None:
    with headrace.hints(without=("fusion",)):
        compared = compare(lambda q: attend(q, q, q), r(1, 2, 6, 8))
    assert len(compared.recording.launches) > 2
    assert session.current_hints() == {}
