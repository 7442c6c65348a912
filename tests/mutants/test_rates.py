"""Every mutant that changes a result in some order is caught while it runs, and before it runs."""

import pytest

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
