"""Boxes as NumPy views, for a whole team of instances at once where their addresses form a progression."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.execute.arenas import Arena
from headrace.machine.execute.faults import fault
from headrace.machine.image import NOWHERE, Box, Index, Symbol
from headrace.machine.index import Atom
from headrace.numbers.dtypes import numpy_dtype

Array = np.ndarray[Any, Any]
_NOWHERE = Location()


def progression(values: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(extents, strides) of at most two dims that enumerate value - values[0] in order, or None."""
    count = len(values)
    if count == 1:
        return (), ()
    step = values[1] - values[0]
    inner = 1
    while inner < count and values[inner] - values[0] == inner * step:
        inner += 1
    if inner == count:
        return (count,), (step,)
    if count % inner:
        return None
    outer = values[inner] - values[0]
    rows, columns = count // inner, inner
    for i in range(rows):
        for j in range(columns):
            if values[i * columns + j] - values[0] != i * outer + j * step:
                return None
    return (rows, columns), (outer, step)


class Access:
    """A box as one team of instances reaches it; `ivs` (variable, first value, step) become axes."""

    def __init__(
        self,
        box: Box,
        arena: Arena,
        env: Sequence[Any],
        count: int,
        ivs: Sequence[tuple[Symbol, Index, int]] = (),
        where: Location = _NOWHERE,
    ) -> None:
        self.box, self.arena, self.count, self.where = box, arena, count, where
        self.dtype = numpy_dtype(box.dtype)
        self.is_linear = box.address is None
        self.fold: list[int] = []
        base = box.base
        for symbol, first, step in ivs:
            split = base.split(symbol)
            if split is None or not self.is_linear:
                self.is_foldable = False
                return
            base = split[1] + first * split[0]
            self.fold.append(split[0] * step)
        self.is_foldable = True
        self.base = base
        self.ivs = tuple(ivs)
        owner = np.broadcast_to(np.asarray(box.place.owner.evaluate(env), np.int64), (count,))
        self.owners = owner * arena.size
        self._split_base(base, env)

    def _split_base(self, base: Index, env: Sequence[Any]) -> None:
        """Splits the base into numbers known per instance and an expression that is one number for all."""
        tables: list[tuple[Atom, int]] = []
        rest: list[tuple[Atom, int]] = []
        for atom, c in base.terms:
            is_table = isinstance(atom, Symbol) and atom.role == "table"
            (tables if is_table else rest).append((atom, c))
        per_instance = np.broadcast_to(
            np.asarray(Index(0, tuple(tables)).evaluate(env), np.int64), (self.count,)
        )
        common = Index(base.const, tuple(rest))
        self.is_uniform = not any(s.role in ("table", "loaded") for s in common.symbols)
        self.common = common.evaluate
        self.offsets = self.owners + per_instance
        local = per_instance
        self.local_low, self.local_high = int(local.min()), int(local.max())
        found = progression([int(x) for x in self.offsets])
        self.lead = found
        self.first = int(self.offsets[0])
        self._prepare()

    def _prepare(self) -> None:
        """What can be known now: extents, and the one view of all instances up to its start."""
        dims = (*self.box.times, *self.box.run)
        known = tuple(d.extent.constant for d in dims)
        self._extents: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._ready: tuple[tuple[int, ...], tuple[int, ...], int, int] | None = None
        if None in known:
            return
        extents = tuple(e for e in known if e is not None)
        count = len(self.box.times)
        self._extents = extents[:count], extents[count:]
        if self.fold or not self.is_uniform or self.lead is None or 0 in extents:
            return
        strides = tuple(d.stride for d in dims)
        ends = [(e - 1) * s for e, s in zip(extents, strides, strict=True)]
        low = self.local_low + sum(min(0, e) for e in ends)
        high = self.local_high + sum(max(0, e) for e in ends) + self.dtype.itemsize
        self._ready = (*self.lead[0], *extents), (*self.lead[1], *strides), low, high

    def shape(self, env: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(time extents, run extents) now."""
        if self._extents is not None:
            return self._extents
        times = tuple(uniform(d.extent.evaluate(env)) for d in self.box.times)
        run = tuple(uniform(d.extent.evaluate(env)) for d in self.box.run)
        return times, run

    def views(self, env: Sequence[Any], trips: Sequence[int] = ()) -> tuple[list[Array], bool]:
        """Views of shape [lead…, folded loops…, times…, run…]: one for all, or (False) one per instance."""
        if self._ready is not None:
            shape, steps, low, high = self._ready
            at = self.common(env)
            if not isinstance(at, np.ndarray):
                if at + low < 0 or at + high > self.arena.size:
                    self._outside(at + low, at + high)
                if self.box.limits:
                    self._check_limits(env)
                return [self._view(at + self.first, shape, steps)], True
        times, run = self.shape(env)
        extents = (*trips, *times, *run)
        strides = (*self.fold, *(d.stride for d in self.box.times), *(d.stride for d in self.box.run))
        if 0 in extents:
            return [np.empty((self.count, *extents), self.dtype)], True
        at = self.common(env)
        if self.is_uniform and self.lead is not None and not isinstance(at, np.ndarray):
            self._check(at + self.local_low, at + self.local_high, extents, strides, env, trips)
            return [self._view(at + self.first, (*self.lead[0], *extents), (*self.lead[1], *strides))], True
        base = np.broadcast_to(np.asarray(self.base.evaluate(env), np.int64), (self.count,))
        self._check(int(base.min()), int(base.max()), extents, strides, env, trips)
        starts = [int(x) for x in base + self.owners]
        found = progression(starts)
        if found is not None:
            return [self._view(starts[0], (*found[0], *extents), (*found[1], *strides))], True
        return [self._view(s, extents, strides) for s in starts], False

    def _view(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        return np.ndarray(shape, self.dtype, self.arena.bytes, start, strides)

    def _check(
        self,
        low: int,
        high: int,
        extents: Sequence[int],
        strides: Sequence[int],
        env: Sequence[Any],
        trips: Sequence[int] = (),
    ) -> None:
        """A fault unless every byte lies in the owner's memory and every position in its view."""
        for extent, stride in zip(extents, strides, strict=True):
            if stride >= 0:
                high += (extent - 1) * stride
            else:
                low += (extent - 1) * stride
        if low < 0 or high + self.dtype.itemsize > self.arena.size:
            self._outside(low, high + self.dtype.itemsize)
        self._check_limits(env, trips)

    def _check_limits(self, env: Sequence[Any], trips: Sequence[int] = ()) -> None:
        for limit in self.box.limits:
            least, most = self._end(limit.low, env, trips, 0), self._end(limit.high, env, trips, 1)
            if np.min(least) < 0 or np.max(most) >= np.min(limit.size.evaluate(env)):
                self._beyond(int(np.min(least)), int(np.max(most)), limit.size)

    def _end(self, place: Index, env: Sequence[Any], trips: Sequence[int], side: int) -> Any:
        """The least (side 0) or greatest (1) position over the folded loops, if it is linear in them."""
        for (symbol, first, step), trip in zip(self.ivs, trips, strict=False):
            split = place.split(symbol)
            if split is not None:
                is_last = (split[0] >= 0) == bool(side)
                place = split[1] + (first + (trip - 1) * step if is_last else first) * split[0]
        return place.evaluate(env)

    def _outside(self, low: int, high: int) -> NoReturn:
        if low < NOWHERE // 2:
            raise fault("out_of_bounds", "a position lies in no page of its view", self.where)
        message = f"bytes {low} to {high} are outside {self.box.place.name} of {self.arena.size} bytes"
        raise fault("out_of_bounds", message, self.where)

    def _beyond(self, low: int, high: int, size: Index) -> NoReturn:
        message = f"positions {low} to {high} are outside a view of size {size}"
        raise fault("out_of_bounds", message, self.where)

    # ---- moving data ---------------------------------------------------------------------------------------
    def load(self, env: Sequence[Any], shape: tuple[int, ...], trips: Sequence[int] = ()) -> Array:
        """A copy of shape [instance, steps, *shape]; lanes beyond a shorter run are 0."""
        if not self.is_linear:
            return self._gather(env, shape)
        views, is_joint = self.views(env, trips)
        times, run = self.shape(env)
        steps, lanes, size = prod((*trips, *times)), prod(shape), prod(run)
        if size < lanes:
            out = np.zeros((self.count, steps, lanes), self.dtype)
            if size:
                for k, view in enumerate(views):
                    part = out if is_joint else out[k : k + 1]
                    part[..., :size] = view.reshape(-1, steps, size)
            return out.reshape(self.count, steps, *shape)
        target = (self.count, steps, *shape) if is_joint else (1, steps, *shape)
        if is_joint:
            return np.array(views[0], order="C").reshape(target)
        return np.concatenate([v.reshape(target) for v in views])

    def store(self, env: Sequence[Any], data: Array, trips: Sequence[int] = ()) -> None:
        """Writes an array of shape [instance, steps, *vector]; lanes beyond the run are dropped."""
        if not self.is_linear:
            self._scatter(env, data)
            return
        views, is_joint = self.views(env, trips)
        times, run = self.shape(env)
        steps, size = prod((*trips, *times)), prod(run)
        if not steps or not size:
            return
        rows = np.broadcast_to(data, (self.count, steps, *data.shape[2:])).reshape(self.count, steps, -1)
        if size < rows.shape[-1]:
            rows = rows[..., :size]
        for k, view in enumerate(views):
            view[...] = (rows if is_joint else rows[k]).reshape(view.shape)

    def copy_to(self, target: Access, env: Sequence[Any], lanes: int) -> None:
        """Moves every vector of this box to `target`, in one strided copy where both sides allow it."""
        if self.is_linear and target.is_linear:
            sizes = self.shape(env), target.shape(env)
            if prod(sizes[0][1]) == prod(sizes[1][1]):
                source, one = self.views(env)
                goal, other = target.views(env)
                if one and other:
                    goal[0][...] = (
                        source[0] if source[0].shape == goal[0].shape else source[0].reshape(goal[0].shape)
                    )
                    return
        target.store(env, self.load(env, (lanes,)))

    # ---- layouts that are not linear -----------------------------------------------------------------------
    def addresses(self, env: Sequence[Any]) -> Array:
        """Byte offsets in the arena of every element: [instance, steps, lanes]."""
        times, run = self.shape(env)
        extents = (*times, *run)
        local = list(env)
        for k, symbol in enumerate(self.box.coordinates):
            axes = [1] * len(extents)
            axes[k] = extents[k]
            local[symbol.slot] = np.arange(extents[k]).reshape(1, *axes)
        for k, value in enumerate(local):
            if isinstance(value, np.ndarray) and value.ndim == 1:
                local[k] = value.reshape(-1, *(1,) * len(extents))
        address = self.box.base if self.box.address is None else self.box.address
        found = np.broadcast_to(np.asarray(address.evaluate(local), np.int64), (self.count, *extents))
        if self.box.address is None:
            for k, dim in enumerate((*self.box.times, *self.box.run)):
                axes = [1] * (len(extents) + 1)
                axes[k + 1] = extents[k]
                found = found + (np.arange(extents[k]) * dim.stride).reshape(axes)
        if found.size and (found.min() < 0 or found.max() + self.dtype.itemsize > self.arena.size):
            self._outside(int(found.min()), int(found.max()) + self.dtype.itemsize)
        owner = self.owners.reshape(-1, *(1,) * len(extents))
        return (found + owner).reshape(self.count, prod(times), prod(run))

    def _gather(self, env: Sequence[Any], shape: tuple[int, ...]) -> Array:
        found = take(self.arena, self.addresses(env), self.dtype)
        lanes = prod(shape)
        if found.shape[-1] < lanes:
            whole = np.zeros((*found.shape[:2], lanes), self.dtype)
            whole[..., : found.shape[-1]] = found
            found = whole
        return found.reshape(*found.shape[:2], *shape)

    def _scatter(self, env: Sequence[Any], data: Array) -> None:
        at = self.addresses(env)
        rows = np.broadcast_to(data, (*at.shape[:2], *data.shape[2:])).reshape(*at.shape[:2], -1)
        put(self.arena, at, rows[..., : at.shape[-1]])


def take(arena: Arena, addresses: Array, dtype: Any) -> Array:
    """Elements at byte offsets; whole words at once where all offsets are aligned."""
    size = dtype.itemsize
    if addresses.size and not (addresses % size).any():
        words = arena.bytes[: len(arena.bytes) // size * size].view(dtype)
        return np.asarray(words[addresses // size])
    raw = arena.bytes[addresses[..., None] + np.arange(size)]
    return np.asarray(np.ascontiguousarray(raw).view(dtype)[..., 0])


def put(arena: Arena, addresses: Array, data: Array) -> None:
    """Writes elements at byte offsets, later ones winning."""
    size = data.dtype.itemsize
    if addresses.size and not (addresses % size).any():
        words = arena.bytes[: len(arena.bytes) // size * size].view(data.dtype)
        words[addresses // size] = data
        return
    raw = np.ascontiguousarray(data)[..., None].view(np.uint8)
    arena.bytes[addresses[..., None] + np.arange(size)] = raw


class NotUniform(Exception):
    """A number that must be one for all instances of a team differs between them."""


def uniform(value: Any) -> int:
    """The one number of a team; NotUniform if its instances disagree."""
    if isinstance(value, np.ndarray):
        first = value.reshape(-1)[0]
        if (value != first).any():
            raise NotUniform
        return int(first)
    return int(value)
