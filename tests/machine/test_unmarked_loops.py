"""Loops that promise nothing: run at once or step by step, the bytes are the same."""

import random

import numpy as np
import pytest

from headrace.machine.execute.execution import Execution
from tests.machine.forms import OUT, image, load, run, store, view

F32, SIZE = np.float32, 2048
X = np.random.default_rng(0).standard_normal(SIZE).astype(F32)


def _nest(pick: random.Random, body: str, trips: list[int]) -> str:
    """Loops around a body, with odd lower bounds and steps; %k0, %k1, … count from 0."""
    head, tail = "", ""
    for d, trip in enumerate(trips):
        lower, step = pick.choice(((0, 1), (0, 1), (3, 2), (1, 5)))
        upper = lower + (trip - 1) * step + 1
        numbers = {"lo": lower, "up": upper, "st": step}
        head += "".join(f"%{n}{d} = arith.constant {v} : index\n" for n, v in numbers.items())
        head += f"scf.for %i{d} = %lo{d} to %up{d} step %st{d} {{\n"
        head += f"%q{d} = arith.subi %i{d}, %lo{d} : index\n%k{d} = arith.divsi %q{d}, %st{d} : index\n"
        tail += "}\n"
    return head + body + tail


def _place(pick: random.Random, trips: list[int], is_apart: bool) -> str:
    """A subscript linear in the loop counters; `is_apart`: no two iterations give the same."""
    strides, size = [], 4
    for trip in reversed(trips):
        strides.insert(0, size)
        size *= trip
    if not is_apart:
        strides = [pick.choice((0, 1, 4, s)) for s in strides]
    return " + ".join(f"%i{d} * {s}" for d, s in enumerate(strides)) + f" + {pick.randrange(8)}"


