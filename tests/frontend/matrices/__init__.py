"""The operator matrices: by family, functions with arguments that compiled and eager code must agree on
with the CPU.
"""

from __future__ import annotations

from . import contractions, indexing, movement, pointwise, programs, reductions
from .case import Case

FAMILIES: dict[str, dict[str, Case]] = {
    "pointwise": pointwise.CASES,
    "reductions": reductions.CASES,
    "contractions": contractions.CASES,
    "movement": movement.CASES,
    "indexing": indexing.CASES,
    "programs": programs.CASES,
}
CASES: dict[str, Case] = {
    f"{family}: {name}": case for family, table in FAMILIES.items() for name, case in table.items()
}
