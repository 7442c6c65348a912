"""The named contractions, convolutions and poolings: letters of their operands' axes, and their nests."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from headrace.ir.text import location
from headrace.numbers.dtypes import is_float
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.attributes import integers, literal
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.regions import scalar
from headrace.schedule.model.ops.structured import extents_of, initial, walk_of
from headrace.schedule.model.ops.windows import as_windows
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import AnyTensor, whole

CONTRACTIONS = {
    "matmul": "mk,kn,mn",
    "matmul_transpose_a": "km,kn,mn",
    "matmul_transpose_b": "mk,nk,mn",
    "batch_matmul": "bmk,bkn,bmn",
    "batch_matmul_transpose_a": "bkm,bkn,bmn",
    "batch_matmul_transpose_b": "bmk,bnk,bmn",
    "batch_reduce_matmul": "bmk,bkn,mn",
    "matvec": "mk,k,m",
    "vecmat": "k,kn,n",
    "batch_matvec": "bmk,bk,bm",
    "batch_vecmat": "bk,bkn,bn",
    "dot": "k,k,",
    "contract": "",
}
CONVOLUTIONS = {
    "conv_2d_nchw_fchw": "ncHW,fchw,nfHW",
    "conv_2d_nhwc_hwcf": "nHWc,hwcf,nHWf",
    "conv_2d_nhwc_fhwc": "nHWc,fhwc,nHWf",
    "depthwise_conv_2d_nchw_chw": "ncHW,chw,ncHW",
    "depthwise_conv_2d_nhwc_hwc": "nHWc,hwc,nHWc",
}
"""A capital in the first operand is result position * stride + window position * dilation."""
POOLINGS = {
    "pooling_nchw_max": "ncHW,hw,ncHW",
    "pooling_nchw_sum": "ncHW,hw,ncHW",
    "pooling_nhwc_max": "nHWc,hw,nHWc",
    "pooling_nhwc_min": "nHWc,hw,nHWc",
    "pooling_nhwc_sum": "nHWc,hw,nHWc",
}
KNOWN = frozenset([*CONTRACTIONS, *CONVOLUTIONS, *POOLINGS])


def contraction(state: State, op: Operation) -> list[AnyTensor]:
    """The result of a named contraction, convolution or pooling."""
    tensors = [state.tensor(v) for v in op.operands]
    if len(tensors) != 3:
        raise Refused("this form of the op is not supported", "write it as linalg.generic")
    maps = _maps(op)
    extents = extents_of(tensors, maps, maps[0].num_dims)
    short = op.name.removeprefix("linalg.")
    used = tensors[:1] if short in POOLINGS else tensors[:2]
    pairs = [as_windows(state, t, m, extents, op) for t, m in zip(used, maps, strict=False)]
    kept = {e.position for e in maps[2].results if isinstance(e, AffineDimExpr)}
    kinds = ["parallel" if d in kept else "reduction" for d in range(len(extents))]
    body = Body(state.dims(extents, kinds), state.ranges)
    operands = [state.element(body, t, walk_of(m, body)) for t, m in pairs]
    out = tensors[2]
    combiner = {"max": "max", "min": "min"}.get(short.rsplit("_", 1)[-1], "add")
    term = operands[0] if short in POOLINGS else _product(body, operands, out.dtype)
    init = initial(state, out, combiner, op)
    name = state.value(out.shape, out.dtype, location(op))
    walk: tuple[Axis, ...] = walk_of(maps[2], body)
    state.compute(body, [Out(name, walk, body.place(term), combiner, init)], location(op), op.name)
    return [whole(name, out.shape, out.dtype)]


def _product(body: Body, operands: list[Operand], dtype: str) -> Operand:
    """The product in the type sums are kept in: narrow operands are widened."""
    wide = "f32" if is_float(dtype) and dtype != "f64" else dtype
    cast, product = ("arith.extf", "arith.mulf") if is_float(wide) else ("arith.extsi", "arith.muli")
    widened = [o if body.dtype(o) == wide else scalar(body, cast, [o], wide) for o in operands]
    return scalar(body, product, widened, wide)


def _maps(op: Operation) -> list[AffineMap]:
    """The maps of the two operands and of the result."""
    given = literal(op, "indexing_maps")
    if isinstance(given, ArrayAttr) and given.data:
        maps = [m.data for m in given]
        if any(not isinstance(e, AffineDimExpr) for e in maps[2].results):
            raise Refused("the result of a contraction is walked by one dim per axis")
        return maps
    short = op.name.removeprefix("linalg.")
    letters = {**CONTRACTIONS, **CONVOLUTIONS, **POOLINGS}[short].split(",")
    order = list(dict.fromkeys([*letters[2], *letters[0], *letters[1]]))
    dims = {c: AffineExpr.dimension(k) for k, c in enumerate(order)}
    spatial = [c for c in letters[0] if c.isupper()]
    strides, dilations = (_steps(op, name, len(spatial)) for name in ("strides", "dilations"))
    image = [
        dims[c] * strides[spatial.index(c)] + dims[c.lower()] * dilations[spatial.index(c)]
        if c in spatial
        else dims[c]
        for c in letters[0]
    ]
    results = [image, [dims[c] for c in letters[1]], [dims[c] for c in letters[2]]]
    return [AffineMap(len(order), 0, tuple(r)) for r in results]


def _steps(op: Operation, name: str, count: int) -> list[int]:
    attr = literal(op, name)
    if isinstance(attr, DenseIntOrFPElementsAttr):
        return [int(v) for v in attr.get_values()]
    return list(integers(op, name)) or [1] * count
