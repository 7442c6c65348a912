"""What the units of a block of products send each other: slots, and the boxes readers send through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from headrace.schedule.build.emitter import Box, Slot
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.phases.passes import has_lane
from headrace.schedule.phases.peaks import GRAIN, peaks_of
from headrace.schedule.phases.shape import Operand

if TYPE_CHECKING:
    from headrace.schedule.build.blocks import Block, Blocks


@dataclass(frozen=True)
class Message:
    """What a reader sends: through a slot, from a box that may depend on the row."""

    slot: Slot
    source: Buffered
    sizes: Mapping[str, int]
    fixed: Mapping[str, Index]
    rows: tuple[str, Index] | None = None
    order: tuple[str, ...] | None = None

    def box(self, row: Index) -> Box:
        """Return the box for a row of the nest."""
        at = dict(self.fixed)
        if self.rows is not None:
            dim, start = self.rows
            at[dim] = start + row
        return self.source.box(at, self.sizes, self.order)


class Plumbing:
    """Slots and messages of one block."""

    def __init__(self, tile: Blocks, block: Block, column: Index, width: int) -> None:
        self.tile, self.block, self.column, self.width = tile, block, column, width
        units, unit = tile.phase.units, tile.phase.plan.unit
        self.is_matrix = unit != units.vector
        feeds = units.feeds
        self.readers = (
            (feeds.weights.kind, feeds.activations.kind, feeds.partial_sums.kind)
            if self.is_matrix and feeds is not None
            else (units.reader,) * 3
        )
        self.unit, self.vector, self.writer = unit, units.vector, units.writer
        depth, dtypes = block.extent, (tile.roles.rows.dtype, tile.roles.weights.dtype)
        self.row_slot = Slot(self.readers[1], unit, depth, dtypes[0])
        self.weight_slot = Slot(self.readers[0], unit, depth * width, dtypes[1])
        self.sum_slot = Slot(self.readers[2], unit, width, tile.sums)
        self.between = Slot(unit, self.vector, width, tile.sums)
        self.back = Slot(self.vector, self.writer, width, tile.sums)
        self.complete = Slot(units.reader, self.vector, width, tile.sums)
        self.peaks = peaks_of(tile.phase.shape.group)

    def extra_slot(self, operand: Operand) -> Slot:
        """Return the slot of an epilogue operand."""
        wide = has_lane(operand, self.tile.roles.column)
        return Slot(self.tile.phase.units.reader, self.vector, self.width if wide else 1, operand.dtype)

    def out_slot(self, value: str) -> Slot:
        """Return the slot of a result."""
        found = next(o for o in self.tile.phase.shape.outputs if o.value == value)
        return Slot(self.vector, self.writer, 1 if value in self.peaks else self.width, found.dtype)

    def copies(self, value: str) -> int:
        """Return how often a result is sent: the maximum of a block once for every grain of its columns."""
        return self.width // GRAIN if value in self.peaks else 1

    def resident(self) -> list[Operand]:
        """Epilogue operands equal for all rows."""
        row = self.tile.roles.row
        return [o for o in self.tile.extras if not row or not o.surface.stride(row)]

    def streamed(self) -> list[Operand]:
        """Epilogue operands received once a row."""
        kept = self.resident()
        return [o for o in self.tile.extras if o not in kept]

    def once(self) -> list[Message]:
        """Messages before the row loop."""
        roles, block = self.tile.roles, self.block
        fixed = {roles.depth: block.at, roles.column: self.column}
        sizes = {roles.depth: block.extent, roles.column: self.width}
        order = (roles.depth, roles.column)
        found = [Message(self.weight_slot, self.tile.weights, sizes, fixed, order=order)]
        return found + [self._extra(o, None) for o in (self.resident() if block.is_last else [])]

    def each_row(self) -> list[Message]:
        """Messages of one row, in the order of the receiving units."""
        roles, block = self.tile.roles, self.block
        fixed = {roles.depth: block.at}
        found = [
            Message(
                self.row_slot, self.tile.rows, {roles.depth: block.extent}, fixed, (roles.row, block.first)
            )
        ]
        if not block.is_first:
            found.append(
                Message(self.sum_slot, self.sums(), {"n": self.width}, {"n": self.column}, ("m", block.first))
            )
        for memory in self.tile.complete:
            sums, at = self._sums(memory), {"n": self.column}
            found.append(Message(self.complete, sums, {"n": self.width}, at, ("m", block.first)))
        return found + [
            self._extra(o, (roles.row, Index(0))) for o in (self.streamed() if block.is_last else [])
        ]

    def _extra(self, operand: Operand, row: tuple[str, Index] | None) -> Message:
        column = self.tile.roles.column
        slot = self.extra_slot(operand)
        return Message(slot, self.tile.extras[operand], {column: slot.count}, {column: self.column}, row)

    def sums(self) -> Buffered:
        """Return the partial sums as a buffer of rows and columns."""
        assert self.tile.psum is not None
        return self._sums(self.tile.psum)

    def _sums(self, memory: SSAValue) -> Buffered:
        return Buffered(memory, ("m", "n"), (Index(0), Index(0)))

    def slots(self) -> list[Slot]:
        """Return every slot of the block."""
        found = [m.slot for m in (*self.once(), *self.each_row())]
        if self.is_matrix:
            found.append(self.between)
        if self.block.is_last:
            return [*found, *(self.out_slot(v) for v in self.tile.outs)]
        return [*found, self.back]
