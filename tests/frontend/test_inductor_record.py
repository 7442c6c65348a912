"""What is recorded: fusion, roles of arguments, sources, graphs, caches; and state that compiled code
changes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import headrace
from headrace.frontend.inductor.record import program_text
from headrace.frontend.recording import Recording
from headrace.ir.diagnostics import HeadraceError

from .conftest import compare, to

torch.manual_seed(0)
r = torch.randn


def kernels(recording: Recording) -> list[list[str]]:
    """The operators of each launch's reductions and stores, in short: kind of every nest."""
    found = []
    for launch in recording.launches:
        nests = []
        for loop in launch.program["loops"]:
            kinds = [statement[4] for statement in loop["body"] if statement[1] == "reduction"]
            nests.append(kinds[0] if kinds else "pointwise")
        found.append(nests)
    return found


def test_a_contraction_takes_its_epilogue(engine: str) -> None:
    compared = compare(lambda x, w, b, y: F.relu(F.linear(x, w, b)) + y, r(4, 8), r(6, 8), r(6), r(4, 6))
    assert kernels(compared.recording) == [["dot", "pointwise"]]


def test_a_contraction_shares_a_kernel_with_no_other_reduction(engine: str) -> None:
    compared = compare(lambda x, w: torch.softmax(x @ w, -1), r(4, 8), r(8, 6))
    assert kernels(compared.recording)[0] == ["dot"]
    assert "dot" not in kernels(compared.recording)[1]


def test_two_contractions_are_two_kernels(engine: str) -> None:
    compared = compare(lambda x, v, w: F.silu(x @ v) * (x @ w), r(4, 8), r(8, 6), r(8, 6))
    assert sorted(map(len, kernels(compared.recording))) == [1, 2]


