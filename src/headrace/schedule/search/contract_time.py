"""How long a contraction phase lasts: its tiles, loads and stores of all cores beside the unit's work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, prod

from headrace.schedule.phases.multicast import distinct
from headrace.schedule.search.contract_cost import Choice, Space, TileCost, reloads
from headrace.schedule.search.vector import key
from headrace.schedule.units import units

UNEVEN_STEPS = 3
"""Steps of a tile's depth in which device memory waits for the unit where it is busy all the time otherwise:
results neither leave in the first nor in the last, and loads wait beside them in the others, the more the
fewer copies there are to load ahead.
"""

HELD = 0.5
"""The part of the time in which results leave before the steps of a tile for which the unit waits."""


def predicted(
    space: Space, copies: Mapping[str, int], choice: Choice, tiles: Callable[[int, int, bool], TileCost]
) -> tuple[float, dict[str, float]]:
    """Return the cycles of the phase and their parts; `tiles` gives the cost of a tile of a choice, once for
    all copies (`tile_cost`).

    A tile lasts as long as its work or as the loads during it and the stores left from before. Results that
    no copy of a stage is free for hold the unit up.
    """
    r = space.roles
    if choice.behind:
        return _behind(space, copies["in"], choice, tiles)
    rows = list(choice.taper) or _sizes(space, r.row, choice.row)
    columns = _sizes(space, r.column, choice.column)
    by_column = choice.order == "column"
    is_reloaded = reloads(space, choice)
    kinds: list[tuple[TileCost, int]] = []
    for outer in columns if by_column else rows:
        for number, inner in enumerate(rows if by_column else columns):
            row, column = (inner, outer) if by_column else (outer, inner)
            cost = tiles(row, column, number == 0 or is_reloaded)
            if kinds and kinds[-1][0] is cost:
                kinds[-1] = (cost, kinds[-1][1] + 1)
            else:
                kinds.append((cost, 1))
    return _timeline(space, copies, choice, kinds, prod(space.extent(d) for d in r.outer))


def _behind(
    space: Space, ahead: int, choice: Choice, tiles: Callable[[int, int, bool], TileCost]
) -> tuple[float, dict[str, float]]:
    """Return the cycles where results leave evenly during the next tile, those of the tile that fills a panel
    during all others: the memory moves them beside the loads, and nothing waits. Behind the last load, the
    work of a step is left.
    """
    r = space.roles
    by_column = choice.order == "column"
    outers = _sizes(space, r.column, choice.column) if by_column else _sizes(space, r.row, choice.row)
    steps = ceil(space.extent(r.depth) / choice.depth)
    filling = ceil(space.extent(r.depth) / choice.filling) if choice.filling else steps
    waits = max(2, ahead) / (max(2, ahead) - 1)
    total = work = memory = drain = 0.0
    for outer, times in Counter(outers).items():
        drain, apart, rows, share = 0.0, 0.0, 0, 0
        for number, size in enumerate(choice.behind):
            place = (size, outer) if by_column else (outer, size)
            tile = tiles(*place, number == 0 or not choice.taper)
            uneven = UNEVEN_STEPS * (waits if number else 2) / (steps if number else filling)
            missing = tile.load if number else tile.load * (1 - 1 / filling)
            idle = uneven * max(0.0, tile.work - missing)
            if number == len(choice.behind) - 1:
                idle = max(idle, tile.work / steps)
            total += max(tile.work, missing + drain + apart + idle) * times
            total += (_ahead_of(steps, drain, rows) + _ahead_of(steps, apart, share)) * HELD * times
            drain, rows = tile.store, place[0]
            if choice.taper and not number:
                others = max(1, len(choice.behind) - 1)
                apart, share = drain / others, rows // others
                drain = rows = 0
            work, memory = work + tile.work * times, memory + (tile.load + tile.store) * times
        total += drain * times
    first = tiles(choice.row, choice.column, True)
    fill = first.load / filling + _latency(space)
    repeats = prod(space.extent(d) for d in r.outer)
    parts = {space.unit: work * repeats, "ddr": memory * repeats, "fill": fill, "drain": drain}
    return total * repeats + fill + _latency(space), {name: round(n, 1) for name, n in parts.items()}


def _ahead_of(steps: int, stores: float, rows: int) -> float:
    """Return the cycles of device memory for those of some rows that leave before the steps of a tile."""
    return stores * (rows % max(1, steps - 2)) / rows if rows else 0.0


def _latency(space: Space) -> float:
    device = space.device
    setup = device.unit(units(device).loader).setup_cycles
    return device.cycles(device.memory("global").latency_ns) + 2 * setup


def _sizes(space: Space, dim: str, size: int) -> list[int]:
    whole, rest = divmod(space.extent(dim), size)
    return [size] * whole + ([rest] if rest else [])


@dataclass
class _Flow:
    """Where loads and stores stand between two tiles, in cycles of device memory: left to store, not used,
    loaded of what comes next when it begins.
    """

    backlog: float = 0.0
    spare: float = 0.0
    fetched: float = 0.0


def _timeline(
    space: Space, copies: Mapping[str, int], choice: Choice, kinds: list[tuple[TileCost, int]], repeats: int
) -> tuple[float, dict[str, float]]:
    latency, flow = _latency(space), _Flow(fetched=kinds[0][0].load / _steps(space, choice)[0])
    fill = flow.fetched + latency
    total = fill + _once(space, copies, choice, kinds, flow)
    if repeats > 1:  # what the first round left goes on during the second, and from there on it is the same
        total += _once(space, copies, choice, kinds, flow) * (repeats - 1)
    total += flow.backlog + latency
    work = sum(tile.work * count for tile, count in kinds)
    memory = sum((tile.load + tile.store) * count for tile, count in kinds)
    parts = {space.unit: work * repeats, "ddr": memory * repeats, "fill": fill, "drain": flow.backlog}
    return total, {name: round(cycles, 1) for name, cycles in parts.items()}


def _steps(space: Space, choice: Choice) -> tuple[int, int]:
    """Return the steps of the depth of the first tile and of all others."""
    usual = ceil(space.extent(space.roles.depth) / choice.depth) * space.places
    return (ceil(space.extent(space.roles.depth) / choice.filling) if choice.filling else usual), usual


def _once(
    space: Space, copies: Mapping[str, int], choice: Choice, kinds: list[tuple[TileCost, int]], flow: _Flow
) -> float:
    """Cycles of all tiles in order, beginning with a flow, which is left as it is afterwards."""
    first, usual = _steps(space, choice)
    ahead = _ahead(space, copies, choice)
    overlaps = copies["in"] > 1
    share = _share_of_loads(space, choice)
    total = 0.0
    for kind, (tile, count) in enumerate(kinds):
        # tiles of other sizes have buffers of their own, handed over when the last of these end; but behind
        # the tile that fills a panel loads go on while the unit works on the steps that are there
        early = copies.get("filling", 0) * kinds[0][0].work / first if kind == 1 else 0.0
        fetched = min(ahead * tile.load, early, flow.spare) if kind else flow.fetched
        flow.fetched = 0.0
        # behind the last load, the unit works on its step up to the first stage
        left = max(tile.last, tile.work / (usual if kind else first) - tile.last * (tile.stages - 1))
        waiting = min(1.0, copies["out"] / tile.stages)
        for number in range(min(count, 3)):
            times = count - 2 if number == 2 else 1
            missing = max(0.0, tile.load - fetched)
            busy = tile.work
            if overlaps and tile.load and flow.backlog:
                stores = flow.backlog / (1 - share)
                step = choice.depth / space.extent(space.roles.depth)
                ready = (fetched + stores * share) / tile.load // step * step - step
                busy += max(0.0, stores - tile.work * min(1.0, max(0.0, ready)))
            span = max(busy, missing + flow.backlog + left)
            if not overlaps:
                span = tile.work + tile.load + flow.backlog
            held = max(0.0, tile.store * (1 - waiting) - tile.last * tile.stages)
            total += (span + held) * times
            flow.spare = max(0.0, span - missing - flow.backlog)
            fetched = min(ahead * tile.load, flow.spare)
            flow.backlog = tile.store * waiting
    return total


def _share_of_loads(space: Space, choice: Choice) -> float:
    """The part of the memory's time that loads get beside stores: transfers in flight share it evenly, and
    few loads serve many cores, each of which stores for itself.
    """
    operand = space.roles.rows if choice.order == "column" else space.roles.weights
    flows = (
        distinct(operand.surface.base, space.cores, space.device)
        if key(operand) in space.shared
        else space.cores
    )
    return flows / (flows + space.cores)


def _ahead(space: Space, copies: Mapping[str, int], choice: Choice) -> float:
    """The part of a tile's streamed factor that the scratchpad holds in advance."""
    steps = ceil(space.extent(space.roles.depth) / choice.depth) * space.places
    if steps > 2:
        middle = min(copies["in"], steps - 2)
        return min(middle, 3 + (steps - 3) % middle) / steps
    return 1.0 if copies["in"] > 1 else 0.0
