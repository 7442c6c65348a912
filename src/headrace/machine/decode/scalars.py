"""Index arithmetic: upstream `arith` and `affine` ops on integers of the program, as `Index`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from headrace.machine.decode.affine import apply_map
from headrace.machine.decode.reading import affine_map, fault, integer, name_of
from headrace.machine.index import Apply, Index, of
from headrace.machine.index import Operation as IndexOperation

_BINARY: dict[str, IndexOperation] = {
    "arith.divsi": "divsi",
    "arith.divui": "divsi",
    "arith.remsi": "remsi",
    "arith.remui": "remsi",
    "arith.floordivsi": "floordiv",
    "arith.ceildivsi": "ceildiv",
    "arith.ceildivui": "ceildiv",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.maxsi": "max",
    "arith.maxui": "max",
    "arith.muli": "mul",
}
_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")
_PASS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


_OTHER = (
    *("arith.addi", "arith.subi", "arith.cmpi", "arith.select", "arith.andi", "arith.ori", "arith.xori"),
    *("affine.apply", "affine.min", "affine.max"),
)


INTEGER_OPS = (*_BINARY, *_PASS, *_OTHER)


def is_integer_op(op: Operation) -> bool:
    """Whether an op computes an integer of the program."""
    return name_of(op) in INTEGER_OPS


def integer_op(op: Operation, operands: Sequence[Index]) -> Index | None:
    """The value of an integer op, or None if the op is not one."""
    name = name_of(op)
    if name in _BINARY:
        return operands[0].apply(_BINARY[name], operands[1])
    if name in _PASS:
        return operands[0]
    match name:
        case "arith.addi":
            return operands[0] + operands[1]
        case "arith.subi":
            return operands[0] - operands[1]
        case "arith.cmpi":
            number = integer(op, "predicate")
            if not 0 <= number < len(_PREDICATES):
                fault(op, f"there is no predicate {number}")
            return operands[0].apply(_PREDICATES[number], operands[1])  # type: ignore[arg-type]
        case "arith.select":
            return _select(*operands)
        case "arith.andi" | "arith.ori" | "arith.xori":
            return _logic(op, operands)
        case "affine.apply" | "affine.min" | "affine.max":
            return _affine(op, operands)
    return None


def _affine(op: Operation, operands: Sequence[Index]) -> Index:
    name = name_of(op)
    map_ = affine_map(op, "map")
    if len(operands) != map_.num_dims + map_.num_symbols or not map_.results:
        fault(op, f"the map takes {map_.num_dims + map_.num_symbols} operands, {len(operands)} are given")
    results = apply_map(map_, operands)
    if name == "affine.apply":
        return results[0]
    out = results[0]
    for other in results[1:]:
        out = out.apply("min" if name == "affine.min" else "max", other)
    return out


def _select(condition: Index, yes: Index, no: Index) -> Index:
    if condition.constant is not None:
        return yes if condition.constant else no
    return no + condition * (yes - no)


def _logic(op: Operation, operands: Sequence[Index]) -> Index:
    """and, or, xor of truth values; on wider integers only where both are constants."""
    a, b = operands
    name = name_of(op).removeprefix("arith.")
    if a.constant is not None and b.constant is not None:
        x, y = a.constant, b.constant
        return Index({"andi": x & y, "ori": x | y, "xori": x ^ y}[name])
    if not (_is_truth(a) and _is_truth(b)):
        fault(
            op,
            "bitwise logic on run-time integers is not supported",
            "compare first, then combine the i1 values",
        )
    match name:
        case "andi":
            return a * b
        case "ori":
            return a.apply("max", b)
    return of(Apply("ne", a, b))


def _is_truth(index: Index) -> bool:
    low, high = index.low, index.high
    return low is not None and high is not None and low >= 0 and high <= 1
