"""The iteration space of a linalg op: dims, extents, maps, without the dims of extent 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.ir.affine import AffineDimExpr, AffineExpr

from headrace.ir.affine import canonical
from headrace.schedule.lower.step.vectors import ONE_LANE, Shape


class Nest:
    """The iteration space of a linalg op without its dims of extent 1.

    `space` lists the dims of the lanes: the output's dims in the output's order, else the reduced ones.
    """

    def __init__(self, op: Any) -> None:
        self.inputs, self.outputs = _operands(op)
        self.operands = [*self.inputs, *self.outputs]
        self.maps, kinds = _maps(op, self.inputs, self.outputs)
        self.extents = _extents(self.operands, self.maps, len(kinds))
        out = self.maps[len(self.inputs)] if self.outputs else self.maps[0]
        self.walked = [
            e.position for e in out if isinstance(e, AffineDimExpr) and self.extents[e.position] != 1
        ]
        self.reduced = [d for d, e in enumerate(self.extents) if e != 1 and d not in self.walked]
        self.space = self.walked or self.reduced
        self.shape: Shape = tuple(self.extents[d] for d in self.space) or ONE_LANE

    def axes(self, value: Any, amap: Sequence[AffineExpr]) -> list[AffineExpr]:
        """Return the expressions of the axes of a tensor that are longer than 1."""
        shape = value.type.get_shape()
        return [e for e, extent in zip(amap, shape, strict=True) if extent != 1]

    def in_space(self, expr: AffineExpr, space: Sequence[int] | None = None) -> AffineExpr:
        """Return a subscript in terms of the lanes' dims; dims of extent 1 are 0."""
        order = list(self.space if space is None else space)
        dims: list[AffineExpr] = [
            AffineExpr.dimension(order.index(d)) if d in order else AffineExpr.constant(0)
            for d in range(len(self.extents))
        ]
        return canonical(expr.replace_dims_and_symbols(dims, []))


def _operands(op: Any) -> tuple[list[Any], list[Any]]:
    if op.name in ("linalg.generic", "linalg.transpose") or "operandSegmentSizes" in op.properties:
        return list(op.inputs), list(op.outputs)
    count = max(len(op.results), 1)
    return list(op.operands[:-count]), list(op.operands[-count:])


def _maps(op: Any, inputs: list[Any], outputs: list[Any]) -> tuple[list[tuple[AffineExpr, ...]], list[str]]:
    """Return the indexing maps and the iterator kinds ("parallel", "reduction")."""
    if op.name == "linalg.generic":
        kinds = [str(it.data.value if hasattr(it.data, "value") else it.data) for it in op.iterator_types]
        return [tuple(m.data.results) for m in op.indexing_maps], kinds
    rank = len(inputs[0].type.get_shape())
    dims = tuple(AffineExpr.dimension(d) for d in range(rank))
    if op.name == "linalg.reduce":
        dropped = [int(d) for d in op.dimensions.get_values()]
        kept = tuple(e for d, e in enumerate(dims) if d not in dropped)
        kinds = ["reduction" if d in dropped else "parallel" for d in range(rank)]
        return [*([dims] * len(inputs)), *([kept] * len(outputs))], kinds
    if op.name in ("linalg.matmul", "linalg.batch_matmul"):
        maps = op.properties.get("indexing_maps")
        found, kinds = _matmul_maps(rank)
        return ([tuple(m.data.results) for m in maps] if maps is not None else found), kinds
    if op.name == "linalg.transpose":
        order = [int(d) for d in op.permutation.get_values()]
        return [dims, tuple(dims[d] for d in order)], ["parallel"] * rank
    if op.name == "linalg.broadcast":
        added = [int(d) for d in op.dimensions.get_values()]
        total = rank + len(added)
        every = tuple(AffineExpr.dimension(d) for d in range(total))
        return [tuple(e for d, e in enumerate(every) if d not in added), every], ["parallel"] * total
    return [dims] * (len(inputs) + len(outputs)), ["parallel"] * rank


def _matmul_maps(rank: int) -> tuple[list[tuple[AffineExpr, ...]], list[str]]:
    b = [AffineExpr.dimension(d) for d in range(rank - 2)]
    m, n, k = (AffineExpr.dimension(rank - 2 + d) for d in range(3))
    kinds = ["parallel"] * rank + ["reduction"]
    return [(*b, m, k), (*b, k, n), (*b, m, n)], kinds


def _extents(operands: list[Any], maps: list[tuple[AffineExpr, ...]], rank: int) -> list[int]:
    extents = [1] * rank
    for value, amap in zip(operands, maps, strict=True):
        for expr, extent in zip(amap, value.type.get_shape(), strict=True):
            if isinstance(expr, AffineDimExpr):
                extents[expr.position] = max(extents[expr.position], int(extent))
    return extents


def tensor_shape(kind: Any) -> tuple[Shape, str]:
    """Return the shape of a tensor without extents of 1, and its element type."""
    if not hasattr(kind, "get_shape"):
        return ONE_LANE, str(kind)
    return tuple(int(e) for e in kind.get_shape() if e != 1) or ONE_LANE, element_type(kind)


def element_type(kind: Any) -> str:
    """Return the MLIR name of a type's elements, or of a scalar type."""
    return _name(kind.get_element_type() if hasattr(kind, "get_element_type") else kind)


@cache
def _name(kind: Any) -> str:
    return str(kind)
