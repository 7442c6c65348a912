"""What a stage touches as other pipelines see it: boxes that lie side by side as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from headrace.schedule.lower.index import Expr, entries
from headrace.schedule.lower.order.accesses import Access, hull


def joined(found: Iterable[Access]) -> Iterator[tuple[Access, list[Access]]]:
    """Yield the accesses as other pipelines see them, with those each is made of: what a stage touches of a
    buffer, its point loops swept over, as one box where neighbouring boxes are one.
    """
    stages: dict[object, list[Access]] = {}
    for access in found:
        alike = (access.unit, access.path, access.pipeline, access.is_write, access.key)
        stages.setdefault(alike, []).append(access)
    for several in stages.values():
        boxes = [(_swept(access), [access]) for access in several]
        while boxes:
            whole, parts = boxes.pop(0)
            for other, more in list(boxes):
                both = _union(whole, other)
                if both is not None:
                    whole, parts = both, [*parts, *more]
                    boxes = [b for b in boxes if b[0] is not other]
            yield (parts[0] if len(parts) == 1 else whole), parts


def _swept(access: Access) -> Access:
    """The access over its point loops, if these surely run."""
    if any(not p.count.is_number or min(entries(p.count.const)) < 1 for p in access.points):
        return access
    return replace(hull(access, len(access.loops)), points=())


def _union(one: Access, other: Access) -> Access | None:
    """Two boxes of a stage as one, if they differ along one dim and the second begins in the first or where
    it ends.
    """
    if one.points or other.points or one.memory != other.memory:
        return None
    pairs = list(zip(one.low, one.size, other.low, other.size, strict=True))
    apart = [k for k, (low, size, first, extent) in enumerate(pairs) if (low, size) != (first, extent)]
    if not apart:
        return one
    (k, *rest) = apart
    low, size, first, extent = pairs[k]
    if rest or low is None or size is None or first is None or extent is None:
        return None
    numbers = [e.const for e in (first - low, size, extent) if e.is_number and isinstance(e.const, int)]
    if len(numbers) < 3 or not 0 <= numbers[0] <= numbers[1]:
        return None
    whole = Expr(max(numbers[1], numbers[0] + numbers[2]))
    return replace(one, size=tuple(whole if d == k else s for d, s in enumerate(one.size)))
