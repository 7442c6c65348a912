"""Equal ops computed once: the first that dominates the others stays."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from headrace.ir.effects import Effect, effect, is_terminator

_OPEN = frozenset(["scf.for", "scf.if"])
"""Ops whose regions see and reuse what is computed around them; bodies of other ops keep to themselves."""


@dataclass
class _Seen:
    """Ops by key, the innermost block last, and how many writes went before."""

    with_loads: bool
    scopes: list[dict[Hashable, list[Operation]]] = field(default_factory=list)
    writes: int = 0
    removed: int = 0


def cse(module: Operation, with_loads: bool = True) -> int:
    """Replaces repeated pure ops, `with_loads` loads with no write between too; returns how many."""
    seen = _Seen(with_loads)
    _regions(module, seen)
    return seen.removed


def _regions(op: Operation, seen: _Seen) -> None:
    outer = seen.scopes
    seen.scopes = list(outer) if op.name in _OPEN else []
    does_write = effect(op) is Effect.WRITE
    for region in op.regions:
        for block in region.blocks:
            seen.writes += does_write  # a loop's body may have written in the iteration before
            seen.scopes.append({})
            _block(block, seen)
            seen.scopes.pop()
    seen.writes += does_write
    seen.scopes = outer


def _block(block: Block, seen: _Seen) -> None:
    for op in list(block.ops):
        _regions(op, seen)
        what = effect(op)
        if what is Effect.WRITE or is_terminator(op) or not op.results or op.name in _OPEN:
            continue
        if what is Effect.READ and not seen.with_loads:
            continue
        key = _key(op, seen.writes if what is Effect.READ else 0)
        twin = _twin(op, key, seen)
        if twin is None:
            seen.scopes[-1].setdefault(key, []).append(op)
            continue
        for old, new in zip(op.results, twin.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
        seen.removed += 1


def _key(op: Operation, writes: int) -> Hashable:
    return (
        op.name,
        tuple(id(v) for v in op.operands),
        tuple(r.type for r in op.results),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
        writes,
    )


def _twin(op: Operation, key: Hashable, seen: _Seen) -> Operation | None:
    for scope in seen.scopes:
        for other in scope.get(key, ()):
            if not op.regions or op.is_structurally_equivalent(other):
                return other
    return None
