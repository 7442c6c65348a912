"""What a mutant does in many orders, and whether the sanitizer and the static checker say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.check import Finding, sanitize
from headrace.machine.decode import decode
from headrace.schedule.verify import verify
from tests.mutants.classes import CLASSES, mutant
from tests.mutants.interleaving import Hang, Order, interleave
from tests.mutants.subjects import Subject
from tests.mutants.timed import timed_order

ORDERS = 20
"""Random orders a mutant runs in, the timed one not counted."""


@dataclass(frozen=True)
class Verdict:
    """One mutant: its outcomes in all orders tried and who objects.

    `is_changing`: some order gives another output than the correct program, hangs or faults. `is_lawful`: all
    orders give one and the same other output: the mutant is a correct program, of something else.
    """

    subject: str
    kind: str
    change: str
    is_changing: bool
    is_lawful: bool
    sanitized: tuple[Finding, ...]
    verified: tuple[str, ...]


def mutants(subject: Subject, per_class: int, seed: int = 0) -> list[tuple[str, str, Any]]:
    """(class, change, module) of different mutants of a subject that decode accepts."""
    found = []
    for kind in CLASSES:
        seen: set[str] = set()
        for k in range(4 * per_class):
            made = mutant(subject.module, kind, hash_of(subject.name, seed, k))
            if made is None or len(seen) == per_class:
                break
            change, module = made
            if change not in seen and _decodes(module, subject):
                seen.add(change)
                found.append((kind, change, module))
    return found


def hash_of(name: str, seed: int, number: int) -> int:
    """A number that differs from subject to subject, the same in every process."""
    return sum(ord(c) * 31**k for k, c in enumerate(name)) % 100003 + 1000003 * seed + number


def _decodes(module: Any, subject: Subject) -> bool:
    try:
        decode(module, subject.device)
    except HeadraceError:
        return False
    return True


def outcome(subject: Subject, image: Any, order: Order, seed: int) -> bytes | None:
    """The outputs of an image on the subject's inputs in an order; None where it does not end well."""
    subject.prepare(seed)
    try:
        interleave(image, subject.memory, subject.scalars, subject.pads, order)
    except (Hang, HeadraceError):
        return None
    return subject.result()


def outcomes(subject: Subject, module: Any, wanted: bytes, orders: int = ORDERS) -> list[bytes | None]:
    """What a module gives in the timed order and in random ones, up to the first proof that it is broken."""
    image = decode(module, subject.device)
    found: list[bytes | None] = []
    timed = timed_order(image, subject)
    found.append(None if timed is None else outcome(subject, image, timed, 0))
    for seed in range(orders):
        if found[-1] is None or any(x != found[0] for x in found):
            break
        found.append(outcome(subject, image, Order(seed), seed))
    return found


def judge(
    subject: Subject, kind: str, change: str, module: Any, wanted: bytes, orders: int = ORDERS
) -> Verdict:
    """Everything about one mutant."""
    found = outcomes(subject, module, wanted, orders)
    image = decode(module, subject.device)
    subject.prepare(0)
    sanitized = sanitize(image, subject.memory, dict(subject.scalars), None, subject.blank)
    verified = [d for d in verify(module, subject.device) if d.severity == "error"]
    return Verdict(
        subject.name,
        kind,
        change,
        is_changing=any(x != wanted for x in found),
        is_lawful=found[0] is not None and found[0] != wanted and len(set(found)) == 1,
        sanitized=tuple(sanitized),
        verified=tuple(map(str, verified)),
    )
