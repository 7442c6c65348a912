"""Attributes of one op, checked against their table and turned into the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xdsl.ir import Operation

from headrace.arch.attributes import OF_RESOURCE, Attribute
from headrace.arch.plain import attributes
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location

_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "flag": (bool,),
    "text": (str,),
    "ints": (list,),
    "texts": (list,),
    "map": (dict,),
    "names": (dict,),
    "dict": (dict,),
}

_MOST = 1e15
"""No constant of a machine is larger: cycles and bytes computed with it stay exact."""


def take(table: Iterable[Attribute], values: Mapping[str, Any], op: Operation) -> dict[str, Any]:
    """Return field name → value for every attribute of the table that is present; absent ones keep their
    defaults.
    """
    fields: dict[str, Any] = {}
    for entry in table:
        value: Any = _at(entry.path, values)
        if value is None:
            continue
        if not isinstance(value, _TYPES[entry.kind]):
            message = f"{'.'.join(entry.path)} is {value!r}, not of kind {entry.kind}"
            raise HeadraceError(Diagnostic(message, location(op), op.name, hint=entry.meaning))
        if entry.kind == "map" and isinstance(value, Mapping):
            wanted: tuple[type, ...] = (str,) if entry.name == "accumulate" else (int, float)
            odd = [(k, v) for k, v in value.items() if not isinstance(v, wanted) or isinstance(v, bool)]
            if odd:
                message = f"{'.'.join(entry.path)} has {odd[0][1]!r} for {odd[0][0]}"
                raise HeadraceError(Diagnostic(message, location(op), op.name, hint=entry.meaning))
        wrong = [n for n in _numbers(value) if not entry.least <= n <= _MOST]
        if wrong:
            message = f"{'.'.join(entry.path)} is {wrong[0]}, not a number from {entry.least:g} to {_MOST:g}"
            raise HeadraceError(Diagnostic(message, location(op), op.name, hint=entry.meaning))
        fields[entry.name] = _frozen(value, entry.kind)
    return fields


def _numbers(value: Any) -> Iterable[float]:
    """The numbers in a value; NaN compares false with every limit."""
    if isinstance(value, Mapping):
        value = list(value.values())
    listed = value if isinstance(value, list) else [value]
    return [n for n in listed if isinstance(n, int | float) and not isinstance(n, bool)]


def check_names(definition: Operation) -> None:
    """Raise HeadraceError, listing all of them, for `headrace.*` attributes nothing reads."""
    findings = []
    for op in definition.walk():
        known = _known(op)
        for name in attributes(op):
            if name.startswith("headrace.") and name not in known:
                hint = f"known here: {', '.join(sorted(known))}"
                findings.append(Diagnostic(f"unknown attribute {name}", location(op), op.name, hint))
    if findings:
        raise HeadraceError(findings)


def _known(op: Operation) -> set[str]:
    listed = OF_RESOURCE.get(op.name.removeprefix("ktdf_arch."), ())
    return {entry.path[0] for entry in listed if entry.path[0].startswith("headrace.")} | {"headrace.source"}


def _at(path: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    value: Any = values
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _frozen(value: Any, kind: str) -> Any:
    if kind == "float":
        return float(value)
    if kind in ("ints", "texts"):
        return tuple(value)
    if kind == "names":
        return {name: tuple(entries) for name, entries in value.items()}
    return value
