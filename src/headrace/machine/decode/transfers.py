"""Composite transfers of `agen`: memory to memory, memory to FIFO, FIFO to memory, gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from headrace.machine.image import Box, Copy, Index, Indirect, Read, Stream, Write
from headrace.numbers.dtypes import is_integer


@dataclass(frozen=True)
class Scope:
    """What a transfer needs to know of the program around it."""

    index: Callable[[SSAValue], Index]
    view: Callable[[SSAValue], View]
    peer: Callable[[SSAValue], Index]
    group: Callable[[SSAValue], Index]
    coordinate: NewCoordinate


def vector_box(op: Operation, scope: Scope, view: View, subscripts: Sequence[Index], side: str) -> Box:
    """The box of a single `vector_load` ("load") or `vector_store` ("store")."""
    run = space(op, f"{side}_set", f"{side}_order", (), scope.coordinate)
    return box(op, view, subscripts, Window(run, Space((), (), ()), None, ()))


def subscripts(op: Operation, scope: Scope, key: str, operands: Sequence[SSAValue]) -> list[Index]:
    """The position that a subscript map gives."""
    return apply_map(affine_map(op, key), [scope.index(v) for v in operands])


def copy(op: Operation, scope: Scope) -> Copy:
    """`agen.composite_load_and_store`."""
    source, target, source_ops, target_ops, symbols, group = segments(op)
    _expect_plain_body(op)
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


def indirect_copy(op: Operation, scope: Scope) -> Copy:
    """`agen.composite_indirect_load_and_store`: a gather or a scatter."""
    parts = segments(op)
    if len(parts) != 10:
        fault(op, "unknown operand layout of an indirect transfer")
    _expect_plain_body(op)
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
    if len(chosen) != 1:
        fault(op, "exactly one side of an indirect transfer must have an index view")
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


def read(op: Operation, scope: Scope) -> Read:
    """`agen.composite_load` with sends in its body."""
    memory, operands, symbols = segments(op)[:3]
    times, syms = _times(op, scope, symbols)
    window = _window(op, scope, "load", times, syms, "time_addr_map")
    found = box(op, scope.view(memory[0]), subscripts(op, scope, "affine_map", operands), window)
    block = body_of(op.regions[0])
    vector = block.args[0]
    _check_vector(op, found, vector.type, window.run)
    streams = []
    for inner in block.ops:
        match name_of(inner):
            case "dataflow.send":
                if inner.operands[1] is not vector:
                    fault(inner, "a composite load may only send the vector it loaded")
                direction = keyword(inner, "dir")
                peer = scope.peer(inner.operands[0])
                streams.append(Stream(found, peer, shape_of(vector.type), direction, location(inner)))
            case "agen.yield":
                pass
            case _:
                fault(inner, "a composite load may only contain sends", "compute in the unit that receives")
    if not streams:
        fault(op, "a composite load sends nothing")
    return Read(tuple(streams), 1, location(op))


def write(op: Operation, scope: Scope) -> Write:
    """`agen.composite_store` whose body receives a vector and yields it."""
    parts = segments(op)
    memory, operands = parts[0], parts[1]
    symbols = [v for part in parts[2:] for v in part if str(v.type) == "index"]
    if not op.regions or body_of(op.regions[0]) is None:
        fault(op, "a composite store needs a body that receives a vector")
    times, syms = _times(op, scope, symbols)
    window = _window(op, scope, "store", times, syms, "time_addr_map")
    found = box(op, scope.view(memory[0]), subscripts(op, scope, "affine_map", operands), window)
    inner = list(body_of(op.regions[0]).ops)
    names = [name_of(o) for o in inner]
    if names != ["dataflow.receive", "agen.yield"] or inner[1].operands[0] is not inner[0].results[0]:
        fault(op, "a composite store must receive one vector and yield it")
    vector = inner[0].results[0].type
    _check_vector(op, found, vector, window.run)
    stream = Stream(found, scope.peer(inner[0].operands[0]), shape_of(vector), "", location(inner[0]))
    return Write((stream,), 1, location(op))


def interleave(op: Operation, scope: Scope) -> Read | Write:
    """`agen.composite_memory_interleave`: the streams of composite ops of one kind, round robin."""
    granularity = integer(op, "granularity", 1)
    streams: list[Stream] = []
    kinds = set()
    for inner in body_of(op.regions[0]).ops:
        name = name_of(inner)
        if name == "agen.yield":
            continue
        if name not in ("agen.composite_load", "agen.composite_store"):
            fault(inner, "only composite loads or composite stores can be interleaved")
        part = read(inner, scope) if name == "agen.composite_load" else write(inner, scope)
        if granularity != 1 and len(part.streams) != 1:
            fault(op, "a granularity above 1 needs one send per composite")
        kinds.add(type(part))
        streams.extend(part.streams)
    if len(kinds) != 1:
        fault(op, "an interleave holds either loads or stores, and at least one")
    extents = {tuple(d.extent for d in s.box.times) for s in streams}
    if len({_product(e) for e in extents}) != 1:
        fault(op, "interleaved composites must have equal numbers of time steps")
    return kinds.pop()(tuple(streams), granularity, location(op))


# ---- parts -------------------------------------------------------------------------------------------------
def _times(op: Operation, scope: Scope, symbols: Sequence[SSAValue]) -> tuple[Space, tuple[Index, ...]]:
    syms = tuple(scope.index(v) for v in symbols)
    return space(op, "time_set", "time_order", syms, scope.coordinate), syms


def _window(
    op: Operation, scope: Scope, side: str, times: Space, symbols: tuple[Index, ...], time_key: str
) -> Window:
    run = space(op, f"{side}_set", f"{side}_order", symbols, scope.coordinate)
    return Window(run, times, affine_map(op, time_key), symbols)


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
    shift = affine_map(op, f"{side}_indirect_time_addr_map")
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
    dtype, lanes = dtype_of(op, vector), _product(Index(n) for n in shape_of(vector)).constant
    if source.dtype != target.dtype or source.dtype != dtype:
        fault(op, f"a transfer never converts: {source.dtype} to {target.dtype} through {dtype}")
    sizes = [_product(d.extent for d in b.run) for b in (source, target)]
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
    lanes, size = _product(Index(n) for n in shape_of(type_)).constant, run.size
    if lanes is not None and size.constant is not None and size.constant > lanes:
        fault(op, f"a set of {size.constant} elements does not fit a vector of {lanes} lanes")


def _expect_plain_body(op: Operation) -> None:
    inner = list(body_of(op.regions[0]).ops)
    if [name_of(o) for o in inner] != ["agen.yield"] or (
        len(inner[0].operands) and inner[0].operands[0] is not body_of(op.regions[0]).args[0]
    ):
        fault(op, "a memory-to-memory transfer must store what it loaded", "compute in a vector unit")
    if attribute(op, "time_set") is None:
        fault(op, "time_set is missing")


def _product(extents: object) -> Index:
    out = Index(1)
    for extent in extents:  # type: ignore[attr-defined]
        out = out * extent
    return out
