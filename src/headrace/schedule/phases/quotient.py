"""A softmax divided late: the product takes exponentials, and its result is divided by their sum.

    (exp(s) / total) x v  =  (exp(s) x v) / total

The product is linear in its weights, and its result has fewer elements than they have where there are more
keys than columns of the result. The exponentials of what is left when the maximum is taken away are 1 at
most: they are rounded to the type of the product before they are divided, not behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from headrace.schedule.graph import Access, Axis, Compute, Dim, Handover, Load, Loop, Out, Scalar, Store
from headrace.schedule.phases.chain import chains
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.softmax import Softmax, softmax
from headrace.schedule.phases.statements import Block, without_unit_dims

Statement = Load | Store | Compute | Loop | Handover


def divided_late(block: Block, names: Names) -> Block:
    """Return the block, and the bodies of its loops, with the quotients of softmaxes behind their products
    where that divides less.
    """
    statements: list[Statement] = []
    for part, _ in chains(block, names):
        found = softmax(part, names)
        statements += part.statements if found is None else _divided(part, found, names)
    return Block(tuple(statements), {name: divided_late(body, names) for name, body in block.bodies.items()})


def _divided(block: Block, found: Softmax, names: Names) -> Iterator[Statement]:
    quotient, total, mix = (
        block.statements[n] if n is not None else None for n in (found.quotient, found.total, found.mix)
    )
    assert isinstance(total, Compute) and isinstance(mix, Compute)
    if not isinstance(quotient, Compute) or _elements(quotient, names) < _elements(mix, names):
        yield from block.statements
        return
    (out,) = mix.outs
    made = names.fresh(out.value, names.values[out.value])
    names.computed.add(made.name)
    for statement in block.statements:
        if statement is quotient:
            yield _without_quotient(quotient)
        elif statement is mix:
            yield replace(mix, outs=(replace(out, value=made.name),))
            yield from _quotient(mix, made.name, _sums(found, total), names)
        else:
            yield statement


def _elements(compute: Compute, names: Names) -> int:
    return prod(names.values[compute.outs[0].value].shape)


def _sums(found: Softmax, total: Compute) -> Access:
    """The sum of each row, as the product walks rows."""
    pairs = zip(found.rows[found.total], found.rows[found.mix], strict=True)
    dims = {ours.dim: theirs.dim for ours, theirs in pairs}
    (out,) = total.outs
    return Access(out.value, tuple(Axis(dims[a.dim], a.offset) for a in out.axes))


def _quotient(mix: Compute, value: str, sums: Access, names: Names) -> Iterator[Compute]:
    """The result of a product over the sum of each row: times its reciprocal."""
    (out,) = mix.outs
    inverse = names.fresh(sums.value, names.values[sums.value])
    names.computed.add(inverse.name)
    one = Scalar("const", (), "f32", 1.0)
    by = Out(inverse.name, sums.axes, 2)
    yield _pointwise(mix, [sums], by, (one, Scalar("arith.divf", (1, 0), "f32")))
    times = Scalar("arith.mulf", (0, 1), "f32")
    ins = [Access(value, out.axes), replace(sums, value=inverse.name)]
    yield _pointwise(mix, ins, replace(out, result=2), (times,))


def _pointwise(mix: Compute, ins: Sequence[Access], out: Out, ops: tuple[Scalar, ...]) -> Compute:
    extents = {d.name: d.extent for d in mix.dims}
    dims = tuple(Dim(a.dim, extents[a.dim], "parallel") for a in out.axes if a.dim is not None)
    body = (*(Scalar("in", (), "f32", k) for k in range(len(ins))), *ops)
    return without_unit_dims(Compute(dims, tuple(ins), (out,), body, where=mix.where, source="late quotient"))


def _without_quotient(compute: Compute) -> Compute:
    """The casts of a statement that casts and divides."""
    casts: list[Scalar] = []
    entry = compute.body[compute.outs[0].result]
    while entry.op != "in":
        casts += [entry] if entry.op != "arith.divf" else []
        entry = compute.body[entry.args[0]]
    assert isinstance(entry.attr, int)
    body = [replace(entry, attr=0)]
    body += [replace(cast, args=(k,)) for k, cast in enumerate(reversed(casts))]
    return replace(
        compute,
        ins=(compute.ins[entry.attr],),
        outs=(replace(compute.outs[0], result=len(body) - 1),),
        body=tuple(body),
    )
