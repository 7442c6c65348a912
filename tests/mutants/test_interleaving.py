"""The random executor runs correct programs right in every order, and shows what broken ones may do."""

import pytest

from headrace.machine.decode import decode
from headrace.machine.execute import execute
from tests.mutants.classes import CLASSES, mutant
from tests.mutants.interleaving import Hang, Order, interleave
from tests.mutants.judge import ORDERS, outcome, outcomes
from tests.mutants.subjects import Subject, small_subjects

SUBJECTS = small_subjects()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.name)
def test_every_order_of_a_correct_program_gives_what_execution_gives(subject: Subject) -> None:
    subject.prepare(0)
    execute(subject.image, subject.memory, subject.scalars, subject.pads)
    wanted = subject.result()
    assert any(wanted)
    found = outcomes(subject, subject.module, wanted, 6)
    assert len(found) == 7 and len(set(found)) == 1
    # execution adds up a reduction over iterations in an order of its own
    assert subject.name == "nested_loops on spyre-1core" or found[0] == wanted


def test_orders_differ_and_an_order_repeats() -> None:
    """A copy that races with its reader gives several results, each order always its own."""
    subject = next(s for s in SUBJECTS if s.name == "softmax")
    module = subject.module.clone()
    for op in list(module.walk()):
        if op.name in ("dataflow.sync_send", "dataflow.sync_recv") and op.dbgName.data == "full.x":
            op.detach()
    image = decode(module, subject.device)
    results = [outcome(subject, image, Order(seed), 0) for seed in range(ORDERS)]
    assert len(set(results)) > 1
    assert results == [outcome(subject, image, Order(seed), 0) for seed in range(ORDERS)]


def test_a_program_that_waits_for_ever_hangs() -> None:
    subject = next(s for s in SUBJECTS if s.name == "softmax")
    module = subject.module.clone()
    op = next(op for op in module.walk() if op.name == "dataflow.sync_send")
    op.detach()
    with pytest.raises(Hang, match="waits for"):
        interleave(decode(module, subject.device), subject.memory, subject.scalars, subject.pads, Order(0))


def test_mutants_are_the_same_every_time_and_leave_the_original_alone() -> None:
    subject = SUBJECTS[0]
    before = str(subject.module)
    for kind in CLASSES:
        made = [mutant(subject.module, kind, 5) for _ in range(2)]
        if made[0] is not None and made[1] is not None:
            assert made[0][0] == made[1][0] and str(made[0][1]) == str(made[1][1]) != before
    assert str(subject.module) == before
