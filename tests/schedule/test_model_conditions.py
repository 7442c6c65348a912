"""Masks written in several ops."""

from __future__ import annotations

import pytest

from headrace import ktir
from headrace.runtime.kernel import Kernel
from tests.schedule.model_checks import check, computes


def _masked(readers: int, is_shifted: bool) -> Kernel:
    """y = x where column <= row (of the whole or of its lower part), read by so many selects."""
    with ktir.kernel("masked") as k:
        x, y = (k.argument(name, (6, 4), "f32") for name in "xy")
        rows, columns = k.arange(6, "i32").reshape(6, 1), k.arange(4, "i32").reshape(1, 4)
        low, seen = 2 if is_shifted else 0, rows >= columns
        found = x[low:6, :].load()
        for fill in (-1.0, 7.0)[:readers]:
            found = ktir.where(seen[low:6, :], found, fill) * 2.0
        y[low:6, :] = found
        if is_shifted:
            y[0:low, :] = x[0:low, :].load()
    return k.kernel


@pytest.mark.parametrize("is_shifted", [False, True])
def test_a_condition_is_part_of_the_only_nest_that_reads_it(is_shifted: bool) -> None:
    graph = check(_masked(1, is_shifted).text)
    (select,) = [c for c in computes(graph) if any(e.op == "arith.select" for e in c.body)]
    assert sum(e.op == "index" for e in select.body) == 2
    assert all(graph.classes[0].values[a.value].dtype == "f32" for a in select.ins)


def test_a_condition_that_two_nests_read_is_computed_once() -> None:
    graph = check(_masked(2, False).text)
    assert sum(any(e.op == "arith.cmpi" for e in c.body) for c in computes(graph)) == 1
