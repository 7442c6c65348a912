"""What a box costs: pieces of a vector in a scratchpad, bytes and requests of a transfer in device memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Protocol

from headrace.arch.device import Memory, Unit
from headrace.machine.boxes import Box
from headrace.machine.index import Index
from headrace.machine.timing.prices import Prices

UNBANKED = 1 << 30
"""Accesses at once where the file describes no banks."""


class Evaluate(Protocol):
    """The value of an index where this code runs, or its remainder where only that matters."""

    def __call__(self, index: Index, modulus: int = 0) -> int: ...


def access_cycles(box: Box, lanes: int, unit: Unit, direction: str, prices: Prices) -> float:
    """Return the cycles a unit's port needs for one vector of a box.

    Contiguous: bytes over the port's rate. Otherwise one access a piece, `strided_accesses_per_cycle` pieces
    a cycle, no more than the banks they fall into.
    """
    is_local = box.place.kind == "ct_local"
    rate = prices.port_rate(unit.kind, direction) if is_local else None
    by_bytes = lanes * box.itemsize / rate if rate else 0.0
    pieces, stride = _pieces(box, lanes)
    if pieces <= 1:
        return by_bytes
    at_once = unit.strided_accesses_per_cycle
    if is_local:
        at_once = min(at_once, _banks_hit(stride, prices.device.memory("ct_local")))
    return max(by_bytes, pieces / at_once)


def _pieces(box: Box, lanes: int) -> tuple[int, int]:
    """(contiguous pieces of one vector, bytes from one to the next; 0 where the layout is not linear)."""
    if box.address is not None:
        return lanes, 0
    length, whole = box.itemsize, 1
    for dim in reversed(box.run):
        extent = dim.extent.constant
        if extent == 1:
            continue
        if dim.stride != length or extent is None:
            return (1, 0) if box.is_contiguous_run else (max(1, -(-lanes // whole)), dim.stride)
        length *= extent
        whole *= extent
    return 1, 0


def _banks_hit(stride: int, memory: Memory) -> int:
    """How many banks pieces that are `stride` bytes apart fall into."""
    if memory.banks <= 1 or not memory.bank_bytes or not stride:
        return UNBANKED
    if stride % memory.bank_bytes:
        return max(1, min(memory.banks, memory.banks * stride // memory.bank_bytes))
    return memory.banks // gcd(memory.banks, stride // memory.bank_bytes)


def transfer_runs(box: Box, evaluate: Evaluate) -> tuple[int, int, list[tuple[int, int]]]:
    """Return (bytes of a contiguous run, number of runs, [(count, stride)] of the dims outside the run)."""
    dims = [(evaluate(dim.extent), dim.stride) for dim in (*box.times, *box.run)]
    if box.address is not None:
        return box.itemsize, prod(extent for extent, _ in dims), []
    length = box.itemsize
    outer = [dim for dim in dims if dim[0] != 1]
    while outer and outer[-1][1] == length:
        length *= outer.pop()[0]
    return length, prod(extent for extent, _ in outer), outer


def touched_bytes(box: Box, access: int, evaluate: Evaluate) -> int:
    """Return the bytes of device memory a transfer touches: every contiguous run rounded out to `access`
    bytes.
    """
    length, runs, outer = transfer_runs(box, evaluate)
    if access <= 1 or length == 0 or runs == 0:
        return length * runs
    if box.address is not None:
        return access * runs
    residue = evaluate(relevant(box.base, access), access)
    counts = _residues(residue, outer, access)
    return sum(n * (-(-(start + length) // access) * access) for start, n in counts.items())


def relevant(index: Index, modulus: int) -> Index:
    """Return the part of an index that matters modulo `modulus`."""
    return Index(index.const % modulus, tuple((atom, c) for atom, c in index.terms if c % modulus))


def _residues(start: int, outer: Sequence[tuple[int, int]], modulus: int) -> dict[int, int]:
    """How many runs start at each offset modulo `modulus`."""
    counts = {start % modulus: 1}
    for extent, stride in outer:
        if stride % modulus == 0:
            counts = {residue: n * extent for residue, n in counts.items()}
            continue
        period = modulus // gcd(modulus, stride)
        spread: dict[int, int] = {}
        for residue, n in counts.items():
            for i in range(min(period, extent)):
                times = (extent - i + period - 1) // period
                at = (residue + i * stride) % modulus
                spread[at] = spread.get(at, 0) + n * times
        counts = spread
    return counts
