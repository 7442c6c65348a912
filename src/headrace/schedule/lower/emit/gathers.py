"""Gathers and scatters: rows of a table, found through indices in the scratchpad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Attribute, Block, SSAValue

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.lower.emit.boxes import Factor, Side, Symbols, Walk, factors, run, side
from headrace.schedule.lower.emit.ops import body, make, segments, vector
from headrace.schedule.lower.emit.transfers import Addresses, multicast, timing
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.index import ONE, ZERO, Expr, combine
from headrace.schedule.lower.tree import Indirect, Place

Moves = tuple[tuple[tuple[int, int], ...], ...]


def indirect(op: Indirect, program: ProgramValues, addresses: Addresses) -> None:
    """Emit a gather or scatter: time walks the indices, then what is not contiguous of a row; a run is one
    vector.
    """
    table, tile, rank = _leading(op)
    found = factors(op.index.sizes, tile.sizes[:rank], range(len(op.index.sizes)), op.where)
    row = Place(table.memory, table.corner[1:], table.sizes[1:])
    tail = Place(tile.memory, tile.corner[rank:], tile.sizes[rank:])
    parts = factors(row.sizes, tail.sizes, range(len(row.sizes)), op.where)
    count = run(parts, _tail(row, 1), _tail(tail, rank))
    slow, fast = parts[: len(parts) - count], parts[len(parts) - count :]
    sizes = [f.size for f in (*found, *slow)]
    shape = [f.size.const for f in fast]
    if not all(isinstance(n, int) for n in shape) or not all(f.size.is_number for f in fast):
        raise HeadraceError(Diagnostic("a row of a gather has a dynamic extent", op.where))
    elements = 1
    for n in shape:
        assert isinstance(n, int)
        elements *= n
    walks = (
        _index_walk(op.index, found, len(slow)),
        _row_walk(table, 1, len(found), slow, fast, left=True),
        _tile_walk(tile, rank, found, slow, fast),
    )
    _emit(op, program, addresses, walks, sizes, elements)


def _tail(place: Place, dims: int) -> Place:
    """The box of the last dims, for the strides alone."""
    memory = replace(place.memory, strides=place.memory.strides[dims:], shape=place.memory.shape[dims:])
    return replace(place, memory=memory)


def _leading(op: Indirect) -> tuple[Place, Place, int]:
    """Return table and tile with the indirect dims first, and how many dims of the tile walk the indices."""
    rank = len(op.tile.sizes) - len(op.table.sizes) + 1
    if rank < 0:
        raise HeadraceError(Diagnostic("the tile of a gather has too few dims", op.where))
    table = _permuted(op.table, (op.dim, *(d for d in range(len(op.table.sizes)) if d != op.dim)))
    walked = tuple(range(op.dim, op.dim + rank))
    tile = _permuted(op.tile, (*walked, *(d for d in range(len(op.tile.sizes)) if d not in walked)))
    return table, tile, rank


def _permuted(place: Place, order: Sequence[int]) -> Place:
    memory = replace(
        place.memory,
        shape=tuple(place.memory.shape[d] for d in order),
        strides=tuple(place.memory.strides[d] for d in order),
    )
    return Place(memory, tuple(place.corner[d] for d in order), tuple(place.sizes[d] for d in order))


def _index_walk(index: Place, found: Sequence[Factor], rest: int) -> Walk:
    times: Moves = (*((f.left,) for f in found), *((),) * rest)
    rank = tuple(range(len(index.sizes)))
    return Walk(index, (ONE,) * len(rank), rank, times, index.corner)


def _row_walk(
    place: Place, skip: int, before: int, slow: Sequence[Factor], fast: Sequence[Factor], *, left: bool
) -> Walk:
    extents = [ONE] * len(place.sizes)
    for factor in fast:
        dim = (factor.left if left else factor.right)[0] + skip
        extents[dim] = combine("mul", extents[dim], factor.size)
    moves = [(f.left if left else f.right) for f in slow]
    times: Moves = (*((),) * before, *(((dim + skip, step),) for dim, step in moves))
    corner: tuple[Expr, ...] = (ZERO, *place.corner[1:]) if left else place.corner
    return Walk(place, tuple(extents), tuple(range(len(extents))), times, corner)


def _tile_walk(
    tile: Place, rank: int, found: Sequence[Factor], slow: Sequence[Factor], fast: Sequence[Factor]
) -> Walk:
    walk = _row_walk(tile, rank, len(found), slow, fast, left=False)
    rows: Moves = tuple((f.right,) for f in found)
    return replace(walk, times=(*rows, *walk.times[len(found) :]), corner=tile.corner)


def _emit(
    op: Indirect,
    program: ProgramValues,
    addresses: Addresses,
    walks: tuple[Walk, Walk, Walk],
    sizes: Sequence[Expr],
    elements: int,
) -> None:
    symbols = Symbols()
    for size in sizes:
        symbols.size(size)
    index, table, tile = (side(walk, program, symbols, addresses) for walk in walks)
    bound = [program.value(e) for e in symbols.exprs]
    group = [] if op.groups is None else multicast(op.groups, program)
    is_gather = op.kind == "gather"
    source, target = (table, tile) if is_gather else (tile, table)
    sides: list[Side] = [index, source, target] if is_gather else [source, index, target]
    properties: dict[str, Attribute] = {
        "direct_src_map": source.subscript,
        "direct_dst_map": target.subscript,
        ("indirect_src_map" if is_gather else "indirect_dst_map"): index.subscript,
        "load_set": source.set,
        "load_order": source.order,
        "store_set": target.set,
        "store_order": target.order,
        "load_direct_time_addr_map": source.time_map,
        "store_direct_time_addr_map": target.time_map,
        ("load" if is_gather else "store") + "_indirect_time_addr_map": index.time_map,
        **timing(sizes, symbols),
    }
    given = [1, 1, 0, 1] if is_gather else [0, 1, 1, 1]
    counts = [len(s.operands) for s in sides]
    counts.insert(2 if is_gather else 0, 0)
    properties["operandSegmentSizes"] = segments(*given, *counts, len(group), len(bound))
    inner = Block(arg_types=[vector(op.table.memory.dtype, (elements,))])
    inner.add_op(make("agen.yield"))
    operands: list[SSAValue] = [s.view for s in sides]
    for s in sides:
        operands += s.operands
    operands += [*group, *bound]
    name = "agen.composite_indirect_load_and_store"
    program.emit(make(name, operands, (), properties, [body(inner)]))
