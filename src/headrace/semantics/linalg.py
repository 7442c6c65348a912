"""The linalg ops: generic, reduce and map as nests; fill, broadcast, transpose and the elementwise ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.rounding import cast
from headrace.semantics.elementwise import float_op, integer_op
from headrace.semantics.frame import Frame, Handler, element_type, known_element_type
from headrace.semantics.named import NAMED
from headrace.semantics.nest import Nest, run
from headrace.semantics.structured import numbers, split

Array = np.ndarray[Any, Any]


def _generic(frame: Frame, op: Operation) -> Sequence[Any]:
    return run(frame, frame.once("nest", op, lambda: generic_nest(op)))


def generic_nest(op: Operation) -> Nest:
    """The nest of a `linalg.generic`."""
    ins, outs = split(op)
    maps: Any = op.properties["indexing_maps"]
    kinds: Any = op.properties["iterator_types"]
    reductions = tuple(d for d, k in enumerate(kinds.data) if str(k.data.value) == "reduction")
    return Nest(op, ins, outs, tuple(m.data for m in maps.data), reductions, op.regions[0].block)


def _reduce(frame: Frame, op: Operation) -> Sequence[Any]:
    rank = len(frame.get(op.operands[0]).shape)
    return run(frame, frame.once("nest", op, lambda: reduce_nest(op, rank)))


def reduce_nest(op: Operation, rank: int) -> Nest:
    """The nest of a `linalg.reduce` of inputs of that rank."""
    ins, outs = split(op)
    dims = numbers(op, "dimensions")
    whole = AffineMap.identity(rank)
    kept = AffineMap(rank, 0, tuple(AffineExpr.dimension(d) for d in range(rank) if d not in dims))
    return Nest(op, ins, outs, (whole,) * len(ins) + (kept,) * len(outs), dims, op.regions[0].block)


def _map(frame: Frame, op: Operation) -> Sequence[Any]:
    rank = len(frame.get(op.operands[-1]).shape)
    return run(frame, map_nest(op, rank))


def map_nest(op: Operation, rank: int) -> Nest:
    """The nest of a `linalg.map` over tensors of that rank."""
    ins, outs = split(op)
    maps = (AffineMap.identity(rank),) * len(op.operands)
    return Nest(op, ins, outs, maps, (), op.regions[0].block)


def _fill(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = split(op)
    out = frame.get(outs[0])
    dtype = known_element_type(frame, op, op.results[0].type)
    value = cast(frame.array(op, ins[0]), element_type(ins[0].type), dtype)
    return [np.full(out.shape, value, numpy_dtype(dtype))]


def _broadcast(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = split(op)
    source, shape = frame.array(op, ins[0]), frame.get(outs[0]).shape
    added = numbers(op, "dimensions")
    view = source.reshape([1 if d in added else shape[d] for d in range(len(shape))])
    return [np.ascontiguousarray(np.broadcast_to(view, shape))]


def _transpose(frame: Frame, op: Operation) -> Sequence[Any]:
    source = frame.array(op, op.operands[0])
    turned = np.ascontiguousarray(source.transpose(numbers(op, "permutation")))
    expected = frame.get(op.operands[1]).shape
    if turned.shape != expected:
        raise frame.error(op, f"the result is {list(turned.shape)}, outs is {list(expected)}")
    return [turned]


ELEMENTWISE: dict[str, tuple[str, str]] = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": ("arith.divf", "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "powf": ("math.powf", ""),
    "abs": ("math.absf", "math.absi"),
    "ceil": ("math.ceil", ""),
    "copy": ("copy", "copy"),
    "erf": ("math.erf", ""),
    "exp": ("math.exp", ""),
    "floor": ("math.floor", ""),
    "log": ("math.log", ""),
    "negf": ("arith.negf", ""),
    "reciprocal": ("spyreop.reciprocal", ""),
    "round": ("math.round", ""),
    "rsqrt": ("math.rsqrt", ""),
    "sqrt": ("math.sqrt", ""),
    "square": ("square", "square"),
    "tanh": ("math.tanh", ""),
}
"""Named elementwise ops and what they do to floats and integers; operands are cast to the result's type
first."""


def _elementwise(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    values = [cast(frame.array(op, v), element_type(v.type), dtype) for v in ins]
    shape = frame.get(outs[0]).shape
    if any(v.shape != shape for v in values):
        raise frame.error(op, f"operands are {[list(v.shape) for v in values]}, outs is {list(shape)}")
    name = ELEMENTWISE[op.name.removeprefix("linalg.")][0 if is_float(dtype) else 1]
    if name == "copy":
        return [np.array(values[0])]
    if name == "square":
        name, values = ("arith.mulf" if is_float(dtype) else "arith.muli"), [values[0], values[0]]
    if not name:
        raise frame.error(op, f"is not defined for {dtype}")
    return [np.asarray((float_op if is_float(dtype) else integer_op)(name, values, dtype))]


def _select(frame: Frame, op: Operation) -> Sequence[Any]:
    condition, a, b = (frame.array(op, v) for v in split(op)[0])
    return [np.where(condition, a, b)]


LINALG: dict[str, Handler] = {
    "linalg.generic": _generic,
    "linalg.reduce": _reduce,
    "linalg.map": _map,
    "linalg.fill": _fill,
    "linalg.broadcast": _broadcast,
    "linalg.transpose": _transpose,
    "linalg.select": _select,
    **{f"linalg.{name}": _elementwise for name in ELEMENTWISE},
    **NAMED,
}
"""The handler of every linalg op, by name."""
