"""Slices of tensors: taken, put into other tensors, single elements, padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from headrace.numbers.dtypes import is_float
from headrace.schedule.model.attributes import integers, static_shape
from headrace.schedule.model.bodies.scalars import integer
from headrace.schedule.model.ops.layout import insert, reshape
from headrace.schedule.model.ops.pointwise import constant_op
from headrace.schedule.model.state import Binding, Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, reshape_units, select, slice_of


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


def extract_slice(state: State, op: Operation) -> AnyTensor:
    """The tensor of `tensor.extract_slice`."""
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
    tensor, offsets = _divisible(state, tensor, offsets, sizes, strides, op)
    shape: list[int] = []
    new_offsets: list[int] = []
    new_sizes: list[int] = []
    for extent, o, n, s in zip(tensor.shape, offsets, sizes, strides, strict=True):
        if s == 1 or n == 1:
            shape, new_offsets, new_sizes = [*shape, extent], [*new_offsets, o], [*new_sizes, n]
        else:
            shape += [extent // s, s]
            new_offsets, new_sizes = [*new_offsets, o // s, o % s], [*new_sizes, n, 1]
    return reshape(state, tensor, tuple(shape), op), new_offsets, new_sizes


def _divisible(
    state: State, tensor: AnyTensor, offsets: list[int], sizes: list[int], strides: list[int], op: Operation
) -> tuple[AnyTensor, list[int]]:
    """The tensor with every stepped axis cut, or padded, to a multiple of its step, and the offsets in it."""
    starts, extents = [0] * len(offsets), list(tensor.shape)
    padded = list(tensor.shape)
    for k, (n, s) in enumerate(zip(sizes, strides, strict=True)):
        if s == 1 or n == 1 or tensor.shape[k] % s == 0:
            continue
        if tensor.shape[k] >= n * s:
            starts[k], extents[k] = min(offsets[k], tensor.shape[k] - n * s), n * s
        padded[k] = n * s
    cut = slice_of(tensor, starts, tuple(extents))
    if tuple(extents) != tuple(padded):
        zero = Constant(0.0, tensor.dtype) if is_float(tensor.dtype) else integer(0, tensor.dtype)
        cut = insert(state, cut, Filled(tuple(padded), tensor.dtype, zero), [0] * len(padded), op)
    return cut, [o - a for o, a in zip(offsets, starts, strict=True)]


def insert_slice(state: State, op: Operation) -> AnyTensor:
    """The tensor of `tensor.insert_slice`."""
    source, dest = state.tensor(op.operands[0]), state.tensor(op.operands[1])
    offsets, sizes, strides = _boxes(state, op, 2)
    if any(s != 1 and n != 1 for s, n in zip(strides, sizes, strict=True)):
        raise Refused("insert_slice with steps is not supported", "insert slice by slice")
    full = reshape_units(source, tuple(sizes))
    if full is None:
        raise Refused("the inserted tensor and the slice differ in shape")
    return insert(state, full, dest, offsets, op)


def extract(state: State, op: Operation) -> Binding:
    """The scalar of `tensor.extract`."""
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


def insert_element(state: State, op: Operation) -> AnyTensor:
    """The tensor of `tensor.insert`."""
    source, dest = state.tensor(op.operands[0]), state.tensor(op.operands[1])
    at = [state.fixed(state.integer(v)) for v in op.operands[2:]]
    return insert(state, select(source, (), (1,) * len(at)), dest, at, op)


def pad(state: State, op: Operation) -> AnyTensor:
    """The tensor of `tensor.pad`: an insert into a filled one."""
    tensor = state.tensor(op.operands[0])
    dynamic = list(op.operands[1:])
    split = integers(op, "static_low").count(DYNAMIC_INDEX)
    low = _mixed(state, op, "static_low", dynamic[:split])
    high = _mixed(state, op, "static_high", dynamic[split:])
    block = op.regions[0].block
    assert block.last_op is not None
    for inner in block.ops:
        if inner.name == "arith.constant":
            state.env[inner.results[0]] = constant_op(state, inner)
    fill = state.tensor(block.last_op.operands[0])
    shape = tuple(a + n + b for a, n, b in zip(low, tensor.shape, high, strict=True))
    return insert(state, tensor, select(fill, (), shape), low, op)
