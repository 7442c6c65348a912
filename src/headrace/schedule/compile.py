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

MEANWHILE = 0.67
"""Values between tiles pass through device memory if that is predicted to take less than this part of the
time: the prediction counts no waiting of those who load for those who store.
"""

SPILLING = 0.6
"""Whole rows that pass through device memory between phases are taken instead of a loop over blocks if that
is predicted to take less than this part of the time: the same, and loops are predicted to wait too often.
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

    in_blocks = "joining" in without if plan is None else plan.in_blocks

    def modelled(between: Collection[str] | None, without: Collection[str], in_blocks: bool) -> TileGraph:
        whole = model(module, device, request.scalars, request.function, without, between)
        if not whole.has_blocks or not in_blocks:
            return whole
        loops = model(module, device, request.scalars, request.function, without, between, "apart")
        return replace(loops, work=whole.work, has_blocks=True)  # the bound depends on no plan

    graph = modelled(between, without, in_blocks)
    require_types(graph, device)
    if plan is not None:
        return _compiled(graph, plan, device)
    first: Plan | None = None
    if graph.has_blocks and not in_blocks:
        first = _first(graph, device, request)
        if first is None or _is_loaded_again(first):
            loops = modelled(between, without, True)
            other = _first(loops, device, request)
            if other is not None and (first is None or _is_slower(first, other)):
                graph, first, in_blocks = loops, other, True
    found = _searched(graph, device, request, first)
    unkept = {arg for value, arg in graph.between.items() if _is_stored_twice(value, found.plan)}
    if unkept:
        between = {*graph.between.values()} - unkept
        found = _searched(modelled(between, without, in_blocks), device, request)
    if any(is_used(part.body) for part in graph.classes):
        past = _searched(modelled(between, {*without, "ring"}, in_blocks), device, request)
        if past.plan.predicted_cycles < MEANWHILE * found.plan.predicted_cycles:
            found = replace(past, plan=replace(past.plan, over_ring=False))
    return replace(found, plan=replace(found.plan, in_blocks=in_blocks and graph.has_blocks))


def _is_slower(whole: Plan, loops: Plan) -> bool:
    """Whether whole rows are predicted to be slower than loops over blocks."""
    spills = any("scratch" in c.homes.values() for c in whole.classes)
    return whole.predicted_cycles > (SPILLING if spills else 1.0) * loops.predicted_cycles


def _is_loaded_again(plan: Plan) -> bool:
    """Whether whole rows move more than the least: values between phases that do not fit, or factors that
    every low strip loads. Where they do not, or come in blocks of columns, a loop has nothing to gain.
    """

    def is_low(strips: Mapping[str, int]) -> bool:
        return bool(strips) and not strips["kept"] and not strips["block"]

    return any("scratch" in c.homes.values() or is_low(c.strips) for c in plan.classes)


def _is_stored_twice(value: str, plan: Plan) -> bool:
    """Whether a value that lies in an argument anyway would be stored to scratch for the next kernel."""
    return any(part.homes.get(value) == "scratch" for part in plan.classes)


def _first(graph: TileGraph, device: Device, request: Request) -> Plan | None:
    """The plan of the search for the most room, None if not even the least tiles fit."""
    with suppress(ScratchpadFull):
        return search(graph, device, request, simulate=_simulation(graph, device, request))
    return None


def _searched(graph: TileGraph, device: Device, request: Request, first: Plan | None = None) -> Compiled:
    """The plan of the search, compiled; while its buffers find no addresses, the plan for less room. `first`
    is the plan for the most room, if it is known.
    """
    *larger, least = rooms(device)
    simulate = _simulation(graph, device, request)
    for room in larger:
        plan = first or search(graph, device, request, simulate=simulate, room=room)
        first = None
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
