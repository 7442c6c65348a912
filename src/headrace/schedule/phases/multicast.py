"""Which cores of a class read the same box of device memory, or parts of one better read together."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from headrace.arch.device import Device
from headrace.schedule.graph import Linear
from headrace.schedule.phases.linear import number, values


@lru_cache(maxsize=4096)
def _groups(base: Linear, cores: int, most: int) -> tuple[int, ...]:
    alike: dict[int, list[int]] = {}
    for core, start in enumerate(values(base.const, cores)):
        alike.setdefault(start, []).append(core)
    found, count = [0] * cores, 0
    for members in alike.values():
        parts = -(-len(members) // most)
        for at, core in enumerate(members):
            found[core] = count + at * parts // len(members)
        count += parts
    return tuple(found)


def groups(base: Linear, cores: int, device: Device) -> list[int]:
    """Return the number of the group of every core: cores whose accesses start at the same element share
    one, or as few equal ones as the device can answer with one read each.
    """
    return list(_groups(base, cores, _most(device)))


def is_shared(base: Linear, cores: int, device: Device) -> bool:
    """Return whether several cores read the same and the device can answer them with one read."""
    return distinct(base, cores, device) < cores


def _most(device: Device) -> int:
    multicast = device.memory("global").multicast
    return multicast.max_consumers if multicast is not None else 1


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
    for members in range(1, min(_most(device), cores) + 1):
        starts = values(joint_base(base, cores, members).const, cores)
        if any(edge * size % memory.access_bytes for edge in (extent * members, *starts)):
            continue
        return members if line_up(base, cores, extent, members) else 1
    return 1


def distinct(base: Linear, cores: int, device: Device) -> int:
    """Return how many reads the boxes of all cores take where cores share them."""
    return max(_groups(base, cores, _most(device))) + 1
