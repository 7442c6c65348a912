"""How many mutants of each class change a result, and how many of those are caught."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.mutants.classes import CLASSES, EXCEPTIONS
from tests.mutants.interleaving import Order
from tests.mutants.judge import Verdict, judge, mutants, outcome
from tests.mutants.subjects import Subject

HEAD = ("class", "mutants", "change the result", "sanitizer", "verifier", "alike in all orders")


def verdicts(subjects: Iterable[Subject], per_class: int, seed: int = 0) -> list[Verdict]:
    """Every mutant of some subjects, judged."""
    found = []
    for subject in subjects:
        wanted = outcome(subject, subject.image, Order(0), 0)
        assert wanted is not None, subject.name
        found += [judge(subject, *made, wanted) for made in mutants(subject, per_class, seed)]
    return found


def is_wrong(found: Verdict) -> bool:
    """Whether a mutant changes a result in a way that a checker can object to.

    What is left out once, and legal, is another program: it does not count if its result is the same in all
    orders.
    """
    return found.is_changing and not (found.is_lawful and found.kind in EXCEPTIONS)


def missed(found: Sequence[Verdict], by: str) -> list[str]:
    """The wrong mutants without an objection of "sanitized" or "verified"."""
    return [f"{v.subject}: {v.kind}: {v.change}" for v in found if is_wrong(v) and not getattr(v, by)]


def table(found: Sequence[Verdict]) -> str:
    """The rates as Markdown; "alike in all orders" counts mutants with one other result in all orders."""
    rows = []
    for kind in (*CLASSES, "all"):
        mine = [v for v in found if kind in (v.kind, "all")]
        changing = [v for v in mine if is_wrong(v)]
        caught = [
            _rate(sum(bool(getattr(v, by)) for v in changing), len(changing))
            for by in ("sanitized", "verified")
        ]
        rows.append((kind, str(len(mine)), str(len(changing)), *caught, str(sum(v.is_lawful for v in mine))))
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rate(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "–"
