"""What each index op of KTDF computes, as a form over loop variables (`index.Expr`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.schedule.lower.index import (
    ONE,
    ZERO,
    Expr,
    Number,
    collapse,
    combine,
    entries,
    zip_numbers,
)
from headrace.schedule.lower.tree import Loop

Values = dict[Any, Expr]
"""SSA value -> form."""

BINARY = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divsi": "truncdiv",
    "arith.divui": "truncdiv",
    "arith.floordivsi": "floordiv",
    "arith.ceildivsi": "ceildiv",
    "arith.ceildivui": "ceildiv",
    "arith.remsi": "rem",
    "arith.remui": "rem",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.maxsi": "max",
    "arith.maxui": "max",
}
AFFINE = {"Add": "add", "Mul": "mul", "Mod": "mod", "FloorDiv": "floordiv", "CeilDiv": "ceildiv"}
PREDICATES: tuple[Callable[[int, int], int], ...] = (
    lambda x, y: int(x == y),
    lambda x, y: int(x != y),
    lambda x, y: int(x < y),
    lambda x, y: int(x <= y),
    lambda x, y: int(x > y),
    lambda x, y: int(x >= y),
) * 2
"""arith.cmpi predicates by number; the unsigned ones read values that are not negative."""


def binary(op: str, a: Expr, b: Expr) -> Expr:
    """Return a op b for "add", "sub" or an op of `index.NUMERIC`."""
    if op == "add":
        return a + b
    return a - b if op == "sub" else combine(op, a, b)


def affine(expr: Any, dims: Sequence[Expr], symbols: Sequence[Expr] = ()) -> Expr:
    """Return the value of an xDSL affine expression at forms for its dims and symbols."""
    kind = type(expr).__name__
    if kind == "AffineConstantExpr":
        return Expr(expr.value)
    if kind in ("AffineDimExpr", "AffineSymExpr"):
        position: int = expr.position
        return (dims if kind == "AffineDimExpr" else symbols)[position]
    return binary(AFFINE[expr.kind.name], affine(expr.lhs, dims, symbols), affine(expr.rhs, dims, symbols))


def affine_results(attr: Any, operands: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the results of an affine map attribute at its operands, dims first."""
    amap = attr.data
    dims, symbols = operands[: amap.num_dims], operands[amap.num_dims :]
    return tuple(affine(result, dims, symbols) for result in amap.results)


def evaluate(op: Any, values: Values, core: Number, loops: Mapping[Any, Loop]) -> Expr | None:
    """Return the form of an index op's result, or None if it is not an index op known here.

    `core` is the core number of each instance; `loops` finds the loop of an induction variable.
    """
    name = op.name
    if name == "arith.constant":
        data = getattr(getattr(getattr(op, "value", None), "value", None), "data", None)
        return Expr(data) if isinstance(data, int) else None
    if name == "ktdp.get_compute_tile_id":
        return Expr(core)
    if any(operand not in values for operand in op.operands) and name not in ("uniform.query_map",):
        return None
    args = [values[operand] for operand in op.operands if operand in values]
    if name in BINARY:
        return binary(BINARY[name], *args)
    rule = RULES.get(name)
    if rule is not None:
        return rule(op, args)
    if name == "ktdf.buffer_phase":
        return phase(op, values, loops)
    return query(op, values) if name == "uniform.query_map" else None


def is_decided(op: Any, values: Values) -> bool:
    """Whether a comparison or selection of index values comes out alike for all cores and iterations; True
    for every other op.
    """
    if op.name == "arith.cmpi":
        left, right = (values[v] for v in op.operands)
        form = left - right
    elif op.name == "arith.select":
        form = values[op.operands[0]]
    else:
        return True
    return form.is_number and isinstance(form.const, int)


def _extreme(op_name: str) -> Callable[[Any, list[Expr]], Expr]:
    def rule(op: Any, args: list[Expr]) -> Expr:
        first, *rest = affine_results(op.map, args)
        for other in rest:
            first = combine(op_name, first, other)
        return first

    return rule


