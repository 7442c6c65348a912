"""How a kernel's iteration space is cut over the cores: one or two dims, by predicted cycles. One of them may
be a dim that reductions run over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headrace.arch.cost import ddr_cycles
from headrace.arch.device import Device
from headrace.arch.routes import loaders, storers, unicast_rate
from headrace.frontend.decide.meetings import meeting_cycles, meetings
from headrace.frontend.decide.products import products
from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.kernel import Division, pairs, splittable
from headrace.frontend.lower.program import LoopProgram
from headrace.frontend.lower.scan import Access

WORTHWHILE = 0.85
"""Tiles share a dim if that is predicted to take less than so much of the time without (a)."""

FULL = 0.7
"""The same where half of the cores or more have work without: a prediction of short runs and of transfers
one after the other is too high for many cores at once (a).
"""


def divide(program: LoopProgram, group: Group, device: Device, is_sharing: bool = True) -> Division:
    """The division with the fewest predicted cycles; ties go to fewer tiles, then to outer dims.

    `is_sharing`: tiles may share a dim that reductions run over.
    """
    free = splittable(program, group)

    def price(numbered: tuple[int, Division]) -> tuple[float, int, int]:
        order, division = numbered
        cycles = _cycles(program, group, division, device) + meeting_cycles(program, group, division, device)
        return cycles, math.prod(division.grid(group.extents)), order

    alone = min(_apart(free, group.extents, device.cores), key=price)
    if is_sharing:
        found = ((0, division) for division in meetings(program, group, free, device))
        shared = min(found, key=price, default=None)
        cycles, tiles, _ = price(alone)
        if 4 * tiles >= 3 * device.cores and _has_windows(program, group):
            return alone[1]
        share = FULL if 2 * tiles >= device.cores else WORTHWHILE
        if shared is not None and price(shared)[0] < share * cycles:
            return shared[1]
    return alone[1]


def _has_windows(program: LoopProgram, group: Group) -> bool:
    """Whether a product is over several dims: priced place by place, while the scheduler makes matrices of
    windows, it seems to gain more by sharing than it does.
    """
    return any(
        len(scan.reduced) > 1 and bool(products(scan, nest, program.dtypes))
        for scan, nest in zip(group.scans, program.nests, strict=True)
    )


def _apart(free: Sequence[str], extents: Mapping[str, int], cores: int) -> Iterator[tuple[int, Division]]:
    """The divisions whose tiles have nothing to do with each other, by the order of their dims."""
    for order, dims in enumerate(pairs(free)):
        for sizes in _candidates(dims, extents, cores):
            yield order, Division(dict(zip(dims, sizes, strict=True)))


def _candidates(dims: tuple[str, ...], extents: Mapping[str, int], cores: int) -> list[tuple[int, ...]]:
    """Tile sizes per dim such that there are at most `cores` tiles."""
    if not dims:
        return [()]
    first = extents[dims[0]]
    if len(dims) == 1:
        counts = (cores, cores // 2, cores // 4, cores // 8)
        return [(-(-first // count),) for count in dict.fromkeys(min(n, first) for n in counts if n)]
    second = extents[dims[1]]
    found: list[tuple[int, ...]] = []
    even = {p for p in range(2, cores // 2 + 1) if first % p == 0}
    for parts in sorted({p for p in (2, 4, 8, 16, cores // 2) if 1 < p <= min(first, cores)} | even):
        rest = cores // parts
        if rest > 1 and second > 1:
            found.append((-(-first // parts), -(-second // min(rest, second))))
    return found


def _cycles(program: LoopProgram, group: Group, division: Division, device: Device) -> float:
    """Predicted cycles: device memory, the fullest core's own transfers, its compute, one after the other.

    Small tiles, of which a core has one, hide nothing; of large ones all parts have to be small.
    """
    read = write = core = 0.0
    tiles = math.prod(division.grid(group.extents))
    for access in _distinct(group):
        whole, share = _bytes(program, group, division, access)
        penalty = _run_penalty(program, group, division, access, device)
        core += share * penalty / _core_rate(access, tiles * share < 1.5 * whole, device)
        if access.is_load:
            read += whole * penalty * _readers(access, group, division)
        else:
            write += whole * penalty
    return ddr_cycles(int(read), int(write), device) + core + _compute(program, group, division, device)


def _readers(access: Access, group: Group, division: Division) -> int:
    """How often memory is read for what cores share: full and last tiles are programs that read apart."""
    uneven = [d for d, size in division.sizes.items() if group.extents[d] % size and d != division.met]
    return 1 << sum(d not in access.index.variables for d in uneven)


def _core_rate(access: Access, is_own: bool, device: Device) -> float:
    """Bytes per cycle one core moves for an access: alone, or in a multicast when several cores read it."""
    unit = (loaders if access.is_load else storers)(device)[0]
    can_share = access.is_load and not is_own and device.memory("global").multicast is not None
    return unicast_rate(unit, device, is_multicast=can_share) or math.inf


def _compute(program: LoopProgram, group: Group, division: Division, device: Device) -> float:
    """Cycles of the fullest core: its products, and the points of the other nests over its lanes."""
    total = 0.0
    for scan, nest in zip(group.scans, program.nests, strict=True):
        found = products(scan, nest, program.dtypes)
        total += sum(product.cycles(division.sizes, device) for product in found)
        if not found:
            points = math.prod(min(division.sizes.get(d, n), n) for d, n in scan.extents.items())
            total += points / lanes(device)
    return total


def lanes(device: Device) -> float:
    """f32 lanes of a core's vector units."""
    rates = [unit.lanes.get("f32", 1) * unit.count for unit in device.units if unit.is_compute and unit.lanes]
    return float(max(rates, default=1))


def _distinct(group: Group) -> list[Access]:
    seen, found = set(), []
    for scan in group.scans:
        for access in scan.accesses:
            key = (access.op == "load", access.buffer, access.index)
            if key not in seen:
                seen.add(key)
                found.append(access)
    return found


def _bytes(program: LoopProgram, group: Group, division: Division, access: Access) -> tuple[float, float]:
    """(bytes an access touches in all, bytes the fullest core touches); temporaries stay in the core."""
    if access.buffer in program.temps:
        return 0.0, 0.0
    size = program.itemsize(access.buffer)
    walked = set(access.index.variables)
    if not walked <= set(group.extents):  # rows chosen by an index: one for every point of the nest
        walked |= set(group.scans[access.nest].dims)
    extents = [(group.extents.get(d, 1), division.sizes.get(d)) for d in walked]
    whole = math.prod(n for n, _ in extents)
    share = math.prod(n if part is None else part for n, part in extents)
    return float(whole * size), float(share * size)


def _run_penalty(
    program: LoopProgram, group: Group, division: Division, access: Access, device: Device
) -> float:
    """How much more than its bytes a tile's rows cost when its run is shorter than an access of memory."""
    unit = [d for d in access.index.variables if access.index.coefficient(d) == 1]
    if not unit or unit[0] not in division.sizes:
        return 1.0
    run = division.sizes[unit[0]] * program.itemsize(access.buffer)
    return (
        max(1.0, device.memory("global").access_bytes / run)
        if run < group.extents[unit[0]] * program.itemsize(access.buffer)
        else 1.0
    )
