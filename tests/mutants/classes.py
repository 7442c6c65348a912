"""One fault in a copy of a DFIR module, of a class, by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.mutants import exceptions, mutators, tables
from tests.mutants.mutators import Change

CLASSES: dict[str, Callable[[Any], Iterator[Change]]] = {
    "order": mutators.order,
    "signals": mutators.signals,
    "credits": mutators.credits,
    "messages": mutators.messages,
    "coverage": mutators.coverage,
    "bounds": mutators.bounds,
    "addresses": mutators.addresses,
    "registers": mutators.registers,
    "iterations": exceptions.iterations,
    "cores": exceptions.cores,
    "tables": tables.tables,
}
"""By name: what the sanitizer looks for, and exceptions from what many iterations or cores do alike."""

EXCEPTIONS = ("iterations", "cores", "tables")


def mutant(module: Any, kind: str, seed: int) -> tuple[str, Any] | None:
    """(what was done, a changed copy of the module); None if the class applies nowhere."""
    copy = module.clone()
    changes = list(CLASSES[kind](copy))
    if not changes:
        return None
    # every kind of change is as likely as the others, wherever it applies most often
    rng = random.Random(f"{kind} {seed}")
    what = rng.choice(sorted({text.split(":")[0] for text, _ in changes}))
    text, make = rng.choice([c for c in changes if c[0].split(":")[0] == what])
    make()
    return text, copy
