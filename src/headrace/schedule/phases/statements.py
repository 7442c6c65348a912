"""A class body made regular: only Loads, Stores, Computes and Loops are left; copies and inserts become
identity Computes.

Dims of extent 1 disappear, reshapes that add or drop axes of extent 1 become renamings, every other reshape
stays an
alias of its source's bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.schedule.graph import (
    Access,
    Axis,
    Compute,
    CoreClass,
    Dim,
    Handover,
    Insert,
    Load,
    Loop,
    Out,
    Reshape,
    Scalar,
    Statement,
    Store,
    Value,
)
from headrace.schedule.phases.combiners import without_single_reductions
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.products import simplified
from headrace.schedule.phases.storage import of_access, restrided


@dataclass(frozen=True)
class Block:
    """Statements of one level in order; `bodies` are the blocks of its loops by loop name."""

    statements: tuple[Load | Store | Compute | Loop | Handover, ...]
    bodies: dict[str, Block]


def regular(graph_class: CoreClass) -> tuple[Block, Names]:
    """Return the body of a class in regular form and its values."""
    names = Names(dict(graph_class.values), {}, {}, set())
    return _block(graph_class.body, names), names


def _block(body: tuple[Statement, ...], names: Names) -> Block:
    made: list[Load | Store | Compute | Loop | Handover] = []
    bodies: dict[str, Block] = {}
    for statement in body:
        match statement:
            case Handover():
                made.append(statement)
            case Load():
                names.loads[statement.value] = statement
                made.append(statement)
            case Store():
                made += _store(statement, names)
            case Compute():
                plain = without_unit_dims(_renamed(statement, names))
                found = [without_single_reductions(c, names.values) for c in simplified(plain, names)]
                names.computed |= {out.value for compute in found for out in compute.outs}
                made += found
            case Reshape():
                made += _reshape(statement, names)
            case Insert():
                made += [without_unit_dims(compute) for compute in _insert(statement, names)]
                names.computed.add(statement.value)
            case Loop():
                made += [_copied(c.init, c.inner, names) for c in statement.carried]
                bodies[statement.name] = _loop_body(statement, names)
                made.append(statement)
                names.renamed |= {c.result: c.inner for c in statement.carried}
    return Block(tuple(made), bodies)


def _loop_body(loop: Loop, names: Names) -> Block:
    """The body of a loop; a carried value is one storage, overwritten by what is yielded at the end of the
    body.

    A yielded value that is itself carried is saved first, as all carried values change at once.
    """
    inner = {c.inner for c in loop.carried}
    block = _block(loop.body, names)
    saves: list[Compute] = []
    copies: list[Compute] = []
    for carried in loop.carried:
        yielded = source_of(carried.yielded, names)
        if yielded == carried.inner:
            continue
        if yielded in inner:
            kept = names.fresh(f"{yielded}.kept", names.values[yielded])
            saves.append(_copied(yielded, kept.name, names))
            yielded = kept.name
        copies.append(_copied(yielded, carried.inner, names))
    return replace(block, statements=(*block.statements, *saves, *copies))


def _copied(source: str, target: str, names: Names) -> Compute:
    names.computed.add(target)
    return without_unit_dims(_renamed(identity(source, names.values[target], names), names))


def source_of(value: str, names: Names) -> str:
    """Return the value a name stands for after renamings of axes of extent 1."""
    while value in names.renamed:
        value = names.renamed[value]
    return value


def _reshape(statement: Reshape, names: Names) -> list[Compute]:
    """Make the value a renaming or an alias of its source; a load whose strides do not allow that is copied
    first.
    """
    source = source_of(statement.source, names)
    ours, theirs = names.values[statement.value].shape, names.values[source].shape
    if tuple(e for e in ours if e > 1) == tuple(e for e in theirs if e > 1):
        names.renamed[statement.value] = source
        return []
    source = names.aliases.get(source, source)
    copies: list[Compute] = []
    load = names.loads.get(source)
    if load is not None:
        where = of_access(load)
        shape = names.values[source].shape
        if where.indirect or restrided(shape, where.strides, ours) is None:
            kept = names.fresh(f"{source}.kept", names.values[source])
            copies.append(_copied(source, kept.name, names))
            source = kept.name
    names.aliases[statement.value] = source
    return copies


def access(value: str, axes: tuple[Axis, ...], names: Names) -> tuple[str, tuple[Axis, ...]]:
    """Return the access in terms of the value that `value` renames: axes of extent 1 inserted or dropped."""
    source = source_of(value, names)
    if source == value:
        return value, axes
    kept = iter(a for a, e in zip(axes, names.values[value].shape, strict=True) if e > 1)
    return source, tuple(next(kept) if e > 1 else Axis(None) for e in names.values[source].shape)


def _renamed(compute: Compute, names: Names) -> Compute:
    ins = tuple(Access(*access(a.value, a.axes, names)) for a in compute.ins)
    outs = tuple(
        replace(o, init=source_of(o.init, names)) if isinstance(o.init, str) else o for o in compute.outs
    )
    return replace(compute, ins=ins, outs=outs)


def without_unit_dims(compute: Compute) -> Compute:
    """Return the Compute without dims of extent 1; "index" entries of such dims keep only their offset."""
    units = {d.name for d in compute.dims if d.extent == 1}
    if not units:
        return compute

    def axes(old: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(None, a.offset) if a.dim in units else a for a in old)

    def scalar(old: Scalar) -> Scalar:
        if old.op == "index" and old.attr[0] in units:  # type: ignore[index]
            return replace(old, attr=(None, old.attr[1]))  # type: ignore[index]
        return old

    contraction = compute.contraction
    if contraction is not None:
        roles = {
            r: tuple(d for d in getattr(contraction, r) if d not in units) for r in ("batch", "m", "n", "k")
        }
        contraction = replace(contraction, **roles)
    return replace(
        compute,
        dims=tuple(d for d in compute.dims if d.name not in units),
        ins=tuple(Access(a.value, axes(a.axes)) for a in compute.ins),
        outs=tuple(replace(o, axes=axes(o.axes)) for o in compute.outs),
        body=tuple(scalar(s) for s in compute.body),
        contraction=contraction,
    )


def identity(source: str, target: Value, names: Names, offsets: tuple[int, ...] = ()) -> Compute:
    """Return the Compute that copies all of `source` into `target` at `offsets`."""
    value = names.values[source]
    names.count += 1
    stem = f"copy{names.count}"
    dims = tuple(Dim(f"{stem}.{k}", e, "parallel") for k, e in enumerate(value.shape))
    read = tuple(Axis(d.name) for d in dims)
    write = tuple(Axis(d.name, o) for d, o in zip(dims, offsets or (0,) * len(dims), strict=True))
    body = (Scalar("in", (), value.dtype, 0, value.where),)
    return Compute(
        dims, (Access(source, read),), (Out(target.name, write, 0),), body, where=value.where, source="copy"
    )


def _fill(target: Value, fill: float | int, names: Names) -> Compute:
    names.count += 1
    dims = tuple(Dim(f"fill{names.count}.{k}", e, "parallel") for k, e in enumerate(target.shape))
    out = Out(target.name, tuple(Axis(d.name) for d in dims), 0)
    return Compute(
        dims, (), (out,), (Scalar("const", (), target.dtype, fill, target.where),), where=target.where
    )


def _insert(statement: Insert, names: Names) -> list[Compute]:
    target = names.values[statement.value]
    made: list[Compute] = []
    if statement.dest is not None:
        made.append(identity(source_of(statement.dest, names), target, names))
    elif statement.fill is not None:
        made.append(_fill(target, statement.fill, names))
    return [*made, _renamed(identity(statement.source, target, names, statement.offsets), names)]


def _store(statement: Store, names: Names) -> list[Store | Compute]:
    """A store of a value that no Compute makes needs a copy through the core; its axes follow renamings."""
    source = source_of(statement.value, names)
    if source in names.computed:
        if source == statement.value:
            return [statement]
        kept = iter(
            a for a, e in zip(statement.axes, names.values[statement.value].shape, strict=True) if e > 1
        )
        axes = tuple(next(kept) if e > 1 else None for e in names.values[source].shape)
        return [replace(statement, value=source, axes=axes)]
    made = names.fresh(f"{statement.value}.stored", names.values[statement.value])
    names.computed.add(made.name)
    copy = without_unit_dims(_renamed(identity(statement.value, made, names), names))
    return [copy, replace(statement, value=made.name)]
