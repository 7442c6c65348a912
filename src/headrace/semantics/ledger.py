"""Bytes of live tensors of one tile: each buffer counts once, from its definition to the last use of any
name of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

Array = np.ndarray[Any, Any]


class Ledger:
    """The live buffers of a tile and the largest sum of their bytes so far.

    `now` is the op at work, set by who runs it; `peak_at` the first one that brought the sum to its largest.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[int, int]] = {}  # id of the owning array -> (names, bytes)
        self.bytes = 0
        self.peak_bytes = 0
        self.now: Operation | None = None
        self.peak_at: Operation | None = None

    def hold(self, value: Any) -> None:
        """A name was bound to `value`."""
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return
        owner = self.owner(value)
        names, size = self._held.get(id(owner)) or (0, self.size_of(owner))
        if names == 0:
            self.bytes += size
            if self.bytes > self.peak_bytes:
                self.peak_bytes, self.peak_at = self.bytes, self.now
        self._held[id(owner)] = (names + 1, size)

    def owner(self, value: Array) -> Array:
        """The array that stands for the buffer behind `value`."""
        return _owner(value)

    def size_of(self, owner: Array) -> int:
        """The bytes that a buffer counts with."""
        return owner.nbytes

    def release(self, value: Any) -> None:
        """A name of `value` was used for the last time."""
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return
        owner = id(self.owner(value))
        names, size = self._held.get(owner, (0, 0))
        if names == 1:
            self.bytes -= size
            del self._held[owner]
        elif names > 1:
            self._held[owner] = (names - 1, size)


def last_uses(block: Block) -> list[tuple[SSAValue, ...]]:
    """For every op of `block`, the names defined in the block (arguments too) whose last use it is.

    A use inside a region of an op is a use by that op; results nobody uses end with their own op.
    """
    ends: dict[SSAValue, int] = {argument: 0 for argument in block.args}
    for position, op in enumerate(block.ops):
        for inner in op.walk():
            for value in inner.operands:
                if _is_of(value, block):
                    ends[value] = position
        for result in op.results:
            ends[result] = position
    out: list[list[SSAValue]] = [[] for _ in block.ops]
    for value, position in ends.items():
        out[position].append(value)
    return [tuple(values) for values in out]


def _is_of(value: SSAValue, block: Block) -> bool:
    if isinstance(value, BlockArgument):
        return value.owner is block
    owner = value.owner
    return isinstance(owner, Operation) and owner.parent is block


def _owner(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
