"""Statements that can run strip by strip: Computes whose values share an outer dim that none of them reduces.

A strip is some of the rows along that dim. What one of these Computes needs of another is the same strip of
its value, so that the scratchpad holds strips where it could not hold whole values.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Axis, Compute, Handover, Load, Loop, Store
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block
from headrace.schedule.ring import ring_entry


@dataclass(frozen=True)
class Walk:
    """One index space along statements: by statement number the dim that walks it, by value the axis."""

    dims: Mapping[int, str]
    axes: Mapping[str, int]
    extent: int


def chains(block: Block, names: Names) -> list[tuple[Block, Walk | None]]:
    """The parts of a block, each with the rows along which it is cut, if any. Of several parts, those are cut
    in which more than one Compute reduces: one that does, and what is computed of it, are one phase.
    """
    parts = list(_parts(block))
    found: list[tuple[Block, Walk | None]] = []
    for part, beyond in parts:
        rows = chain(part, names, beyond)
        if rows is not None and len(parts) > 1:
            computes = [s for n, s in enumerate(part.statements) if n in rows.dims and isinstance(s, Compute)]
            reducing = [c for c in computes if any(d.kind == "reduction" for d in c.dims)]
            rows = rows if len(reducing) > 1 else None
        found.append((part, rows))
    return found


def _parts(block: Block) -> Iterator[tuple[Block, set[str]]]:
    """The block in parts between meetings of cores, each of them alone: nothing is moved across one. Beside
    each part the values that others read.
    """
    cuts = [n for n, s in enumerate(block.statements) if isinstance(s, Handover)]
    ends = [e for n in cuts for e in (n, n + 1)]
    parts = [block.statements[a:z] for a, z in pairwise([0, *ends, len(block.statements)])]
    parts = [part for part in parts if part]
    read = [{v for s in part for v in _read(s, block)} for part in parts]
    for number, part in enumerate(parts):
        bodies = {s.name: block.bodies[s.name] for s in part if isinstance(s, Loop)}
        yield Block(part, bodies), set().union(*read[:number], *read[number + 1 :])


def _read(statement: Load | Store | Compute | Loop | Handover, block: Block) -> Iterator[str]:
    """The values a statement or the body of a loop reads."""
    if isinstance(statement, Compute):
        yield from (value for value, _ in accesses(statement))
    elif isinstance(statement, Store):
        yield statement.value
    elif isinstance(statement, Loop):
        inner = block.bodies[statement.name]
        for each in inner.statements:
            yield from _read(each, inner)


def chain(block: Block, names: Names, beyond: Container[str] = ()) -> Walk | None:
    """Return the rows of the largest value that one Compute of the block hands to another, with all Computes
    that make or read such rows; None if there is no dim of it they can all be cut along, or if values in
    `beyond`, which are read elsewhere, would be.
    """
    computes = {n: s for n, s in enumerate(block.statements) if isinstance(s, Compute)}
    if len(computes) + sum(isinstance(s, Load | Store) for s in block.statements) < len(block.statements):
        return None
    if any(ring_entry(compute) for compute in computes.values()):  # cores meet in it, row by row
        return None
    made = {o.value for c in computes.values() for o in c.outs}
    read = {value for c in computes.values() for value, _ in accesses(c) if value in made}

    def size(value: str) -> int:
        return prod(names.values[value].shape) * itemsize(names.values[value].dtype)

    for value in sorted(read, key=lambda v: (-size(v), v))[:1]:
        for axis, extent in enumerate(names.values[value].shape):
            found = walk(computes, (value, axis), made, names) if extent > 1 else None
            if found is None or any(v in beyond for v in found.axes):
                continue
            if is_sound(found, block, computes, names):
                return found
    return None


def accesses(compute: Compute) -> Iterator[tuple[str, tuple[Axis, ...]]]:
    """Yield every value a Compute reads, with the axes by which it does."""
    for access in compute.ins:
        yield access.value, access.axes
    for out in compute.outs:
        if isinstance(out.init, str):
            yield out.init, out.axes


def walk(computes: Mapping[int, Compute], seed: tuple[str, int], made: set[str], names: Names) -> Walk | None:
    """Return where an axis of a value leads through the values of `made` and their Computes; None if it meets
    itself on two axes, is shifted on the way, or leaves the bytes of a value through an alias.
    """
    extent = names.values[seed[0]].shape[seed[1]]
    axes, todo = {seed[0]: seed[1]}, [seed[0]]
    dims: dict[int, str] = {}
    while todo:
        value = todo.pop()
        if value in names.aliases or value in names.aliases.values():
            return None
        for number, compute in computes.items():
            touched = [*accesses(compute), *((o.value, o.axes) for o in compute.outs)]
            for axis in [a[axes[value]] for v, a in touched if v == value]:
                if axis.dim is None or axis.offset or dims.get(number, axis.dim) != axis.dim:
                    return None
                if number in dims:
                    continue
                dims[number] = axis.dim
                for other, walked in touched:
                    places = [k for k, a in enumerate(walked) if a.dim == axis.dim]
                    if len(places) > 1 or any(walked[k].offset for k in places):
                        return None
                    if places and other in made and axes.setdefault(other, places[0]) != places[0]:
                        return None
                    if places and other in made:
                        todo.append(other)
    return Walk(dims, axes, extent)


def is_sound(found: Walk, block: Block, computes: Mapping[int, Compute], names: Names) -> bool:
    """Whether the Computes may be cut and moved behind all others."""
    for number, dim in found.dims.items():
        compute = computes[number]
        if any(d.name == dim and (d.kind != "parallel" or d.extent != found.extent) for d in compute.dims):
            return False
        if any(dim not in [a.dim for a in out.axes] for out in compute.outs):
            return False
        for value, axes in accesses(compute):
            load = names.loads.get(value)
            places = [k for k, a in enumerate(axes) if a.dim == dim]
            if places and value not in found.axes and (load is None or not _is_cut(load, places[0])):
                return False
    stores = [s for s in block.statements if isinstance(s, Store)]
    ours = [s for s in stores if s.value in found.axes]
    if any(not _is_cut(s, found.axes[s.value]) for s in ours):
        return False
    return len(found.dims) > 1 and _keep_apart(block.statements, stores, ours)


def _is_cut(access: Load | Store, axis: int) -> bool:
    return access.axes[axis] is not None and not access.indirect


def _keep_apart(statements: Sequence[object], stores: Sequence[Store], ours: Sequence[Store]) -> bool:
    """Whether no store meets a load or another store of the same argument, whatever order they have."""
    loaded = {s.view.arg for s in statements if isinstance(s, Load)}
    loaded |= {i.index.arg for s in statements if isinstance(s, Load) for i in s.indirect}
    stored = [s.view.arg for s in stores]
    return not loaded & set(stored) and all(stored.count(s.view.arg) == 1 for s in ours)
