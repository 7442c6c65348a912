"""Runs an image on arrays that have addresses but no bytes, and writes down what would be computed.

Every array of such a run lies in memory that is reserved and never touched, so views, slices and queues work
as always, and the address of an array says which bytes it stands for. Copies are looked through: what reads
the target of a copy reads its source instead, as long as nobody has written to that in between. The copies
themselves stay on the tape until it is known that nobody needs them (`tape.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.tape.views import (
    Array,
    Copied,
    NotRecordable,
    View,
    joint,
    merged,
    paired,
    through,
)
from headrace.machine.execute.tape.writes import Write, written
from headrace.numbers.memory import Memory

DEVICE, LX, VALUES, CONSTANTS = 0, 1, 2, 3
_VALUES_BYTES = 1 << 38
_MOST_OPS = 20_000
_ALIGNMENT = 64

Kernel = Callable[..., None]


@dataclass(frozen=True)
class Op:
    """`out` from `inputs`; `function` is a name of the compiled machine, or `kernel` does it on arrays.

    `needs`: the ops whose results it reads. A `move` has one input of as many elements as `out`. A `product`
    has a left and a right operand for every step that it sums up, and then what it adds, if anything.
    """

    function: str
    out: View
    inputs: tuple[View, ...]
    needs: tuple[int, ...]
    kernel: Kernel | None = None
    copied: Copied | None = None


@dataclass
class Recorder:
    """The tape so far. Regions: device memory, scratchpads, values (each written once), constants, files."""

    device_bytes: int
    lx_bytes: int
    lx_size: int
    registers: dict[str, tuple[int, int]]
    ops: list[Op] = field(default_factory=list)
    constants: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        sizes = [self.device_bytes, self.lx_bytes, _VALUES_BYTES, 1 << 30]
        self.owner_sizes = [0, self.lx_size, 0, 0]
        for total, size in self.registers.values():
            sizes.append(total)
            self.owner_sizes.append(size)
        self.memories = [Memory(size) for size in sizes]
        starts = [int(m.bytes.__array_interface__["data"][0]) for m in self.memories]
        order = sorted(range(len(starts)), key=starts.__getitem__)
        self._starts, self._order = [starts[k] for k in order], order
        self._origin = starts
        self._history: list[list[Write]] = [[] for _ in sizes]
        self._live: list[list[Write]] = [[] for _ in sizes]
        self._value_starts: list[int] = []
        self._value_ops: list[int] = []
        self._next = 0
        self._known: dict[Any, tuple[int, Array]] = {}

    # ---- arrays and views ----------------------------------------------------------------------------------
    def view(self, array: Array) -> View:
        """The bytes an array stands for; NotRecordable for one that lies anywhere else."""
        address = int(array.__array_interface__["data"][0])
        k = bisect_right(self._starts, address) - 1
        if k < 0:
            raise NotRecordable
        region = self._order[k]
        offset = address - self._origin[region]
        if offset >= self.memories[region].size_bytes:
            raise NotRecordable
        strides = tuple(0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True))
        return View(region, offset, array.shape, strides, array.dtype)

    def new(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """A value that an op is about to write."""
        size = -(-prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT or _ALIGNMENT
        if self._next + size > _VALUES_BYTES:
            raise NotRecordable
        out = np.ndarray(shape, dtype, self.memories[VALUES].bytes, self._next)
        self._value_starts.append(self._next)
        self._value_ops.append(len(self.ops))
        self._next += size
        return out

    def value_of(self, view: View) -> tuple[int, int]:
        """(start of the value a view lies in, the op that makes it)."""
        k = bisect_right(self._value_starts, view.offset) - 1
        return self._value_starts[k], self._value_ops[k]

    def _is_one_value(self, view: View) -> bool:
        """Whether a view lies in one value, if it lies in any."""
        if view.region != VALUES:
            return True
        low, high = view.ends
        return bisect_right(self._value_starts, low) == bisect_right(self._value_starts, high - 1)

    def constant(self, array: Array) -> Array:
        """The stand-in of an array whose bytes never change; broadcast axes stay so."""
        stored = array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)]
        offset = len(self.constants)
        raw = np.ascontiguousarray(stored).tobytes()
        self.constants += raw + bytes(-len(raw) % _ALIGNMENT)
        if len(self.constants) > self.memories[CONSTANTS].size_bytes:
            raise NotRecordable
        fake = np.ndarray(stored.shape, array.dtype, self.memories[CONSTANTS].bytes, offset)
        return np.broadcast_to(fake, array.shape)

    # ---- what is read, what is written -------------------------------------------------------------------
    def _extent(self, view: View, op: int = 0) -> Write:
        return written(view, op, self.owner_sizes[view.region])

    def inside(self, view: View) -> tuple[int, int, int]:
        """(first byte, the one behind the last, last owner) of a view in the memory of its owners."""
        extent = self._extent(view)
        return extent.low, extent.high, extent.last_owner

    def is_unchanged(self, view: View, since: int, until: int | None = None) -> bool:
        """Whether no op after `since`, and before `until`, writes to the bytes of a view."""
        if view.region in (VALUES, CONSTANTS):
            return True
        extent = self._extent(view)
        for write in reversed(self._history[view.region]):
            if write.op <= since:
                return True
            if (until is None or write.op < until) and write.meets(extent):
                return False
        return True

    def is_apart(self, view: View, target: View | None) -> bool:
        """Whether no byte of a view is one of the target's."""
        if target is None or view.region != target.region or view.region in (VALUES, CONSTANTS):
            return True
        return not self._extent(view).meets(self._extent(target))

    def _makers(self, view: View) -> list[int]:
        """The ops that wrote the bytes of a view."""
        extent, makers = self._extent(view), []
        for write in reversed(self._live[view.region]):
            if write.meets(extent):
                makers.append(write.op)
                if write.covers(extent):
                    break
        if not makers:
            raise NotRecordable
        return makers

    def resolve(
        self, view: View, may_split: bool, target: View | None = None
    ) -> tuple[View, tuple[int, ...]]:
        """Where the bytes of a view come from now, looking through copies; the ops that have to be run.

        What is written to `target` in the same op is not read from there.
        """
        if view.region in (DEVICE, CONSTANTS):
            return view, ()
        if view.region == VALUES:
            makers = [self._value_ops[bisect_right(self._value_starts, view.offset) - 1]]
        else:
            makers = self._makers(view)
        copied = joint([self.ops[k].copied for k in makers])
        if copied is not None:
            source = through(copied, view, may_split)
            if (
                source is not None
                and self._is_one_value(source)
                and self.is_unchanged(source, min(makers))
                and self.is_apart(source, target)
            ):
                return self.resolve(source, may_split, target)
        return view, tuple(makers)

    def add(
        self,
        function: str,
        out: Array,
        inputs: Sequence[Array],
        kernel: Kernel | None = None,
        key: Any = None,
    ) -> Array:
        """Writes down one op; with a `key`, an earlier one on the same bytes serves again.

        What an element-wise op gives along an axis that repeats the same bytes is computed once.
        """
        may_split = function == "move" or key is not None
        target = self.view(out)
        found = [self.resolve(self.view(x), may_split, target) for x in inputs]
        if not all(self.is_apart(v, target) for v, _ in found):
            raise NotRecordable
        views = tuple(v for v, _ in found)
        needs = tuple({op for _, ops in found for op in ops})
        same = _repeated(views, out) if key is not None and not function.startswith("row_") else ()
        if same:
            self._forget()
            first = tuple(slice(0, 1) if k in same else slice(None) for k in range(out.ndim))
            small = self.new(tuple(1 if k in same else n for k, n in enumerate(out.shape)), out.dtype)
            one = self.add(function, small, [x[first] for x in inputs], kernel, key)
            return np.broadcast_to(one, out.shape)
        if key is not None:
            what: tuple[Any, ...] = (key, function, _elements(views, out), out.dtype)
            if function.startswith("row_"):
                what = (key, function, views, out.shape, out.dtype)
            known = self._known.get(what)
            if known is not None and all(self.is_unchanged(v, known[0]) for v in views):
                self._forget()
                return known[1].reshape(out.shape)
            self._known[what] = len(self.ops), out
        copied = paired(target, views[0]) if function == "move" else None
        self.append(Op(function, target, views, needs, kernel, copied))
        return out

    def _forget(self) -> None:
        """Takes back the value made last, which no op will write."""
        self._value_starts.pop()
        self._value_ops.pop()

    def append(self, op: Op) -> None:
        """Writes down an op whose views are resolved."""
        if len(self.ops) >= _MOST_OPS:
            raise NotRecordable
        number = len(self.ops)
        self.ops.append(op)
        region = op.out.region
        if region == VALUES:
            return
        write = self._extent(op.out, number)
        self._history[region].append(write)
        if region != DEVICE:
            self._live[region] = [w for w in self._live[region] if not write.covers(w)]
            self._live[region].append(write)


def _elements(views: Sequence[View], out: Array) -> tuple[Any, ...]:
    """What views enumerate, in whatever shape: `out.size` elements each."""
    return out.size, *((v.region, v.offset, merged(v.shape, [v.strides]), v.dtype) for v in views)


def _repeated(views: Sequence[View], out: Array) -> tuple[int, ...]:
    """Axes of `out` along which all of its operands repeat the same bytes."""
    if any(v.shape != out.shape for v in views):
        return ()
    return tuple(k for k, n in enumerate(out.shape) if n > 1 and all(v.strides[k] == 0 for v in views))
