"""Divisions in which tiles share a dim that reductions run over, and what combining their results costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headrace.arch.device import Device
from headrace.arch.exchange import combining_cycles, way_cycles
from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.kernel import Division
from headrace.frontend.lower.meeting import WIDENED, leaves_rest, meetable
from headrace.frontend.lower.program import TYPES, LoopProgram
from headrace.frontend.lower.scalars import computed
from headrace.frontend.lower.scan import Scan
from headrace.numbers.dtypes import itemsize

EXCHANGES = {"welford_reduce": 2, "argmax": 2, "argmin": 2}
"""Results that a kind of reduction combines one after the other, where these are more than one."""


def meetings(program: LoopProgram, group: Group, free: Sequence[str], device: Device) -> Iterator[Division]:
    """The divisions of a kernel along a reduced dim, alone or beside one of its `free` dims."""
    may_leave = leaves_rest(program)
    for dim in meetable(program, group):
        extent = group.extents[dim]
        step = max(1, device.memory("global").access_bytes // _least_itemsize(program, group, dim))
        for other, size, count in _beside(free, group.extents, device.cores):
            for part in _parts(extent, device.cores // count, step):
                if may_leave or extent % part == 0:
                    yield Division({dim: part} | ({other: size} if count > 1 else {}), dim)


def meeting_cycles(program: LoopProgram, group: Group, division: Division, device: Device) -> float:
    """Cycles in which tiles combine their results, and in which each computes what their parts leave."""
    dim = division.met
    if dim is None:
        return 0.0
    parts = division.tiles(dim, group.extents)
    groups = math.prod(division.grid(group.extents)) // parts
    way, total = way_cycles(device), 0.0
    if division.left(group.extents):
        total += way / 2 * sum(dim in scan.dims for scan in group.scans)
    for scan, kind, dtype in _exchanged(program, group, dim):
        points = math.prod(division.sizes.get(d, n) for d, n in scan.extents.items() if d not in scan.reduced)
        once = combining_cycles(device, parts, groups, dtype, points * itemsize(dtype))
        total += EXCHANGES.get(kind, 1) * (once + way)
    return total


def _exchanged(program: LoopProgram, group: Group, dim: str) -> Iterator[tuple[Scan, str, str]]:
    """(nest, kind, type) of the reductions that run over a dim; Welford's of equal operands are one."""
    known = set()
    for scan, nest in zip(group.scans, program.nests, strict=True):
        operands = frozenset((a.buffer, a.index) for a in scan.accesses if a.is_load)
        for statement in nest.body if dim in scan.reduced else ():
            if statement[1] != "reduction":
                continue
            kind = statement[4]
            if kind == "welford_reduce" and (kind, operands) in known:
                continue
            known.add((kind, operands))
            yield scan, kind, _sent(statement[2], kind)


def _sent(dtype: str, kind: str) -> str:
    """The type in which results of a kind of reduction go from tile to tile."""
    if kind in EXCHANGES:
        return "f32"
    found = computed(TYPES.get(dtype, "f32"))
    return "i32" if found in WIDENED or found == "ui8" else found


def _least_itemsize(program: LoopProgram, group: Group, dim: str) -> int:
    """Bytes between neighbours along a dim in the buffer where they lie closest."""
    steps = [
        access.index.coefficient(dim) * program.itemsize(access.buffer)
        for scan in group.scans
        for access in scan.accesses
        if access.index.coefficient(dim) > 0
    ]
    return min(steps, default=1)


def _beside(free: Sequence[str], extents: Mapping[str, int], cores: int) -> Iterator[tuple[str, int, int]]:
    """(dim, size of a tile, tiles) of what may be split besides: nothing first."""
    yield "", 1, 1
    for dim in free:
        n = extents[dim]
        counts = {-(-n // -(-n // c)) for c in (n, 2, 4, 8, cores // 2) if 1 < c <= min(n, cores // 2)}
        for count in sorted(counts):
            yield dim, -(-n // count), count


def _parts(extent: int, tiles: int, step: int) -> list[int]:
    """Sizes of equal parts for at most so many tiles: as many as there are, as divide the extent, half of
    them; in whole accesses of memory too.
    """
    if tiles < 2 or extent < 2:
        return []
    even = [p for p in range(2, min(tiles, extent) + 1) if extent % p == 0][-2:]
    found: dict[int, None] = {}
    for count in (min(tiles, extent), *even, tiles // 2, tiles // 4):
        if count < 2:
            continue
        size = extent // count
        for each in (size, size - size % step, size + -size % step):
            if 0 < each < extent and 2 <= extent // each <= tiles:
                found[each] = None
    return list(found)
