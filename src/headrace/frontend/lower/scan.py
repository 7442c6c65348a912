"""What one nest touches: index expressions over digit dims, symbolic conditions, the boxes of masked
blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.frontend.lower.masks import Condition, box_of, compare, conjunction
from headrace.frontend.lower.program import LoopNest, Statement, Unsupported
from headrace.frontend.lower.quasi import NotQuasiAffine, Quasi, Range, constant, parse, variable


@dataclass
class Access:
    """A load or store of a nest. `box` bounds dims under a mask, `left` are mask constraints (>= 0) no
    box expresses.
    """

    op: str
    buffer: str
    index: Quasi
    box: dict[str, Range]
    left: tuple[Quasi | None, ...]
    statement: Statement
    nest: int = -1

    @property
    def is_load(self) -> bool:
        """True for a load."""
        return self.op == "load"


@dataclass
class Scan:
    """One nest over its digit dims, in loop order.

    `values` are index-valued names as expressions, `conditions` masks, `sources` indirect symbols: (value,
    size, wraps).
    """

    number: int
    dims: tuple[str, ...] = ()
    reduced: frozenset[str] = frozenset()
    extents: dict[str, int] = field(default_factory=dict)
    origin: dict[str, tuple[str, int]] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    values: dict[str, Quasi] = field(default_factory=dict)
    conditions: dict[str, Condition] = field(default_factory=dict)
    sources: dict[str, tuple[str, int, bool]] = field(default_factory=dict)
    opaque: dict[str, str] = field(default_factory=dict)
    loops: dict[str, Quasi] = field(default_factory=dict)
    number_of_reduced: Quasi = constant(0)

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every dim."""
        return {dim: (0, n - 1) for dim, n in self.extents.items()}

    def access(self, statement: Statement) -> Access:
        """The access of a load or store statement."""
        return next(a for a in self.accesses if a.statement is statement)


def scan(number: int, nest: LoopNest, cuts: Mapping[str, Sequence[int]]) -> Scan:
    """The nest with every loop variable split at `cuts` (factors, 1 among them, each dividing the next)."""
    found = Scan(number)
    dims: list[str] = []
    reduced: set[str] = set()
    for name, extent in nest.extents.items():
        factors = sorted(cuts[name])
        total, digits = constant(0), []
        for factor, following in zip(factors, [*factors[1:], extent], strict=True):
            digit = f"{number}.{name}.{factor}"
            digits.append(digit)
            found.extents[digit] = following // factor
            found.origin[digit] = (name, factor)
            total = total + variable(digit).times(factor)
        dims += reversed(digits)
        reduced |= set(digits) if name in nest.reduced else set()
        found.loops[name] = total
        if name in nest.reduced:
            found.number_of_reduced = found.number_of_reduced.times(extent) + total
    found.dims, found.reduced = tuple(dims), frozenset(reduced)
    _scan_body(found, nest.body, {}, ())
    return found


def _scan_body(
    found: Scan, body: Sequence[Statement], box: dict[str, Range], left: tuple[Quasi | None, ...]
) -> None:
    ranges = {**found.ranges, **box}
    for statement in body:
        result, op, *operands = statement
        match op:
            case "load" | "store" | "store_reduction":
                index = _expression(operands[1], ranges, found)
                found.accesses.append(Access(op, operands[0], index, box, left, statement, found.number))
            case "constant":
                _scan_constant(found, result, operands[0])
            case "index_expr" | "value_expr":
                try:
                    found.values[result] = parse(operands[0], ranges, found.loops)
                except NotQuasiAffine:
                    found.opaque[result] = operands[0]
            case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
                values = [found.values.get(x) if isinstance(x, str) else _number(x) for x in operands]
                if None not in values:
                    found.conditions[result] = compare(op, *values)  # type: ignore[arg-type]
            case "and_" | "logical_and" | "bitwise_and":
                found.conditions[result] = conjunction(*(found.conditions.get(x) for x in operands))
            case "indirect":
                found.sources[result] = (operands[0], int(operands[1]), bool(operands[3]))
            case "masked":
                limits = found.conditions.get(operands[0])
                inner, rest = (box, (None,)) if limits is None else box_of(limits, found.ranges, box)
                _scan_body(found, operands[1], inner, left + rest)


def _scan_constant(found: Scan, result: str, value: Any) -> None:
    if value is True:
        found.conditions[result] = ()
    elif (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == int(value if abs(value) < 2**62 else 0)
    ):
        found.values[result] = constant(int(value))


def _expression(text: str, ranges: Mapping[str, Range], found: Scan) -> Quasi:
    try:
        return parse(text, ranges, found.loops)
    except NotQuasiAffine as error:
        raise Unsupported(f"index {text} is not quasi-affine ({error})") from None


def _number(value: Any) -> Quasi | None:
    return constant(int(value)) if isinstance(value, int | float) and value == int(value) else None
