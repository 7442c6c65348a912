"""The candidate plans of a phase, by its kind."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.arch.device import Device
from headrace.schedule.phases.shape import Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search import column, contract, vector
from headrace.schedule.search.vector import Limits

_OF_KIND = {"vector": vector, "contract": contract, "column": column}


def least_plans(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield the priced candidates of a phase in its smallest tiles, where none of `plans` fits."""
    yield from _OF_KIND[shape.group.kind].least_candidates(name, shape, device, cores, limits)


def plans(name: str, shape: Shape, device: Device, cores: int, limits: Limits) -> Iterator[PhasePlan | None]:
    """Yield the priced candidates of a phase; None for one that does not fit the scratchpad."""
    yield from _OF_KIND[shape.group.kind].candidates(name, shape, device, cores, limits)
