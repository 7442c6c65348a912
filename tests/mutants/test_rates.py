"""Every mutant that changes a result in some order is caught while it runs, and before it runs."""

from typing import Any

import pytest

from headrace.schedule.verify import _Function, verify
from tests.mutants.classes import CLASSES
from tests.mutants.judge import mutants
from tests.mutants.rates import missed, table, verdicts
from tests.mutants.subjects import Subject, all_subjects, small_subjects


def test_a_few_mutants_of_every_class_are_caught() -> None:
    found = verdicts(small_subjects(), 1)
    print(table(found))
    assert {v.kind for v in found if v.is_changing} == set(CLASSES)
    assert missed(found, "sanitized") == []
    assert missed(found, "verified") == []


@pytest.mark.long
def test_all_mutants_that_change_a_result_are_caught() -> None:
    found = verdicts(all_subjects(), 3)
    print(table(found))
    assert len(found) >= 500
    assert missed(found, "sanitized") == []
    assert missed(found, "verified") == []


def test_a_run_of_parts_objects_to_every_mutant_that_a_whole_one_objects_to(monkeypatch) -> None:
    """Loops without their middle, long events, cores apart and one for those that are alike show what is
    wrong as well, and nothing that is right.
    """
    monkeypatch.setattr("headrace.schedule.verify.FULL_EVENTS", 0)
    made = [(s, "", s.module) for s in small_subjects()]
    made += [(s, f"{kind}: {change}", m) for s in small_subjects() for kind, change, m in mutants(s, 1)]
    in_parts = [_objects(s, m) for s, _, m in made]
    monkeypatch.setattr("headrace.schedule.verify.FULL_EVENTS", 10**9)
    monkeypatch.setattr("headrace.schedule.verify.alike", lambda joined, cores: [[sorted(p)] for p in joined])
    monkeypatch.setattr(_Function, "apart", lambda self, party, cores: ([], None))
    whole = [_objects(s, m) for s, _, m in made]
    differ = [
        f"{s.name}: {change}" for (s, change, _), a, b in zip(made, in_parts, whole, strict=True) if a != b
    ]
    assert differ == []
    assert any(whole) and not all(whole)


def _objects(subject: Subject, module: Any) -> bool:
    return any(d.severity == "error" for d in verify(module, subject.device))
