"""Gathers and scatters: copies whose rows an index tensor chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.machine.execute.access import Access, Array, put, take, uniform
from headrace.machine.execute.faults import fault
from headrace.machine.image import Copy, Index, Indirect

_ROW_BY_ROW = 64
"""Lanes from which copying row by row is faster than indexing elements."""


def rows(node: Copy, indirect: Indirect, index: Access, env: Sequence[Any]) -> Array:
    """The integers of the index tensor, [instance, time]; a fault if one names no row."""
    found = index.load(env, (1,))[..., 0].astype(np.int64)
    size = uniform((indirect.size - indirect.offset).evaluate(env)) if _is_common(indirect.offset) else None
    limit = indirect.size.constant if size is None else size
    bad = (found < 0) | (found >= limit) if limit is not None else found < 0
    if bad.any():
        value = int(found[bad][0])
        message = (
            f"index {value} is outside 0..{limit - 1}" if limit is not None else f"index {value} is negative"
        )
        raise fault("out_of_bounds", message, node.where, "agen.composite_indirect_load_and_store")
    return found


def reach(
    node: Copy, source: Access, target: Access, index: Access, env: Sequence[Any]
) -> tuple[Access, Array]:
    """(the indirect side, byte offsets in its arena of every element moved: [instance, time, lanes])."""
    indirect = node.indirect
    assert indirect is not None
    shift = rows(node, indirect, index, env) * indirect.scale
    direct = source if indirect.side == "source" else target
    at = direct.addresses(env) + shift[..., None]
    _check(node, direct, at)
    return direct, at


def run(node: Copy, source: Access, target: Access, index: Access, env: Sequence[Any]) -> None:
    """Executes an indirect copy; of duplicate targets the last time step wins."""
    direct, at = reach(node, source, target, index, env)
    if direct is source:
        target.store(env, _taken(direct, at))
    else:
        _put(direct, at, source.load(env, (node.lanes,))[..., : at.shape[-1]])


def _is_common(index: Index) -> bool:
    return not any(s.role in ("table", "loaded", "carried") for s in index.symbols)


def _check(node: Copy, direct: Access, at: Array) -> None:
    owner = direct.owners.reshape(-1, 1, 1)
    local = at - owner
    if local.size and (local.min() < 0 or local.max() + direct.dtype.itemsize > direct.arena.size):
        raise fault("out_of_bounds", f"an indexed row lies outside {direct.box.place.name}", node.where)


def _taken(direct: Access, at: Array) -> Array:
    size = direct.dtype.itemsize
    if not _is_row_copy(direct, at):
        return take(direct.arena, at, direct.dtype)
    lanes = at.shape[-1]
    out = np.empty(at.shape, direct.dtype)
    flat = out.reshape(-1, lanes).view(np.uint8)
    for k, start in enumerate(at[..., 0].reshape(-1).tolist()):
        flat[k] = direct.arena.bytes[start : start + lanes * size]
    return out


def _put(direct: Access, at: Array, data: Array) -> None:
    if not _is_row_copy(direct, at):
        put(direct.arena, at, data)
        return
    lanes, size = at.shape[-1], direct.dtype.itemsize
    flat = np.ascontiguousarray(data).reshape(-1, lanes).view(np.uint8)
    for k, start in enumerate(at[..., 0].reshape(-1).tolist()):
        direct.arena.bytes[start : start + lanes * size] = flat[k]


def _is_row_copy(direct: Access, at: Array) -> bool:
    return direct.box.is_contiguous_run and at.shape[-1] >= _ROW_BY_ROW
