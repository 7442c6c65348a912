"""What loads touch piece by piece in device memory is loaded as one box and walked in the scratchpad.

Elements that lie apart (every second one, as pooling reads them) cost a whole access of device memory each;
loads that lie between each other would read the same accesses again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Compute, Handover, Linear, Load, Loop, Store, Value, View
from headrace.schedule.phases.linear import add, scale, smallest
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity, without_unit_dims
from headrace.schedule.phases.storage import Storage, of_access, packed

Part = Load | Compute


@dataclass(frozen=True)
class Box:
    """Steps in memory and extents of a box, large steps first, and how axes walk it: (dim of the box, steps
    there), None for an axis that stands still.
    """

    steps: tuple[int, ...]
    extents: tuple[int, ...]
    walk: tuple[tuple[int, int] | None, ...]

    @property
    def elements(self) -> int:
        """How many there are."""
        return prod(self.extents)

    def strides(self) -> tuple[int, ...]:
        """The strides of the axes where the box lies packed."""
        inner = packed(self.extents)
        return tuple(0 if w is None else w[1] * inner[w[0]] for w in self.walk)


def box_of(strides: Sequence[int], shape: Sequence[int], reach: int | None = None) -> Box:
    """Return the box that axes cover; those that overlap walk one dim of it.

    With a `reach`, the box has no gaps along its innermost dim and goes on for as many elements.
    """
    steps, extents = ([], []) if reach is None else ([1], [1 + reach])
    found: dict[int, tuple[int, int]] = {}
    moving = [axis for axis in range(len(strides)) if shape[axis] > 1 and strides[axis]]
    for axis in sorted(moving, key=lambda k: strides[k]):
        stride, extent = strides[axis], shape[axis]
        is_first = reach is not None and not found
        if steps and stride % steps[-1] == 0 and (is_first or stride < extents[-1] * steps[-1]):
            extents[-1] += (extent - 1) * stride // steps[-1]
        else:
            steps.append(stride)
            extents.append(extent)
        found[axis] = (len(steps) - 1, stride // steps[-1])
    last = len(steps) - 1
    walk = tuple((last - found[k][0], found[k][1]) if k in found else None for k in range(len(strides)))
    return Box(tuple(reversed(steps)), tuple(reversed(extents)), walk)


def boxed(place: Storage, box: Box, like: Value, names: Names) -> tuple[list[Part], str]:
    """Return the load of a box that begins where `place` does and its copy, and the copy's name."""
    whole = names.fresh(f"{like.name}.covered", Value(like.name, box.extents, like.dtype, like.where))
    view = View(place.name, place.base, like.dtype, box.extents, box.steps, "global", like.where)
    load = Load(whole.name, view, (Linear(),) * len(box.steps), tuple(range(len(box.steps))), (), like.where)
    names.loads[whole.name] = load
    kept = names.fresh(f"{like.name}.box", whole)
    names.computed.add(kept.name)
    names.apart.add(kept.name)
    return [load, without_unit_dims(identity(whole.name, kept, names))], kept.name


def windows(box: str, found: Box, offset: int, like: Value, names: Names) -> str:
    """Return the name of a value that lies in a box from an offset on."""
    made = names.fresh(f"{like.name}.windows", like)
    names.aliases[made.name] = box
    names.walks[made.name] = (offset, found.strides())
    return made.name


def covered(block: Block, names: Names, room: int, access: int) -> Block:
    """Return the block with elements that lie apart loaded in boxes, as far as `room` bytes hold them.

    `access`: bytes that device memory moves at least.
    """
    changing = {s.view.arg for s in _all(block) if isinstance(s, Store)}
    changing |= {arg for s in _all(block) if isinstance(s, Handover) for arg in s.args}
    return _covered(block, names, room, access, changing)


def _all(block: Block) -> Iterator[object]:
    yield from block.statements
    for body in block.bodies.values():
        yield from _all(body)


def _covered(block: Block, names: Names, room: int, access: int, changing: set[str]) -> Block:
    families: dict[object, list[str]] = {}
    uses = Counter(_apart(block, names, changing))
    for value in uses:
        place = of_access(names.loads[value])
        key = (place.name, place.dtype, place.strides, names.values[value].shape, place.base.terms)
        families.setdefault(key, []).append(value)
    made: list[Part] = []
    renamed: dict[str, str] = {}
    for values in families.values():
        before, found = _family(values, names, room, access)
        made += before
        for value, walked in found.items():
            renamed[value] = walked
            if uses[value] > 1:  # read apart once, in a row from then on
                kept = names.fresh(f"{value}.kept", names.values[value])
                names.computed.add(kept.name)
                made.append(without_unit_dims(identity(walked, kept, names)))
                renamed[value] = kept.name
    statements = tuple(_renamed(s, renamed) for s in block.statements)
    bodies = {name: _covered(body, names, room, access, changing) for name, body in block.bodies.items()}
    return Block((*made, *statements), bodies)


def _apart(block: Block, names: Names, changing: set[str]) -> Iterator[str]:
    """The loads that Computes other than contractions read, of elements that lie apart or in windows that
    overlap.
    """
    for statement in block.statements:
        if not isinstance(statement, Compute) or statement.contraction is not None:
            continue
        for used in statement.ins:
            load = names.loads.get(used.value)
            if load is None or load.indirect or load.view.arg in changing or load.view.space != "global":
                continue
            shape = names.values[used.value].shape
            if _run(load, names) > 1 or box_of(of_access(load).strides, shape).elements < prod(shape):
                yield used.value


def _run(load: Load, names: Names) -> int:
    """The distance in memory between neighbours of a load."""
    shape = names.values[load.value].shape
    steps = [s for s, e in zip(of_access(load).strides, shape, strict=True) if e > 1 and s]
    return min(steps, default=1)


def _family(values: Sequence[str], names: Names, room: int, access: int) -> tuple[list[Part], dict[str, str]]:
    """One box for loads that differ by a distance, and what each of them is called in it; nothing where
    single accesses cost less.
    """
    places = [of_access(names.loads[v]) for v in values]
    first = min(places, key=lambda p: smallest(p.base.const))
    apart = [add(p.base, scale(first.base, -1)) for p in places]
    like = names.values[values[0]]
    if not all(isinstance(d.const, int) and d.const >= 0 and not d.terms for d in apart):
        return [], {}
    offsets = [smallest(d.const) for d in apart]
    box = box_of(first.strides, like.shape, max(offsets))
    size = itemsize(like.dtype)
    each = size if _run(names.loads[values[0]], names) == 1 else max(access, size)
    if box.elements * size * 2 > min(room, len(values) * prod(like.shape) * each):
        return [], {}
    made, kept = boxed(first, box, like, names)
    return made, {
        v: windows(kept, box, offset, names.values[v], names)
        for v, offset in zip(values, offsets, strict=True)
    }


def _renamed(
    statement: Load | Store | Compute | Loop | Handover, renamed: dict[str, str]
) -> Load | Store | Compute | Loop | Handover:
    if not isinstance(statement, Compute) or statement.contraction is not None:
        return statement
    ins = tuple(Access(renamed.get(a.value, a.value), a.axes) for a in statement.ins)
    return replace(statement, ins=ins)
