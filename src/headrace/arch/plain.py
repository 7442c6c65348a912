"""Attributes of the IR as plain Python values, and back."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation


def attributes(op: Operation) -> dict[str, Attribute]:
    """Return the inherent and discardable attributes of an op in one dictionary."""
    return {**op.properties, **op.attributes}


def plain(value: Attribute) -> Any:
    """Return an attribute as int, float, bool, str, list or dict; types and memory spaces by their names."""
    match value:
        case IntegerAttr():
            return bool(value.value.data) if value.type == i1 else int(value.value.data)
        case IntAttr() | StringAttr():
            return value.data
        case FloatAttr():
            return float(value.value.data)
        case UnitAttr():
            return True
        case NoneAttr():
            return None
        case DictionaryAttr():
            return {key: plain(entry) for key, entry in value.data.items()}
        case ArrayAttr():
            return [plain(entry) for entry in value.data]
        case DenseArrayBase():
            return list(value.get_values())
        case SymbolRefAttr():
            return value.string_value()
    if value.name == "ktdf_arch.map":
        return {plain(key): plain(entry) for key, entry in zip(value.keys, value.values, strict=True)}  # type: ignore[attr-defined]
    space = memory_space(value)
    return str(value) if space is None else space


def memory_space(value: Attribute) -> str | None:
    """Return "global" or "ct_local" for a memory space attribute of KTIR (either spelling), else None."""
    if value.name == "ktdp.memory_space":
        kind = value.kind  # type: ignore[attr-defined]
        return str(getattr(kind, "data", kind))
    if value.name == "ktdp.spyre_memory_space":
        return {"HBM": "global", "LX": "ct_local"}.get(str(value.space))  # type: ignore[attr-defined]
    return None


def written(value: str, like: Attribute | None, kind: str) -> Attribute:
    """Return the text of a value as an attribute of the same type as `like`, or of the default type of its
    kind.

    Raises ValueError if the text is no value of that kind ("int", "float", "flag", "text", "name").
    """
    if kind == "flag":
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return UnitAttr() if value.lower() == "true" else IntegerAttr.from_bool(False)
    if kind in ("text", "name"):
        return StringAttr(value)
    if isinstance(like, IntegerAttr):
        return IntegerAttr(int(value, 0), like.type)
    if isinstance(like, FloatAttr):
        return FloatAttr(float(value), like.type)
    if kind == "float":
        return FloatAttr(float(value), f64)
    try:
        return IntegerAttr(int(value, 0), i64)
    except ValueError:
        if kind == "int":
            raise
        return FloatAttr(float(value), f64)
