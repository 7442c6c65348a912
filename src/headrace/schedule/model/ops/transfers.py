"""ktdp.load and ktdp.store: accesses to one view, or to the partitions of a distributed one."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.schedule.graph import Load, Store, View
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import dtype_of
from headrace.schedule.model.bodies.body import linear
from headrace.schedule.model.ops.layout import insert, reshape
from headrace.schedule.model.ops.pointwise import cast
from headrace.schedule.model.ops.rows import with_one_index
from headrace.schedule.model.ops.views import leaves
from headrace.schedule.model.state import Part, Refused, State, Tile
from headrace.schedule.model.tensors import AnyTensor, Filled, Tensor, is_whole, select, slice_of, whole


def load(state: State, op: Operation) -> AnyTensor:
    """The tensor of `ktdp.load`."""
    tile = _tile(state, op, 0)
    wanted = dtype_of(op.results[0].type)
    if len(tile.view.parts) == 1 and not _is_shifted(tile.view.parts[0]):
        loaded = reshape(state, _load(state, tile, tile.view.parts[0].view, op), tile.seen, op)
        return cast(state, loaded, wanted, op)
    result: AnyTensor = Filled(tile.shape, tile.view.dtype, None)
    for part in tile.view.parts:
        piece = _piece(state, tile, part)
        if piece is not None:
            at, inner = piece
            result = insert(state, _load(state, inner, part.view, op), result, at, op)
    if isinstance(result, Filled):
        raise Refused("the access tile touches no partition of the distributed view")
    return cast(state, result, wanted, op)


def store(state: State, op: Operation) -> None:
    """Emit the statements of `ktdp.store`."""
    tile, tensor = _tile(state, op, 1), state.tensor(op.operands[0])
    if isinstance(tensor, Filled) and tensor.fill is None:
        raise Refused("stores a tensor.empty that nothing was written to", "fill it first")
    tensor = cast(state, tensor, tile.view.dtype, op)
    if tile.repeats:
        raise Refused("several positions of the access tile are one element of the view", "store it once")
    if len(tile.view.parts) == 1 and not _is_shifted(tile.view.parts[0]):
        _store(state, reshape(state, tensor, tile.shape, op), tile, tile.view.parts[0].view, op)
        return
    for part in tile.view.parts:
        piece = _piece(state, tile, part)
        if piece is not None:
            at, inner = piece
            _store(state, slice_of(tensor, at, inner.shape), inner, part.view, op)


def _tile(state: State, op: Operation, number: int) -> Tile:
    tile = state.get(op.operands[number])
    if not isinstance(tile, Tile):
        raise Refused("the access tile is not known")
    return tile


def _is_shifted(part: Part) -> bool:
    """Whether coordinates of the whole and of the partition differ."""
    return any(part.low)


def _piece(state: State, tile: Tile, part: Part) -> tuple[list[int], Tile] | None:
    """Where in the tile a partition's data goes, and the tile of it; None if they do not meet."""
    at, origin, extents = [0] * len(tile.shape), list(tile.origin), list(tile.shape)
    walked = {d: k for k, d in enumerate(tile.axes) if d is not None}
    for d, (low, high) in enumerate(zip(part.low, part.high, strict=True)):
        first = state.fixed(tile.origin[d])
        k = walked.get(d)
        extent = 1 if k is None else tile.shape[k]
        start, end = max(first, low), min(first + extent - 1, high)
        if start > end:
            return None
        origin[d] = Num(start - low)
        if k is not None:
            at[k], extents[k] = start - first, end - start + 1
    return at, replace(tile, origin=tuple(origin), shape=tuple(extents))


def _load(state: State, tile: Tile, view: View, op: Operation) -> AnyTensor:
    _check_bounds(state, tile, view)
    tile, view = with_one_index(state, tile, view, op)
    shape = tuple(1 if k in tile.repeats else n for k, n in enumerate(tile.shape))
    name = state.value(shape, view.dtype, location(op))
    origin = tuple(linear(o) for o in tile.origin)
    statement = Load(name, view, origin, tile.axes, tile.indirect, location(op))
    state.block.append(statement)
    state.loads[name] = statement, state.stores[view.space, view.arg]
    tensor = whole(name, shape, view.dtype)
    if not tile.repeats:
        return tensor
    return select(tensor, [None if k in tile.repeats else k for k in range(len(shape))], tile.shape)


def _store(state: State, tensor: AnyTensor, tile: Tile, view: View, op: Operation) -> None:
    _check_bounds(state, tile, view)
    tile, view = with_one_index(state, tile, view, op)
    state.stores[view.space, view.arg] += 1
    origin = tuple(linear(o) for o in tile.origin)
    permutation = _permutation(state, tensor)
    if isinstance(tensor, Tensor) and permutation is not None and not tile.indirect:
        axes = tuple(None if k is None else tile.axes[k] for k in permutation)
        state.block.append(Store(tensor.source, view, origin, axes, (), location(op)))
        return
    name = state.materialise(tensor, location(op), op.name)
    state.block.append(Store(name, view, origin, tile.axes, tile.indirect, location(op)))


def _permutation(state: State, tensor: AnyTensor) -> list[int | None] | None:
    """Which tile axis every axis of the source walks, if the tensor is its source with axes moved about."""
    if not isinstance(tensor, Tensor) or any(offset for _, offset in tensor.axes):
        return None
    if is_whole(tensor, state.values[tensor.source].shape):
        return list(range(len(tensor.shape)))
    source = state.values[tensor.source].shape
    for n, (k, _) in zip(source, tensor.axes, strict=True):
        if (n != 1 and k is None) or (k is not None and tensor.shape[k] != n):
            return None
    walked = [k for k, _ in tensor.axes if k is not None]
    missing = [k for k, n in enumerate(tensor.shape) if k not in walked and n != 1]
    return None if missing or len(set(walked)) != len(walked) else [k for k, _ in tensor.axes]


def _check_bounds(state: State, tile: Tile, view: View) -> None:
    indexed = {i.view_dim for i in tile.indirect}
    walked = {d: tile.shape[k] for k, d in enumerate(tile.axes) if d is not None}
    problems = [
        f"dim {d} {wrong}"
        for d, origin in enumerate(tile.origin)
        if d not in indexed and (wrong := leaves(state, origin, walked.get(d, 1), 0, view.sizes[d] - 1))
    ]
    if problems:
        raise Refused(
            "access out of bounds: " + "; ".join(problems), "shrink the tile or guard it with scf.if"
        )