def _compare(op: Any, args: list[Expr]) -> Expr:
    difference = args[0] - args[1]
    if not difference.is_number:
        raise _unsupported(op, "a comparison that depends on a loop variable")
    number = int(op.predicate.value.data)
    return Expr(zip_numbers(PREDICATES[number], difference.const, 0))


def _select(op: Any, args: list[Expr]) -> Expr:
    condition, yes, no = args
    if not condition.is_number:
        raise _unsupported(op, "a selection that depends on a loop variable")
    if isinstance(condition.const, int):
        return yes if condition.const else no
    chosen = zip_numbers(lambda c, x: x if c else 0, condition.const, 1)
    rest = zip_numbers(lambda c, x: 0 if c else x, condition.const, 1)
    return yes.scaled(chosen) + no.scaled(rest)


def _derive_size(op: Any, args: list[Expr]) -> Expr:
    """The trip count inside tile loops: rem(k) = clamp(rem(k-1) - iv_k * ts_k, 0, ts_k)."""
    count = (len(args) - 1) // 2
    rest = args[-1]
    for iv, size in zip(args[:count], args[count : 2 * count], strict=True):
        rest = combine("min", combine("max", rest - combine("mul", iv, size), ZERO), size)
    return rest


def _linearize(op: Any, args: list[Expr]) -> Expr:
    half = len(args) // 2
    total = ZERO
    for iv, stride in zip(args[:half], args[half:], strict=True):
        total = total + combine("mul", iv, stride)
    return total


RULES: dict[str, Callable[[Any, list[Expr]], Expr]] = {
    "arith.index_cast": lambda op, args: args[0],
    "arith.index_castui": lambda op, args: args[0],
    "arith.cmpi": _compare,
    "arith.select": _select,
    "affine.apply": lambda op, args: affine_results(op.map, args)[0],
    "affine.min": _extreme("min"),
    "affine.max": _extreme("max"),
    "ktdf.tiling.derive_size": _derive_size,
    "ktdf.tiling.linearize_index": _linearize,
}


def phase(op: Any, values: Values, loops: Mapping[Any, Loop]) -> Expr:
    """Return (completed iterations of the loops of the listed variables, row-major) mod num_phases."""
    counts, extents = [], []
    for operand in op.ivs:
        form = values[operand]
        loop = loops.get(operand)
        if loop is None:
            if not form.is_number:
                raise _unsupported(op, "a phase over a value that is no loop variable")
            continue  # a loop of one trip, folded away
        counts.append(
            combine("floordiv", form - loop.low, loop.step) if loop.step != ONE else form - loop.low
        )
        extents.append(loop.trips)
    total = ZERO
    for count, extent in zip(counts, extents, strict=True):
        total = combine("mul", total, extent) + count
    return combine("mod", total, Expr(int(op.num_phases.value.data)))


def query(op: Any, values: Values) -> Expr | None:
    """Return the value a per-core table has for each instance's key."""
    mapping = op.map.owner
    key = values.get(op.key)
    if getattr(mapping, "name", "") != "uniform.def_immutable_mapping" or key is None or not key.is_number:
        return None
    keys, contents = (
        mapping.operands[: len(mapping.operands) // 2],
        mapping.operands[len(mapping.operands) // 2 :],
    )
    if any(k not in values or v not in values for k, v in zip(keys, contents, strict=True)):
        return None
    table = {values[k].const: values[v].const for k, v in zip(keys, contents, strict=True)}
    found = [table.get(k) for k in entries(key.const)]
    numbers = tuple([n for n in found if isinstance(n, int)])
    if len(numbers) < len(found):
        missing = [k for k in entries(key.const) if k not in table]
        raise HeadraceError(
            Diagnostic(f"no entry for core {missing}", op=op.name, hint="list every core of headrace.cores")
        )
    return Expr(collapse(numbers))


def _unsupported(op: Any, what: str) -> HeadraceError:
    hint = "compute it from the core and corelet number, or split the loop"
    return HeadraceError(Diagnostic(f"{what} cannot steer a schedule", location(op), op.name, hint))
