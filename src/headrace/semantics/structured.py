"""What all structured ops share: their inputs and outputs, and lists of numbers among their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue


def split(op: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """The `ins` and the `outs` of a structured op on tensors."""
    outs = len(op.results)
    return tuple(op.operands[: len(op.operands) - outs]), tuple(op.operands[len(op.operands) - outs :])


def numbers(op: Operation, key: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    """The integers of attribute `key`, a dense array or an array of them."""
    value: Any = op.properties.get(key, op.attributes.get(key))
    if value is None:
        return tuple(default)
    values = value.get_values() if hasattr(value, "get_values") else [v.value.data for v in value.data]
    return tuple(int(v) for v in values)
