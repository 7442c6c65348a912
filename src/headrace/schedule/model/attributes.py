"""Types and attributes of ops as plain Python values."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation


def dtype_of(kind: Attribute) -> str:
    """The MLIR name of a scalar type or of a shaped type's element type."""
    return str(kind.get_element_type()) if hasattr(kind, "get_element_type") else str(kind)


def static_shape(kind: Attribute) -> tuple[int | None, ...]:
    """Extents of a tensor type, None for "?"."""
    return tuple(None if n < 0 else n for n in kind.get_shape()) if isinstance(kind, TensorType) else ()


def literal(op: Operation, name: str) -> Attribute | None:
    """A property or attribute of an op by name."""
    return op.properties.get(name, op.attributes.get(name))


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """A dense integer array property."""
    attr = literal(op, name)
    return (
        tuple(int(v) for v in attr.get_values()) if attr is not None and hasattr(attr, "get_values") else ()
    )
