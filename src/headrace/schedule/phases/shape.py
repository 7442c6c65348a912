"""The iteration space of a phase as hardware walks it: dims merged where memory lets them, operands as
addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from headrace.schedule.graph import Axis, Compute, Linear, Value
from headrace.schedule.phases.fuse import Group, Kind
from headrace.schedule.phases.grouping import Scope
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.storage import (
    Storage,
    Surface,
    index_storage,
    of_access,
    packed,
    restrided,
    surface,
)

Homes = Mapping[str, Storage]


@dataclass(frozen=True)
class Operand:
    """Elements of memory a phase reads or writes.

    `value` is the tensor's name, `use` tells two accesses of one value apart; `storage` says which memory;
    `index` are
    the indices of a gather or scatter.
    """

    value: str
    dtype: str
    storage: Storage
    surface: Surface
    use: int = 0
    index: Operand | None = None


@dataclass(frozen=True)
class Shape:
    """A phase over merged dims.

    `extents` lists the dims, large strides first; `merged` says which dim an original dim became part of
    (those an
    "index" entry reads stay themselves); `reads` names the operand of (Compute number, input number).
    """

    group: Group
    extents: Mapping[str, int]
    reduced: frozenset[str]
    merged: Mapping[str, str]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    reads: Mapping[tuple[int, int], Operand]

    def volume(self, operand: Operand) -> int:
        """Return how many elements an operand has."""
        count = 1
        for dim in operand.surface.dims:
            count *= self.extents[dim]
        return count


def storage_of(value: str, names: Names, homes: Homes) -> Storage:
    """Return where the elements of a value that is in memory lie."""
    if value in names.aliases:
        source = names.aliases[value]
        place = storage_of(source, names, homes)
        if value in names.walks:
            offset, walked = names.walks[value]
            return Storage(place.kind, place.name, place.dtype, add(place.base, offset), walked)
        strides = restrided(names.values[source].shape, place.strides, names.values[value].shape)
        assert strides is not None
        return Storage(place.kind, place.name, place.dtype, place.base, strides)
    if value in homes:
        return homes[value]
    load = names.loads.get(value)
    if load is not None:
        return of_access(load)
    return home(names.values[value], "lx")


def home(value: Value, kind: str, base: Linear | None = None) -> Storage:
    """Return a packed storage for a value, named after it."""
    dtype = value.dtype
    return Storage(kind, value.name, dtype, base or Linear(), packed(value.shape))  # type: ignore[arg-type]


def shape(group: Group, outline: Outline, homes: Homes) -> Shape:
    """Return the phase of a group; `homes` gives the storage of every value in `outline.homes`."""
    reads: dict[tuple[int, int], Operand] = {}
    inputs: dict[object, Operand] = {}
    names = outline.names
    made: set[str] = set()
    for c, compute in enumerate(group.computes):
        for i, access in enumerate(compute.ins):
            if access.value in made:
                continue
            place = storage_of(access.value, names, homes)
            operand = _operand(
                access.value, names.values[access.value].dtype, place, access.axes, len(inputs)
            )
            key = (access.value, operand.surface, operand.index and operand.index.surface)
            reads[c, i] = inputs.setdefault(key, operand)
        for o, out in enumerate(compute.outs):
            if isinstance(out.init, str):
                place = storage_of(out.init, names, homes)
                operand = _operand(out.init, names.values[out.init].dtype, place, out.axes, len(inputs))
                key = (out.init, operand.surface, operand.index and operand.index.surface)
                reads[c, -1 - o] = inputs.setdefault(key, operand)
            made.add(out.value)
    outputs = tuple(_outputs(group, outline, homes))
    return _merged(group, tuple(inputs.values()), outputs, reads)


def _outputs(group: Group, outline: Outline, homes: Homes) -> list[Operand]:
    found: list[Operand] = []
    for value, axes in group.produced.items():
        dtype = outline.names.values[value].dtype
        places = [homes[value]] if value in homes else []
        places += [of_access(store) for store in outline.stores.get(value, ())]
        for use, place in enumerate(places):
            found.append(_operand(value, dtype, place, axes, use))
    return found


def _operand(value: str, dtype: str, place: Storage, axes: Sequence[Axis], use: int) -> Operand:
    """An access as an operand; a gather or scatter has one indirect dim."""
    direct = surface(place, axes)
    if not place.indirect:
        return Operand(value, dtype, place, direct, use)
    assert len(place.indirect) == 1, "the model leaves one index tensor an access"
    indices = index_storage(place.indirect[0][1], len(axes))
    walked = surface(indices, axes)
    index = Operand(f"{value}.index", indices.dtype, indices, walked, use)
    return Operand(value, dtype, place, replace(direct, indirect=walked.strides), use, index)


def _merged(
    group: Group,
    inputs: tuple[Operand, ...],
    outputs: tuple[Operand, ...],
    reads: Mapping[tuple[int, int], Operand],
) -> Shape:
    operands = [*inputs, *outputs]
    operands += [o.index for o in operands if o.index is not None]
    surfaces = [o.surface for o in operands]
    extents = dict(group.extents)
    roles = _roles(group)
    presence = [frozenset(d.name for d in c.dims) for c in group.computes]
    merged = {d: d for d in extents}
    pair = _mergeable(extents, roles, presence, surfaces)
    while pair is not None:
        outer, inner = pair
        name = f"{outer}.{inner}"
        extents = {
            (name if d == outer else d): (e * extents[inner] if d == outer else e)
            for d, e in extents.items() if d != inner
        }  # fmt: skip
        roles[name] = roles[outer]
        surfaces = [_merge(s, outer, inner, name) for s in surfaces]
        presence = [frozenset(name if d == outer else d for d in p if d != inner) for p in presence]
        merged = {d: name if m in pair else m for d, m in merged.items()}
        pair = _mergeable(extents, roles, presence, surfaces)
    found = {id(o): s for o, s in zip(operands, surfaces, strict=True)}
    replaced = {id(o): _resurfaced(o, found) for o in (*inputs, *outputs)}
    order = _ordered(extents, surfaces)
    reduced = frozenset(merged[d] for d in group.reduced)
    return Shape(
        group,
        {d: extents[d] for d in order},
        reduced,
        merged,
        tuple(replaced[id(o)] for o in inputs),
        tuple(replaced[id(o)] for o in outputs),
        {key: replaced[id(o)] for key, o in reads.items()},
    )


def _resurfaced(operand: Operand, found: Mapping[int, Surface]) -> Operand:
    index = operand.index
    if index is not None:
        index = replace(index, surface=found[id(index)])
    return replace(operand, surface=found[id(operand)], index=index)


def _roles(group: Group) -> dict[str, object]:
    """What a dim may merge with: dims of equal role; dims an "index" entry or a gather reads stay alone."""
    alone = {s.attr[0] for c in group.computes for s in c.body if s.op == "index"}  # type: ignore[index]
    roles: dict[str, object] = {}
    contraction = group.computes[0].contraction
    if group.keeps_dims:
        alone.update(group.extents)
    for dim in group.extents:
        role: object = dim in group.reduced
        if contraction is not None:
            role = next((r for r in ("batch", "m", "n", "k") if dim in getattr(contraction, r)), "batch")
        roles[dim] = (dim,) if dim in alone else role
    return roles


def _mergeable(
    extents: Mapping[str, int],
    roles: Mapping[str, object],
    presence: Sequence[frozenset[str]],
    surfaces: Sequence[Surface],
) -> tuple[str, str] | None:
    for outer in extents:
        for inner in extents:
            if outer == inner or roles[outer] != roles[inner]:
                continue
            if any((outer in p) != (inner in p) for p in presence):
                continue
            if all(s.stride(outer) == s.stride(inner) * extents[inner] for s in surfaces):
                return outer, inner
    return None


def _merge(found: Surface, outer: str, inner: str, name: str) -> Surface:
    def joined(old: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        strides = dict(old)
        step = strides.pop(inner, None)
        strides.pop(outer, None)
        return (*strides.items(), *([(name, step)] if step is not None else []))

    return Surface(found.base, joined(found.strides), joined(found.indirect))


def _ordered(extents: Mapping[str, int], surfaces: Sequence[Surface]) -> list[str]:
    """Dims by their largest stride in the widest operand that has them, large strides first."""

    def weight(dim: str) -> tuple[int, int]:
        with_dim = [s for s in surfaces if s.stride(dim)]
        widest = max(with_dim, key=lambda s: len(s.dims), default=None)
        return (-widest.stride(dim) if widest else 0, list(extents).index(dim))

    return sorted(extents, key=weight)


def reduction_kinds(row_bytes: int) -> Callable[[Compute, Scope], Kind]:
    """Return the rule that tells row reductions from column reductions; rows above `row_bytes` are never
    one step.
    """

    def kind(compute: Compute, scope: Scope) -> Kind:
        reduced = [d for d in compute.dims if d.kind == "reduction"]
        if not reduced or compute.contraction is not None:
            return "vector"
        extents = {d.name: d.extent for d in compute.dims}
        found = [surface(storage_of(a.value, scope.names, {}), a.axes) for a in compute.ins]
        if not found:
            return "column"
        best = max(found, key=lambda s: len(s.strides))
        inner = sorted((best.stride(d.name), d.name) for d in reduced)
        smallest = min((s for _, s in best.strides), default=0)
        size = 4 * prod(d.extent for d in reduced)
        if inner[0][0] == 0 or inner[0][0] != smallest or size > row_bytes:
            return "column"
        read = {s.attr[0] for s in compute.body if s.op == "index"}  # type: ignore[index]
        pairs = list(zip(inner, inner[1:], strict=False))
        if pairs and read & {name for _, name in inner}:
            return "column"
        is_one_row = all(s.stride(b[1]) == s.stride(a[1]) * extents[a[1]] for s in found for a, b in pairs)
        return "vector" if is_one_row else "column"

    return kind
