"""Attributes as plain Python: dicts, lists, numbers and strings."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)


def plain(attribute: Any) -> Any:
    """The Python value an attribute stands for; None for None, the attribute itself where there is no such
    value.
    """
    match attribute:
        case DictionaryAttr():
            return {key: plain(value) for key, value in attribute.data.items()}
        case ArrayAttr():
            return [plain(value) for value in attribute.data]
        case DenseArrayBase():
            return list(attribute.get_values())
        case IntegerAttr() | FloatAttr():
            return attribute.value.data
        case StringAttr() | IntAttr():
            return attribute.data
        case UnitAttr():
            return True
        case _:
            return attribute
