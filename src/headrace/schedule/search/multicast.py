"""Which cores of a class read the same box of device memory."""

from __future__ import annotations

from functools import lru_cache

from headrace.arch.device import Device
from headrace.schedule.graph import Linear
from headrace.schedule.phases.linear import values


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


def distinct(base: Linear, cores: int) -> int:
    """Return how many different boxes the cores read."""
    return max(_groups(base, cores)) + 1
