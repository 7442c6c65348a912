"""Contractions, recognised by iterator types and maps: out += a product of two values."""

from __future__ import annotations

from dataclasses import replace

from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Access, Compute, Contraction, Loop, Scalar, Statement, Value

_PRODUCTS = ("arith.mulf", "arith.muli")
_WIDENINGS = ("arith.extf", "arith.extsi")


def recognise_all(body: tuple[Statement, ...], values: dict[str, Value]) -> tuple[Statement, ...]:
    """The block with every contraction marked, loops included."""
    return tuple(
        replace(s, body=recognise_all(s.body, values))
        if isinstance(s, Loop)
        else (recognise(s, values) if isinstance(s, Compute) else s)
        for s in body
    )


def recognise(c: Compute, values: dict[str, Value]) -> Compute:
    """The Compute as a contraction, if it is one: operands in role order, widening casts folded away."""
    if len(c.outs) != 1 or c.outs[0].combiner != "add":
        return c
    product = c.body[c.outs[0].result]
    if product.op not in _PRODUCTS or len(set(product.args)) != 2:
        return c
    operands = [_operand(c, position) for position in product.args]
    if any(o is None for o in operands):
        return c
    left, right = (c.ins[o] for o in operands if o is not None)
    kinds = {values[a.value].dtype for a in (left, right)}
    if len(kinds) != 1 or not _accumulates(c, product, kinds.pop(), values):
        return c
    roles = _roles(c, left, right)
    if roles is None:
        return c
    dtype = values[left.value].dtype
    body = (Scalar("in", (), dtype, 0), Scalar("in", (), dtype, 1), replace(product, args=(0, 1)))
    return replace(c, ins=(left, right), body=body, outs=(replace(c.outs[0], result=2),), contraction=roles)


def _operand(c: Compute, position: int) -> int | None:
    """The input an operand of the product is, looking through a widening cast."""
    entry = c.body[position]
    if entry.op in _WIDENINGS:
        entry = c.body[entry.args[0]]
    return entry.attr if entry.op == "in" and isinstance(entry.attr, int) else None


def _accumulates(c: Compute, product: Scalar, dtype: str, values: dict[str, Value]) -> bool:
    """Whether the product is formed in the type the sum is kept in: f32 or wider for floats."""
    if values[c.outs[0].value].dtype == "i1" or dtype == "i1":
        return False
    return product.dtype == dtype or itemsize(product.dtype) > itemsize(dtype) or not is_float(dtype)


def _roles(c: Compute, left: Access, right: Access) -> Contraction | None:
    """The role of every dim; None when an operand is walked in another way than one dim per axis."""
    in_left, in_right, in_out = (_dims(axes) for axes in (left.axes, right.axes, c.outs[0].axes))
    if in_left is None or in_right is None or in_out is None:
        return None
    batch: list[str] = []
    m: list[str] = []
    n: list[str] = []
    k: list[str] = []
    for d in c.dims:
        where = (d.name in in_left, d.name in in_right, d.name in in_out)
        role = {
            (True, True, True): batch,
            (True, False, True): m,
            (False, True, True): n,
            (True, True, False): k,
        }.get(where)
        if role is None or (d.kind == "reduction") != (role is k):
            return None
        role.append(d.name)
    return Contraction(tuple(batch), tuple(m), tuple(n), tuple(k)) if k else None


def _dims(axes) -> set[str] | None:  # type: ignore[no-untyped-def]
    names = [a.dim for a in axes if a.dim is not None]
    return set(names) if len(set(names)) == len(names) else None
