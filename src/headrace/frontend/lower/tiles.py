"""Access tiles: boxes and gathers of views, and the tensors loaded through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.frontend.lower.program import Unsupported
from headrace.frontend.lower.scan import Access
from headrace.frontend.lower.values import Operand
from headrace.frontend.lower.views import Box
from headrace.frontend.lower.writer import box_set, identity, memref, tensor, tile_type


@dataclass(frozen=True)
class Part:
    """The share of the iteration space one compute tile has: per split dim the SSA name of its first
    index and its size.
    """

    bases: Mapping[str, str]
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Tile:
    """An access tile: SSA name, its shape, and the group dim that walks each of its axes."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str | None, ...]


def box_tile(kernel: Any, access: Access) -> Tile:
    """The access tile of an access without indirect symbols."""
    box: Box = kernel.views.box(access)
    writer, dtype = kernel.writer, kernel.program.dtypes[access.buffer]
    sizes, strides = [n for n, _ in box.chain], [s for _, s in box.chain]
    view = writer.view(access.buffer, box.offset, sizes, strides, dtype)
    shape = tuple(1 if d is None else _walked(kernel, box, d) for d in box.dims)
    starts = [_subscript(kernel, d, start) for d, start in zip(box.dims, box.starts, strict=True)]
    name = writer.let(
        f"ktdp.construct_access_tile {view}[{', '.join(starts)}] "
        f"{{access_tile_order = {identity(len(shape))}, access_tile_set = {box_set(shape)}}} "
        f": {memref(sizes, dtype)} -> !ktdp.access_tile{tile_type(shape)}",
        "at",
    )
    return Tile(name, shape, box.dims)


def gather_tile(kernel: Any, nest: Any, access: Access) -> Tile:
    """The access tile of an access whose index holds values read from memory: one view dim for each of
    them.
    """
    extents = kernel.group.extents
    walk = [(v, k) for v, k in access.index.terms if isinstance(v, str)]
    indirect = [(v, k) for v, k in walk if v not in extents]
    if any(v not in nest.scan.sources for v, _ in indirect):
        raise Unsupported(f"an indirect access of {access.buffer} of this form")
    columns: list[Column] = []
    for symbol, stride in indirect:
        source, size, wraps = nest.scan.sources[symbol]
        columns.append((stride, size, index_view(kernel, nest, source, size, wraps)))
    direct = [(v, k) for v, k in walk if v in extents]
    return gather(kernel, nest, access.buffer, access.index.const, columns, direct)


IndexView = tuple[str, str, tuple[str, ...]]
"""View of stored integers, its memref type, the dims that walk it."""

Column = tuple[int, int, IndexView]
"""A view dim chosen by stored integers: stride, size, and where they stand."""


def gather(
    kernel: Any,
    nest: Any,
    buffer: str,
    offset: int,
    columns: Sequence[Column],
    direct: Sequence[tuple[str, int]],
) -> Tile:
    """The access tile of a view `offset` elements into a buffer: a dim for each column, one for each (dim,
    stride) of `direct`.
    """
    extents, writer = kernel.group.extents, kernel.writer
    axes: list[tuple[int, int, str, str]] = []  # stride, size, subscript, memref of its integers
    dims: list[str] = []
    for stride, size, (view, kind, walked) in columns:
        dims += [d for d in walked if d not in dims]
        subscript = ", ".join(_variable(kernel, d) for d in walked) or "0"
        axes.append((stride, size, f"ind({view}[{subscript}])", kind))
    for dim, stride in direct:
        dims += [dim] if dim not in dims else []
        axes.append((stride, extents[dim], f"({_variable(kernel, dim)})", ""))
    axes.sort(key=lambda axis: -axis[0])
    sizes, strides = [axis[1] for axis in axes], [axis[0] for axis in axes]
    dtype = kernel.program.dtypes[buffer]
    view = writer.view(buffer, offset, sizes, strides, dtype)
    dims.sort(key=nest.scan.dims.index)
    shape = tuple(kernel.size(d) for d in dims)
    kinds = ", ".join([memref(sizes, dtype), *(kind for *_, kind in axes if kind)])
    name = writer.let(
        f"ktdp.construct_indirect_access_tile intermediate_variables({', '.join(f'%{d}' for d in dims)}) "
        f"{view}[{', '.join(axis[2] for axis in axes)}] "
        f"{{variables_space_order = {identity(len(dims))}, variables_space_set = {box_set(shape)}}} "
        f": {kinds} -> !ktdp.access_tile{tile_type(shape)}",
        "at",
    )
    return Tile(name, shape, tuple(dims))


