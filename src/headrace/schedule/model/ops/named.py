"""The linalg ops: generic, named contractions, reduce, map, elementwise ops and those that move data."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.numbers.dtypes import is_float
from headrace.schedule.model.attributes import integers, literal
from headrace.schedule.model.ops import pointwise
from headrace.schedule.model.ops.contractions import KNOWN, contraction
from headrace.schedule.model.ops.structured import Nest, structured
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, Filled, select

Handler = Callable[[State, Operation], list[AnyTensor]]

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
    "square": ("mulf", "muli"),
}
_FUNCTIONS = {n: n for n in "exp log sqrt rsqrt tanh erf ceil floor round powf".split()} | {"abs": "absf"}


def linalg_op(state: State, op: Operation) -> list[AnyTensor]:
    """The results of a linalg op; Refused for one that is not known."""
    short = op.name.removeprefix("linalg.")
    if short in KNOWN:
        return contraction(state, op)
    if short in _MOVES:
        return _MOVES[short](state, op)
    if short in _ELEMENTWISE or short in _FUNCTIONS or short == "reciprocal":
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
        ins = [ins[0], ins[0]]
    floating = is_float(out.dtype)
    if short == "reciprocal" and floating:
        name = "spyreop.reciprocal"
    elif short == "abs" and not floating:
        name = "math.absi"
    elif short in _FUNCTIONS and floating:
        name = f"math.{_FUNCTIONS[short]}"
    else:
        name = f"arith.{_ELEMENTWISE.get(short, ('', ''))[not floating]}"
    if name == "arith.":
        raise Refused(f"not defined for elements of type {out.dtype}")
    return [pointwise.apply(state, name, ins, out.shape, out.dtype, None, op)]
