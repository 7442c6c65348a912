"""Moves the lanes of vectors, on arrays [instance, iteration, *vector]: selections, shuffles, rotations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineMap

from headrace.machine.execute.arithmetic import Array
from headrace.machine.execute.convert import cast
from headrace.machine.image import Value, VectorOp

LEAD = 2
"""Leading axes of every array: instance, iteration."""


def flat(x: Array, value: Value) -> Array:
    """The array with the vector's axes merged into one of lanes (a scalar has one)."""
    return x if len(value.shape) == 1 else x.reshape(*x.shape[:LEAD], value.lanes)


def shaped(x: Array, value: Value) -> Array:
    """The array with its lanes split into the vector's axes."""
    return x if len(value.shape) == 1 else x.reshape(*x.shape[:LEAD], *value.shape)


@lru_cache(maxsize=1024)
def lane_table(map_: AffineMap, target: tuple[int, ...], source: tuple[int, ...]) -> Array:
    """For every lane of `target` the lane of `source` that the map gives."""
    lanes = np.zeros(target, np.int64)
    positions = map_.eval(list(np.indices(target)), [])
    for extent, position in zip(source, positions, strict=True):
        lanes = lanes * extent + position
    return lanes.reshape(-1)


def select(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    source, result = node.operands[0], node.result
    table = lane_table(node.detail("map"), result.shape, source.shape)
    x = flat(inputs[0], source)
    if result.lanes == 1:
        return shaped(x[..., int(table[0]) : int(table[0]) + 1], result)
    return shaped(x[..., table], result)


def shuffle(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    indices, repetition = node.detail("indices"), node.detail("repetition")
    x, result = flat(inputs[0], node.operands[0]), node.result
    lead = np.broadcast_shapes(*(i.shape[:LEAD] for i in inputs))
    if len(indices) == 1 and indices[0] >= 0:
        one = x[..., indices[0] : indices[0] + 1]
        return shaped(np.broadcast_to(one, (*lead, result.lanes)), result)
    if min(indices) >= 0:
        picked = x[..., list(indices)]
    else:
        others = zip(inputs[1:], node.operands[1:], strict=False)
        extra = [flat(v, value)[..., :1] for v, value in others]
        lanes = [x[..., i : i + 1] if i >= 0 else extra[-i - 1] for i in indices]
        picked = np.concatenate([np.broadcast_to(p, (*lead, 1)) for p in lanes], axis=-1)
    return shaped(np.tile(picked, repetition) if repetition > 1 else picked, result)


def pack(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    """Lanes of two vectors by number, one after the other; -1 is 0."""
    sources = np.array(node.detail("sources"))
    parts = [flat(x, v) for x, v in zip(inputs, node.operands, strict=False)]
    lead = np.broadcast_shapes(*(x.shape[:LEAD] for x in parts))
    both = np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts], axis=-1)
    found = np.where(sources >= 0, both[..., sources], np.zeros((), both.dtype))
    dtype = node.operands[0].dtype
    return shaped(cast(found, dtype, node.result.dtype, unsigned=not node.detail("signed")), node.result)


def mask(node: VectorOp, _: Sequence[Array], indices: Sequence[Any], *__: Any) -> Array:
    low, high = (i[..., None] for i in indices)
    lanes = np.arange(node.result.lanes).reshape(1, 1, -1)
    return np.asarray((lanes >= low) & (lanes < high))


def rotate(node: VectorOp, inputs: Sequence[Array], indices: Sequence[Any], *_: Any) -> Array:
    lanes = node.result.lanes
    amount = indices[0][..., None] * (1 if node.detail("right") else -1)
    source = (np.arange(lanes).reshape(1, 1, -1) - amount) % lanes
    x = flat(inputs[0], node.operands[0])
    lead = np.broadcast_shapes(x.shape[:LEAD], source.shape[:LEAD])
    found = np.take_along_axis(
        np.broadcast_to(x, (*lead, lanes)), np.broadcast_to(source, (*lead, lanes)), axis=-1
    )
    return shaped(found, node.result)


def extract(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    lane = node.detail("lane")
    return flat(inputs[0], node.operands[0])[..., lane].reshape(*inputs[0].shape[:LEAD])


def broadcast(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    x, result = inputs[0], node.result
    missing = len(result.shape) - len(node.operands[0].shape)
    x = x.reshape(*x.shape[:LEAD], *(1,) * missing, *node.operands[0].shape)
    return np.broadcast_to(x, (*x.shape[:LEAD], *result.shape))


def reshape(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    return inputs[0].reshape(*inputs[0].shape[:LEAD], *node.result.shape)


MOVES: dict[str, Any] = {
    "select": select,
    "shuffle": shuffle,
    "mask": mask,
    "rotate": rotate,
    "extract": extract,
    "broadcast": broadcast,
    "splat": broadcast,
    "shape_cast": reshape,
    "pack": pack,
}
"""Functions that move lanes: each takes (node, inputs, indices, scalars)."""
