"""The candidate plans of a phase, by its kind."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.arch.device import Device
from headrace.schedule import search_column, search_contract, search_vector
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search_vector import Limits
from headrace.schedule.shape import Shape


def plans(name: str, shape: Shape, device: Device, cores: int, limits: Limits) -> Iterator[PhasePlan | None]:
    """Yield the priced candidates of a phase; None for one that does not fit the scratchpad."""
    match shape.group.kind:
        case "vector":
            yield from search_vector.candidates(name, shape, device, cores, limits)
        case "contract":
            yield from search_contract.candidates(name, shape, device, cores, limits)
        case "column":
            yield from search_column.candidates(name, shape, device, cores, limits)
