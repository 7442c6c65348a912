"""A perfect nest evaluated with NumPy over its whole domain: what every linalg op comes down to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from headrace.numbers.dtypes import numpy_dtype
from headrace.semantics.access import OutOfBounds
from headrace.semantics.body import evaluate_body
from headrace.semantics.combiners import (
    Combination,
    accumulate,
    carrier,
    combinations,
    fold,
    identity,
    merge,
    settle,
)
from headrace.semantics.contractions import contract, product
from headrace.semantics.frame import Empty, Frame
from headrace.semantics.intrinsics import is_statistics
from headrace.semantics.nests import BLOCK_ELEMENTS, Domain, blocks, extents, grid_of, over, part
from headrace.semantics.nests import Block as Run
from headrace.semantics.picks import candidates, fold_in_order

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Nest:
    """An op as a nest: `body` has one argument per input, then (unless it is a map) one per output.

    The first `apart` dims count nests that are computed together.
    """

    op: Operation
    inputs: tuple[SSAValue, ...]
    outputs: tuple[SSAValue, ...]
    maps: tuple[AffineMap, ...]
    reductions: tuple[int, ...]
    body: Block
    apart: int = 0

    @property
    def carried(self) -> Sequence[BlockArgument]:
        """The body's arguments that stand for outputs."""
        return tuple(self.body.args[len(self.inputs) :])


def run(frame: Frame, nest: Nest) -> list[Array]:
    """The results of the nest; HeadraceError when operands disagree or an uninitialised output is read."""
    inputs = [frame.array(nest.op, v) for v in nest.inputs]
    starts = [frame.get(v) for v in nest.outputs]
    try:
        sizes = extents(nest.maps, (*(x.shape for x in inputs), *(s.shape for s in starts)))
        domain = Domain(sizes, nest.reductions)
        views = [over(x, m, sizes) for x, m in zip(inputs, nest.maps, strict=False)]
        results = [_result(frame, nest, k, start) for k, start in enumerate(starts)]
        outs = [over(r, m, sizes, True) for r, m in zip(results, nest.maps[len(inputs) :], strict=True)]
    except (ValueError, OutOfBounds) as error:
        raise frame.error(nest.op, str(error)) from None
    _require_written(frame, nest, domain, outs)
    if math.prod(sizes[d] for d in domain.parallel) == 0:
        return results
    if not domain.reductions:
        _pointwise(frame, nest, domain, views, outs)
    else:
        _reduce(frame, nest, domain, views, outs)
    return results


def _result(frame: Frame, nest: Nest, number: int, start: Any) -> Array:
    """The array a result is written to, holding what the body carries in."""
    is_read = bool(nest.carried) and nest.carried[number].first_use is not None
    if not isinstance(start, Empty):
        return np.array(start)
    if not is_read or frame.launch.options.empty == "zero":
        return np.zeros(start.shape, numpy_dtype(start.dtype))
    found = combinations(nest.body, nest.carried)[number] if nest.reductions else None
    if found is None:
        frame.array(nest.op, nest.outputs[number])  # raises
    assert found is not None
    frame.warn(
        nest.op,
        f"the accumulator is a tensor.empty; it starts at the identity of '{found.kind}'",
        "fill the accumulator with a linalg.fill",
    )
    return np.full(start.shape, identity(found.kind, start.dtype))


def _require_written(frame: Frame, nest: Nest, domain: Domain, outs: Sequence[Array]) -> None:
    for out in outs:
        for dim in domain.parallel:
            if out.shape[dim] == 1 and domain.extents[dim] > 1:
                raise frame.error(
                    nest.op,
                    f"several points of parallel dim d{dim} write one element of a result",
                    "make the dim a reduction, or name it in the result's map",
                )
        for dim in domain.reductions:
            if out.shape[dim] > 1:
                raise frame.error(nest.op, f"reduction dim d{dim} appears in a result's map")


def _pointwise(
    frame: Frame, nest: Nest, domain: Domain, views: Sequence[Array], outs: Sequence[Array]
) -> None:
    carried = outs if nest.carried else []
    for block in blocks(domain.extents, range(len(domain.extents))):
        given = [part(v, block) for v in (*views, *carried)]
        values = evaluate_body(frame, nest.body, given, grid_of(block))
        for out, value in zip(outs, values, strict=True):
            part(out, block)[...] = value


def _reduce(frame: Frame, nest: Nest, domain: Domain, views: Sequence[Array], outs: Sequence[Array]) -> None:
    if is_statistics(nest.body):
        _average(frame, nest, domain, views, outs)
        return
    found = frame.once("combinations", nest.op, lambda: combinations(nest.body, nest.carried))
    if len(outs) == 1:
        term = frame.once("product", nest.op, lambda: product(found[0], len(views)))
        if term is not None and found[0] is not None:
            sides = [views[term.left], views[term.right]]
            if term.is_unsigned:
                sides = [s.view(f"u{s.dtype.itemsize}") for s in sides]
            total = contract(sides[0], sides[1], domain, found[0].dtype, nest.apart)
            if str(nest.carried[0].type) == "f32" and found[0].dtype == "f32":
                accumulate(outs[0], total, "f32")
                return
            start = carrier("add", outs[0], found[0].dtype)
            outs[0][...] = settle(merge("add", start, total, found[0].dtype), str(nest.carried[0].type))
            return
    known = [c for c in found if c is not None]
    if len(known) == len(found):
        _combine(frame, nest, domain, views, outs, known)
        return
    terms = frame.once("candidates", nest.op, lambda: candidates(nest.body, nest.carried))
    if terms is not None:
        _choose(frame, nest, domain, views, outs, terms)
    else:
        _recur(frame, nest, domain, views, outs)


