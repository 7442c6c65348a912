"""What every op does to many tiles at once; an op without a rule of its own runs tile by tile, its results
stacked."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType
from xdsl.ir import Operation

from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.rounding import cast
from headrace.semantics.batches import access, nests
from headrace.semantics.batches.frame import BatchFrame, captured
from headrace.semantics.compare import CONVERSIONS, convert
from headrace.semantics.control import HANDLERS
from headrace.semantics.elementwise import EXACT, FUNCTIONS, float_into, float_op, integer_op
from headrace.semantics.frame import Empty, element_type, known_element_type
from headrace.semantics.intrinsics import slice_reduction
from headrace.semantics.linalg import ELEMENTWISE
from headrace.semantics.memory import MEMORY
from headrace.semantics.scalars import SCALARS
from headrace.semantics.structured import numbers, split
from headrace.semantics.tensors import slices

Array = np.ndarray[Any, Any]
Handler = Callable[[BatchFrame, Operation], Sequence[Any]]


def handler_of(frame: BatchFrame, op: Operation) -> Any:
    """The function that gives the op's results: the plain one when all tiles have the same, else the rule
    for rows, else the plain one for each tile."""
    name = op.name
    if name in ADDRESSES:
        return ADDRESSES[name]
    if name in ("ktdp.load", "ktdp.store"):
        return RULES[name]
    reads = captured(op) if op.regions else ()
    if not (frame.is_varying(op) or any(v in frame.varying for v in reads)):
        return HANDLERS.get(name)
    if any(v in frame.varying for v in reads):
        return by_tile
    rule = RULES.get(name)
    if rule is None and name in SCALARS and name not in ("tensor.extract", "linalg.index"):
        ranks = [_rank(v) for v in op.operands]
        is_uneven = any(
            v in frame.varying and r < max(ranks) for v, r in zip(op.operands, ranks, strict=True)
        )
        rule = by_tile if is_uneven else _float if name in _FLOATS else SCALARS[name]
    return rule or by_tile


def by_tile(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """The op for one tile after the other; results side by side."""
    needed = (*op.operands, *captured(op))
    found: list[Sequence[Any]] = []
    for row in range(frame.count):
        alone = frame.alone(row)
        for value in needed:
            alone.values[value] = _row(frame, value, row)
        found.append(HANDLERS[op.name](alone, op))
    return [_stacked([values[k] for values in found]) for k in range(len(op.results))]


def _row(frame: BatchFrame, value: Any, row: int) -> Any:
    found: Any = frame.values.get(value)
    if value not in frame.varying:
        return found
    if isinstance(found, Empty):
        return Empty(found.shape[1:], found.dtype)
    return found[row] if found.ndim > 1 else _scalar(found[row], element_type(value.type))


def _scalar(value: Any, dtype: str) -> Any:
    return int(value) if dtype == "index" else np.asarray(value)


def _stacked(rows: Sequence[Any]) -> Any:
    if isinstance(rows[0], Empty):
        return Empty((len(rows), *rows[0].shape), rows[0].dtype)
    return np.stack([np.asarray(r, np.int64) if isinstance(r, int) else r for r in rows])


def _float(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """A float op or a conversion, in blocks when it is large: its wide intermediates then stay in a cache."""
    values = frame.arrays(op)
    if max(v.size for v in values) <= 2 * BLOCK or not _are_alike(values) or _is_one_pass(op, values):
        return SCALARS[op.name](frame, op)
    src, dst = (known_element_type(frame, op, v.type) for v in (op.operands[0], op.results[0]))
    out = np.empty(values[0].shape, numpy_dtype(dst))
    flat, into = [v.reshape(-1) for v in values], out.reshape(-1)
    for first in range(0, out.size, BLOCK):
        part = [v[first : first + BLOCK] for v in flat]
        if op.name in CONVERSIONS:
            into[first : first + BLOCK] = convert(op.name, part[0], src, dst)
        else:
            float_into(into[first : first + BLOCK], op.name, part, dst)
    return [out]


def _are_alike(values: Sequence[Array]) -> bool:
    return all(v.shape == values[0].shape and v.flags.c_contiguous for v in values)


BLOCK = 2**15
"""Elements that a large elementwise op handles at a time."""


def _is_one_pass(op: Operation, values: Sequence[Array]) -> bool:
    """Whether NumPy computes the op without wide intermediates."""
    is_wide = all(v.dtype in (np.float32, np.float64) for v in values)
    return op.name in _SIMPLE or (is_wide and isinstance(EXACT.get(op.name), np.ufunc))


_SIMPLE = {"arith.extf", "arith.truncf"}
_FLOATS = {*EXACT, *FUNCTIONS, *(CONVERSIONS - {"arith.bitcast"})}


def _rank(value: Any) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, ShapedType) else 0


def _select(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    condition = frame.array(op, op.operands[0])
    rank = 1 + _rank(op.results[0])
    if op.operands[0] not in frame.varying and condition.ndim == 0:
        return [frame.rows(op.operands[1 if condition else 2])]
    if op.operands[0] in frame.varying:
        condition = condition.reshape(condition.shape + (1,) * (rank - condition.ndim))
    a, b = frame.array(op, op.operands[1]), frame.array(op, op.operands[2])
    return [np.where(condition, a, b)]


def _tile_id(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    produced = MEMORY[op.name](frame, op)
    return [
        p if r in frame.varying else int(np.ravel(p)[0]) for r, p in zip(op.results, produced, strict=True)
    ]


def _reshape(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    if DYNAMIC_INDEX in shape:
        return by_tile(frame, op)
    source = frame.get(op.operands[0])
    if isinstance(source, Empty):
        return [Empty((frame.count, *shape), source.dtype)]
    return [source.reshape((frame.count, *shape))]


def _extract_slice(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    source = frame.get(op.operands[0])
    shape: Any = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    if isinstance(source, Empty) or DYNAMIC_INDEX in shape or _has_varying(frame, op.operands[1:]):
        return by_tile(frame, op)
    cut, _ = slices(frame, op, source.shape[1:])
    return [np.ascontiguousarray(source[:, *cut]).reshape((frame.count, *shape))]


def _has_varying(frame: BatchFrame, values: Sequence[Any]) -> bool:
    return any(v in frame.varying for v in values)


def _insert_slice(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    dest = frame.rows(op.operands[1])
    if isinstance(dest, Empty) or _has_varying(frame, op.operands[2:]):
        return by_tile(frame, op)
    source = frame.array(op, op.operands[0])
    out = np.array(dest)
    cut, sizes = slices(frame, op, out.shape[1:])
    lead = (frame.count,) if op.operands[0] in frame.varying else ()
    out[:, *cut] = source.reshape((*lead, *sizes))
    return [out]


def _broadcast(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    ins, outs = split(op)
    if ins[0] not in frame.varying:
        return by_tile(frame, op)
    shape = tuple(frame.get(outs[0]).shape)[int(outs[0] in frame.varying) :]
    added = numbers(op, "dimensions")
    kept = [1 if d in added else shape[d] for d in range(len(shape))]
    view = frame.array(op, ins[0]).reshape((frame.count, *kept))
    return [np.broadcast_to(view, (frame.count, *shape))]


def _transpose(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    if op.operands[0] not in frame.varying:
        return by_tile(frame, op)
    source = frame.array(op, op.operands[0])
    order = [0, *(d + 1 for d in numbers(op, "permutation"))]
    return [np.ascontiguousarray(source.transpose(order))]


def _elementwise(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    ins, _ = split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    name = ELEMENTWISE[op.name.removeprefix("linalg.")][0 if is_float(dtype) else 1]
    if name in ("copy", "square", "") or not _has_varying(frame, ins):
        return by_tile(frame, op)
    values = [cast(frame.array(op, v), element_type(v.type), dtype) for v in ins]
    if len({v.shape[int(i in frame.varying) :] for v, i in zip(values, ins, strict=True)}) > 1:
        raise frame.error(op, "operands differ in shape")
    if not is_float(dtype):
        return [integer_op(name, values, dtype)]
    if values[0].size <= 2 * BLOCK or not _are_alike(values):
        return [np.asarray(float_op(name, values, dtype))]
    out = np.empty(values[0].shape, numpy_dtype(dtype))
    flat, into = [v.reshape(-1) for v in values], out.reshape(-1)
    for first in range(0, out.size, BLOCK):
        at = slice(first, first + BLOCK)
        float_into(into[at], name, [v[at] for v in flat], dtype)
    return [out]


ADDRESSES: dict[str, Any] = {
    "ktdp.construct_access_tile": access.access_tile,
    "ktdp.construct_indirect_access_tile": access.indirect_access_tile,
    "ktdp.get_compute_tile_id": _tile_id,
}
RULES: dict[str, Any] = {
    "ktdp.load": access.load_all,
    "ktdp.store": access.store_all,
    "arith.select": _select,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "spyreop.slice_reduction": slice_reduction,
    **{f"tensor.{n}": _reshape for n in ("expand_shape", "collapse_shape", "reshape", "cast")},
    "linalg.broadcast": _broadcast,
    "linalg.transpose": _transpose,
    **{f"linalg.{name}": _elementwise for name in ELEMENTWISE},
    **nests.NESTS,
}
"""The rules for rows, by op name."""


def is_joined(varying: Container[Any], op: Operation) -> bool:
    """Whether the op is a matrix product one of whose operands all tiles share."""
    is_product = RULES.get(op.name) is nests.contract_rows
    return is_product and len({v in varying for v in op.operands[:2]}) == 2
