"""Contractions that are no matrix products: vectors times vectors, or a matrix read once along its depth,
become sums.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Access, Axis, Compute, Out, Scalar
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.storage import of_access, packed


def simplified(compute: Compute, names: Names) -> list[Compute]:
    """Return the Compute or what replaces it: factors of one type, sums for products with a vector, sums of a
    wider type than the value rounded at the end.
    """
    out = compute.outs[0]
    wide, dtype = compute.body[out.result].dtype, names.values[out.value].dtype
    if (
        out.combiner == "add"
        and len(compute.outs) == 1
        and is_float(dtype)
        and itemsize(wide) > itemsize(dtype)
    ):
        made = names.fresh(f"{out.value}.wide", replace(names.values[out.value], dtype=wide))
        init = None if isinstance(out.init, str) else out.init
        sums = replace(compute, outs=(replace(out, value=made.name, init=init),))
        return [*simplified(sums, names), _rounded(compute, made.name, wide, dtype)]
    roles = compute.contraction
    if roles is None:
        return [compute]
    if not roles.m or not roles.n:
        side = 0 if not roles.n else 1
        along = len(roles.k) == 1 and _runs_along_depth(compute, side, names)
        if not roles.m and not roles.n or along:
            return _as_sum(compute, names)
    return _of_one_type(compute, names)


def _runs_along_depth(compute: Compute, side: int, names: Names) -> bool:
    """Whether the matrix factor is contiguous along the depth, so that rows of it can be reduced as they
    lie.
    """
    roles = compute.contraction
    assert roles is not None
    access = compute.ins[side]
    value = names.aliases.get(access.value, access.value)
    load = names.loads.get(value)
    strides = packed(names.values[access.value].shape)
    if load is not None and value == access.value:
        strides = of_access(load).strides
    found = {a.dim: s for a, s in zip(access.axes, strides, strict=True) if a.dim is not None}
    return any(found.get(k) == 1 for k in roles.k) or not roles.k


def _as_sum(compute: Compute, names: Names) -> list[Compute]:
    """The product in the accumulator's type, summed; a narrow result is rounded at the end."""
    out = compute.outs[0]
    dtype = compute.body[out.result].dtype
    wide = "f32" if is_float(dtype) and itemsize(dtype) < 4 else dtype
    body: list[Scalar] = []
    factors: list[int] = []
    for position, access in enumerate(compute.ins[:2]):
        own = names.values[access.value].dtype
        body.append(Scalar("in", (), own, position, compute.where))
        if own != wide:
            body.append(Scalar(_widening(own), (len(body) - 1,), wide, None, compute.where))
        factors.append(len(body) - 1)
    name = "arith.mulf" if is_float(wide) else "arith.muli"
    body.append(Scalar(name, (factors[0], factors[1]), wide, None, compute.where))
    if wide == dtype:
        sums = replace(out, result=len(body) - 1)
        return [replace(compute, outs=(sums,), body=tuple(body), contraction=None)]
    made = names.fresh(f"{out.value}.wide", replace(names.values[out.value], dtype=wide))
    is_number = not isinstance(out.init, str)
    sums = Out(made.name, out.axes, len(body) - 1, out.combiner, out.init if is_number else None)
    total = replace(compute, outs=(sums,), body=tuple(body), contraction=None)
    return [total, _rounded(compute, made.name, wide, dtype)]


def _rounded(compute: Compute, source: str, wide: str, dtype: str) -> Compute:
    out = compute.outs[0]
    dims = tuple(replace(d, name=f"{d.name}'") for d in compute.dims if d.kind == "parallel")
    axes = tuple(Axis(None if a.dim is None else f"{a.dim}'", a.offset) for a in out.axes)
    ins = [Access(source, axes)]
    body = [Scalar("in", (), wide, 0)]
    if isinstance(out.init, str):
        ins.append(Access(out.init, axes))
        body += [
            Scalar("in", (), dtype, 1),
            Scalar("arith.extf", (1,), wide),
            Scalar("arith.addf", (0, 2), wide),
        ]
    body.append(Scalar("arith.truncf", (len(body) - 1,), dtype))
    return Compute(dims, tuple(ins), (Out(out.value, axes, len(body) - 1),), tuple(body), where=compute.where)


def _widening(dtype: str) -> str:
    return "arith.extf" if is_float(dtype) else "arith.extsi"


def _of_one_type(compute: Compute, names: Names) -> list[Compute]:
    """Factors of different types: the narrow one is widened first."""
    types = [names.values[a.value].dtype for a in compute.ins[:2]]
    if types[0] == types[1]:
        return [compute]
    wide = max(types, key=itemsize)
    if {types[0], types[1]} == {"f16", "bf16"}:
        wide = "f32"
    ins = list(compute.ins)
    casts: list[Compute] = []
    for position, dtype in enumerate(types):
        if dtype == wide:
            continue
        value = names.values[ins[position].value]
        made = names.fresh(f"{value.name}.{wide}", replace(value, dtype=wide))
        casts.append(_cast(ins[position], made.name, dtype, wide, compute))
        ins[position] = Access(made.name, ins[position].axes)
    return [*casts, replace(compute, ins=tuple(ins))]


def _cast(access: Access, target: str, dtype: str, wide: str, compute: Compute) -> Compute:
    used = [a.dim for a in access.axes if a.dim is not None]
    dims = tuple(
        replace(d, name=f"{d.name}'{target}", kind="parallel") for d in compute.dims if d.name in used
    )
    axes = tuple(Axis(None if a.dim is None else f"{a.dim}'{target}", a.offset) for a in access.axes)
    body = (Scalar("in", (), dtype, 0), Scalar(_widening(dtype), (0,), wide))
    return Compute(dims, (Access(access.value, axes),), (Out(target, axes, 1),), body, where=compute.where)
