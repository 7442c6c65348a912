"""Smallest and largest value of index arithmetic over all tiles and iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

Range = tuple[int, int]
"""Both ends included."""

_PASS = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"})


def _hull(values: Sequence[int]) -> Range:
    return min(values), max(values)


def _corners(a: Range, b: Range, of: Callable[[int, int], int]) -> Range:
    return _hull([of(x, y) for x in a for y in b])


def _quotient(a: Range, b: Range, of: Callable[[int, int], int]) -> Range | None:
    return _corners(a, b, of) if b[0] > 0 else None


def _remainder(a: Range, b: Range) -> Range | None:
    if b[0] <= 0 or a[0] < 0:
        return None
    return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))


_ARITH: dict[str, Callable[[Range, Range], Range | None]] = {
    "arith.addi": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "arith.subi": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "arith.muli": lambda a, b: _corners(a, b, lambda x, y: x * y),
    "arith.divui": lambda a, b: _quotient(a, b, lambda x, y: x // y) if a[0] >= 0 else None,
    "arith.divsi": lambda a, b: _quotient(a, b, lambda x, y: -(-x // y) if x < 0 else x // y),
    "arith.floordivsi": lambda a, b: _quotient(a, b, lambda x, y: x // y),
    "arith.ceildivsi": lambda a, b: _quotient(a, b, lambda x, y: -(-x // y)),
    "arith.ceildivui": lambda a, b: _quotient(a, b, lambda x, y: -(-x // y)) if a[0] >= 0 else None,
    "arith.remui": _remainder,
    "arith.remsi": _remainder,
    "arith.minsi": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "arith.maxsi": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "arith.minui": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])) if min(a[0], b[0]) >= 0 else None,
    "arith.maxui": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])) if min(a[0], b[0]) >= 0 else None,
}


class Ranges:
    """Ranges of the integer values of a function, from the values of its arguments and its grid."""

    def __init__(self, grid: Sequence[int], known: Mapping[SSAValue, int]) -> None:
        self._grid = tuple(grid)
        self._found: dict[SSAValue, Range | None] = {value: (n, n) for value, n in known.items()}

    def of(self, value: SSAValue) -> Range | None:
        """The range of `value`, None when it is not known."""
        if value not in self._found:
            self._found[value] = None
            owner = value.owner
            at = value.index
            self._found[value] = (
                self._argument(owner, at) if isinstance(owner, Block) else self._result(owner, at)
            )
        return self._found[value]

    def _argument(self, block: Block, at: int) -> Range | None:
        loop = block.parent_op()
        if loop is None or loop.name != "scf.for" or at != 0:
            return None
        low, high, step = (self.of(v) for v in loop.operands[:3])
        if low is None or high is None or ("unsignedCmp" in loop.properties and min(low + high) < 0):
            return None
        last = max(high[1] - 1, low[0])
        if step is not None and step[0] == step[1] > 0 and low[0] == low[1]:
            last = low[0] + (last - low[0]) // step[0] * step[0]
        return low[0], last

    def _result(self, op: Operation, at: int) -> Range | None:
        if op.name == "arith.constant":
            value: Any = op.properties.get("value", op.attributes.get("value"))
            return (value.value.data, value.value.data) if isinstance(value, IntegerAttr) else None
        if op.name == "ktdp.get_compute_tile_id":
            return (0, self._grid[at] - 1) if at < len(self._grid) else (0, 0)
        if op.name in _PASS:
            return self.of(op.operands[0])
        if op.name in _ARITH:
            a, b = self.of(op.operands[0]), self.of(op.operands[1])
            return None if a is None or b is None else _ARITH[op.name](a, b)
        if op.name == "arith.select":
            return self._either([op.operands[1], op.operands[2]])
        if op.name == "scf.if" and op.results:
            yields = [region.block.last_op for region in op.regions]
            return self._either([y.operands[at] for y in yields if y is not None])
        return None

    def _either(self, values: Sequence[SSAValue]) -> Range | None:
        ranges = [self.of(v) for v in values]
        found = [r for r in ranges if r is not None]
        return None if len(found) < len(ranges) else (min(r[0] for r in found), max(r[1] for r in found))