def _combine(
    frame: Frame,
    nest: Nest,
    domain: Domain,
    views: Sequence[Array],
    outs: Sequence[Array],
    found: Sequence[Combination],
) -> None:
    """Every result combined on its own: terms over a block, folded along the reduction dims."""
    for outer in blocks(domain.extents, domain.parallel):
        totals: list[Array | None] = [None] * len(outs)
        sizes = [s.stop - s.start for s in outer]
        for inner in blocks(sizes, domain.reductions):
            block = _shifted(inner, outer)
            terms = evaluate_body(
                frame, nest.body, [part(v, block) for v in views], grid_of(block), [c.term for c in found]
            )
            shape = [s.stop - s.start for s in block]
            for k, (value, how) in enumerate(zip(terms, found, strict=True)):
                whole = _stretch(value, shape)
                folded = fold(how.kind, whole, how.dtype, domain.reductions)
                previous = totals[k]
                kind = "add" if how.kind == "sub" else how.kind
                totals[k] = folded if previous is None else merge(kind, previous, folded, how.dtype)
        for k, (total, how) in enumerate(zip(totals, found, strict=True)):
            out = part(outs[k], outer)
            start = carrier(how.kind, out, str(nest.carried[k].type))
            if total is not None:
                out[...] = settle(merge(how.kind, start, total, how.dtype), str(nest.carried[k].type))


def _average(frame: Frame, nest: Nest, domain: Domain, views: Sequence[Array], outs: Sequence[Array]) -> None:
    """Results that are means of what the body yields, over the reduction dims."""
    for block in blocks(domain.extents, domain.parallel):
        values = evaluate_body(frame, nest.body, [part(v, block) for v in views], grid_of(block))
        shape = [s.stop - s.start for s in block]
        for out, value, argument in zip(outs, values, nest.carried, strict=True):
            dtype = str(argument.type)
            total = fold("add", _stretch(value, shape), dtype, domain.reductions)
            with np.errstate(all="ignore"):
                part(out, block)[...] = settle(total / domain.terms, dtype)


def _stretch(value: Array, shape: Sequence[int]) -> Array:
    """Terms with their full extent along every dim."""
    full = (1,) * (len(shape) - value.ndim) + value.shape
    return np.broadcast_to(value.reshape(full), shape)


def _shifted(inner: Run, outer: Run) -> Run:
    return tuple(slice(i.start + o.start, i.stop + o.start) for i, o in zip(inner, outer, strict=True))


def _choose(
    frame: Frame,
    nest: Nest,
    domain: Domain,
    views: Sequence[Array],
    outs: Sequence[Array],
    terms: Sequence[SSAValue],
) -> None:
    """Results that keep one of the candidates: neighbours compared with neighbours, in order."""
    last = nest.body.last_op
    assert last is not None
    wanted = list(last.operands)

    def merge(held: Sequence[Array], others: Sequence[Array]) -> list[Array]:
        given = dict(zip([*nest.carried, *terms], [*held, *others], strict=True))
        shape = np.broadcast_shapes(*(x.shape for x in (*held, *others)))
        found = evaluate_body(frame, nest.body, (), (), wanted, given)
        return [np.broadcast_to(v, shape) for v in found]

    reductions = domain.reductions
    for block in blocks(domain.extents, domain.parallel, BLOCK_ELEMENTS * 16):
        shape = [s.stop - s.start for s in block]
        values = evaluate_body(frame, nest.body, [part(v, block) for v in views], grid_of(block), terms)
        lined = [_lined_up(_stretch(v, shape), reductions) for v in values]
        held = [part(out, block) for out in outs]
        state = fold_in_order(lined, [_lined_up(h, reductions)[..., 0] for h in held], merge)
        for out, value in zip(held, state, strict=True):
            out[...] = np.expand_dims(value, reductions)


def _lined_up(array: Array, axes: Sequence[int]) -> Array:
    """The array with `axes` merged, in order, into one last axis."""
    moved = np.moveaxis(array, axes, range(-len(axes), 0))
    return moved.reshape((*moved.shape[: moved.ndim - len(axes)], -1))


def _recur(frame: Frame, nest: Nest, domain: Domain, views: Sequence[Array], outs: Sequence[Array]) -> None:
    """Any other recurrence: one reduction point after the other, all parallel points of it at once."""
    state: list[Array] = list(outs)
    shape = [1 if d in domain.reductions else n for d, n in enumerate(domain.extents)]
    for point in np.ndindex(*(domain.extents[d] for d in domain.reductions)):
        at = dict(zip(domain.reductions, point, strict=True))
        block = tuple(
            slice(at[d], at[d] + 1) if d in at else slice(0, n) for d, n in enumerate(domain.extents)
        )
        given = [part(v, block) for v in views]
        values = evaluate_body(frame, nest.body, [*given, *state], grid_of(block))
        state = [np.broadcast_to(v, shape) for v in values]
    for out, value in zip(outs, state, strict=True):
        out[...] = value
