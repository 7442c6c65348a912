"""Reading operations by name: attributes, types, operand segments, places in the text.

Decode looks at ops through these functions only, so that registered ops, generic text and properties kept as
attributes read alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap, AffineSet

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_known


def name_of(op: Operation) -> str:
    """The full op name, also of an op whose dialect is not registered."""
    return str(op.op_name.data if op.name == "builtin.unregistered" else op.name)


def fault(op: Operation, message: str, hint: str = "") -> NoReturn:
    """Raises HeadraceError about `op`."""
    raise HeadraceError(Diagnostic(message, location(op), name_of(op), hint))


def attribute(op: Operation, key: str) -> Any:
    """The attribute or property of this name, or None."""
    if key in op.properties:
        return op.properties[key]
    return op.attributes.get(key)


def text(op: Operation, key: str, default: str = "") -> str:
    """A string attribute's text."""
    found = attribute(op, key)
    if found is None:
        return default
    if not isinstance(getattr(found, "data", None), str):
        fault(op, f"attribute {key} is not a text")
    return str(found.data)


def integer(op: Operation, key: str, default: int | None = None) -> int:
    """An integer attribute's value; `default` where it is absent."""
    found = attribute(op, key)
    if found is None:
        if default is None:
            fault(op, f"attribute {key} is missing")
        return default
    return _number(op, key, found)


def _number(op: Operation, key: str, found: Any) -> int:
    data = getattr(getattr(found, "value", found), "data", None)
    if not isinstance(data, int):
        fault(op, f"attribute {key} is not an integer")
    return int(data)


def boolean(op: Operation, key: str, default: bool = False) -> bool:
    """A boolean attribute's value."""
    found = attribute(op, key)
    return default if found is None else bool(_number(op, key, found))


def integers(op: Operation, key: str) -> list[int]:
    """The numbers of an array attribute; empty if absent."""
    found = attribute(op, key)
    if found is None:
        return []
    if hasattr(found, "get_values"):
        return [int(x) for x in found.get_values()]
    if not isinstance(getattr(found, "data", None), tuple):
        fault(op, f"attribute {key} is not an array of integers")
    return [_number(op, key, x) for x in found.data]


def affine_map(op: Operation, key: str) -> AffineMap:
    """An affine map attribute; a fault if it is missing."""
    found = attribute(op, key)
    if found is None:
        fault(op, f"attribute {key} is missing")
    if not isinstance(getattr(found, "data", None), AffineMap):
        fault(op, f"attribute {key} is not an affine map")
    return found.data


def affine_set(op: Operation, key: str) -> AffineSet:
    """An integer set attribute; a fault if it is missing."""
    found = attribute(op, key)
    if found is None:
        fault(op, f"attribute {key} is missing")
    if not isinstance(getattr(found, "data", None), AffineSet):
        fault(op, f"attribute {key} is not an integer set")
    return found.data


def keyword(op: Operation, key: str) -> str:
    """The last word of an enum attribute: `#vectorchain<binary_operator add>` is "add"; "" if absent."""
    found = attribute(op, key)
    if found is None:
        return ""
    data = getattr(found, "data", None)
    word = getattr(data, "value", None)
    if isinstance(word, str):
        return word
    return str(found).rstrip(">").replace("<", " ").split(" ")[-1].strip('"')


def segments(op: Operation) -> list[Sequence[SSAValue]]:
    """The operands cut by `operandSegmentSizes`; one segment of all where there is none."""
    sizes = integers(op, "operandSegmentSizes") or [len(op.operands)]
    if sum(sizes) != len(op.operands) or min(sizes) < 0:
        fault(op, f"operandSegmentSizes counts {sum(sizes)} operands, the op has {len(op.operands)}")
    out, start = [], 0
    for size in sizes:
        out.append(op.operands[start : start + size])
        start += size
    return out


def shape_of(type_: Any) -> tuple[int, ...]:
    """The shape of a vector or memref type (-1 for a dynamic extent); () for a scalar."""
    if hasattr(type_, "num"):  # a vector of a type that is not builtin
        return (int(type_.num.data),)
    shape = getattr(type_, "shape", None)
    if shape is None:
        return ()
    return tuple(int(getattr(x, "data", x)) for x in getattr(shape, "data", shape))


def dtype_of(op: Operation, type_: Any) -> str:
    """The MLIR name of the element type; a fault if the machine does not know it."""
    name = str(getattr(type_, "element_type", type_))
    if not is_known(name):
        fault(op, f"element type {name} is not supported")
    return name


def is_vector(type_: Any) -> bool:
    """Whether a value is held in a vector register: vectors and floating-point scalars."""
    return hasattr(type_, "element_type") or str(type_) in ("f16", "bf16", "f32", "f64")


def operations(block: Any) -> Iterator[Operation]:
    """The ops of a block, terminators included."""
    yield from block.ops


def body_of(region: Any) -> Any:
    """The single block of a region, or None if the region is empty."""
    blocks = list(region.blocks)
    return blocks[0] if blocks else None
