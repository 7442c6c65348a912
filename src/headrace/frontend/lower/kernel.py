"""A loop program as KTIR text, for a given division over compute tiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.frontend.lower.computed import is_computed
from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.meeting import Meeting
from headrace.frontend.lower.nest import Nest
from headrace.frontend.lower.program import LoopProgram, Unsupported
from headrace.frontend.lower.quasi import Quasi
from headrace.frontend.lower.scalars import literal
from headrace.frontend.lower.scan import Access
from headrace.frontend.lower.tiles import Part
from headrace.frontend.lower.values import Operand
from headrace.frontend.lower.views import Views
from headrace.frontend.lower.writer import Writer, tensor

GRID_DIMS = 3
"""Dims a grid has at most."""


@dataclass(frozen=True)
class Division:
    """Split dims with the size of a tile along each (the last tile of a dim takes what is left).

    `met` is a split dim, the first of them, that reductions run over: its tiles are all full, combine their
    results, and compute what is left each.
    """

    sizes: Mapping[str, int]
    met: str | None = None

    def grid(self, extents: Mapping[str, int]) -> tuple[int, ...]:
        """Tiles along every split dim; (1,) when nothing is split."""
        return tuple(self.tiles(d, extents) for d in self.sizes) or (1,)

    def tiles(self, dim: str, extents: Mapping[str, int]) -> int:
        """Tiles along a split dim."""
        size = self.sizes[dim]
        return extents[dim] // size if dim == self.met else -(-extents[dim] // size)

    def left(self, extents: Mapping[str, int]) -> int:
        """What the tiles along the dim they share leave of it."""
        return extents[self.met] % self.sizes[self.met] if self.met is not None else 0


@dataclass(frozen=True)
class Scratch:
    """A buffer the kernel needs besides its arguments: element type and count."""

    name: str
    dtype: str
    elements: int


class Scratches:
    """The scratch buffers of a kernel, by what they hold: code copies for full and last tiles that compute
    the same index write parts of one buffer, and two indices never share one.
    """

    def __init__(self) -> None:
        self._by_content: dict[Any, Scratch] = {}

    @property
    def all(self) -> tuple[Scratch, ...]:
        """The buffers, in the order they were asked for."""
        return tuple(self._by_content.values())

    def name(self, content: Hashable, extents: Sequence[int]) -> str:
        """The name of the buffer of an index over dims of these extents."""
        new = Scratch(f"scratch_{len(self._by_content)}", "i64", math.prod(extents))
        return self._by_content.setdefault(content, new).name


@dataclass(frozen=True)
class KernelText:
    """The KTIR of a loop program: text, the names of its memory arguments in order, scratch buffers
    among them last.
    """

    text: str
    arguments: tuple[str, ...]
    scratch: tuple[Scratch, ...]
    grid: tuple[int, ...]


def write_kernel(
    program: LoopProgram, group: Group, division: Division, wraps_negative: bool = True
) -> KernelText:
    """The KTIR text; Unsupported when the program uses what KTIR kernels cannot say."""
    writer, scratches = Writer(), Scratches()
    extents = group.extents
    counts = division.grid(extents)
    grid, tiles = _tile_ids(writer, counts)
    bases = {
        dim: writer.let(f"arith.muli {tile}, {writer.index(size)} : index", "base")
        for tile, (dim, size) in zip(tiles, division.sizes.items(), strict=False)
    }
    shared = Shared(writer, program, group, Views(program, group), scratches, wraps_negative)
    split, known = list(zip(tiles, division.sizes.items(), strict=False)), dict[str, int]()
    is_first = ""
    if division.met is not None:
        (tile, (dim, size)), *split = split
        known = {dim: size}
        is_first = writer.let(f"arith.cmpi eq, {tile}, {writer.index(0)} : index", "first")

    def variant(sizes: dict[str, int]) -> None:
        part, meeting, rest = Part(bases, sizes), _meeting(division, extents, sizes, is_first), None
        if meeting is not None and (left := division.left(extents)):
            start = writer.index(extents[meeting.dim] - left)
            over = Part(bases | {meeting.dim: start}, sizes | {meeting.dim: left})
            rest = Kernel(shared, over, meeting)
        Kernel(shared, part, meeting, rest).run()

    _variants(writer, split, extents, known, variant)
    names = [name for name, _, _ in program.args] + [scratch.name for scratch in scratches.all]
    text = writer.function(program.name, names, grid)
    return KernelText(text, tuple(names), scratches.all, grid)


def _tile_ids(writer: Writer, counts: Sequence[int]) -> tuple[tuple[int, ...], list[str]]:
    """The grid, and the tile's number along every split dim; the first dims share a dim of the grid where
    there are more than it has.
    """
    shared = max(0, len(counts) - GRID_DIMS) + 1
    grid = (math.prod(counts[:shared]), *counts[shared:])
    ids = [writer.fresh("tile") for _ in grid]
    writer.op(f"{', '.join(ids)} = ktdp.get_compute_tile_id : {', '.join(['index'] * len(grid))}")
    left, first = ids[0], list[str]()
    for count in counts[: shared - 1]:
        size = writer.index(count)
        first.append(writer.let(f"arith.remui {left}, {size} : index", "tile"))
        left = writer.let(f"arith.divui {left}, {size} : index", "tile")
    return grid, [*first, left, *ids[1:]]


def _variants(
    writer: Writer, left: Sequence[Any], extents: Mapping[str, int], sizes: dict[str, int], emit: Any
) -> None:
    """One code copy for every combination of full and last tiles, chosen by the tile ids."""
    if not left:
        emit(sizes)
        return
    (tile, (dim, size)), *rest = left
    count = -(-extents[dim] // size)
    last = extents[dim] - (count - 1) * size
    if last == size:
        _variants(writer, rest, extents, {**sizes, dim: size}, emit)
        return
    is_full = writer.let(f"arith.cmpi ult, {tile}, {writer.index(count - 1)} : index", "full")
    writer.op(f"scf.if {is_full} {{")
    _variants(writer, rest, extents, {**sizes, dim: size}, emit)
    writer.op("} else {")
    _variants(writer, rest, extents, {**sizes, dim: last}, emit)
    writer.op("}")


def _meeting(
    division: Division, extents: Mapping[str, int], sizes: Mapping[str, int], is_first: str
) -> Meeting | None:
    """Where the tiles of these sizes combine results; of a dim that does not divide, full and last tiles
    are groups apart.
    """
    dim = division.met
    if dim is None:
        return None
    others = [d for d in division.sizes if d != dim]
    uneven = [d for d in others if extents[d] % division.sizes[d]]
    if uneven and len(others) > 1:
        raise Unsupported("uneven tiles along several dims beside one that they share")
    count = math.prod(division.tiles(d, extents) for d in others)
    first, last = 0, count - 1
    if uneven:
        is_full = sizes[uneven[0]] == division.sizes[uneven[0]]
        first, last = (0, count - 2) if is_full else (count - 1, count - 1)
    return Meeting(dim, division.tiles(dim, extents), first, last, is_first)


@dataclass(frozen=True)
class Shared:
    """What all code copies of a kernel have in common."""

    writer: Writer
    program: LoopProgram
    group: Group
    views: Views
    scratches: Scratches
    wraps_negative: bool


class Kernel:
    """One code copy: what its nests share (tensors loaded, stored and hoisted so far).

    `meeting` is where tiles combine what they have of a dim they share, `rest` the copy over what is left of
    it.
    """

    def __init__(
        self, shared: Shared, part: Part, meeting: Meeting | None = None, rest: Kernel | None = None
    ) -> None:
        self.writer, self.program, self.group = shared.writer, shared.program, shared.group
        self.views, self.scratches, self.wraps_negative = (
            shared.views,
            shared.scratches,
            shared.wraps_negative,
        )
        self.part, self.meeting, self.rest = part, meeting, rest
        self.loads: dict[Any, Operand] = {}
        self.hoisted: dict[Any, Any] = {}
        self.structures: dict[Any, int] = {}
        self.forwarded: dict[str, tuple[Operand, Quasi]] = {}
        self.epochs: dict[str, int] = {}
        self.indices: dict[str, str] = {}
        self.has_product = has_product(shared.program)

    def run(self) -> None:
        """Write every nest."""
        for scan, nest in zip(self.group.scans, self.program.nests, strict=True):
            Nest(self, scan, nest.body).run()

    def size(self, dim: str) -> int:
        """The extent of a dim in this tile."""
        return self.part.sizes.get(dim, self.group.extents[dim])

    def forwarded_value(self, access: Access) -> Operand:
        """The tensor stored to a buffer earlier in this kernel, as this load walks it."""
        operand, index = self.forwarded[access.buffer]
        if index == access.index and not access.box:
            return operand
        renamed = self._relabelled(operand, index, access)
        if renamed is None:
            raise Unsupported(f"a read of {access.buffer} through another index than it was stored by")
        return renamed

    def _relabelled(self, operand: Operand, stored: Quasi, access: Access) -> Operand | None:
        """The tensor with its axes walked by the load's dims: alike strides, same extents, no offset."""
        wanted = access.index
        if (
            access.box
            or wanted.const != stored.const
            or not wanted.is_affine
            or len(wanted.terms) != len(stored.terms)
        ):
            return None
        by_stride = {k: v for v, k in wanted.terms}
        dims: list[str | None] = []
        for dim in operand.dims:
            other = by_stride.get(stored.coefficient(dim)) if dim else None
            if not isinstance(other, str) or other not in self.group.extents or dim is None:
                return None
            if self.size(other) != self.size(dim) or (other in self.part.bases) != (dim in self.part.bases):
                return None
            dims.append(other)
        return Operand(operand.name, tuple(dims), operand.shape, operand.dtype)

    def widened(self, operand: Operand, access: Access, other: float = 0) -> Operand:
        """A box read under a mask, placed into a tensor of the dims' full extents (`other` elsewhere)."""
        full = tuple(1 if d is None else self.size(d) for d in operand.dims)
        if full == operand.shape:
            return operand
        target = self.writer.filled(literal(other, operand.dtype), full, operand.dtype)
        offsets = [0 if d is None else access.box.get(d, (0, 0))[0] for d in operand.dims]
        name = self.writer.let(
            f"tensor.insert_slice {operand.name} into {target}"
            f"{offsets} {list(operand.shape)} {[1] * len(full)} "
            f": {tensor(operand.shape, operand.dtype)} into {tensor(full, operand.dtype)}",
            "x",
        )
        return Operand(name, operand.dims, full, operand.dtype)


