"""linalg nests of many tiles: one more parallel dim, in front of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.semantics.batches.frame import BatchFrame
from headrace.semantics.linalg import generic_nest, map_nest, reduce_nest
from headrace.semantics.named import CONTRACTIONS, contraction
from headrace.semantics.nest import Nest, run
from headrace.semantics.structured import split


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape())  # type: ignore[attr-defined]


_BUILD: dict[str, Callable[[Operation], Nest]] = {
    "linalg.generic": generic_nest,
    "linalg.reduce": lambda op: reduce_nest(op, _rank(op.operands[0])),
    "linalg.map": lambda op: map_nest(op, _rank(op.operands[-1])),
}


def _nest(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    nest = frame.once("rows", op, lambda: _with_rows(frame, _BUILD[op.name](op)))
    with _outputs(frame, nest.outputs):
        return run(frame, nest)


def _with_rows(frame: BatchFrame, nest: Nest) -> Nest:
    values = (*nest.inputs, *nest.outputs)
    is_out = [False] * len(nest.inputs) + [True] * len(nest.outputs)
    maps = tuple(
        shifted(m, o or v in frame.varying) for m, v, o in zip(nest.maps, values, is_out, strict=True)
    )
    reductions = tuple(d + 1 for d in nest.reductions)
    return Nest(nest.op, nest.inputs, nest.outputs, maps, reductions, nest.body, apart=1)


def shifted(map: AffineMap, has_rows: bool) -> AffineMap:
    """The map with one more dim in front, which counts tiles; its first result when there are rows."""
    dims = [AffineExpr.dimension(d + 1) for d in range(map.num_dims)]
    results = tuple(e.replace_dims_and_symbols(dims, []) for e in map.results)
    return AffineMap(map.num_dims + 1, 0, ((AffineExpr.dimension(0), *results) if has_rows else results))


@contextmanager
def _outputs(frame: BatchFrame, outs: Sequence[SSAValue]) -> Any:
    """Output operands with one row per tile while a nest runs."""
    before = {v: frame.values[v] for v in outs}
    frame.values.update({v: frame.rows(v) for v in outs})
    frame.is_in_rows = True
    try:
        yield
    finally:
        frame.is_in_rows = False
        frame.values.update(before)


def contract_rows(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    ins, outs = split(op)
    maps = frame.once("rows", op, lambda: _contraction_maps(frame, op))
    with _outputs(frame, outs):
        return [contraction(frame, op, maps, apart=1)]


def _contraction_maps(frame: BatchFrame, op: Operation) -> tuple[AffineMap, ...]:
    given = op.properties.get("indexing_maps", op.attributes.get("indexing_maps"))
    maps = CONTRACTIONS.get(op.name.removeprefix("linalg."), ())
    if isinstance(given, ArrayAttr) and given.data:
        maps = tuple(m.data for m in given.data)
    is_out = (False, False, True)
    return tuple(
        shifted(m, o or v in frame.varying) for m, v, o in zip(maps, op.operands, is_out, strict=True)
    )


NESTS: dict[str, Any] = {
    **{name: _nest for name in _BUILD},
    **{f"linalg.{name}": contract_rows for name in (*CONTRACTIONS, "contract")},
}
"""The rules of nests, by op name."""
