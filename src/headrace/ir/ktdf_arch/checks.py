"""Rules of device descriptions: where resources stand, what intrinsic attributes may hold."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

PREFIX = "ktdf_arch."
FEATURES = ("compute", "load", "store", "simd", "queue")
_LINK_FEATURES = ("queue",)


def check_parent(op: Operation) -> None:
    parent = op.parent_op()
    if parent is None or parent.name not in ("ktdf_arch.device", "ktdf_arch.group"):
        raise VerifyException("expects parent op to be 'ktdf_arch.device' or another resource")


def check_memory_kind(kind: Attribute | None) -> None:
    is_space = isinstance(kind, IntegerAttr | StringAttr | DictionaryAttr) or (
        kind is not None and not kind.name.startswith("builtin.") and "." in kind.name
    )
    if not is_space:
        raise VerifyException("attribute 'kind' requires valid memory space")


def check_identifiers(device: Operation) -> None:
    """Ids are unique in the whole device, nested groups included."""
    seen: set[str] = set()
    for op in device.walk():
        name = op.properties.get("id")
        if isinstance(name, StringAttr):
            if name.data in seen:
                raise VerifyException(f'resource with id "{name.data}" redefined')
            seen.add(name.data)


def check_intrinsics(op: Operation) -> None:
    """Attributes named `ktdf_arch.*` are known, stand on the right resource and hold the right values."""
    for key, value in op.attributes.items():
        if not key.startswith(PREFIX):
            continue
        rule = _RULES.get(key.removeprefix(PREFIX))
        if rule is None:
            raise VerifyException(f"unrecognized 'ktdf_arch' intrinsic: \"{key}\"")
        rule(op, key, value)


def _bandwidth(op: Operation, key: str, value: Any) -> None:
    _only_links(op, key)
    if not isinstance(value, IntegerAttr) or value.value.data <= 0:
        raise VerifyException(f"'{key}' must be a positive integer (bytes)")


def _granularity(op: Operation, key: str, value: Any) -> None:
    _only_links(op, key)
    if not isinstance(value, DenseArrayBase):
        raise VerifyException(f"'{key}' must be an array<i64: …> of transfer sizes")
    sizes = value.get_values()
    if len(set(sizes)) != len(sizes) or any(s < 0 for s in sizes):
        raise VerifyException(f"'{key}' must hold distinct sizes >= 0, but holds {list(sizes)}")


def _overlaps(op: Operation, key: str, value: Any) -> None:
    if not isinstance(value, ArrayAttr):
        raise VerifyException(f"'{key}' must be an array")


def _features(op: Operation, key: str, value: Any) -> None:
    if not isinstance(value, DictionaryAttr):
        raise VerifyException(f"'{key}' must be a dictionary of features")
    for name, given in value.data.items():
        if not name.startswith("ktdf_arch.feature."):
            continue  # features of other dialects are theirs to check
        feature = name.removeprefix("ktdf_arch.feature.")
        if feature not in FEATURES:
            raise VerifyException(f"unknown feature '{name}', known are: {', '.join(FEATURES)}")
        if feature in _LINK_FEATURES:
            _only_links(op, name)
        elif op.name not in ("ktdf_arch.exec_unit", "ktdf_arch.device"):
            raise VerifyException(f"'{name}' is only valid on execution units")
        if feature != "compute" and not isinstance(given, DictionaryAttr | UnitAttr):
            raise VerifyException(f"'{name}' must be a unit attribute or a dictionary")


def _maps_to(op: Operation, key: str, value: Any) -> None:
    raise VerifyException(f"'{key}' is only valid on mappable ops")


def _only_links(op: Operation, key: str) -> None:
    if op.name != "ktdf_arch.datapath":
        raise VerifyException(f"'{key}' is only valid on links")


_RULES = {
    "bandwidth": _bandwidth,
    "transfer_granularity": _granularity,
    "overlaps": _overlaps,
    "features": _features,
    "maps_to": _maps_to,
}
