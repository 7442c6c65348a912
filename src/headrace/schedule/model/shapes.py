"""The tensor dialect: slices, reshapes, inserts; most are views, the rest Reshape and Insert statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from headrace.ir.text import location
from headrace.schedule.graph import Insert, Reshape
from headrace.schedule.model.state import Binding, Refused, State, dtype_of, integers, literal, static_shape
from headrace.schedule.model.structured import Nest, structured
from headrace.schedule.model.tensors import (
    AnyTensor,
    Constant,
    Filled,
    Integer,
    reshape_units,
    select,
    slice_of,
    whole,
)


def tensor_op(state: State, op: Operation) -> Binding:
    """The result of an op of the tensor dialect; Refused for one that is not known."""
    handler = _HANDLERS.get(op.name.removeprefix("tensor."))
    if handler is None:
        raise Refused("this tensor op is not supported")
    return handler(state, op)


def reshape(state: State, tensor: AnyTensor, shape: tuple[int, ...], op: Operation) -> AnyTensor:
    """The tensor with another shape: a view if only unit axes change, else a Reshape statement."""
    if prod(shape) != prod(tensor.shape):
        raise Refused(f"{list(tensor.shape)} has not as many elements as {list(shape)}")
    if isinstance(tensor, Filled):
        return Filled(shape, tensor.dtype, tensor.fill)
    view = reshape_units(tensor, shape)
    if view is not None:
        return view
    source = state.materialise(tensor, location(op))
    name = state.value(shape, tensor.dtype, location(op))
    if source in state.undefined:
        state.undefined.add(name)
    state.block.append(Reshape(name, source, location(op)))
    return whole(name, shape, tensor.dtype)


def insert(
    state: State, source: AnyTensor, dest: AnyTensor, offsets: Sequence[int], op: Operation
) -> AnyTensor:
    """`dest` with `source` (of the same rank) written at `offsets`."""
    for k, offset in enumerate(offsets):
        if offset < 0 or offset + source.shape[k] > dest.shape[k]:
            raise Refused(f"the inserted slice leaves axis {k} of {list(dest.shape)}")
    if source.shape == dest.shape:
        return source
    name_of_source = state.materialise(source, location(op))
    fill: float | int | None = None
    name_of_dest: str | None = None
    if isinstance(dest, Filled) and _plain(dest.fill) is not None:
        fill = _plain(dest.fill)
    else:
        name_of_dest = state.materialise(dest, location(op))
    name = state.value(dest.shape, dest.dtype, location(op))
    state.block.append(Insert(name, name_of_source, name_of_dest, tuple(offsets), fill, location(op)))
    return whole(name, dest.shape, dest.dtype)


def _plain(fill: Constant | Integer | None) -> float | int | None:
    """The number a tensor is filled with; 0 where nothing was written."""
    if fill is None:
        return 0
    return fill.value if isinstance(fill, Constant) else fill.value.fixed


def _mixed(state: State, op: Operation, static: str, dynamic: list[SSAValue]) -> list[int]:
    """A list of static and dynamic numbers as numbers."""
    rest = iter(dynamic)
    return [state.fixed(state.integer(next(rest))) if n == DYNAMIC_INDEX else n for n in integers(op, static)]


def _boxes(state: State, op: Operation, first: int) -> tuple[list[int], list[int], list[int]]:
    """Offsets, sizes and strides of a slice op whose dynamic operands start at `first`."""
    dynamic = list(op.operands)[first:]
    lists = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        count = integers(op, name).count(DYNAMIC_INDEX)
        lists.append(_mixed(state, op, name, dynamic[:count]))
        dynamic = dynamic[count:]
    return lists[0], lists[1], lists[2]


def _ranked(shape: Sequence[int | None], sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes with unit axes dropped where the result type has fewer axes."""
    if len(shape) == len(sizes):
        return tuple(sizes)
    kept, rest = [], list(shape)
    for n in sizes:
        if rest and (rest[0] is None or rest[0] == n):
            kept.append(n)
            rest.pop(0)
        elif n != 1:
            raise Refused("the slice and its type differ")
    return tuple(kept)


