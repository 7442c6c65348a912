"""Is the identity of a reduction between tiles neutral: does combining it with x give x? (rule R11)"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation, Region, SSAValue

from headrace.ir.effects import is_terminator
from headrace.ir.upstream.patch import bit_width, element
from headrace.numbers.dtypes import is_known, numpy_dtype

_KINDS = {
    "add": "add addf addi",
    "mul": "mul mulf muli",
    "max": "max maximumf maxnumf maxsi",
    "min": "min minimumf minnumf minsi",
    "maxui": "maxui",
    "minui": "minui",
    "andi": "andi",
    "ori": "ori xori",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def combiner(region: Region) -> str | None:
    """The word of the one op that combines two partial values; None when there are more or others."""
    found = [
        op.name.split(".", 1)[1]
        for op in region.walk()
        if not is_terminator(op) and op.name != "tensor.empty" and not op.regions
    ]
    return found[0] if len(found) == 1 and found[0] in _KIND_OF else None


def is_neutral(word: str, number: float, kind: Any) -> bool:
    """Whether `number`, of element type `kind`, changes nothing when combined; the largest finite float
    counts as infinite.
    """
    of = _KIND_OF[word]
    if of in ("add", "ori"):
        return number == 0
    if of == "mul":
        return number == 1
    low, high = _ends(kind)
    if of in ("max", "min"):
        return number <= low if of == "max" else number >= high
    ones = number == -1 or number == 2 ** (bit_width(kind) or 64) - 1
    return number == 0 if of == "maxui" else ones


def _ends(kind: Any) -> tuple[float, float]:
    """Smallest and largest finite number of an element type; those of a float type nobody knows are
    infinite.
    """
    if not isinstance(kind, AnyFloat):
        bits = bit_width(kind) or 64
        return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if bits > 1 else (-1, 0)
    if not is_known(str(kind)):
        return -math.inf, math.inf
    top = float(ml_dtypes.finfo(numpy_dtype(str(kind))).max)
    return -top, top


def uniform_number(value: SSAValue) -> float | None:
    """The number all elements of a value are known to have."""
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if op.name in ("linalg.fill", "tensor.splat"):
        return uniform_number(op.operands[0])
    attr = op.properties.get("value") if op.name == "arith.constant" else None
    if isinstance(attr, FloatAttr | IntegerAttr):
        return float(attr.value.data)
    if not isinstance(attr, DenseIntOrFPElementsAttr) or not len(attr):
        return None
    values = set(attr.get_values())
    return float(values.pop()) if len(values) == 1 else None


def not_neutral(op: Any) -> tuple[float, str] | None:
    """The identity and the combiner of a reduction of one partial value, when they do not belong together."""
    word = combiner(op.region)
    if word is None or len(op.reduced) != 1:
        return None
    (identity,) = op.identities
    number = uniform_number(identity)
    if number is None or is_neutral(word, number, element(identity.type)):
        return None
    return number, word
