"""What the products of a nest cost one core for a division, with either factor held in the unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.arch.device import Device
from headrace.arch.products import (
    fill_cycles,
    multiplying_unit,
    passing_cycles,
    resident_block,
    row_cycles,
)
from headrace.frontend.lower.program import LoopNest, Statement, statements
from headrace.frontend.lower.scan import Access, Scan
from headrace.numbers.dtypes import is_float

BUBBLE_CYCLES = 60
"""What a block waits besides latency and signals when the sums of the block right before are its start."""


@dataclass(frozen=True)
class Product:
    """Two factors of a nest: what each walks alone are rows and columns, what both walk is repeated."""

    left: Access
    right: Access
    dtype: str
    reduced: frozenset[str]
    extents: Mapping[str, int]

    def cycles(self, sizes: Mapping[str, int], device: Device) -> float:
        """Cycles of the fullest core, which owns `sizes` of some dims, with the better factor held."""
        return min(
            self._held(self.left, self.right, sizes, device), self._held(self.right, self.left, sizes, device)
        )

    def _held(self, rows: Access, weights: Access, sizes: Mapping[str, int], device: Device) -> float:
        own = {dim: min(sizes.get(dim, n), n) for dim, n in self.extents.items()}
        free = {dim: n for dim, n in own.items() if dim not in self.reduced}
        walked, held = set(rows.index.variables), set(weights.index.variables)
        along = [dim for dim in self.reduced if dim in walked]
        inner = min(along, key=lambda dim: abs(rows.index.coefficient(dim)) or 1 << 60, default="")
        depth, outer = own.get(inner, 1), math.prod(own[dim] for dim in self.reduced if dim != inner)
        row = _fastest(free, walked - held, rows)
        column = _fastest(free, held - walked, weights)
        repeats = math.prod(n for dim, n in free.items() if dim not in (row, column))
        is_scattered = bool(inner) and abs(rows.index.coefficient(inner)) > 1
        is_column_wise = bool(column) and abs(weights.index.coefficient(column)) > 1
        m, n = free.get(row, 1), free.get(column, 1)
        block, width = resident_block(n, depth, self.dtype, device)
        sums = "f32" if is_float(self.dtype) else "i32"
        each = row_cycles(block, width, self.dtype, sums, is_scattered, device)
        fill = fill_cycles(block, width, self.dtype, is_column_wise, device)
        count, chunks = -(-n // width), -(-depth // block) * outer
        if chunks > 1:
            each = max(each, passing_cycles(width, self.dtype, sums, device))
        if n // width >= device.corelets:
            count = -(-count // device.corelets)
        else:
            m = -(-m // device.corelets)
        turn = _turn(count, self.dtype, device)
        return repeats * count * chunks * (max(m * each, fill) + turn) + fill


def products(scan: Scan, nest: LoopNest, dtypes: Mapping[str, str]) -> list[Product]:
    """The products of a nest whose factors are loaded as they are, or widened."""
    body = {statement[0]: statement for statement in statements(nest.body)}
    found = []
    for statement in body.values():
        if statement[1] != "dot":
            continue
        left, right = (_loaded(operand, body) for operand in statement[2:4])
        if left is not None and right is not None:
            one, other = scan.access(left), scan.access(right)
            dtype = dtypes[one.buffer]
            found.append(Product(one, other, dtype.removeprefix("u"), scan.reduced, scan.extents))
    return found


def _loaded(name: str, body: Mapping[str, Statement]) -> Statement | None:
    """The load that a factor comes from, through conversions."""
    while name in body:
        statement = body[name]
        if statement[1] == "load":
            return statement
        if statement[1] != "to_dtype":
            return None
        name = statement[2]
    return None


def _fastest(free: Mapping[str, int], dims: set[str], access: Access) -> str:
    """The dim with the smallest stride among those a factor walks alone, "" for none."""
    mine = [dim for dim in free if dim in dims]
    return min(mine, key=lambda dim: abs(access.index.coefficient(dim)) or 1 << 60, default="")


def _turn(count: int, dtype: str, device: Device) -> float:
    """Cycles between two blocks; `count` columns of blocks in turn hide what one alone has to wait for."""
    matrix = multiplying_unit(device, dtype).matrix
    turn = (matrix.swap_cycles if matrix is not None else 8) + device.signal_cycles
    if count > 1:
        return turn
    latency = matrix.latency_cycles if matrix is not None else 0
    return turn + latency + 3 * device.signal_cycles + BUBBLE_CYCLES