def test_a_residual_is_added_where_the_product_is_made(engine: str) -> None:
    def block(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = x + x @ w
        return F.rms_norm(h, (8,)) + h

    compared = compare(block, r(4, 8), r(8, 8))
    assert kernels(compared.recording) == [["dot", "pointwise"], ["sum", "pointwise"]]


def test_short_reductions_stay_reductions(engine: str) -> None:
    compared = compare(lambda x: x.sum(-1), r(6, 3))
    assert kernels(compared.recording) == [["sum"]]


def test_grouped_heads_are_read_in_place(engine: str) -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    compared = compare(attend, r(1, 4, 6, 8), r(1, 2, 6, 8), r(1, 2, 6, 8))
    [nests] = kernels(compared.recording)
    assert nests == ["dot", "max", "pointwise", "sum", "dot", "pointwise"]
    assert compared.recording.launches[0].program["layouts"]["b1"][0] == ("1", "2", "6", "8")


def test_a_program_is_a_literal_with_layouts(engine: str) -> None:
    compared = compare(lambda x: x[:, 1:] * 2, r(4, 8))
    program = compared.recording.launches[0].program
    assert ast.literal_eval(program_text(program)) == program
    assert program["args"] == [("b0", "in", "float32"), ("b1", "out", "float32")]
    assert program["layouts"] == {"b0": (("4", "8"), ("8", "1")), "b1": (("4", "7"), ("7", "1"))}
    assert program["loops"][0]["iter"] == [("i0", "4"), ("i1", "7")]


def test_infinities_and_nan_survive_as_text() -> None:
    text = program_text({"a": [float("inf"), -float("inf"), float("nan")], "b": (1,), "c": None})
    assert ast.literal_eval(text) == {"a": [float("inf"), -float("inf"), "nan"], "b": (1,), "c": None}
    with pytest.raises(TypeError, match="no literal form"):
        program_text({1, 2})


def test_launches_carry_their_source_line_and_operators(engine: str) -> None:
    compared = compare(lambda x, w: F.relu(x @ w), r(4, 8), r(8, 6))
    launch = compared.recording.launches[0]
    line = test_launches_carry_their_source_line_and_operators.__code__.co_firstlineno + 1
    assert launch.source == f"{__file__}:{line}"
    assert launch.operators == ("aten.relu", "aten.mm") or launch.operators == ("aten.mm", "aten.relu")
    assert launch.kernel.startswith("mm_relu_")


def test_a_graph_counts_native_and_host_operators(engine: str) -> None:
    compared = compare(lambda x: torch.special.bessel_j0((x + 1).relu()) * 2, r(4, 8), native=False)
    facts = compared.recording.graphs[0].facts
    assert facts.native_ops == {"aten.add": 1, "aten.mul": 1, "aten.relu": 1}
    assert facts.host_ops == {"aten.special_bessel_j0": 1}
    assert facts.host_sources["aten.special_bessel_j0"].startswith(__file__)
    assert compared.recording.fallback_ops == {"aten.special_bessel_j0": 1}


def test_a_host_operator_is_warned_about_once(engine: str) -> None:
    torch._dynamo.reset()
    function = torch.compile(lambda x: torch.special.bessel_j0(x))
    x = r(3).to("headrace")
    with pytest.warns(
        UserWarning, match=r"aten.special_bessel_j0 is not native.*test_inductor_record.py:\d+"
    ) as caught:
        function(x)
        function(x)
    assert len([w for w in caught if "not native" in str(w.message)]) == 1


def test_error_mode_refuses_a_graph_with_its_source_lines(engine: str) -> None:
    torch._dynamo.reset()
    headrace.set_fallback("error")
    function = torch.compile(lambda x: torch.special.bessel_j0(x) + x.lgamma())
    with pytest.raises(
        HeadraceError,
        match=r"(?s)inductor_record.py:\d+.*lgamma.*float32.*no native form.*bessel_j0.*hint: say it in",
    ):
        function(r(3).to("headrace"))


def test_graph_breaks_are_listed(engine: str) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    torch._dynamo.reset()
    with headrace.record() as recording:
        torch.compile(broken)(r(3).to("headrace"))
    assert sum(recording.graph_breaks.values()) == 1
    assert len(recording.graphs) == 2


def test_eager_operators_and_graphs_are_kept_apart(engine: str) -> None:
    torch._dynamo.reset()
    function = torch.compile(lambda x: x * 2)
    x = r(3).to("headrace")
    with headrace.record() as recording:
        function(x) + 1
    assert recording.eager_ops == {"aten.add": 1}
    assert [graph.calls for graph in recording.graphs] == [1]


def test_inputs_are_changed_in_place(engine: str) -> None:
    def change(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        y[1:].add_(x[1:])
        return x + 1

    torch._dynamo.reset()
    x, y = r(4, 3), r(4, 3)
    a, b = x.to("headrace"), y.to("headrace")
    headrace.set_fallback("error")
    result = torch.compile(change, fullgraph=True)(a, b)
    expected = change(x, y)
    for actual, wanted in ((result, expected), (a, x), (b, y)):
        torch.testing.assert_close(actual.cpu(), wanted)


def test_views_of_one_storage_are_told_apart_by_their_offset(engine: str) -> None:
    torch._dynamo.reset()
    base = r(3, 8).to("headrace")
    headrace.set_fallback("error")
    function = torch.compile(lambda q, k: q * k, fullgraph=True)
    expected = base.cpu()
    torch.testing.assert_close(function(base[:, :4], base[:, 4:]).cpu(), expected[:, :4] * expected[:, 4:])
    torch.testing.assert_close(function(base[:, 4:], base[:, :4]).cpu(), expected[:, :4] * expected[:, 4:])


def test_a_kernel_that_stops_names_its_operator_operands_and_line() -> None:
    torch._dynamo.reset()
    chosen = torch.compile(lambda x, i: x[i], fullgraph=True)
    x, i = r(5).to("headrace"), torch.tensor([1, 7]).to("headrace")
    with pytest.raises(
        HeadraceError, match=r"test_inductor_record.py:\d+: error: aten.index: .*index 7 is"
    ) as found:
        chosen(x, i)
    assert "on int64[2], float32[5]" in str(found.value)


def test_hints_are_kept_with_the_kernels_compiled_under_them() -> None:
    torch._dynamo.reset()
    x = r(64, 64).to("headrace")
    with headrace.record() as recording:
        for cores in (None, 4):
            torch._dynamo.reset()
            with headrace.hints(cores=cores, effort=1):
                torch.compile(lambda x: x * 2)(x)
    grids = [launch.run.program.grid for launch in recording.launches]
    assert grids[0] == (32,) and grids[1] == (4,)
    with pytest.raises(HeadraceError, match="below 1"), headrace.hints(cores=0):
        pass


class KeyValueCache(nn.Module):
    """Attention over a static cache into which each call writes one position."""

    def __init__(self) -> None:
        super().__init__()
        self.k, self.v = nn.Buffer(torch.zeros(1, 2, 16, 4)), nn.Buffer(torch.zeros(1, 2, 16, 4))

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        self.k.index_copy_(2, position, k)
        self.v[:, :, position] = v
        mask = torch.arange(16, device=q.device)[None, :] <= position[:, None]
        return F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask[None, None])


def test_a_static_cache_is_written_in_place_by_one_graph(engine: str) -> None:
    torch._dynamo.reset()
    headrace.set_fallback("error")
    host = KeyValueCache()
    device = to("headrace", host)
    compiled = torch.compile(device, fullgraph=True)
    with torch.no_grad(), headrace.record() as recording:
        for step in range(3):
            inputs = r(1, 2, 1, 4), r(1, 2, 1, 4), r(1, 2, 1, 4), torch.tensor([step])
            actual = compiled(*to("headrace", inputs)).cpu()
            torch.testing.assert_close(actual, host(*inputs), rtol=1e-5, atol=1e-5)
    assert len(recording.graphs) == 1 and recording.graphs[0].calls == 3
    torch.testing.assert_close(device.k.cpu(), host.k)
    roles = {role for launch in recording.launches for _, role, _ in launch.program["args"]}
    assert roles == {"in", "out", "inout"}


def test_a_projection_is_written_into_a_cache_at_computed_positions(engine: str) -> None:
    def write(cache: torch.Tensor, x: torch.Tensor, w: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        position = torch.arange(4, device=x.device) + start
        cache.index_copy_(1, position, (x @ w).view(4, 2, 8).transpose(0, 1))
        return cache.sum()

    torch._dynamo.reset()
    headrace.set_fallback("error")
    cache, inputs = torch.zeros(2, 16, 8), (r(4, 64), r(64, 16), torch.tensor(3))
    device = cache.to("headrace")
    result = torch.compile(write, fullgraph=True)(device, *to("headrace", inputs))
    torch.testing.assert_close(result.cpu(), write(cache, *inputs), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(device.cpu(), cache, rtol=1e-4, atol=1e-4)


def test_control_flow_operators_run_their_branches_here(engine: str) -> None:
    compare(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), r(3), native=False)


def test_a_graph_without_a_kernel_returns_views(engine: str) -> None:
    compared = compare(lambda x: (x.t(), x[1:]), r(6, 9))
    assert not compared.recording.launches


def test_compiled_training_follows_the_cpu(engine: str) -> None:
    torch._dynamo.reset()
    host = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    device = to("headrace", host)
    headrace.set_fallback("error")
    x, y = r(6, 8), r(6, 4)
    losses = []
    for model, place in ((host, "cpu"), (device, "headrace")):

        def loss_of(x: torch.Tensor, y: torch.Tensor, model: nn.Module = model) -> torch.Tensor:
            return (model(x) - y).square().mean()

        function = loss_of if place == "cpu" else torch.compile(loss_of, fullgraph=True)
        loss = function(x.to(place), y.to(place))
        loss.backward()
        losses.append(loss.detach().cpu())
    torch.testing.assert_close(losses[1], losses[0])
    for a, b in zip(host.parameters(), device.parameters(), strict=True):
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-5)


def test_random_numbers_are_drawn_on_the_host(engine: str) -> None:
    torch._dynamo.reset()
    headrace.set_fallback("allow")
    function = torch.compile(lambda x: F.dropout(x, 0.5, training=True), fullgraph=True)
    x = torch.ones(1000, device="headrace")
    result = function(x).cpu()
    assert set(result.tolist()) == {0.0, 2.0} and 300 < (result == 0).sum() < 700


def test_the_values_of_native_operators_come_from_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import headrace.machine.execute as machine
    from headrace.frontend import eager

    def refuse(*args: object, **keywords: object) -> None:
        raise AssertionError("a value came from elsewhere")

    def attend(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(torch.softmax(F.relu(x @ w), -1), (8,))

    torch._dynamo.reset()
    headrace.set_fallback("error")
    x, w = r(4, 8), r(8, 8)
    placed = to("headrace", (x, w))
    compiled = torch.compile(attend, fullgraph=True)
    monkeypatch.setattr(eager, "run_on_host", refuse)
    monkeypatch.setattr("headrace.semantics.batched.interpret", refuse)
    torch.testing.assert_close(compiled(*placed).cpu(), attend(x, w), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(machine, "execute", refuse)
    with pytest.raises(AssertionError, match="from elsewhere"):
        compiled(*placed)


SCRIPT = """
import os, sys, torch, headrace
sys.path.insert(0, {tests!r})
from frontend.conftest import oracle
os.environ["TORCHINDUCTOR_CACHE_DIR"] = {cache!r}  # tests have one of their own
from headrace.frontend import launcher
from torch._dynamo.utils import counters
x = torch.arange(12.).reshape(3, 4).to("headrace")
with launcher.engine_override(oracle), headrace.record() as recording:
    y = torch.compile(lambda x: torch.softmax(x, -1))(x)
torch.testing.assert_close(y.cpu(), torch.softmax(x.cpu(), -1))
print(counters["inductor"]["fxgraph_cache_hit"], recording.launches[0].kernel, recording.graphs[0].facts.name)
"""


@pytest.mark.long
def test_another_process_takes_the_graph_from_the_cache(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[1]), cache=str(tmp_path / "cache")))
    runs = [
        subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][0] == "0" and runs[1][0] == "1"
    assert runs[0][1:] == runs[1][1:]
