"""The control tree of a KTDF function: loops and stages as plain data, parallels and one-trip loops folded
away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headrace.ir.diagnostics import Location
from headrace.numbers.dtypes import itemsize
from headrace.schedule.lower.index import ZERO, Expr, Var, combine

ALIGN_BYTES = 128


@dataclass(frozen=True, eq=False)
class Buffer:
    """A scratchpad buffer of `copies` equal copies, each a row-major array starting at a multiple of 128
    bytes. Every one is another, also of equal names and shapes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    copies: int = 1

    @property
    def elements(self) -> int:
        """Elements of one copy."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def stride(self) -> int:
        """Elements from one copy to the next."""
        size = itemsize(self.dtype)
        return -(-self.elements * size // ALIGN_BYTES) * ALIGN_BYTES // size

    @property
    def bytes(self) -> int:
        """Bytes of all copies."""
        return self.stride * self.copies * itemsize(self.dtype)


@dataclass(frozen=True)
class Memory:
    """An array in memory: element (i, ...) lies at `start` + i * strides[0] + ... elements of its argument
    or buffer.

    `copy` selects the copy of a buffer. A dynamic extent is None. Device memory without `argument` has a
    constant start address.
    """

    dtype: str
    shape: tuple[int | None, ...]
    strides: tuple[int, ...]
    buffer: Buffer | None = None
    copy: Expr = ZERO
    argument: str = ""
    start: Expr = ZERO


@dataclass(frozen=True)
class Place:
    """A box of an array: elements corner <= i < corner + sizes."""

    memory: Memory
    corner: tuple[Expr, ...]
    sizes: tuple[Expr, ...]


@dataclass(frozen=True)
class Slot:
    """One end of a channel between two unit kinds; `ring_step` leads to the same unit of another core, as do
    the pairs of cores (sender, receiver) that `ring` lists for every corelet.

    `shape` is the shape the computing end gives a message, without extents of 1; empty if none does.
    """

    source: str
    target: str
    dtype: str
    elements: int
    ring_step: int = 0
    shape: tuple[int, ...] = ()
    ring: tuple[tuple[tuple[int, int], ...], ...] = ()

    @property
    def is_between_cores(self) -> bool:
        """Whether it leads to another core."""
        return bool(self.ring_step or self.ring)


@dataclass(frozen=True)
class Transfer:
    """A copy in row-major order of both boxes; `order` lists the box dims of the memory side from slow to
    fast.

    `groups` holds the multicast group of each core of the class.
    """

    source: Place | Slot
    target: Place | Slot
    order: tuple[int, ...] | None = None
    groups: tuple[int, ...] | None = None
    where: Location = Location()


@dataclass(frozen=True)
class Indirect:
    """A gather (tile[i] = table[index[i]]) or scatter (table[index[i]] = tile[i]) along dim `dim` of the
    table.
    """

    kind: Literal["gather", "scatter"]
    index: Place
    table: Place
    tile: Place
    dim: int
    groups: tuple[int, ...] | None = None
    where: Location = Location()


@dataclass(frozen=True)
class Apply:
    """One op of a compute stage, still in SSA form: a FIFO access, a linalg or tensor op, a scalar op."""

    op: object


@dataclass(frozen=True)
class PointLoop:
    """A loop inside a stage, `low` <= var < `high` by `step`; `op` is its scf.for (carried values,
    results).
    """

    var: Var
    low: Expr
    high: Expr
    step: Expr
    kind: Literal["parallel_loop", "reduction_loop"] | None
    body: tuple[Node, ...]
    op: object
    where: Location = Location()


Node = Transfer | Indirect | Apply | PointLoop


@dataclass(frozen=True)
class Stage:
    """What one unit kind does in one run of its pipeline; `pipeline` numbers the pipelines of the
    function.
    """

    unit: str
    pipeline: int
    body: tuple[Node, ...]
    where: Location = Location()


@dataclass(frozen=True)
class Loop:
    """A loop over tiles, blocks or chunks: `low` <= var < `high` by `step`, the same trips in every unit
    inside.
    """

    var: Var
    low: Expr
    high: Expr
    step: Expr
    body: tuple[Item, ...]
    phase: str = ""
    where: Location = Location()

    @property
    def trips(self) -> Expr:
        """Number of iterations if low <= high."""
        return trips(self.low, self.high, self.step)


@dataclass(frozen=True)
class Handover:
    """For every (a, b) of `pairs`, unit `sender` of core a signals unit `receiver` of core b."""

    sender: str
    receiver: str
    label: str
    pairs: tuple[tuple[int, int], ...]
    where: Location = Location()


Item = Stage | Loop | Handover
Block = tuple[Item, ...]


@dataclass(frozen=True)
class Function:
    """One class of cores and what they do. `arguments` are the names of all `index` arguments in order."""

    name: str
    cores: tuple[int, ...]
    corelets: int
    arguments: tuple[str, ...]
    body: Block
    buffers: tuple[Buffer, ...]


def trips(low: Expr, high: Expr, step: Expr) -> Expr:
    """Return the iterations of a loop whose bounds do not cross."""
    return combine("ceildiv", high - low, step) if step != Expr(1) else high - low


def units_of(item: Stage | Handover) -> tuple[str, ...]:
    """Return the kinds of units that have something to do in an item."""
    return (item.unit,) if isinstance(item, Stage) else (item.sender, item.receiver)


def stages(block: Block) -> Iterator[Stage]:
    """Yield every stage under a block in text order."""
    for item in block:
        if isinstance(item, Stage):
            yield item
        elif isinstance(item, Loop):
            yield from stages(item.body)