def _program(seed: int) -> str:
    """A reader, a vector unit and a writer that pass vectors of 4 through random nests of loops."""
    pick = random.Random(seed)
    trips = [pick.randint(1, 4) for _ in range(pick.randint(1, 3))]
    count, both = pick.randint(1, 2), pick.random() < 0.5
    views = view("x", "%c0", f"{SIZE}xf32") + view("o", "%cout", f"{SIZE}xf32")
    sends = "".join(
        load(f"a{n}", "x", _place(pick, trips, False), 4, "f32", SIZE)
        + f"dataflow.send %s0, %a{n} : vector<4xf32>\n"
        for n in range(count)
    )
    takes = "".join(f"%b{n} = dataflow.receive %l0 : vector<4xf32>\n" for n in range(count))
    op = pick.choice(("add", "mul", "max"))
    second = f"b{count - 1}"
    takes += (
        f"%y = vectorchain.binary %b0, %{second} {{binary_op = #vectorchain<binary_operator {op}>, "
        "op_specific_map = #i1} : vector<4xf32>, vector<4xf32>, vector<4xf32>\n"
    )
    rows = int(np.prod(trips))
    if both:  # a carried value that every step sends on
        carry = pick.choice(("add", "max", "min", "sub"))
        step = takes + (
            f"%n = vectorchain.binary %c, %y {{binary_op = #vectorchain<binary_operator {carry}>, "
            "op_specific_map = #i1} : vector<4xf32>, vector<4xf32>, vector<4xf32>\n"
        )
        send = "dataflow.send %w0, %n : vector<4xf32>\n" if pick.random() < 0.5 else ""
        flat = f"%rows = arith.constant {rows} : index\n%z = arith.constant dense<0.5> : vector<4xf32>\n"
        flat += "%last = scf.for %r = %c0 to %rows step %c1 iter_args(%c = %z) -> (vector<4xf32>) {\n"
        body = f"{flat}{step}{send}scf.yield %n : vector<4xf32>\n}}\n"
        if not send:
            body += "dataflow.send %w0, %last : vector<4xf32>\n"
        messages = trips if send else [1]
    else:
        body, messages = _nest(pick, takes + "dataflow.send %w0, %y : vector<4xf32>\n", trips), trips
    put = "%v = dataflow.receive %s0 : vector<4xf32>\n"
    put += store("v", "o", _place(pick, messages, pick.random() < 0.6), 4, "f32", SIZE)
    parts = (
        ("l0", views + _nest(pick, sends, trips)),
        ("s0", body),
        ("w0", views + _nest(pick, put, messages)),
    )
    return "".join(f"dataflow.program_unit iter_arg : %me -> (%{u}) : {{\n{b}}}\n" for u, b in parts)


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_give_the_same_at_once_and_step_by_step(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _program(seed)
    at_once = run(text, {0: X}, F32, (SIZE,))
    monkeypatch.setattr(Execution, "is_folding_unmarked", False)
    assert (at_once.view(np.uint32) == run(text, {0: X}, F32, (SIZE,)).view(np.uint32)).all()
    assert np.abs(at_once).sum() > 0


def test_units_that_answer_each_other_inside_their_loops_are_run_step_by_step() -> None:
    text = f"""
dataflow.program_unit iter_arg : %me -> (%s0) : {{
{view("x", "%c0", "64xf32")}{view("o", "%cout", "64xf32")}
  scf.for %k = %c0 to %c8 step %c1 {{
{load("a", "x", "%k * 4", 4, "f32", 64)}
    dataflow.send %s1, %a : vector<4xf32>
    %b = dataflow.receive %s1 : vector<4xf32>
{store("b", "o", "%k * 4", 4, "f32", 64)}
  }}
}}
dataflow.program_unit iter_arg : %me -> (%s1) : {{
  scf.for %k = %c0 to %c8 step %c1 {{
    %a = dataflow.receive %s0 : vector<4xf32>
    %n = vectorchain.neg %a : vector<4xf32>, vector<4xf32>
    dataflow.send %s0, %n : vector<4xf32>
  }}
}}
"""
    assert (run(text, {0: X[:64]}, F32, (32,)) == -X[:32]).all()


def test_a_value_around_a_ring_of_one_program_is_run_step_by_step() -> None:
    """Both units run one program in step; each message depends on the one before."""
    text = f"""
%peer = uniform.def_immutable_mapping([%s0 -> %s1], [%s1 -> %s0]):index
%base = uniform.def_immutable_mapping([%s0 -> %c0], [%s1 -> %c8]):index
dataflow.program_unit iter_arg : %me -> (%s0, %s1) : {{
  %to = uniform.query_map(map:%peer, key:%me) : index
  %at = uniform.query_map(map:%base, key:%me) : index
{view("x", "%c0", "64xf32")}{view("o", "%cout", "64xf32")}{load("a", "x", "%at", 4, "f32", 64)}
  dataflow.send %to, %a : vector<4xf32>
  scf.for %k = %c0 to %c3 step %c1 {{
    %b = dataflow.receive %to : vector<4xf32>
    %n = vectorchain.binary %b, %a {{binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1}}
      : vector<4xf32>, vector<4xf32>, vector<4xf32>
    dataflow.send %to, %n : vector<4xf32>
  }}
  %r = dataflow.receive %to : vector<4xf32>
{store("r", "o", "%at", 4, "f32", 64)}
}}
"""
    p, q = X[:4], X[8:12]
    first, second = q, p  # what each has received after every exchange
    for _ in range(3):
        first, second = second + q, first + p
    got = run(text, {0: X[:64]}, F32, (16,))
    assert (got[:4] == first).all() and (got[8:12] == second).all()


def test_stores_that_meet_keep_the_last_one() -> None:
    body = view("x", "%c0", "64xf32") + view("o", "%cout", "64xf32") + "scf.for %k = %c0 to %c8 step %c1 {\n"
    body += load("a", "x", "%k * 4", 4, "f32", 64) + store("a", "o", "%k * 2", 4, "f32", 64) + "}\n"
    got = run(f"dataflow.program_unit iter_arg : %me -> (%s0) : {{\n{body}}}\n", {0: X[:64]}, F32, (18,))
    want = np.zeros(18, F32)
    for k in range(8):
        want[2 * k : 2 * k + 4] = X[4 * k : 4 * k + 4]
    assert (got == want).all()


def test_what_a_loop_of_single_vectors_may_not_reach_is_an_error_at_once() -> None:
    body = view("x", "%c0", "64xf32") + "scf.for %k = %c0 to %c8 step %c1 {\n"
    body += load("a", "x", "%k * 8", 8, "f32", 64) + "dataflow.send %s0, %a : vector<8xf32>\n}\n"
    text = f"dataflow.program_unit iter_arg : %me -> (%l0) : {{\n{body}}}\n"
    assert OUT and image(text)
    with pytest.raises(Exception, match="left over"):
        run(text, {0: X[:64]})
    with pytest.raises(Exception, match="positions 0 to 70 are outside a view of size 64"):
        run(text.replace("%k * 8", "%k * 9"), {0: X[:64]})
