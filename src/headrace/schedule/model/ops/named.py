"""The linalg ops: generic, named contractions, reduce, map, elementwise ops and those that move data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from headrace.ir.text import location
from headrace.numbers.dtypes import is_float
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.attributes import integers, literal
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.regions import scalar
from headrace.schedule.model.ops import pointwise
from headrace.schedule.model.ops.structured import Nest, initial, structured
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, select, whole

Handler = Callable[[State, Operation], list[AnyTensor]]

CONTRACTIONS = {
    "linalg.matmul": "mk,kn->mn",
    "linalg.matmul_transpose_a": "km,kn->mn",
    "linalg.matmul_transpose_b": "mk,nk->mn",
    "linalg.batch_matmul": "bmk,bkn->bmn",
    "linalg.batch_matmul_transpose_a": "bkm,bkn->bmn",
    "linalg.batch_matmul_transpose_b": "bmk,bnk->bmn",
    "linalg.batch_reduce_matmul": "bmk,bkn->mn",
    "linalg.matvec": "mk,k->m",
    "linalg.vecmat": "k,kn->n",
    "linalg.batch_matvec": "bmk,bk->bm",
    "linalg.batch_vecmat": "bk,bkn->bn",
    "linalg.dot": "k,k->",
}
_ELEMENTWISE = {
    "add": ("addf", "addi"),
    "sub": ("subf", "subi"),
    "mul": ("mulf", "muli"),
    "div": ("divf", "divsi"),
    "div_unsigned": ("", "divui"),
    "max": ("maximumf", "maxsi"),
    "min": ("minimumf", "minsi"),
    "negf": ("negf", ""),
    "select": ("select", "select"),
}
_FUNCTIONS = {n: n for n in "exp log sqrt rsqrt tanh erf ceil floor round".split()} | {
    "abs": "absf",
    "powf": "powf",
    "reciprocal": "",
    "square": "",
}


def linalg_op(state: State, op: Operation) -> list[AnyTensor]:
    """The results of a linalg op; Refused for one that is not known."""
    short = op.name.removeprefix("linalg.")
    if op.name in CONTRACTIONS:
        return _contraction(state, op)
    if short in _MOVES:
        return _MOVES[short](state, op)
    if short in _ELEMENTWISE or short in _FUNCTIONS:
        return _elementwise(state, op, short)
    raise Refused("this linalg op is not supported", "write it as linalg.generic")


def _operands(state: State, op: Operation, outs: int) -> tuple[list[AnyTensor], list[AnyTensor]]:
    tensors = [state.tensor(v) for v in op.operands]
    return tensors[: len(tensors) - outs], tensors[len(tensors) - outs :]


def _generic(state: State, op: Operation) -> list[AnyTensor]:
    ins, outs = _operands(state, op, len(op.results))
    return structured(
        state, Nest(op, tuple(ins), tuple(outs), _maps(op), _iterators(op), op.regions[0].block)
    )


def _maps(op: Operation) -> tuple[AffineMap, ...]:
    attr = literal(op, "indexing_maps")
    assert isinstance(attr, ArrayAttr)
    return tuple(m.data for m in attr)


def _iterators(op: Operation) -> tuple[str, ...]:
    attr = literal(op, "iterator_types")
    assert isinstance(attr, ArrayAttr)
    kinds = tuple(k.data.value for k in attr)
    if not set(kinds) <= {"parallel", "reduction"}:
        raise Refused("window iterators are not supported", "use parallel and reduction iterators")
    return kinds


def _reduce(state: State, op: Operation) -> list[AnyTensor]:
    """linalg.reduce: dims of the input in order, those in `dimensions` reduced."""
    ins, outs = _operands(state, op, len(op.results))
    rank, reduced = len(ins[0].shape), set(integers(op, "dimensions"))
    kept = [AffineExpr.dimension(k) for k in range(rank) if k not in reduced]
    maps = (AffineMap.identity(rank),) * len(ins) + (AffineMap(rank, 0, tuple(kept)),) * len(outs)
    kinds = tuple("reduction" if k in reduced else "parallel" for k in range(rank))
    return structured(state, Nest(op, tuple(ins), tuple(outs), maps, kinds, op.regions[0].block))


def _map(state: State, op: Operation) -> list[AnyTensor]:
    ins, outs = _operands(state, op, len(op.results))
    rank = len(outs[0].shape)
    maps = (AffineMap.identity(rank),) * (len(ins) + len(outs))
    block = op.regions[0].block
    seen = tuple(block.args)[len(ins) :]
    return structured(state, Nest(op, tuple(ins), tuple(outs), maps, ("parallel",) * rank, block, seen))


def _broadcast(state: State, op: Operation) -> list[AnyTensor]:
    (tensor,), (out,) = _operands(state, op, 1)
    added = set(integers(op, "dimensions"))
    return [select(tensor, [j for j in range(len(out.shape)) if j not in added], out.shape)]


def _transpose(state: State, op: Operation) -> list[AnyTensor]:
    (tensor,), (out,) = _operands(state, op, 1)
    permutation = integers(op, "permutation")
    return [select(tensor, [permutation.index(k) for k in range(len(permutation))], out.shape)]


def _fill(state: State, op: Operation) -> list[AnyTensor]:
    (tensor,), (out,) = _operands(state, op, 1)
    if isinstance(tensor, Filled):
        return [Filled(out.shape, out.dtype, tensor.fill)]
    return [select(tensor, (), out.shape)]


def _copy(state: State, op: Operation) -> list[AnyTensor]:
    (tensor,), (out,) = _operands(state, op, 1)
    return [pointwise.cast(state, tensor, out.dtype, op)]


_MOVES: dict[str, Handler] = {
    "generic": _generic,
    "reduce": _reduce,
    "map": _map,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "fill": _fill,
    "copy": _copy,
}


def _elementwise(state: State, op: Operation, short: str) -> list[AnyTensor]:
    ins, (out,) = _operands(state, op, 1)
    ins = [
        pointwise.cast(state, t, out.dtype, op) if t.dtype != "i1" and is_float(t.dtype) else t for t in ins
    ]
    if short == "square":
        return [pointwise.apply(state, "arith.mulf", [ins[0], ins[0]], out.shape, out.dtype, None, op)]
    if short == "reciprocal":
        one = Filled(out.shape, out.dtype, Constant(1.0, out.dtype))
        return [pointwise.apply(state, "arith.divf", [one, ins[0]], out.shape, out.dtype, None, op)]
    floating = is_float(out.dtype)
    name = (
        f"math.{_FUNCTIONS[short]}" if short in _FUNCTIONS else f"arith.{_ELEMENTWISE[short][not floating]}"
    )
    if name == "arith." or (short in _FUNCTIONS and not floating):
        raise Refused(f"not defined for elements of type {out.dtype}")
    return [pointwise.apply(state, name, ins, out.shape, out.dtype, None, op)]


def _contraction(state: State, op: Operation) -> list[AnyTensor]:
    """out + the sum of products; narrow operands are widened to the type sums are kept in."""
    ins, (out,) = _operands(state, op, 1)
    maps, kinds = _roles(op)
    extents: dict[str, int] = {}
    for letters, tensor in zip(maps, (*ins, out), strict=True):
        for letter, extent in zip(letters, tensor.shape, strict=True):
            if extents.setdefault(letter, extent) != extent:
                raise Refused(f"dim {letter} has extent {extents[letter]} and {extent}")
    dims = state.dims([extents[k] for k in kinds], list(kinds.values()))
    by_letter = dict(zip(kinds, dims, strict=True))
    body = Body(dims, state.ranges)
    walks = [tuple(Axis(by_letter[letter].name) for letter in letters) for letters in maps]
    wide = "f32" if is_float(out.dtype) and out.dtype != "f64" else out.dtype
    product = scalar(body, *_product(body, state, ins, walks, wide), wide)
    init = initial(state, out, "add", op)
    name = state.value(out.shape, out.dtype, location(op))
    state.compute(body, [Out(name, walks[2], body.place(product), "add", init)], location(op), op.name)
    return [whole(name, out.shape, out.dtype)]


def _product(
    body: Body, state: State, ins: Sequence[AnyTensor], walks: Sequence[tuple[Axis, ...]], wide: str
) -> tuple[str, list[Operand]]:
    operands = [state.element(body, t, w) for t, w in zip(ins, walks, strict=False)]
    name = "arith.extf" if is_float(wide) else "arith.extsi"
    widened = [o if body.dtype(o) == wide else scalar(body, name, [o], wide) for o in operands]
    return ("arith.mulf" if is_float(wide) else "arith.muli"), widened


def _roles(op: Operation) -> tuple[Sequence[Sequence[str]], dict[str, str]]:
    """Letters of every operand's axes, and the iterator type of every letter in order of appearance."""
    attr = literal(op, "indexing_maps")
    if isinstance(attr, ArrayAttr):
        maps = [m.data for m in attr]
        if any(not isinstance(e, AffineDimExpr) for m in maps for e in m.results):
            raise Refused("the indexing maps of a contraction must be lists of dims")
        given = [[f"d{e.position}" for e in m.results] for m in maps]
        every = [f"d{i}" for i in range(maps[0].num_dims)]
        return given, {d: "parallel" if d in given[2] else "reduction" for d in every}
    left, _, result = CONTRACTIONS[op.name].partition("->")
    letters = [*left.split(","), result]
    order = dict.fromkeys([*result, *letters[0], *letters[1]])
    return letters, {k: "parallel" if k in result else "reduction" for k in order}