def has_product(program: LoopProgram) -> bool:
    """Whether some nest of a program is a contraction."""
    return any(statement[1] == "dot" for nest in program.nests for statement in nest.body)


def splittable(program: LoopProgram, group: Group) -> tuple[str, ...]:
    """Dims a division may split: parallel in every nest, plain in every index, in every store, under no
    mask.
    """
    found = []
    for dim in group.extents:
        if all(_is_free(dim, scan, program, group) for scan in group.scans):
            found.append(dim)
    return tuple(found)


def _is_free(dim: str, scan: Any, program: LoopProgram, group: Group) -> bool:
    if dim not in scan.dims or dim in scan.reduced:
        return False
    for access in scan.accesses:
        if access.is_load and is_computed(access, group.extents, program.layouts[access.buffer].span):
            continue
        if dim in access.box or any(e is None or dim in e.variables for e in access.left):
            return False
        plain = {v for v, _ in access.index.terms if isinstance(v, str)}
        if dim in access.index.variables and dim not in plain:
            return False
        if not access.is_load and dim not in plain and not _stores_through(dim, scan, access):
            return False
    return True


def _stores_through(dim: str, scan: Any, access: Access) -> bool:
    """A scatter whose index value may depend on the dim: splitting keeps every iteration's own target."""
    return any(v in scan.sources for v in access.index.variables)


def pairs(items: Sequence[str]) -> list[tuple[str, ...]]:
    """No dim, every dim, every two dims."""
    return [(), *((a,) for a in items), *itertools.combinations(items, 2)]
