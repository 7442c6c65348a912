"""Tensors of another shape: constants, repeats, reorderings, slices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from headrace.numbers.dtypes import is_float
from headrace.runtime.ktir import operators, values
from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.spans import spans
from headrace.runtime.ktir.types import require_dtype, type_text

if TYPE_CHECKING:
    from headrace.runtime.ktir.types import Number
    from headrace.runtime.ktir.values import Value

Shape = tuple[int, ...]


def empty(code: Code, shape: Shape, dtype: str) -> Value:
    """A tensor without values, for an op to write."""
    name = code.let(f"tensor.empty() : {type_text(shape, require_dtype(dtype))}", "empty")
    return values.Value(code, name, dtype, shape, code.block)


def full(code: Code, shape: Shape, number: Number, dtype: str) -> Value:
    """A tensor of one number."""
    target = empty(code, shape, dtype)
    value = code.constant(number, dtype)
    text = f"linalg.fill ins({value} : {dtype}) outs({target.name} : {target.type}) -> {target.type}"
    return target.let(text, dtype, shape, "full")


def arange(code: Code, size: int, dtype: str) -> Value:
    """0, 1, … size - 1."""
    whole = "i32" if is_float(dtype) else dtype
    target = empty(code, (size,), whole)
    maps = f'indexing_maps = [{code.identity(1)}], iterator_types = ["parallel"]'
    name = code.fresh("arange")
    out, at, cast = code.fresh("out"), code.fresh("at"), code.fresh("n")
    code.enter(f"{name} = linalg.generic {{{maps}}} outs({target.name} : {target.type}) {{")
    code.op(f"^bb0({out}: {whole}):")
    code.op(f"{at} = linalg.index 0 : index")
    code.op(f"{cast} = arith.index_cast {at} : index to {whole}")
    code.leave(f"linalg.yield {cast} : {whole}", f" -> {target.type}")
    return values.Value(code, name, whole, (size,), code.block).cast(dtype)


def broadcast(value: Value, shape: Sequence[int]) -> Value:
    """The value repeated to `shape` by NumPy's rules."""
    wanted = tuple(shape)
    if value.shape == wanted:
        return value
    if value.shape is None:
        return operators.spread(value, value, value.dtype, wanted)
    if operators.common_shape("broadcast", [value.shape, wanted]) != wanted:
        raise wrong(f"a tensor of shape {list(value.shape)} does not repeat to {list(wanted)}")
    lead = len(wanted) - len(value.shape)
    padded = (1,) * lead + value.shape
    added = [k for k, n in enumerate(wanted) if k < lead or padded[k] != n]
    kept = tuple(n for k, n in enumerate(wanted) if k not in added)
    source = value.reshape(*kept)
    target = empty(value.code, wanted, value.dtype)
    between = f"ins({source.use()} : {source.type}) outs({target.name} : {target.type})"
    text = f"linalg.broadcast {between} dimensions = {added}"
    return value.let(text, value.dtype, wanted, "all")


def transpose(value: Value, order: Sequence[int]) -> Value:
    """The value with its dims in another order."""
    shape = value.extents
    chosen = tuple(order) or tuple(reversed(range(len(shape))))
    if sorted(chosen) != list(range(len(shape))):
        raise wrong(f"{list(chosen)} is no order of {len(shape)} dims", "name every dim once")
    wanted = tuple(shape[k] for k in chosen)
    target = empty(value.code, wanted, value.dtype)
    between = f"ins({value.use()} : {value.type}) outs({target.name} : {target.type})"
    text = f"linalg.transpose {between} permutation = {list(chosen)}"
    return value.let(text, value.dtype, wanted, "turned")


def reshape(value: Value, shape: Sequence[int]) -> Value:
    """The value's elements in another shape; HeadraceError when there are more or fewer of them."""
    old, new = value.extents, tuple(shape)
    if old == new:
        return value
    if prod(old) != prod(new):
        raise wrong(f"{list(old)} has {prod(old)} elements, {list(new)} has {prod(new)}")
    source = value if value.origin is None else value.origin
    return source if source.shape == new else regrouped(source, new)


def regrouped(value: Value, new: Shape) -> Value:
    """A reshape by one op, or through one dim when no grouping of dims does it."""
    old = value.extents
    if len(new) < len(old) and (grouping := groups(old, new)) is not None:
        return _regroup(value, "tensor.collapse_shape", grouping, new)
    if len(new) > len(old) and (grouping := groups(new, old)) is not None:
        return _regroup(value, "tensor.expand_shape", grouping, new)
    return regrouped(regrouped(value, (prod(old),)), new)


def groups(many: Shape, few: Shape) -> list[list[int]] | None:
    """Runs of dims of `many` whose products are the dims of `few`; None when there are none."""
    found: list[list[int]] = []
    k = 0
    for n in few:
        run: list[int] = []
        size = 1
        while k < len(many) and (not run or size < n):
            size *= many[k]
            run.append(k)
            k += 1
        if size != n or not run:
            return None
        found.append(run)
    rest = list(range(k, len(many)))
    if any(many[d] != 1 for d in rest):
        return None
    if found:
        found[-1] += rest
    return found


def take(value: Value, key: Any) -> Value:
    """A slice of a tensor: `tensor[2:4, :, row]`; a single coordinate drops its dim."""
    found = spans(value.code, key, value.extents, "a tensor")
    sizes = tuple(s.size for s in found)
    offsets = ", ".join(str(s.start.constant) if not s.start.terms else s.start.name for s in found)
    wanted = type_text(sizes, value.dtype)
    where = f"[{offsets}] {list(sizes)} {[1] * len(sizes)} : {value.type} to {wanted}"
    text = f"tensor.extract_slice {value.use()}{where}"
    part = value if sizes == value.shape else value.let(text, value.dtype, sizes, "part")
    return part.reshape(*(s.size for s in found if not s.is_single))


def _regroup(value: Value, op: str, grouping: list[list[int]], shape: Shape) -> Value:
    extra = f" output_shape {list(shape)}" if op == "tensor.expand_shape" else ""
    types = f"{value.type} into {type_text(shape, value.dtype)}"
    return value.let(f"{op} {value.use()} {grouping}{extra} : {types}", value.dtype, shape, "shaped")
