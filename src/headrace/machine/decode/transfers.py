"""Composite transfers of `agen`: memory to memory, memory to FIFO, FIFO to memory, gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from headrace.ir.text import location
from headrace.machine.decode.affine import apply_map
from headrace.machine.decode.blocks import NewCoordinate, Space, Window, box, first_dim_stride, space
from headrace.machine.decode.meanings import View
from headrace.machine.decode.reading import (
    affine_map,
    attribute,
    body_of,
    dtype_of,
    fault,
    integer,
    keyword,
    name_of,
    segments,
    shape_of,
)
from headrace.machine.image import Box, Copy, Index, Indirect, Node, Read, Stream, Write
from headrace.numbers.dtypes import is_integer


@dataclass(frozen=True)
class Scope:
    """What a transfer needs to know of the program around it.

    `names` defines the results of an op that only names a value (a map, a handle, a constant), or says False.
    """

    index: Callable[[SSAValue], Index]
    view: Callable[[SSAValue], View]
    peer: Callable[[SSAValue], Index]
    group: Callable[[SSAValue], Index]
    coordinate: NewCoordinate
    names: Callable[[Operation], bool]


def vector_box(op: Operation, scope: Scope, view: View, subscripts: Sequence[Index], side: str) -> Box:
    """The box of a single `vector_load` ("load") or `vector_store` ("store")."""
    run = space(op, f"{side}_set", f"{side}_order", (), scope.coordinate)
    return box(op, view, subscripts, Window(run, Space((), (), ()), None, ()))


def subscripts(op: Operation, scope: Scope, key: str, operands: Sequence[SSAValue]) -> list[Index]:
    """The position that a subscript map gives."""
    map_ = affine_map(op, key)
    if map_.num_dims + map_.num_symbols != len(operands):
        fault(op, f"{key} takes {map_.num_dims + map_.num_symbols} values, {len(operands)} are given")
    return apply_map(map_, [scope.index(v) for v in operands])


def copy(op: Operation, scope: Scope) -> Copy | None:
    """`agen.composite_load_and_store`; None if its body does more than pass the vector on."""
    if not is_plain_copy(op):
        return None
    source, target, source_ops, target_ops, symbols, group = _parts(op, 6)
    times, syms = _times(op, scope, symbols)
    ends = []
    for side, memory, key, operands in (
        ("load", source, "src_map", source_ops),
        ("store", target, "dst_map", target_ops),
    ):
        window = _window(op, scope, side, times, syms, f"{side}_time_addr_map")
        at = subscripts(op, scope, key, operands)
        ends.append(box(op, scope.view(memory[0]), at, window))
    return _copy(op, scope, ends[0], ends[1], None, group)


def indirect_copy(op: Operation, scope: Scope) -> Copy | None:
    """`agen.composite_indirect_load_and_store`: a gather or a scatter; None if both sides are indirect."""
    parts = _parts(op, 10)
    if not is_plain_copy(op):
        fault(op, "a gather from memory to memory must store what it loaded", "compute in a vector unit")
    times, syms = _times(op, scope, parts[9])
    ends = {}
    for side, memory, operands, key in (
        ("load", parts[1], parts[5], "direct_src_map"),
        ("store", parts[3], parts[7], "direct_dst_map"),
    ):
        window = _window(op, scope, side, times, syms, f"{side}_direct_time_addr_map")
        at = subscripts(op, scope, key, operands)
        ends[side] = (box(op, scope.view(memory[0]), at, window), scope.view(memory[0]), at)
    chosen = [s for s, part in (("load", parts[0]), ("store", parts[2])) if len(part)]
    if len(chosen) == 2:
        return None
    if not chosen:
        return _copy(op, scope, ends["load"][0], ends["store"][0], None, parts[8])
    side = chosen[0]
    memory, operands, key = (
        (parts[0], parts[4], "indirect_src_map")
        if side == "load"
        else (parts[2], parts[6], "indirect_dst_map")
    )
    rows = _index_box(op, scope, memory[0], subscripts(op, scope, key, operands), times, syms, side)
    _, view, at = ends[side]
    size = view.shape[0]
    indirect = Indirect(
        "source" if side == "load" else "target",
        rows,
        first_dim_stride(op, view),
        Index(size) if size >= 0 else Index(2**62),
        at[0],
    )
    return _copy(op, scope, ends["load"][0], ends["store"][0], indirect, parts[8])


def read(op: Operation, scope: Scope) -> Read | None:
    """`agen.composite_load` with sends in its body; None if the body does anything else."""
    memory, operands, symbols = _parts(op, 3)
    times, syms = _times(op, scope, symbols)
    window = _window(op, scope, "load", times, syms, "time_addr_map")
    found = box(op, scope.view(memory[0]), subscripts(op, scope, "affine_map", operands), window)
    block = body_of(op.regions[0])
    vector = block.args[0]
    _check_vector(op, found, vector.type, window.run)
    streams = []
    for inner in block.ops:
        if name_of(inner) == "dataflow.send" and inner.operands[1] is vector:
            direction = keyword(inner, "dir")
            peer = scope.peer(inner.operands[0])
            streams.append(Stream(found, peer, shape_of(vector.type), direction, location(inner)))
        elif name_of(inner) != "agen.yield" and not scope.names(inner):
            return None
    return Read(tuple(streams), 1, location(op)) if streams else None


def write(op: Operation, scope: Scope) -> Write | None:
    """`agen.composite_store` whose body receives a vector and yields it; None if it does anything else."""
    parts = segments(op)
    if len(parts) < 3:
        fault(op, "unknown operand layout of a composite store")
    memory, operands = parts[0], parts[1]
    symbols = [v for part in parts[2:] for v in part if str(v.type) == "index"]
    if not op.regions or body_of(op.regions[0]) is None:
        fault(op, "a composite store needs a body that receives a vector")
    times, syms = _times(op, scope, symbols)
    window = _window(op, scope, "store", times, syms, "time_addr_map")
    found = box(op, scope.view(memory[0]), subscripts(op, scope, "affine_map", operands), window)
    inner = [o for o in body_of(op.regions[0]).ops if not scope.names(o)]
    names = [name_of(o) for o in inner]
    if names != ["dataflow.receive", "agen.yield"] or inner[1].operands[0] is not inner[0].results[0]:
        return None
    vector = inner[0].results[0].type
    _check_vector(op, found, vector, window.run)
    stream = Stream(found, scope.peer(inner[0].operands[0]), shape_of(vector), "", location(inner[0]))
    return Write((stream,), 1, location(op))


def interleave(op: Operation, scope: Scope) -> Read | Write | list[Node]:
    """`agen.composite_memory_interleave`: the streams of composite ops of one kind, round robin.

    Copies inside are one transfer after the other, as nothing passes between them.
    """
    granularity = integer(op, "granularity", 1)
    if granularity < 1:
        fault(op, f"granularity {granularity} is not a positive number")
    inner = [o for o in body_of(op.regions[0]).ops if name_of(o) != "agen.yield" and not scope.names(o)]
    kinds = {name_of(o) for o in inner}
    if not kinds <= _INTERLEAVED.keys() or len(kinds) > 1:
        fault(op, "composites of one kind that only pass their vectors on are interleaved")
    parts = []
    for each in inner:
        part = _INTERLEAVED[name_of(each)](each, scope)
        if part is None:
            fault(each, "an interleaved composite may only pass its vector on", "compute in a vector unit")
        parts.append(part)
    streams = [s for part in parts if isinstance(part, Read | Write) for s in part.streams]
    if not streams:
        return list(parts)
    if granularity != 1 and len(streams) != len(parts):
        fault(op, "a granularity above 1 needs one send per composite")
    if len({product(d.extent for d in s.box.times) for s in streams}) != 1:
        fault(op, "interleaved composites must have equal numbers of time steps")
    return type(parts[0])(tuple(streams), granularity, location(op))  # type: ignore[arg-type, return-value]


_INTERLEAVED: dict[str, Callable[[Operation, Scope], Read | Write | Copy | None]] = {
    "agen.composite_load": read,
    "agen.composite_store": write,
    "agen.composite_load_and_store": copy,
    "agen.composite_indirect_load_and_store": indirect_copy,
}


# ---- parts -------------------------------------------------------------------------------------------------
def _parts(op: Operation, count: int) -> list[Sequence[SSAValue]]:
    """The operand groups of a composite op; a fault unless there are `count`."""
    found = segments(op)
    if len(found) != count:
        fault(op, f"{len(found)} groups of operands where {count} are expected")
    return found


def _times(op: Operation, scope: Scope, symbols: Sequence[SSAValue]) -> tuple[Space, tuple[Index, ...]]:
    syms = tuple(scope.index(v) for v in symbols)
    return space(op, "time_set", "time_order", syms, scope.coordinate), syms


def _window(
    op: Operation, scope: Scope, side: str, times: Space, symbols: tuple[Index, ...], time_key: str
) -> Window:
    run = space(op, f"{side}_set", f"{side}_order", symbols, scope.coordinate)
    return Window(run, times, time_key, symbols)


def _index_box(
    op: Operation,
    scope: Scope,
    memory: SSAValue,
    at: list[Index],
    times: Space,
    symbols: tuple[Index, ...],
    side: str,
) -> Box:
    view = scope.view(memory)
    if not is_integer(view.dtype):
        fault(op, f"the index view has element type {view.dtype}")
    rank = len(view.shape)
    one = Space((Index(),) * rank, (), ())
    key = f"{side}_indirect_time_addr_map"
    shift = key if attribute(op, key) is not None else None
    return box(op, view, at, Window(one, times, shift, symbols))


def _copy(
    op: Operation,
    scope: Scope,
    source: Box,
    target: Box,
    indirect: Indirect | None,
    group: Sequence[SSAValue],
) -> Copy:
    vector = body_of(op.regions[0]).args[0].type
    dtype, lanes = dtype_of(op, vector), product(Index(n) for n in shape_of(vector)).constant
    if source.dtype != target.dtype or source.dtype != dtype:
        fault(op, f"a transfer never converts: {source.dtype} to {target.dtype} through {dtype}")
    sizes = [product(d.extent for d in b.run) for b in (source, target)]
    if sizes[0] != sizes[1] and None not in (sizes[0].constant, sizes[1].constant):
        fault(op, f"loads {sizes[0]} elements per vector but stores {sizes[1]}")
    for size in sizes:
        if size.low is not None and lanes is not None and size.low > lanes:
            fault(op, f"a set of {size.low} elements does not fit a vector of {lanes} lanes")
    members = scope.group(group[0]) if len(group) else None
    return Copy(source, target, int(lanes or 0), indirect, members, keyword(op, "dir"), location(op))


def _check_vector(op: Operation, found: Box, type_: object, run: Space) -> None:
    """Element types agree and the set fits the vector; a smaller constant set means empty lanes."""
    dtype = dtype_of(op, type_)
    if dtype != found.dtype:
        fault(op, f"vector of {dtype} for a view of {found.dtype}")
    lanes, size = product(Index(n) for n in shape_of(type_)).constant, run.size
    if lanes is not None and size.constant is not None and size.constant > lanes:
        fault(op, f"a set of {size.constant} elements does not fit a vector of {lanes} lanes")


def is_plain_copy(op: Operation) -> bool:
    """Whether the body of a memory-to-memory transfer only stores what was loaded."""
    block = body_of(op.regions[0])
    if block is None or not block.args:
        fault(op, "the body needs the loaded vector as its argument")
    inner = list(block.ops)
    return [name_of(o) for o in inner] == ["agen.yield"] and all(
        v is block.args[0] for v in inner[0].operands
    )


def expect_one_type(op: Operation, memory: str, vector: str) -> None:
    """A fault if the elements of a view and of a vector differ: nothing converts on the way."""
    if memory != vector:
        fault(op, f"vector of {vector} for a view of {memory}")


def product(extents: Iterable[Index]) -> Index:
    """The number of points of a box with these extents."""
    out = Index(1)
    for extent in extents:
        out = out * extent
    return out
