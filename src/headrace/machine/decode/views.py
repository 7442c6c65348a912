"""Views of memory: where they start, and the pages that some of them are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from headrace.machine.decode.affine import apply_map, ranges
from headrace.machine.decode.meanings import MemoryHandle, Page, PerInstance, View, Words
from headrace.machine.decode.reading import affine_map, attribute, dtype_of, fault, shape_of, text
from headrace.machine.image import Index, Place
from headrace.numbers.dtypes import itemsize

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder


def logical(decoder: ProgramDecoder, op: Operation) -> None:
    """`dataflow.get_logical_memory_view`."""
    decoder.env[op.results[0]] = _view(decoder, op)


def paged(decoder: ProgramDecoder, op: Operation) -> None:
    """`dataflow.get_paged_logical_memory_view`: the layout map's steps hold inside every page."""
    view = _view(decoder, op)
    sets, starts = attribute(op, "idx_sets"), op.operands[2:]
    if len(sets.data) != len(starts):
        fault(op, f"{len(sets.data)} pages but {len(starts)} start addresses")
    pages = []
    for entry, start in zip(sets.data, starts, strict=True):
        found = ranges(op, entry.data, (), "idx_set")
        low = [r.low.constant for r in found]
        high = [(r.low + r.extent - 1).constant for r in found]
        if len(found) != len(view.shape) or None in low or None in high:
            fault(op, "the index set of a page must be a constant box in the view")
        corner = [Index(k or 0) for k in low]
        shift = _start(decoder, op, start, view.place, view.dtype)
        if decoder.options.page_start == "page":
            shift = shift - apply_map(view.layout, corner)[0] * itemsize(view.dtype)
        pages.append(Page(tuple(k or 0 for k in low), tuple(k or 0 for k in high), shift))
    decoder.env[op.results[0]] = View(
        view.place, view.base, view.dtype, view.layout, view.shape, tuple(pages), view.buffer
    )


def _view(decoder: ProgramDecoder, op: Operation) -> View:
    result = op.results[0]
    dtype = dtype_of(op, result.type)
    place = _place(decoder, op, op.operands[0])
    base = _start(decoder, op, op.operands[1], place, dtype)
    shape = shape_of(result.type)
    layout = affine_map(op, "layout_map")
    _check_layout(op, layout, shape)
    return View(place, base, dtype, layout, shape, buffer=text(op, "headrace.buffer"))


def _check_layout(op: Operation, layout: AffineMap, shape: Sequence[int]) -> None:
    if len(layout.results) != 1 or layout.num_symbols:
        fault(op, "layout_map must have one result and no symbols")
    if layout.num_dims != len(shape):
        fault(op, f"layout_map has {layout.num_dims} dimensions for a view of rank {len(shape)}")


def _start(decoder: ProgramDecoder, op: Operation, value: SSAValue, place: Place, dtype: str) -> Index:
    """Bytes: elements for constants and arguments, words where the value is a symbol."""
    found: Any = decoder.meaning(value)
    items = found.items if isinstance(found, PerInstance) else (found,)
    if any(isinstance(i, Words) for i in items):
        word = decoder.handles.word_bytes(decoder.builder.instances[0], place.kind)
        words = [i.index for i in items if isinstance(i, Words)]
        if len(words) != len(items):
            fault(op, "a start address mixes symbols and numbers")
        return decoder.per_instance_index(words) * word
    scale = 1 if decoder.address_unit == "byte" else itemsize(dtype)
    return decoder.index(value) * scale


def _place(decoder: ProgramDecoder, op: Operation, value: SSAValue) -> Place:
    found = decoder.meaning(value)
    items = found.items if isinstance(found, PerInstance) else (found,) * len(decoder.builder.instances)
    first = items[0]
    if not all(isinstance(i, MemoryHandle) and i.kind == first.kind for i in items):
        fault(op, "a view needs a memory handle")
    if first.kind == "register":
        mine = decoder.builder.instances
        owners = [me if i.owner < 0 else i.owner for i, me in zip(items, mine, strict=True)]
        return Place("register", first.name, decoder.builder.table(owners))
    return Place(first.kind, first.name, decoder.builder.table([i.owner for i in items]))
