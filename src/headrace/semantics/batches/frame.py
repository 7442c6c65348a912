"""Many alike tiles at work together: one frame whose varying values have a leading axis of tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from headrace.semantics.access import Tile
from headrace.semantics.batches.tape import Tape
from headrace.semantics.frame import Empty, Fact, Frame
from headrace.semantics.ledger import Ledger

Array = np.ndarray[Any, Any]


class Diverges(Exception):
    """The tiles take different ways; `groups` are the positions in the batch of those that go together."""

    def __init__(self, groups: Sequence[Array]) -> None:
        self.groups = groups
        super().__init__("tiles take different ways")


class NotBatchable(Exception):
    """The function has to run tile by tile; the text says why."""


@dataclass
class BatchFrame(Frame):
    """The state of the tiles numbered `tiles`, whose grid coordinates are the arrays `coordinates`.

    A name in `varying` holds an array with one row per tile (integers as int64); any other name holds what
    all tiles have. `touched` is given while only addresses are followed: what each op loads or stores.
    `is_in_rows` holds while a nest runs whose first dim counts tiles. `tape` keeps what no loaded element
    decides for the next launch; `stored` are the spans of bytes that some op stores to, None for any.
    The ledger rests while the frame `is_booked`: its peak is known.
    """

    tiles: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    varying: frozenset[SSAValue] = frozenset()
    known: frozenset[SSAValue] = frozenset()
    is_in_rows: bool = False
    touched: Callable[[Operation, Tile, BatchFrame], None] | None = None
    tape: Tape | None = None
    stored: Sequence[tuple[int, int]] | None = None
    is_booked: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        is_rows = name == "domain" and self.is_in_rows and not isinstance(value, _Behind)
        object.__setattr__(self, name, _Behind(value) if is_rows and len(value) else value)

    @property
    def count(self) -> int:
        """How many tiles there are in the batch."""
        return len(self.tiles)

    def taped(self, find: Callable[[], Fact]) -> Fact:
        """`find()`, which depends on nothing but the launch, or what it was when the launch ran before."""
        return find() if self.tape is None else self.tape.next(find)

    def is_varying(self, op: Operation) -> bool:
        """Whether a result of the op differs between tiles, or an operand does."""
        return any(v in self.varying for v in (*op.results, *op.operands))

    def spread(self, value: Any) -> Any:
        """What all tiles have as one row per tile."""
        if isinstance(value, Empty):
            return Empty((self.count, *value.shape), value.dtype)
        if isinstance(value, int | np.ndarray | np.generic):
            array = np.asarray(value, np.int64) if isinstance(value, int) else np.asarray(value)
            return np.broadcast_to(array, (self.count, *array.shape))
        return value

    def rows(self, value: SSAValue) -> Any:
        """The value with one row per tile, whether it varies or not."""
        found = self.get(value)
        return found if value in self.varying else self.spread(found)

    def passed(self, value: SSAValue, target: SSAValue) -> Any:
        """The value as `target`, a name it is handed to, holds it."""
        return self.rows(value) if target in self.varying else self.get(value)

    def one(self, value: SSAValue) -> Any:
        """The value all tiles agree on; Diverges when they do not."""
        found = self.get(value)
        if value not in self.varying:
            return found
        kinds, of = np.unique(found, return_inverse=True)
        if len(kinds) > 1:
            raise Diverges([np.flatnonzero(of == k) for k in range(len(kinds))])
        return found[0]

    def split(self, kinds: Sequence[Any]) -> None:
        """Diverges unless all rows are of one kind."""
        names: dict[Any, list[int]] = {}
        for row, kind in enumerate(kinds):
            names.setdefault(kind, []).append(row)
        if len(names) > 1:
            raise Diverges([np.asarray(rows) for rows in names.values()])

    def alone(self, row: int) -> Frame:
        """A frame of one tile with nothing in it yet."""
        place = tuple(int(c[row]) for c in self.coordinates)  # type: ignore[index]
        return Frame(self.launch, int(self.tiles[row]), place)


class _Behind:
    """The iteration dims of a nest without the first one, which counts tiles."""

    def __init__(self, dims: Sequence[Array]) -> None:
        self._dims = dims

    def __getitem__(self, dim: int) -> Array:
        return self._dims[dim + 1]


class BatchLedger(Ledger):
    """Live bytes of one of `count` alike tiles: a buffer of rows counts with one of them."""

    def __init__(self, count: int, varying: frozenset[SSAValue], live_bytes: int = 0) -> None:
        super().__init__()
        self.bytes = self.peak_bytes = live_bytes
        self._count, self._varying, self._rows, self._is_varying = count, varying, 1, False

    def bind(self, name: SSAValue, value: Any) -> None:
        """A name was bound to `value`."""
        self._look_at(name)
        if np.ndim(value) > (name in self._varying):  # scalars take no memory
            self.hold(value)

    def unbind(self, name: SSAValue, value: Any) -> None:
        """A name of `value` was used for the last time."""
        self._look_at(name)
        self.release(value)

    def _look_at(self, name: SSAValue) -> None:
        self._is_varying = name in self._varying
        self._rows = self._count if self._is_varying else 1

    def owner(self, value: Array) -> Array:
        """A broadcast that was not written out counts as if it were."""
        if not self._is_varying:
            return super().owner(value)
        repeats = 0 in [s for s, n in zip(value.strides[1:], value.shape[1:], strict=True) if n > 1]
        return value if repeats and (value.strides[0] or len(value) == 1) else super().owner(value)

    def size_of(self, owner: Array) -> int:
        """The bytes that the buffer counts with in one tile."""
        return owner.nbytes // self._rows


def captured(op: Operation) -> tuple[SSAValue, ...]:
    """The values the regions of an op read from around it."""
    if not op.regions:
        return ()
    inside = set(op.walk())
    found: dict[SSAValue, None] = {}
    for inner in inside - {op}:
        for value in inner.operands:
            owner = value.owner.parent_op() if isinstance(value, BlockArgument) else value.owner
            if owner not in inside:
                found[value] = None
    return tuple(found)
