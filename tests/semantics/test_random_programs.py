"""Random valid kernels: they verify, survive printing, and compute what NumPy computes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify
from headrace.numbers.dtypes import numpy_dtype

from .random_programs import (
    CASTS,
    DTYPES,
    FORMS,
    REDUCTIONS,
    Program,
    expected,
    op_names,
    order_name,
    programs,
    random_inputs,
    text,
)
from .tiles import run

EXAMPLES = 50
COUNTED: dict[str, Counter[str]] = {
    "op": Counter(dict.fromkeys(op_names(), 0)),
    "reduction": Counter(dict.fromkeys(REDUCTIONS, 0)),
    "dtype": Counter(dict.fromkeys(DTYPES, 0)),
    "form": Counter(dict.fromkeys(FORMS, 0)),
    "rank": Counter(dict.fromkeys("1234", 0)),
    "grid dims": Counter(dict.fromkeys("123", 0)),
    "tail": Counter({"none": 0, "shorter": 0, "idle tiles": 0}),
    "loop": Counter({"False": 0, "True": 0}),
    "load order": Counter(dict.fromkeys(("identity", "swap", "cycle", "reversed", "other"), 0)),
    "store order": Counter(dict.fromkeys(("identity", "swap", "cycle", "reversed", "other"), 0)),
    "memory layout": Counter(dict.fromkeys(("identity", "swap", "cycle", "reversed", "other"), 0)),
}


def _count(program: Program) -> None:
    for step in program.steps:
        COUNTED["op"][step.op] += 1
        if program.dtype in CASTS and step.op == CASTS[program.dtype][0]:
            COUNTED["op"][CASTS[program.dtype][2]] += 1
        COUNTED["form"][step.form] += 1
    if program.reduction is not None:
        COUNTED["reduction"][program.reduction[0]] += 1
    COUNTED["dtype"][program.dtype] += 1
    COUNTED["rank"][str(len(program.shape))] += 1
    COUNTED["grid dims"][str(len(program.grid))] += 1
    busy = -(-program.shape[program.split] // program.size)
    COUNTED["tail"]["shorter" if program.tail else "none"] += 1
    COUNTED["tail"]["idle tiles"] += busy < program.tiles
    COUNTED["loop"][str(program.is_loop)] += 1
    for order in program.orders[:-1]:
        COUNTED["load order"][order_name(order)] += 1
    COUNTED["store order"][order_name(program.orders[-1])] += 1
    for layout in program.layouts:
        COUNTED["memory layout"][order_name(layout)] += 1


def _check(program: Program, seed: int) -> None:
    written = text(program)
    module = parse(written)
    assert verify(module) == []
    printed = print_module(module)
    again = parse(printed)
    assert print_module(again) == printed
    if seed % 4 == 0:
        assert print_module(parse(print_module(again, generic=True))) == printed
    inputs = random_inputs(program, seed)
    given_arrays = {
        f"x{k}": np.ascontiguousarray(x.transpose(layout))
        for k, (x, layout) in enumerate(zip(inputs, program.layouts, strict=False))
    }
    results, report = run(printed, given_arrays)
    assert report.warnings == []
    layout, shape = program.layouts[-1], program.out_shape
    flat = results["out"].reshape(tuple(shape[d] for d in layout))
    got = flat.transpose(tuple(layout.index(d) for d in range(len(shape))))
    wanted = expected(program, inputs)
    assert got.dtype == numpy_dtype(program.dtype)
    if program.reduction is not None and program.reduction[0] == "arith.addf":
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(got.astype(np.float64), wanted.astype(np.float64))
    _count(program)


def _examine(strategy: st.SearchStrategy[Program], examples: int) -> None:
    """Checks that many programs, the same ones every time."""
    rules = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    rules(given(strategy, st.integers(0, 2**16))(_check))()


def _missing() -> list[tuple[str, str]]:
    return [(what, key) for what, counter in COUNTED.items() for key, n in counter.items() if n == 0]


FOCUS = {
    "op": "op",
    "reduction": "reduction",
    "load order": "order",
    "store order": "order",
    "memory layout": "order",
}


def test_random_programs_survive_printing_and_compute_what_numpy_computes_and_cover_everything():
    for counter in COUNTED.values():
        for key in counter:
            counter[key] = 0
    _examine(programs(), EXAMPLES)
    for what, key in _missing():
        if what in FOCUS and not COUNTED[what][key]:
            _examine(programs(**{FOCUS[what]: key}), 2)  # the first one has extents of 1
    for what, counter in COUNTED.items():
        print(f"{what}: " + ", ".join(f"{key} {n}" for key, n in sorted(counter.items())))
    assert _missing() == []
