"""Which ops the machine executes, from the tables that decode them."""

from __future__ import annotations

from headrace.machine.decode.handles import NAMED
from headrace.machine.decode.scalars import INTEGER_OPS
from headrace.machine.decode.table import TABLE
from headrace.machine.decode.vectors import CHAIN, PLAIN
from headrace.machine.execute.vectors import is_supported
from headrace.machine.image import Value, VectorOp

_MODULE = (
    *("func.func", "func.call", "func.return", "builtin.module", "dataflow.program_unit", "dataflow.return"),
    *("symbol.create_id", "scf.yield", "affine.yield", "agen.yield", "uniform.yield"),
)
_BY_PREDICATE = ("arith.cmpi", "arith.cmpf", "arith.select", "arith.constant")


def is_executed(name: str) -> bool:
    """Whether the machine runs an op of this name, at least on some operands."""
    known = (TABLE.handlers, TABLE.transfers, NAMED, INTEGER_OPS, CHAIN, PLAIN, _MODULE, _BY_PREDICATE)
    if any(name in names for names in known):
        return True
    dialect, _, short = name.partition(".")
    value = Value(0, (1,), "f32")
    return dialect in ("arith", "math") and is_supported(VectorOp(name, short, (value,), value))
