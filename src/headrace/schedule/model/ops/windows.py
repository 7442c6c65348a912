"""Operands walked by sums of dims, as in convolutions: their load is made again with one axis per dim."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.ir.text import location
from headrace.schedule.graph import Linear, Load, View
from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Filled, Tensor, whole


def as_windows(
    state: State, tensor: AnyTensor, amap: AffineMap, extents: Sequence[int], op: Operation
) -> tuple[AnyTensor, AffineMap]:
    """The operand and its map such that every axis is walked by one dim; unchanged if that is so already."""
    names = [f"#{k}" for k in range(len(extents))]
    ranges = {n: (0, e - 1) for n, e in zip(names, extents, strict=True)}
    try:
        walk = affine.apply(amap, [Num(0, {n: 1}) for n in names], ranges)
    except NotLinear:
        raise _refusal(amap) from None
    if all(len(n.terms) <= 1 and set(n.terms.values()) <= {1} for n in walk):
        return tensor, amap
    used = [k for k, n in enumerate(names) if any(n in w.terms for w in walk)]
    simple = AffineMap(amap.num_dims, 0, tuple(AffineExpr.dimension(k) for k in used))
    shape = tuple(extents[k] for k in used)
    if isinstance(tensor, Filled):
        return Filled(shape, tensor.dtype, tensor.fill), simple
    load = _source(state, tensor)
    if load is None:
        raise _refusal(amap)
    _check_inside(tensor, walk, ranges)
    view = _walked(load, tensor, walk, [names[k] for k in used], shape)
    name = state.value(shape, tensor.dtype, location(op))
    made = Load(name, view, (Linear(),) * len(shape), tuple(range(len(shape))), (), location(op))
    state.block.append(made)
    return whole(name, shape, tensor.dtype), simple


def _source(state: State, tensor: Tensor) -> Load | None:
    """The load a tensor is a view of, if its memory is still the same."""
    load, stores = state.loads.get(tensor.source, (None, 0))
    if load is None or load.indirect or state.stores[load.view.space, load.view.arg] != stores:
        return None
    return load


def _check_inside(tensor: Tensor, walk: Sequence[Num], ranges: nm.Ranges) -> None:
    for axis, (form, extent) in enumerate(zip(walk, tensor.shape, strict=True)):
        low, high = nm.bounds(form, ranges)
        if int(low) < 0 or int(high) >= extent:
            raise Refused(f"the indexing map reaches {low}..{high} of the {extent} positions of axis {axis}")


def _walked(
    load: Load, tensor: Tensor, walk: Sequence[Num], names: Sequence[str], shape: tuple[int, ...]
) -> View:
    """The memory of a load, with one view dim per dim of the nest."""
    view = load.view
    start = from_linear(view.start)
    for origin, stride in zip(load.origin, view.strides, strict=True):
        start = nm.add(start, nm.scale(from_linear(origin), stride))
    steps = dict.fromkeys(names, 0)
    for d, (axis, offset) in zip(load.axes, tensor.axes, strict=True):
        if d is None:
            continue
        form = nm.add(walk[axis], Num(offset)) if axis is not None else Num(offset)
        start = nm.add(start, Num(form.const * view.strides[d]))
        for name, factor in form.terms.items():
            steps[name] += factor * view.strides[d]
    return View(view.arg, linear(start), view.dtype, shape, tuple(steps.values()), view.space, view.where)


def _refusal(amap: AffineMap) -> Refused:
    return Refused(
        f"the indexing map {amap} walks a computed tensor by more than one dim plus a number per axis",
        "store the tensor first, and load it through an access tile that walks it this way",
    )