def index_view(
    kernel: Any, nest: Any, source: str, size: int, wraps: bool
) -> tuple[str, str, tuple[str, ...]]:
    """(view, memref type, dims) of the integers an indirect subscript reads: the buffer itself, or
    computed into scratch.
    """
    plain = source
    statement = nest.definition(plain)
    while statement[1] == "to_dtype" and statement[3] in ("int64", "int32"):
        plain = statement[2]
        statement = nest.definition(plain)
    if statement[1] == "load" and not (wraps and kernel.wraps_negative):
        found = _stored_index(kernel, nest.scan.access(statement))
        if found:
            return found
    dims = tuple(d for d in nest.scan.dims if d in nest.dependences(source))
    extents = [kernel.group.extents[d] for d in dims]
    wrap = size if wraps else None
    scratch = kernel.scratches.name((nest.scan.number, source, wrap), extents)
    if scratch not in kernel.indices:
        kernel.indices[scratch] = store_index(kernel, scratch, dims, nest.index_tensor(source, dims, wrap))
    return kernel.indices[scratch], memref(extents or [1], "i64"), dims


def load_tile(kernel: Any, tile: Tile, dtype: str) -> Operand:
    """The tensor loaded through a tile."""
    name = kernel.writer.let(
        f"ktdp.load {tile.name} : {tile_type(tile.shape)} -> {tensor(tile.shape, dtype)}", "x"
    )
    return Operand(name, tile.dims, tile.shape, dtype)


def store_tile(kernel: Any, value: Operand, tile: Tile) -> None:
    """Store a tensor through a tile; axes of extent 1 that no dim walks are added."""
    name = value.name
    if value.shape != tile.shape:
        groups = _groups([d is None for d in tile.dims])
        name = kernel.writer.let(
            f"tensor.expand_shape {name} {groups} output_shape {list(tile.shape)} "
            f": {tensor(value.shape, value.dtype)} into {tensor(tile.shape, value.dtype)}"
        )
    kernel.writer.op(
        f"ktdp.store {name}, {tile.name} : {tensor(tile.shape, value.dtype)}, {tile_type(tile.shape)}"
    )


def _groups(is_unit: Sequence[bool]) -> list[list[int]]:
    """Reassociation groups that give every walked axis the unit axes before it (the last one those
    behind it too).
    """
    groups: list[list[int]] = []
    current: list[int] = []
    for axis, unit in enumerate(is_unit):
        current.append(axis)
        if not unit:
            groups.append(current)
            current = []
    if current and groups:
        groups[-1] += current
    return groups


def _stored_index(kernel: Any, access: Access) -> tuple[str, str, tuple[str, ...]] | None:
    """The index buffer as its own view when it is a plain affine access that starts inside it."""
    e = access.index
    names = [v for v, _ in e.terms if isinstance(v, str)]
    if not e.is_affine or access.box or access.left or e.const < 0 or access.buffer in kernel.forwarded:
        return None
    if any(v not in kernel.group.extents or k <= 0 for v, k in e.terms):
        return None
    dtype = kernel.program.dtypes[access.buffer]
    if dtype not in ("i32", "i64"):
        return None
    sizes = [kernel.group.extents[v] for v in names] or [1]
    view = kernel.writer.view(access.buffer, e.const, sizes, [k for _, k in e.terms] or [1], dtype)
    return view, memref(sizes, dtype), tuple(names)


def store_index(kernel: Any, scratch: str, dims: tuple[str, ...], value: Operand) -> str:
    """The view of a scratch buffer over the whole dims, after this tile's part of it is stored."""
    extents = [kernel.group.extents[d] for d in dims] or [1]
    strides = [1] * len(extents)
    for k in range(len(extents) - 2, -1, -1):
        strides[k] = strides[k + 1] * extents[k + 1]
    view: str = kernel.writer.view(scratch, 0, extents, strides, "i64")
    shape = tuple(kernel.size(d) for d in dims) or (1,)
    starts = [_subscript(kernel, d, 0) for d in dims] or ["0"]
    name = kernel.writer.let(
        f"ktdp.construct_access_tile {view}[{', '.join(starts)}] "
        f"{{access_tile_order = {identity(len(shape))}, access_tile_set = {box_set(shape)}}} "
        f": {memref(extents, 'i64')} -> !ktdp.access_tile{tile_type(shape)}",
        "at",
    )
    store_tile(kernel, value, Tile(name, shape, dims or (None,)))
    return view


def _walked(kernel: Any, box: Box, dim: str) -> int:
    low, high = box.ranges[dim]
    return int(kernel.size(dim)) if dim in kernel.part.bases else high - low + 1


def _subscript(kernel: Any, dim: str | None, start: int) -> str:
    base = kernel.part.bases.get(dim) if dim else None
    if base is None:
        return str(kernel.writer.index(start))
    return base if not start else f"{base} + {start}"


def _variable(kernel: Any, dim: str) -> str:
    base = kernel.part.bases.get(dim)
    return f"%{dim}" if base is None else f"{base} + %{dim}"
