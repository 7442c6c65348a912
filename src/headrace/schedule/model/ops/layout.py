"""Tensors in another shape, or written into a larger one: views where possible, else Reshape and Insert."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.schedule.graph import Insert, Reshape
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Filled, plain_number, reshape_units, whole


def reshape(state: State, tensor: AnyTensor, shape: tuple[int, ...], op: Operation) -> AnyTensor:
    """The tensor with another shape: a view if only unit axes change, else a Reshape statement."""
    if prod(shape) != prod(tensor.shape):
        raise Refused(f"{list(tensor.shape)} has not as many elements as {list(shape)}")
    if isinstance(tensor, Filled):
        return Filled(shape, tensor.dtype, tensor.fill)
    view = tensor if tensor.shape == shape else reshape_units(tensor, shape)
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
    if isinstance(dest, Filled):
        fill = 0 if dest.fill is None else plain_number(dest.fill)
    if fill is None:
        name_of_dest = state.materialise(dest, location(op))
    name = state.value(dest.shape, dest.dtype, location(op))
    state.block.append(Insert(name, name_of_source, name_of_dest, tuple(offsets), fill, location(op)))
    return whole(name, dest.shape, dest.dtype)
