"""Prints the rates over all subjects: `python -m tests.mutants [MUTANTS PER CLASS AND SUBJECT]`."""

import sys

from tests.mutants.rates import missed, table, verdicts
from tests.mutants.subjects import all_subjects

found = verdicts(all_subjects(), int(sys.argv[1]) if len(sys.argv) > 1 else 3)
print(table(found))
for by in ("sanitized", "verified"):
    for line in missed(found, by):
        print(f"not {by}: {line}")
