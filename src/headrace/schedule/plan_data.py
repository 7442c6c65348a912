"""Dataclasses from the data of a JSON text, every value checked against the type of its field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

NAMES = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    tuple: "a list",
    Mapping: "an object",
}


def read(kind: Any, data: Any, place: str = "") -> Any:
    """Return the data as an instance of a type: a dataclass, a tuple, a Mapping by text, a number or text.

    TypeError names the place (as in "classes[0].cores[1]") of what has another type, is missing or unknown.
    """
    if is_dataclass(kind):
        return _instance(kind, data, place)
    if isinstance(kind, UnionType):
        options = [k for k in get_args(kind) if k is not NoneType]
        return None if data is None else read(options[0], data, place)
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin is tuple and isinstance(data, list):
        return tuple(read(arguments[0], entry, f"{place}[{k}]") for k, entry in enumerate(data))
    if origin is Mapping and isinstance(data, dict):
        return {key: read(arguments[1], entry, f"{place}.{key}") for key, entry in data.items()}
    accepted = (int, float) if kind is float else origin
    if (
        origin in (tuple, Mapping)
        or not isinstance(data, accepted)
        or isinstance(data, bool) != (kind is bool)
    ):
        raise TypeError(f"{place} is {_shown(data)}, not {NAMES[origin]}")
    if data != data:
        raise TypeError(f"{place} is no number")
    return data


def _instance(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, dict):
        raise TypeError(f"{place or 'the whole'} is {_shown(data)}, not an object")
    types, known = get_type_hints(kind), {f.name: f for f in fields(kind)}
    at = f"{place}." if place else ""
    for name in data:
        if name not in known:
            raise TypeError(f"{at}{name} is unknown here")
    for name, field in known.items():
        if name not in data and field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"{at}{name} is missing")
    return kind(**{name: read(types[name], value, at + name) for name, value in data.items()})


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 40 else f"{text[:37]}..."
