"""What the memrefs and FIFO slots of a KTDF function are: buffers, device arrays, boxes of them, channel
ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.schedule.lower.evaluate import Values, affine_results
from headrace.schedule.lower.index import ZERO, Expr, Var, combine
from headrace.schedule.lower.tree import Buffer, Memory, Place, Slot

DYNAMIC = -(2**63)


class Memories:
    """The memrefs and slots defined so far; `values` are the index values of the same function."""

    def __init__(self, values: Values, corelets: int) -> None:
        self.values, self.corelets = values, corelets
        self.buffers: list[Buffer] = []
        self.places: dict[Any, Place] = {}
        self.slots: dict[Any, Slot] = {}
        self.copies: dict[Any, tuple[Buffer, int]] = {}

    def group(self, function: Any) -> None:
        """Make one buffer of the allocations that any select_memref rotates through."""
        found = list(_defining(function))
        for op in found:
            if op.name == "ktdf.select_memref":
                candidates = list(op.candidates)
                if candidates[0] not in self.copies:
                    self._buffer(candidates)
        for op in found:
            if op.name == "memref.alloc" and op.results[0] not in self.copies:
                self._buffer([op.results[0]])

    def _buffer(self, candidates: list[Any]) -> None:
        shape, dtype = _shape(candidates[0].type)
        if any(extent is None for extent in shape):
            op = candidates[0].owner
            raise HeadraceError(Diagnostic("a buffer has a dynamic extent", location(op), op.name))
        name = f"{candidates[0].name_hint or 'buffer'}.{len(self.buffers)}"
        buffer = Buffer(name, dtype, tuple(e for e in shape if e is not None), len(candidates))
        self.buffers.append(buffer)
        for k, value in enumerate(candidates):
            if value in self.copies:
                op = value.owner
                hint = "rotate the same allocations in every select_memref"
                raise HeadraceError(
                    Diagnostic("a buffer belongs to two rotations", location(op), op.name, hint)
                )
            self.copies[value] = (buffer, k)

    def define(self, op: Any) -> bool:
        """Note the memref an op defines; False if it is not a memref op known here."""
        rule = RULES.get(op.name)
        if rule is None:
            return False
        self.places[op.results[0]] = rule(self, op)
        return True

    def private(self, op: Any) -> None:
        """Note the slots a pipeline owns."""
        for inner in op.regions[0].block.ops:
            if inner.name == "ktdf.fifo.allocate":
                self._allocate(inner)
            elif inner.name == "ktdf.private_yield":
                for result, value in zip(op.results, inner.operands, strict=True):
                    if value in self.slots:
                        self.slots[result] = replace(self.slots[value], shape=_message_shape(result))

    def _allocate(self, op: Any) -> None:
        step = op.attributes.get("headrace.ring_step")
        listed = op.attributes.get("headrace.ring_pairs")
        cores = [int(core) for core in listed.get_values()] if listed is not None else []
        pairs = list(zip(cores[::2], cores[1::2], strict=True))
        share = len(pairs) // self.corelets
        by_corelet = tuple(tuple(pairs[k : k + share]) for k in range(0, len(pairs), share or 1))
        for result in op.results:
            kind = result.type
            ends = [end.data if hasattr(end, "data") else str(end) for end in (kind.src, kind.dest)]
            count = int(kind.num.data)
            ring = int(step.value.data) if step is not None else 0
            shape = _message_shape(result)
            self.slots[result] = Slot(
                ends[0], ends[1], str(kind.element_type), count, ring, shape, by_corelet
            )

    def slot(self, value: Any) -> Slot | None:
        """Return the channel end a value is, or None."""
        return self.slots.get(value)

    def whole(self, op: Any, value: Any) -> Place:
        """Return all of a memref."""
        place = self.places.get(value)
        if place is None:
            raise HeadraceError(Diagnostic("not a buffer or view of this function", location(op), op.name))
        return place

    def box(self, op: Any, value: Any, ids: Any, amap: Any, sizes: Any, static: Any) -> Place:
        """Return the box a data_transfer touches."""
        base = self.whole(op, value)
        corner = affine_results(amap, [self.values[i] for i in ids])
        dynamic = iter(sizes)
        extents = tuple(
            self.values[next(dynamic)] if n == DYNAMIC else Expr(int(n)) for n in static.get_values()
        )
        moved = tuple(a + b for a, b in zip(base.corner, corner, strict=True))
        return Place(base.memory, moved, extents)


def _defining(op: Any) -> Iterator[Any]:
    """The allocations and rotations inside an op, in text order."""
    for inner in (inner for region in op.regions for block in region.blocks for inner in block.ops):
        if inner.name in ("ktdf.select_memref", "memref.alloc"):
            yield inner
        elif inner.regions:
            yield from _defining(inner)


def _message_shape(slot: Any) -> tuple[int, ...]:
    """The shape in which a compute stage reads or writes a slot's messages, extents of 1 dropped."""
    for use in slot.uses:
        op = use.operation
        if op.name == "ktdf.read_from_fifo":
            kind = op.result.type
        elif op.name == "ktdf.write_to_fifo":
            kind = op.data.type
        else:
            continue
        return tuple(int(e) for e in kind.get_shape() if e != 1) or (1,)
    return ()


