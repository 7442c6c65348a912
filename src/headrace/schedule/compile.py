"""KTIR to DFIR in one call: model → search → build → lower, with what was decided on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from headrace.arch.cost import Work
from headrace.arch.device import Device
from headrace.ir.diagnostics import HeadraceError
from headrace.schedule.buffers import ScratchpadFull
from headrace.schedule.build import build
from headrace.schedule.graph import TileGraph
from headrace.schedule.lower import lower
from headrace.schedule.model import model
from headrace.schedule.plan import Plan
from headrace.schedule.ring import is_used
from headrace.schedule.search import rooms, search
from headrace.schedule.summation import reduction_terms, rounded_between
from headrace.schedule.types import require_types

MEANWHILE = 0.7
"""Values between tiles pass through device memory if that is predicted to take less than this part of the
time: the prediction counts no waiting of those who load for those who store.
"""


@dataclass(frozen=True)
class Request:
    """What the caller asks of the scheduler.

    `scalars` are the values of scalar arguments by name (the schedule is made for them), `without` the names
    of optimisations to leave out, `effort` 0..3 the search budget, `plan` a plan to replay instead of
    searching, `simulate` the cycles of a DFIR module, asked for the best few plans from effort 2 on.
    """

    scalars: Mapping[str, float | int] = field(default_factory=dict)
    function: str | None = None
    without: frozenset[str] = frozenset()
    effort: int = 1
    plan: Plan | None = None
    simulate: Callable[[Any], float] | None = None


@dataclass(frozen=True)
class Compiled:
    """Every level below KTIR of one module."""

    graph: TileGraph
    plan: Plan
    ktdf: Any
    dfir: Any

    @property
    def work(self) -> Work:
        """The work of the canonicalised KTIR, for the bound."""
        return Work.from_attribute(self.graph.work)

    @property
    def reduction_terms(self) -> int:
        """The most values any one result sums over (0: nothing is reduced): what a free order may change."""
        return reduction_terms(self.graph.classes)

    @property
    def rounded_between(self) -> str:
        """The type to which sums are rounded before another reduction reads them, "" for none."""
        return rounded_between(self.graph.classes)


def compile_module(module: Any, device: Device, request: Request) -> Compiled:
    """Schedule one function of a KTIR module; HeadraceError says what cannot be scheduled, where, and why."""
    plan = request.plan
    without = {name.removeprefix("schedule.") for name in request.without}
    between: Collection[str] | None = () if "residency" in without else None
    if plan is not None:
        without, between = {*without, *plan.without}, plan.between
        without |= set() if plan.over_ring else {"ring"}

    def modelled(between: Collection[str] | None, without: Collection[str]) -> TileGraph:
        return model(module, device, request.scalars, request.function, without, between)

    graph = modelled(between, without)
    require_types(graph, device)
    if plan is not None:
        return _compiled(graph, plan, device)
    found = _searched(graph, device, request)
    unkept = {arg for value, arg in graph.between.items() if _is_stored_twice(value, found.plan)}
    if unkept:
        between = {*graph.between.values()} - unkept
        found = _searched(modelled(between, without), device, request)
    if any(is_used(part.body) for part in graph.classes):
        other = _searched(modelled(between, {*without, "ring"}), device, request)
        if other.plan.predicted_cycles < MEANWHILE * found.plan.predicted_cycles:
            return replace(other, plan=replace(other.plan, over_ring=False))
    return found


def _is_stored_twice(value: str, plan: Plan) -> bool:
    """Whether a value that lies in an argument anyway would be stored to scratch for the next kernel."""
    return any(part.homes.get(value) == "scratch" for part in plan.classes)


def _searched(graph: TileGraph, device: Device, request: Request) -> Compiled:
    """The plan of the search, compiled; while its buffers find no addresses, the plan for less room."""
    *larger, least = rooms(device)
    simulate = _simulation(graph, device, request)
    for room in larger:
        plan = search(graph, device, request, simulate=simulate, room=room)
        with suppress(ScratchpadFull):
            return _compiled(graph, plan, device)
    return _compiled(graph, search(graph, device, request, simulate=simulate, room=least), device)


def _compiled(graph: TileGraph, plan: Plan, device: Device) -> Compiled:
    ktdf = build(graph, plan, device)
    return Compiled(graph, plan, ktdf, lower(ktdf, device))


def _simulation(graph: TileGraph, device: Device, request: Request) -> Callable[[Plan], float] | None:
    """The cycles of a plan of this graph; one that cannot be lowered takes for ever."""
    simulate = request.simulate
    if simulate is None:
        return None

    def cycles(plan: Plan) -> float:
        try:
            return simulate(lower(build(graph, plan, device), device))
        except HeadraceError:
            return inf

    return cycles