def _extract_slice(state: State, op: Operation) -> AnyTensor:
    tensor = state.tensor(op.operands[0])
    offsets, sizes, strides = _boxes(state, op, 1)
    for k, (o, n, s) in enumerate(zip(offsets, sizes, strides, strict=True)):
        if o < 0 or n < 1 or s < 1 or o + (n - 1) * s >= tensor.shape[k]:
            raise Refused(f"the slice leaves axis {k} of {list(tensor.shape)}")
    if any(s != 1 and n != 1 for s, n in zip(strides, sizes, strict=True)):
        tensor, offsets, sizes = _strided(state, tensor, offsets, sizes, strides, op)
    box = slice_of(tensor, offsets, tuple(sizes))
    shape = _ranked(static_shape(op.results[0].type), [n for n in _boxes(state, op, 1)[1]])
    result = reshape_units(box, shape)
    assert result is not None
    return result


def _strided(
    state: State, tensor: AnyTensor, offsets: list[int], sizes: list[int], strides: list[int], op: Operation
) -> tuple[AnyTensor, list[int], list[int]]:
    """A slice with steps as a slice without: every stepped axis is reshaped to (n / step, step)."""
    shape: list[int] = []
    new_offsets: list[int] = []
    new_sizes: list[int] = []
    for extent, o, n, s in zip(tensor.shape, offsets, sizes, strides, strict=True):
        if s == 1 or n == 1:
            shape, new_offsets, new_sizes = [*shape, extent], [*new_offsets, o], [*new_sizes, n]
        elif extent % s:
            raise Refused(
                f"a slice of step {s} needs an axis divisible by it, not {extent}",
                "load through a strided view",
            )
        else:
            shape += [extent // s, s]
            new_offsets, new_sizes = [*new_offsets, o // s, o % s], [*new_sizes, n, 1]
    return reshape(state, tensor, tuple(shape), op), new_offsets, new_sizes


def _insert_slice(state: State, op: Operation) -> AnyTensor:
    source, dest = state.tensor(op.operands[0]), state.tensor(op.operands[1])
    offsets, sizes, strides = _boxes(state, op, 2)
    if any(s != 1 and n != 1 for s, n in zip(strides, sizes, strict=True)):
        raise Refused("insert_slice with steps is not supported", "insert slice by slice")
    full = reshape_units(source, tuple(sizes))
    if full is None:
        raise Refused("the inserted tensor and the slice differ in shape")
    return insert(state, full, dest, offsets, op)


def _to_type(state: State, op: Operation) -> AnyTensor:
    """collapse_shape, expand_shape, reshape, cast: the shape is the result type's."""
    tensor, shape = state.tensor(op.operands[0]), static_shape(op.results[0].type)
    missing = [k for k, n in enumerate(shape) if n is None]
    known = prod(n for n in shape if n is not None)
    if len(missing) > 1:
        raise Refused("two unknown extents cannot be told apart", "give static extents")
    return reshape(state, tensor, tuple(prod(tensor.shape) // known if n is None else n for n in shape), op)


def _empty(state: State, op: Operation) -> AnyTensor:
    dynamic = iter(op.operands)
    kind = op.results[0].type
    shape = [state.fixed(state.integer(next(dynamic))) if n is None else n for n in static_shape(kind)]
    return Filled(tuple(shape), dtype_of(kind), None)


def _splat(state: State, op: Operation) -> AnyTensor:
    tensor = state.tensor(op.operands[0])
    empty = _empty(state, op) if not op.operands[1:] else None
    dynamic = iter(op.operands[1:])
    shape = (
        empty.shape
        if empty
        else tuple(
            state.fixed(state.integer(next(dynamic))) if n is None else n
            for n in static_shape(op.results[0].type)
        )
    )
    return select(tensor, (), shape)


def _extract(state: State, op: Operation) -> Binding:
    tensor = state.tensor(op.operands[0])
    at = [state.fixed(state.integer(v)) for v in op.operands[1:]]
    for k, o in enumerate(at):
        if not 0 <= o < tensor.shape[k]:
            raise Refused(f"element {o} leaves axis {k} of {list(tensor.shape)}")
    if isinstance(tensor, Filled):
        if tensor.fill is None:
            raise Refused("reads a tensor.empty that nothing was written to", "fill it first")
        return tensor.fill
    return select(slice_of(tensor, at, (1,) * len(at)), [None] * len(at), ())


def _insert_element(state: State, op: Operation) -> AnyTensor:
    source, dest = state.tensor(op.operands[0]), state.tensor(op.operands[1])
    at = [state.fixed(state.integer(v)) for v in op.operands[2:]]
    return insert(state, select(source, (), (1,) * len(at)), dest, at, op)


def _from_elements(state: State, op: Operation) -> AnyTensor:
    kind = op.results[0].type
    shape = tuple(n or 0 for n in static_shape(kind))
    elements = [state.tensor(v) for v in op.operands]
    if all(e == elements[0] for e in elements):
        return select(elements[0], (), shape)
    flat: AnyTensor = Filled((prod(shape),), dtype_of(kind), None)
    for i, e in enumerate(elements):
        flat = insert(state, select(e, (), (1,)), flat, [i], op)
    return reshape(state, flat, shape, op)


def _concat(state: State, op: Operation) -> AnyTensor:
    attr = literal(op, "dim")
    assert isinstance(attr, IntegerAttr)
    axis, parts = attr.value.data, [state.tensor(v) for v in op.operands]
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    result: AnyTensor = Filled(tuple(shape), parts[0].dtype, None)
    at = 0
    for part in parts:
        result = insert(state, part, result, [at if k == axis else 0 for k in range(len(shape))], op)
        at += part.shape[axis]
    return result


def _pad(state: State, op: Operation) -> AnyTensor:
    tensor = state.tensor(op.operands[0])
    dynamic = list(op.operands[1:])
    split = integers(op, "static_low").count(DYNAMIC_INDEX)
    low = _mixed(state, op, "static_low", dynamic[:split])
    high = _mixed(state, op, "static_high", dynamic[split:])
    block = op.regions[0].block
    assert block.last_op is not None
    for inner in block.ops:
        if inner.name == "arith.constant":
            from headrace.schedule.model.pointwise import constant_op

            state.env[inner.results[0]] = constant_op(state, inner)
    fill = state.tensor(block.last_op.operands[0])
    shape = tuple(a + n + b for a, n, b in zip(low, tensor.shape, high, strict=True))
    return insert(state, tensor, select(fill, (), shape), low, op)


def _dim(state: State, op: Operation) -> Binding:
    from headrace.schedule.model.scalars import integer

    return integer(state.tensor(op.operands[0]).shape[state.fixed(state.integer(op.operands[1]))], "index")


def _generate(state: State, op: Operation) -> AnyTensor:
    """tensor.generate: its block arguments are the coordinates."""
    out = _empty(state, op)
    block, rank = op.regions[0].block, len(out.shape)
    nest = Nest(op, (), (out,), (AffineMap.identity(rank),), ("parallel",) * rank, block, ())
    return structured(state, nest)[0]


_HANDLERS: dict[str, Callable[[State, Operation], Binding]] = {
    "empty": _empty,
    "splat": _splat,
    "extract": _extract,
    "insert": _insert_element,
    "extract_slice": _extract_slice,
    "insert_slice": _insert_slice,
    "collapse_shape": _to_type,
    "expand_shape": _to_type,
    "reshape": _to_type,
    "cast": _to_type,
    "from_elements": _from_elements,
    "concat": _concat,
    "pad": _pad,
    "dim": _dim,
    "generate": _generate,
}
