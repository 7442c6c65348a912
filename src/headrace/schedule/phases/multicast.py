"""Which cores of a class read the same box of device memory, or parts of one better read together."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from headrace.arch.device import Device
from headrace.schedule.graph import Linear
from headrace.schedule.phases.linear import number, values


@lru_cache(maxsize=4096)
def _groups(base: Linear, cores: int) -> tuple[int, ...]:
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(v, len(seen)) for v in values(base.const, cores))


def groups(base: Linear, cores: int) -> list[int]:
    """Return the number of the group of every core: cores whose accesses start at the same element share
    one.
    """
    return list(_groups(base, cores))


def is_shared(base: Linear, cores: int, device: Device) -> bool:
    """Return whether several cores read the same and the device can answer them with one read."""
    found = _groups(base, cores)
    sharing = max((found.count(g) for g in set(found)), default=0)
    multicast = device.memory("global").multicast
    return sharing > 1 and multicast is not None and sharing <= multicast.max_consumers


def joint_base(base: Linear, cores: int, members: int) -> Linear:
    """Return where `members` neighbouring cores that read as one begin: at the first of them."""
    if members == 1:
        return base
    starts = values(base.const, cores)
    return replace(base, const=number([starts[c // members * members] for c in range(cores)]))


def line_up(base: Linear, cores: int, extent: int, members: int) -> bool:
    """Return whether each group of `members` cores reads neighbouring parts of `extent` elements in order."""
    starts, firsts = values(base.const, cores), values(joint_base(base, cores, members).const, cores)
    return cores % members == 0 and all(
        start - first == c % members * extent
        for c, (start, first) in enumerate(zip(starts, firsts, strict=True))
    )


def joinable(base: Linear, cores: int, extent: int, size: int, device: Device) -> int:
    """Return how many neighbouring cores should read `extent` elements of `size` bytes each as one.

    The fewest whose parts together begin and end where accesses of device memory do; 1 if that is so for
    every core alone, or if no number does it.
    """
    memory = device.memory("global")
    most = memory.multicast.max_consumers if memory.multicast is not None else 1
    for members in range(1, min(most, cores) + 1):
        starts = values(joint_base(base, cores, members).const, cores)
        if any(edge * size % memory.access_bytes for edge in (extent * members, *starts)):
            continue
        return members if line_up(base, cores, extent, members) else 1
    return 1


def distinct(base: Linear, cores: int) -> int:
    """Return how many different boxes the cores read."""
    return max(_groups(base, cores)) + 1