def _shape(kind: Any) -> tuple[tuple[int | None, ...], str]:
    shape = tuple(None if e < 0 else int(e) for e in kind.get_shape())
    return shape, str(kind.get_element_type())


def _strides(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent or 1
    return tuple(reversed(strides))


def _all(memory: Memory, sizes: tuple[Expr, ...]) -> Place:
    return Place(memory, (ZERO,) * len(sizes), sizes)


def _alloc(found: Memories, op: Any) -> Place:
    buffer, copy = found.copies[op.results[0]]
    shape: tuple[int | None, ...] = buffer.shape
    memory = Memory(buffer.dtype, shape, _strides(shape), buffer, Expr(copy))
    return _all(memory, tuple(Expr(e) for e in buffer.shape))


def _select(found: Memories, op: Any) -> Place:
    parts = [found.copies.get(value) for value in op.candidates]
    first = parts[0]
    if first is None or any(part is None or part[0] is not first[0] for part in parts):
        hint = "select among the allocations of one buffer"
        raise HeadraceError(Diagnostic("copies of different buffers", location(op), op.name, hint))
    count, shift = len(parts), first[1]
    if [part[1] for part in parts if part] != [(shift + k) % count for k in range(count)]:
        hint = "list the copies in the order of the first select_memref"
        raise HeadraceError(Diagnostic("copies in another order", location(op), op.name, hint))
    phase = found.values[op.phase]
    copy = combine("mod", phase + shift, Expr(count)) if shift else phase
    buffer = first[0]
    memory = Memory(buffer.dtype, buffer.shape, _strides(buffer.shape), buffer, copy)
    return _all(memory, tuple(Expr(e) for e in buffer.shape))


def _view(found: Memories, op: Any) -> Place:
    shape, dtype = _shape(op.results[0].type)
    dynamic = iter(op.sizes)
    sizes = tuple(
        found.values[next(dynamic)] if n == DYNAMIC else Expr(int(n)) for n in op.static_sizes.get_values()
    )
    strides = tuple(int(n) for n in op.static_strides.get_values())
    if DYNAMIC in strides:
        hint = "the scheduler specialises a kernel to its strides"
        raise HeadraceError(Diagnostic("a view has a dynamic stride", location(op), op.name, hint))
    start = found.values[op.offset]
    names = [atom.name for atom, _ in start.terms if isinstance(atom, Var) and atom.is_argument]
    memory = Memory(dtype, shape, strides, argument=names[0] if names else "", start=start)
    return _all(memory, sizes)


def _reshape(found: Memories, op: Any) -> Place:
    """Another shape of the same elements: only whole row-major memrefs."""
    base = found.whole(op, op.operands[0])
    shape, dtype = _shape(op.results[0].type)
    old = base.memory
    if old.strides != _strides(old.shape) or any(corner != ZERO for corner in base.corner):
        raise HeadraceError(Diagnostic("only whole row-major memrefs change shape", location(op), op.name))
    memory = Memory(dtype, shape, _strides(shape), old.buffer, old.copy, old.argument, old.start)
    return _all(memory, tuple(Expr(e or 0) for e in shape))


def _subview(found: Memories, op: Any) -> Place:
    base = found.whole(op, op.operands[0])
    offsets = _mixed(found, op.static_offsets, op.offsets)
    sizes = _mixed(found, op.static_sizes, op.sizes)
    if len(op.results[0].type.get_shape()) != len(sizes) or any(
        s != 1 for s in op.static_strides.get_values()
    ):
        raise HeadraceError(Diagnostic("a subview drops dims or strides", location(op), op.name))
    return Place(base.memory, tuple(a + b for a, b in zip(base.corner, offsets, strict=True)), sizes)


def _recast(found: Memories, op: Any) -> Place:
    """An array of other sizes and strides from an offset of the base on."""
    base = found.whole(op, op.source)
    (offset,) = _mixed(found, op.static_offsets, op.offsets)
    strides = tuple(int(n) for n in op.static_strides.get_values())
    if DYNAMIC in strides or any(corner != ZERO for corner in base.corner):
        raise HeadraceError(
            Diagnostic("a cast has a dynamic stride or a part as its base", location(op), op.name)
        )
    shape, dtype = _shape(op.results[0].type)
    sizes = _mixed(found, op.static_sizes, op.sizes)
    old = base.memory
    memory = Memory(dtype, shape, strides, old.buffer, old.copy, old.argument, old.start + offset)
    return _all(memory, sizes)


def _mixed(found: Memories, static: Any, dynamic: Any) -> tuple[Expr, ...]:
    rest = iter(dynamic)
    return tuple(found.values[next(rest)] if n == DYNAMIC else Expr(int(n)) for n in static.get_values())


def _same(found: Memories, op: Any) -> Place:
    return found.whole(op, op.operands[0])


RULES = {
    "memref.alloc": _alloc,
    "ktdf.select_memref": _select,
    "ktdp.construct_memory_view": _view,
    "memref.expand_shape": _reshape,
    "memref.collapse_shape": _reshape,
    "memref.reshape": _reshape,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _recast,
    "memref.cast": _same,
    "memref.memory_space_cast": _same,
}
