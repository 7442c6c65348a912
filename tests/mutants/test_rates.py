"""Every mutant that changes a result in some order is caught while it runs, and before it runs."""

import pytest

from headrace.schedule.verify import verify
from tests.mutants.judge import mutants
from tests.mutants.mutators import CLASSES
from tests.mutants.rates import missed, table, verdicts
from tests.mutants.subjects import all_subjects, small_subjects


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


def test_shortened_runs_object_to_every_mutant_that_full_ones_object_to(monkeypatch) -> None:
    """Loops and events without their middle show what is wrong as well, and nothing that is right."""
    made = [(s, m) for s in small_subjects() for m in (s.module, *(m for *_, m in mutants(s, 1)))]
    found = []
    for most in (10**9, 0):
        monkeypatch.setattr("headrace.schedule.verify.FULL_EVENTS", most)
        found.append([any(d.severity == "error" for d in verify(m, s.device)) for s, m in made])
    assert found[0] == found[1]
    assert any(found[0]) and not all(found[0])
