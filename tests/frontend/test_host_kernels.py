"""A kernel of a dynamic graph that cannot be compiled for the sizes of a later call runs on the host, and
says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headrace
from headrace.frontend import engine
from headrace.frontend.compile import loop_program_to_ktir
from headrace.frontend.host.operations import reduce
from headrace.frontend.lower.program import Unsupported
from headrace.ir.diagnostics import HeadraceError

REASON = "an extent of seven"


def function(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2, -1)


def no_sevens(literal: Any, *rest: Any) -> Any:
    """The compiler, which refuses loops of extent 7."""
    if any(extent == "7" for loop in literal["loops"] for _, extent in (*loop["iter"], *loop["red"])):
        raise Unsupported(REASON)
    return loop_program_to_ktir(literal, *rest)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function, compiled for dynamic sizes and run once."""
    torch._dynamo.reset()
    monkeypatch.setattr(engine, "loop_program_to_ktir", no_sevens)
    made = torch.compile(function, dynamic=True)
    made(torch.randn(3, 5).to("headrace"))
    return made


def test_its_result_is_right_and_it_is_recorded_with_its_reason(compiled: Any) -> None:
    x = torch.randn(4, 7)
    with headrace.record() as recording, pytest.warns(UserWarning, match=REASON):
        actual = compiled(x.to("headrace"))
    torch.testing.assert_close(actual.cpu(), function(x))
    assert recording.fallback_ops and recording.fallback_ops.keys() == recording.fallback_reasons.keys()
    assert all(REASON in reason for reason in recording.fallback_reasons.values())
    with headrace.record() as later:
        torch.testing.assert_close(
            compiled(torch.ones(4, 8).to("headrace")).cpu(), function(torch.ones(4, 8))
        )
    assert later.launches and not later.fallback_ops


def test_it_is_an_error_with_its_place_in_mode_error(compiled: Any) -> None:
    headrace.set_fallback("error")
    with pytest.raises(HeadraceError, match=REASON) as raised:
        compiled(torch.randn(4, 7).to("headrace"))
    assert __file__ in str(raised.value) and "aten." in str(raised.value)


def test_it_is_silent_in_mode_allow(compiled: Any, recwarn: pytest.WarningsRecorder) -> None:
    headrace.set_fallback("allow")
    compiled(torch.randn(4, 7).to("headrace"))
    assert not [w for w in recwarn if REASON in str(w.message)]


def test_a_reduction_the_host_does_not_know_is_named() -> None:
    with pytest.raises(HeadraceError, match="does not compute the reduction 'median'"):
        reduce("median", [np.ones((2, 3), np.float32)], (1,), np.float32, 3)
