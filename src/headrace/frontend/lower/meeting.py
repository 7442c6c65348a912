"""Reductions over a dim that the tiles of a group share: each tile folds its part, then all combine what they
have.

Parts are equal. What they leave at the end of the dim (the rest) every tile computes too, so that all run the
same program; the first tile of a group stores it, as it stores what has no share of the dim.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.frontend.lower.computed import is_computed
from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.program import LoopProgram
from headrace.frontend.lower.scalars import literal
from headrace.frontend.lower.scan import Access, Scan
from headrace.frontend.lower.values import Combiner, Operand
from headrace.frontend.lower.writer import Writer, tensor

COMBINED = frozenset("sum prod any max min dot welford_reduce argmax argmin".split())
"""Kinds of reductions whose parts can be combined."""

WIDENED = {"i1": "extui", "i8": "extsi", "i16": "extsi"}
"""Types too narrow for messages between tiles, which go as i32."""


@dataclass(frozen=True)
class Meeting:
    """Where tiles combine what they have of `dim`: `parts` neighbours in the grid are a group, groups are
    numbered from `first` to `last`; `is_first` is the SSA name of whether a tile is the first of its group.
    """

    dim: str
    parts: int
    first: int
    last: int
    is_first: str

    def combined(self, writer: Writer, own: Operand, combiner: Combiner) -> Operand:
        """What all tiles of a group have together, for each of them."""
        op, kind = combiner.op, tensor(own.shape, own.dtype)
        widened = WIDENED.get(own.dtype)
        value, dtype = own.name, own.dtype
        if widened is not None:
            op = {"arith.ori": "arith.maxsi", "arith.andi": "arith.minsi"}.get(op, op)
            dtype = "i32"
            value = writer.let(f"arith.{widened} {value} : {kind} to {tensor(own.shape, dtype)}", "t")
        neutral = literal(combiner.initial == "true", dtype) if own.dtype == "i1" else combiner.initial
        total = self._exchanged(writer, value, op, writer.filled(neutral, own.shape, dtype), own.shape, dtype)
        if own.dtype == "i1":
            zero, wide = writer.filled("0", own.shape, dtype), tensor(own.shape, dtype)
            total = writer.let(f"arith.cmpi ne, {total}, {zero} : {wide}", "t")
        elif widened is not None:
            total = writer.let(f"arith.trunci {total} : {tensor(own.shape, dtype)} to {kind}", "t")
        return Operand(total, own.dims, own.shape, own.dtype)

    def _exchanged(
        self, writer: Writer, value: str, op: str, neutral: str, shape: tuple[int, ...], dtype: str
    ) -> str:
        kind, last = tensor(shape, dtype), self.parts - 1
        groups = f"affine_set<(g) : (g - {self.first} >= 0, {self.last} - g >= 0)>"
        tiles = f"affine_set<(t)[g] : (t - {self.parts} * g >= 0, {self.parts} * g + {last} - t >= 0)>"
        future = f"!ktdp.tile_future<({kind}), groups = {groups}>"
        made = writer.let(
            f"ktdp.inter_tile_produce producer_tiles_per_group = {tiles} -> {future} {{", "future"
        )
        writer.op("^bb0(%group: index):")
        writer.op(f"  ktdp.yield_partial {value} : {kind}")
        writer.op("}")
        total = writer.let(
            f"ktdp.inter_tile_reduce({made}) consumer_tiles_per_group = {tiles}, "
            f"identity({neutral} : {kind}) : {future} -> {kind} {{",
            "t",
        )
        writer.op(f"^bb0(%left: {kind}, %right: {kind}):")
        writer.op(f"  %both = {op} %left, %right : {kind}")
        writer.op(f"  ktdp.yield_reduced %both : {kind}")
        writer.op("}")
        return total


def joined(writer: Writer, own: Operand, other: Operand, combiner: Combiner) -> Operand:
    """Two parts of a result combined."""
    kind = tensor(own.shape, own.dtype)
    name = writer.let(f"{combiner.op} {own.name}, {other.name} : {kind}", "t")
    return Operand(name, own.dims, own.shape, own.dtype)


def meetable(program: LoopProgram, group: Group) -> tuple[str, ...]:
    """Reduced dims that tiles may share: every nest folds its part of them or stores it, all accesses are
    affine, and nobody reads what another tile may have overwritten.
    """
    written = {a.buffer: a for s in group.scans for a in s.accesses if not a.is_load}
    if any(s.sources for s in group.scans) or not _is_plain(program, group):
        return ()
    updated = {name for name, role, _ in program.args if role == "inout"}
    found = []
    for dim in group.extents:
        is_folded = any(dim in s.reduced for s in group.scans)
        if is_folded and all(_is_shared(dim, s, written, updated) for s in group.scans):
            found.append(dim)
    return tuple(found)


def leaves_rest(program: LoopProgram) -> bool:
    """Whether parts may leave a rest: not where a tile could read what the first one has overwritten."""
    return all(role != "inout" for _, role, _ in program.args)


def _is_plain(program: LoopProgram, group: Group) -> bool:
    """Whether all accesses are affine and reductions of a kind whose parts can be combined."""
    kinds = {s[4] for nest in program.nests for s in nest.body if s[1] == "reduction"}
    accesses = [a for s in group.scans for a in s.accesses]
    return kinds <= COMBINED and not any(
        not a.index.is_affine or a.is_load and is_computed(a, group.extents, program.layouts[a.buffer].span)
        for a in accesses
    )


def _is_shared(dim: str, scan: Scan, written: dict[str, Access], updated: set[str]) -> bool:
    for access in scan.accesses:
        factor = access.index.coefficient(dim)
        if dim in access.box or any(e is None or dim in e.variables for e in access.left):
            return False
        if dim in scan.dims and dim not in scan.reduced and not access.is_load and not factor:
            return False
        if access.buffer in written and written[access.buffer].index.coefficient(dim) != factor:
            return False
        if access.buffer in updated and not factor:
            return False
    return True
