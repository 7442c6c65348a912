"""linalg.generic and everything that is one: maps, iterators and a region become a Compute or views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from headrace.ir.text import location
from headrace.schedule.graph import Axis, Dim, Out
from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.bodies import argument
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.combiners import Combination, identity, recognise
from headrace.schedule.model.bodies.regions import Locals, coordinate, evaluate, operand
from headrace.schedule.model.ops.windows import as_windows
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, Integer, Tensor, through, whole


@dataclass(frozen=True)
class Nest:
    """One structured op: tensors with their maps (ins first, then outs), iterator types, and the region."""

    op: Operation
    ins: tuple[AnyTensor, ...]
    outs: tuple[AnyTensor, ...]
    maps: tuple[AffineMap, ...]
    kinds: tuple[str, ...]
    block: Block
    accumulators: tuple[SSAValue, ...] | None = None
    """Block arguments of the outs; the last ones unless given (empty: the region does not see them)."""

    @property
    def out_arguments(self) -> tuple[SSAValue, ...]:
        """The block arguments that stand for the outs."""
        given = self.accumulators
        return tuple(self.block.args)[len(self.ins) :] if given is None else given


def structured(state: State, nest: Nest) -> list[AnyTensor]:
    """The results of a structured op, one tensor per out."""
    extents = extents_of((*nest.ins, *nest.outs), nest.maps, len(nest.kinds))
    pairs = [as_windows(state, t, m, extents, nest.op) for t, m in zip(nest.ins, nest.maps, strict=False)]
    maps = (*(m for _, m in pairs), *nest.maps[len(pairs) :])
    nest = replace(nest, ins=tuple(t for t, _ in pairs), maps=maps)
    views = _as_views(nest, extents)
    if views is not None:
        return views
    if "reduction" not in nest.kinds:
        return _map(state, nest, *_prepare(state, nest, extents))
    pair = argument.recognise_pair(nest.block, nest.out_arguments, _yielded(nest))
    if pair is not None:
        return argument.build(
            state, nest.op, nest.block, pair, lambda: _prepare(state, nest, extents), nest.outs
        )
    return _reduce(state, nest, *_prepare(state, nest, extents))


def _prepare(
    state: State, nest: Nest, extents: Sequence[int]
) -> tuple[Body, Locals, tuple[tuple[Axis, ...], ...]]:
    """A body with the inputs entered, and how the outs are walked."""
    body = Body(state.dims(extents, nest.kinds), state.ranges)
    walks = [walk_of(amap, body) for amap in nest.maps]
    local: Locals = {}
    for ssa, tensor, walk in zip(nest.block.args, nest.ins, walks, strict=False):
        if ssa.uses.get_length():
            _check_written(tensor)
            local[ssa] = state.element(body, tensor, walk)
    return body, local, tuple(walks[len(nest.ins) :])


def _map(
    state: State, nest: Nest, body: Body, local: Locals, walks: Sequence[tuple[Axis, ...]]
) -> list[AnyTensor]:
    for ssa, tensor, walk in zip(nest.out_arguments, nest.outs, walks, strict=False):
        if ssa.uses.get_length():
            _check_written(tensor)
            local[ssa] = state.element(body, tensor, walk)
    evaluate(state, body, nest.block, local)
    results = [operand(state, body, v, local) for v in _yielded(nest)]
    plain = [
        isinstance(r, Constant) or (isinstance(r, Integer) and r.value.fixed is not None) for r in results
    ]
    if all(plain):
        return [
            Filled(t.shape, t.dtype, r)
            for t, r in zip(nest.outs, results, strict=True)
            if isinstance(r, Constant | Integer)
        ]
    outs = [
        Out(state.value(t.shape, t.dtype, location(nest.op)), walk, body.place(r))
        for t, walk, r in zip(nest.outs, walks, results, strict=True)
    ]
    for out, r in zip(outs, results, strict=True):
        if isinstance(r, Integer) and not any(a.dim is None or a.offset for a in out.axes):
            extents = {d.name: d for d in body.dims}
            state.note_formula(out.value, [extents[a.dim or ""] for a in out.axes], r)
    return _emit(state, nest, body, outs)


def _reduce(
    state: State, nest: Nest, body: Body, local: Locals, walks: Sequence[tuple[Axis, ...]]
) -> list[AnyTensor]:
    found = [recognise(nest.block, a, y) for a, y in zip(nest.out_arguments, _yielded(nest), strict=True)]
    combinations = [c for c in found if c is not None]
    if len(combinations) != len(found):
        raise Refused(
            "the reduction region is none of the known combinations",
            "combine the accumulator once, by add, mul, max, min, and, or (argmax: compare, two selects)",
        )
    evaluate(state, body, nest.block, local, {op for c in combinations for op in c.ops})
    outs = [
        _reduced(state, nest, body, local, c, t, walk)
        for c, t, walk in zip(combinations, nest.outs, walks, strict=True)
    ]
    return _emit(state, nest, body, outs)


def _reduced(
    state: State,
    nest: Nest,
    body: Body,
    local: Locals,
    combination: Combination,
    out: AnyTensor,
    walk: tuple[Axis, ...],
) -> Out:
    def get(ssa: SSAValue) -> Operand:
        return operand(state, body, ssa, local)

    result = body.place(combination.term(body, get))
    init = initial(state, out, combination.combiner, nest.op)
    name = state.value(out.shape, out.dtype, location(nest.op))
    return Out(name, walk, result, combination.combiner, init)


def initial(state: State, tensor: AnyTensor, combiner: str, op: Operation) -> str | float | int:
    """`Out.init` for a reduction that starts from a tensor: a number if it is filled with one."""
    if isinstance(tensor, Filled):
        fill = identity(combiner, tensor.dtype) if tensor.fill is None else tensor.fill
        if isinstance(fill, Constant):
            return fill.value
        if fill.value.fixed is not None:
            return fill.value.fixed
    elif tensor.source in state.undefined:
        return initial(state, Filled(tensor.shape, tensor.dtype, None), combiner, op)
    return state.materialise(tensor, location(op))


def _emit(state: State, nest: Nest, body: Body, outs: list[Out]) -> list[AnyTensor]:
    state.compute(body, outs, location(nest.op), nest.op.name)
    return [whole(o.value, t.shape, t.dtype) for o, t in zip(outs, nest.outs, strict=True)]


def extents_of(tensors: Sequence[AnyTensor], maps: Sequence[AffineMap], count: int) -> list[int]:
    """The extent of every one of `count` dims, from the operands that walk it."""
    found: dict[int, int] = {}
    for tensor, amap in zip(tensors, maps, strict=True):
        for extent, expr in zip(tensor.shape, amap.results, strict=True):
            if isinstance(expr, AffineDimExpr):
                if found.setdefault(expr.position, extent) != extent:
                    raise Refused(f"dim {expr.position} has extent {found[expr.position]} and {extent}")
    if len(found) != count:
        raise Refused(
            "an iteration dim is walked by no operand alone", "add an operand whose map names the dim"
        )
    return [found[i] for i in range(count)]


def walk_of(amap: AffineMap, body: Body) -> tuple[Axis, ...]:
    """How a map with one dim (plus a number) per axis walks an operand."""
    dims = [Num(0, {d.name: 1}) for d in body.dims]
    try:
        return tuple(coordinate(body, Integer(n, "index")) for n in affine.apply(amap, dims, body.ranges))
    except (NotLinear, Refused):
        raise Refused(
            f"the indexing map {amap} is more than one dim plus a number per axis",
            "reshape the operand, or load it through an access tile that walks it this way",
        ) from None


def _as_views(nest: Nest, extents: Sequence[int]) -> list[AnyTensor] | None:
    """The results of a region that only yields inputs: the same data, seen through the maps."""
    arguments = list(nest.block.args)[: len(nest.ins)]
    if len(list(nest.block.ops)) != 1 or "reduction" in nest.kinds:
        return None
    if not all(y in arguments for y in _yielded(nest)):
        return None
    dims = tuple(Dim(f"#{i}", n, "parallel") for i, n in enumerate(extents))
    walks = [walk_of(amap, Body(dims, {})) for amap in nest.maps]
    results: list[AnyTensor] = []
    for y, out, walk in zip(_yielded(nest), nest.outs, walks[len(nest.ins) :], strict=True):
        k = arguments.index(y)
        position = {axis.dim: j for j, axis in enumerate(walk)}
        tensor = nest.ins[k]
        if isinstance(tensor, Filled):
            results.append(Filled(out.shape, out.dtype, tensor.fill))
            continue
        axes = [(None if a.dim is None else position[a.dim], a.offset) for a in through(tensor, walks[k])]
        results.append(Tensor(out.shape, out.dtype, tensor.source, tuple(axes)))
    return results


def _check_written(tensor: AnyTensor) -> None:
    if isinstance(tensor, Filled) and tensor.fill is None:
        raise Refused("reads a tensor.empty that nothing was written to", "fill it first")


def _yielded(nest: Nest) -> tuple[SSAValue, ...]:
    last = nest.block.last_op
    return tuple(last.operands) if last is not None else ()
