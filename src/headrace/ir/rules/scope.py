"""What a rule knows around its op: the function's grid, and values that are the same on every tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from headrace.ir.arguments import grid
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.ranges import Range, Ranges
from headrace.ir.sets import Linear
from headrace.ir.text import location

MOST_TILES = 1024
"""Tiles looked at in a function without a grid."""


@dataclass
class Scope:
    """Facts about the functions of one module, found when they are first asked for; `is_masked`: accesses
    outside of a view are.
    """

    is_masked: bool = False
    _ranges: dict[Operation, Ranges] = field(default_factory=dict)

    def range_of(self, op: Operation, value: SSAValue) -> Range | None:
        """Smallest and largest `value` over all tiles and iterations of the function around `op`."""
        function = function_of(op)
        if function is None:
            return None
        if function not in self._ranges:
            self._ranges[function] = Ranges(_grid(function) or (), {})
        if value.owner in function.body.blocks or (_grid(function) is None and "grid" in function.attributes):
            return None
        return self._ranges[function].of(value)

    def ranges_of(self, op: Operation, values: Sequence[SSAValue]) -> list[Range | None]:
        """The same for several values."""
        return [self.range_of(op, v) for v in values]


Rule = Callable[[Scope, Any], Iterator[Diagnostic]]
"""The findings about one op."""


def error(op: Operation, message: str, hint: str = "") -> Diagnostic:
    """A finding that makes the module wrong."""
    return Diagnostic(message, location(op), op.name, hint)


def warning(op: Operation, message: str, hint: str = "") -> Diagnostic:
    """A finding that is likely not meant."""
    return Diagnostic(message, location(op), op.name, hint, "warning")


def function_of(op: Operation) -> FuncOp | None:
    """The function around `op`."""
    at: Operation | None = op
    while at is not None and not isinstance(at, FuncOp):
        at = at.parent_op()
    return at


def is_inside(op: Operation, names: Sequence[str]) -> str:
    """The name of the nearest op around `op` whose name starts with one of `names`, or nothing."""
    at = op.parent_op()
    while at is not None:
        if at.name.startswith(tuple(names)):
            return str(at.name)
        at = at.parent_op()
    return ""


def tiles_of(op: Operation) -> int:
    """How many tiles run `op`; MOST_TILES when its function has no grid."""
    function = function_of(op)
    shape = None if function is None or "grid" not in function.attributes else _grid(function)
    return MOST_TILES if shape is None else math.prod(shape)


def dims_of(op: Operation) -> int:
    """The dims of the grid around `op`, 1 when there is none."""
    function = function_of(op)
    shape = None if function is None else _grid(function)
    return 1 if shape is None else len(shape)


def hull(form: Linear, ranges: Sequence[Range | None]) -> Range | None:
    """Smallest and largest value of a linear form, None when a dim that matters has no range."""
    low = high = form.const
    for coefficient, found in zip(form.coefficients, ranges, strict=True):
        if coefficient == 0:
            continue
        if found is None:
            return None
        ends = (coefficient * found[0], coefficient * found[1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def _grid(function: FuncOp) -> tuple[int, ...] | None:
    try:
        return grid(function)
    except HeadraceError:
        return None
