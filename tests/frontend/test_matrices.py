"""Every operator of the matrices, compiled and eager, gives what the CPU gives, natively unless the case
says otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headrace.frontend.recording import Recording

from .conftest import TOLERANCES, compare, tensors, to
from .matrices import CASES
from .matrices.case import Case


def cases(name: str) -> Any:
    marks = [] if CASES[name].is_quick else [pytest.mark.long]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [cases(name) for name in CASES if CASES[name].is_compiled])
def test_compiled_operators_agree_with_the_cpu(name: str) -> None:
    case = CASES[name]
    compared = compare(case.function, *case.arguments(), tolerance=case.tolerance, native=False)
    assert set(compared.recording.fallback_ops) == set(case.host), reasons(compared.recording)


@pytest.mark.parametrize("name", map(cases, CASES))
def test_eager_operators_agree_with_the_cpu(name: str) -> None:
    case: Case = CASES[name]
    host, placed = case.arguments(), to("headrace", case.arguments())
    with torch.no_grad():
        expected, actual = tensors(case.function(*host)), tensors(case.function(*placed))
    for one, other in zip([*expected, *tensors(host)], [*actual, *tensors(placed)], strict=True):
        bound = case.tolerance or TOLERANCES.get(one.dtype, 1e-6)
        torch.testing.assert_close(other.cpu(), one, rtol=bound, atol=bound, equal_nan=True)


def reasons(recording: Recording) -> dict[str, str]:
    return {op: why for graph in recording.graphs for op, why in graph.facts.host_reasons.items()}
