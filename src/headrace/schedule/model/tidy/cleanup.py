"""Dead statements go, equal ones are shared, copies nobody needs are looked through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.ir.diagnostics import Location
from headrace.schedule.graph import (
    Access,
    Axis,
    Compute,
    Handover,
    Insert,
    Load,
    Loop,
    Reshape,
    Scalar,
    Statement,
    Store,
    Value,
)
from headrace.schedule.model.bodies.body import pruned
from headrace.schedule.model.statements import aliased, changed, coordinate, has_stores, makes, reads
from headrace.schedule.ring import apart_entry


def drop_dead(body: Iterable[Statement], live: Iterable[str]) -> tuple[Statement, ...]:
    """The statements that memory or a live value depends on; bodies lose what no result needs."""
    body = list(body)
    needed = {*live, *(o.value for s in body if isinstance(s, Compute) and apart_entry(s) for o in s.outs)}
    kept: list[Statement] = []
    for s in reversed(body):
        if isinstance(s, Loop):
            s = _drop_in_loop(s, needed)
            if not s.carried and not has_stores(s.body):
                continue
        elif isinstance(s, Compute):
            s = _drop_in_compute(s, needed)
        if isinstance(s, Store | Loop | Handover) or makes(s) & needed:
            kept.append(s)
            needed |= reads(s)
    return tuple(reversed(kept))


def _drop_in_compute(c: Compute, needed: set[str]) -> Compute:
    outs = tuple(o for o in c.outs if o.value in needed)
    body, results, ins = pruned(c.body, tuple(o.result for o in outs), c.ins)
    return replace(
        c, ins=ins, body=body, outs=tuple(replace(o, result=r) for o, r in zip(outs, results, strict=True))
    )


def _drop_in_loop(loop: Loop, needed: set[str]) -> Loop:
    """Carried values go when neither the result nor another iteration needs them."""
    carried = [c for c in loop.carried if c.result in needed]
    while True:
        body = drop_dead(loop.body, {c.yielded for c in carried})
        read = {n for s in body for n in reads(s)}
        more = [c for c in loop.carried if c not in carried and c.inner in read]
        if not more:
            kept = tuple(c for c in loop.carried if c in carried)
            return replace(loop, body=body, carried=kept)
        carried += more


def share(
    body: Iterable[Statement],
    values: Mapping[str, Value],
    known: Mapping[object, Statement] | None = None,
    kept_names: Iterable[str] = (),
) -> tuple[Statement, ...]:
    """The statements with equal ones made once; a load is shared until something may have written its memory.

    Values in `kept_names` keep their own statement.
    """
    table: dict[object, Statement] = dict(known or {})
    alias: dict[str, str] = {}
    own = set(kept_names)
    kept: list[Statement] = []
    for s in body:
        s = aliased(s, alias)
        if written := changed([s]):
            table = {k: t for k, t in table.items() if not (isinstance(t, Load) and _sources(t) & written)}
        if isinstance(s, Loop):
            s = replace(s, body=share(s.body, values, table, {c.yielded for c in s.carried}))
        elif not isinstance(s, Store | Handover):
            key = _key(s, values)
            first = table.get(key)
            if first is None:
                table[key] = s
            elif not own & set(_names(s)):
                alias.update(zip(_names(s), _names(first), strict=True))
                continue
        kept.append(s)
    return tuple(kept)


def _sources(load: Load) -> set[tuple[str, str]]:
    return {(v.space, v.arg) for v in (load.view, *(i.index for i in load.indirect))}


def _names(s: Statement) -> list[str]:
    return [o.value for o in s.outs] if isinstance(s, Compute) else [s.value]  # type: ignore[union-attr]


def _key(s: Statement, values: Mapping[str, Value]) -> object:
    """Equal for statements that make equal values: names of results, dims and places left out."""
    kinds = tuple((values[n].shape, values[n].dtype) for n in _names(s))
    if isinstance(s, Compute):
        return kinds, _computed(s)
    if isinstance(s, Load):
        view = replace(s.view, where=Location())
        indirect = tuple(replace(i, index=replace(i.index, where=Location())) for i in s.indirect)
        return kinds, replace(s, value="", where=Location(), view=view, indirect=indirect)
    assert isinstance(s, Reshape | Insert)
    return kinds, replace(s, value="", where=Location())


def _computed(c: Compute) -> object:
    """What a nest computes, its dims and results by their numbers; numbers as they are spelled, as 0.0 is not
    -0.0.
    """
    dims: dict[str | None, int] = {d.name: i for i, d in enumerate(c.dims)}

    def of(dim: str | None) -> int | str | None:
        return dims.get(dim, dim)

    def axes(walk: tuple[Axis, ...]) -> object:
        return tuple((of(a.dim), a.offset, a.moved) for a in walk)

    def attr(entry: Scalar) -> object:
        if entry.op != "index":
            return repr(entry.attr)
        dim, offset = coordinate(entry)
        return of(dim), offset

    roles = c.contraction and tuple(
        tuple(of(dim) for dim in role)
        for role in (c.contraction.batch, c.contraction.m, c.contraction.n, c.contraction.k)
    )
    return (
        tuple((d.extent, d.kind) for d in c.dims),
        tuple((a.value, axes(a.axes)) for a in c.ins),
        tuple((axes(o.axes), o.result, o.combiner, repr(o.init)) for o in c.outs),
        tuple((e.op, e.args, e.dtype, attr(e)) for e in c.body),
        roles,
    )


def simplify_reshapes(
    body: Iterable[Statement], values: Mapping[str, Value], kept_names: Iterable[str] = ()
) -> tuple[Statement, ...]:
    """Chains of reshapes become one; a reshape back to the first shape goes."""
    source: dict[str, str] = {}
    alias: dict[str, str] = {}
    own = set(kept_names)
    kept: list[Statement] = []
    for s in body:
        s = aliased(s, alias)
        if isinstance(s, Loop):
            s = replace(s, body=simplify_reshapes(s.body, values, {c.yielded for c in s.carried}))
        if isinstance(s, Reshape):
            origin = source.get(s.source, s.source)
            source[s.value] = origin
            if values[origin].shape == values[s.value].shape and s.value not in own:
                alias[s.value] = origin
                continue
            s = replace(s, source=origin)
        kept.append(s)
    return tuple(kept)


def look_through(body: Iterable[Statement], values: Mapping[str, Value]) -> tuple[Statement, ...]:
    """The statements with nests reading what a copy only gives other unit axes, instead of the copy."""
    return _looked_through(body, values, {})


def _looked_through(
    body: Iterable[Statement], values: Mapping[str, Value], outer: Mapping[str, Access]
) -> tuple[Statement, ...]:
    known = dict(outer)
    kept: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=_looked_through(s.body, values, known))
        elif isinstance(s, Compute):
            if apart_entry(s) is None:  # what cores of different classes exchange lies alike in all
                s = replace(s, ins=tuple(_source(a, known) for a in s.ins))
            if (source := _unit_copy(s, values)) is not None:
                known[s.outs[0].value] = source
        kept.append(s)
    return tuple(kept)


def _source(read: Access, known: Mapping[str, Access]) -> Access:
    """Where a copy has what is read: the axes of the source are those of the copy by number, as dims."""
    while (copied := known.get(read.value)) is not None:
        axes = tuple(a if a.dim is None else read.axes[int(a.dim)] for a in copied.axes)
        read = Access(copied.value, axes)
    return read


def _unit_copy(c: Compute, values: Mapping[str, Value]) -> Access | None:
    """What a nest copies as it is but for unit axes, its axes by the numbers of the copy's."""
    out, entry = c.outs[0], c.body[c.outs[0].result]
    if len(c.outs) != 1 or out.combiner is not None or entry.op != "in" or len(c.ins) != 1:
        return None
    source = c.ins[0]
    one, other = values[source.value], values[out.value]
    longer = [[n for n in v.shape if n != 1] for v in (one, other)]
    walked = [
        [a for a, n in zip(x.axes, v.shape, strict=True) if n != 1] for x, v in ((source, one), (out, other))
    ]
    if one.dtype != other.dtype or longer[0] != longer[1] or walked[0] != walked[1]:
        return None
    place = {a.dim: str(k) for k, a in enumerate(out.axes)}
    if any(a.offset or a.dim is None for a in walked[0]):
        return None
    axes = (Axis(place[a.dim]) if n != 1 else Axis(None) for a, n in zip(source.axes, one.shape, strict=True))
    return Access(source.value, tuple(axes))


def number_inits(
    body: Iterable[Statement], fills: Mapping[str, float | int] | None = None
) -> tuple[Statement, ...]:
    """The statements with every `Out.init` that names a value filled with a number replaced by it."""
    known: dict[str, float | int] = dict(fills or {})
    kept: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=number_inits(s.body, known))
        if isinstance(s, Compute):
            known |= _filled(s)
            outs = tuple(
                replace(o, init=known.get(o.init, o.init)) if isinstance(o.init, str) else o for o in s.outs
            )
            s = replace(s, outs=outs)
        kept.append(s)
    return tuple(kept)


def _filled(c: Compute) -> dict[str, float | int]:
    found = {}
    for o in c.outs:
        entry = c.body[o.result]
        if o.combiner is None and entry.op == "const" and isinstance(entry.attr, float | int):
            found[o.value] = entry.attr
    return found
