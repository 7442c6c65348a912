"""Named contractions, convolutions and poolings: their maps, and the sums they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.numbers.dtypes import is_float
from headrace.semantics.access import OutOfBounds
from headrace.semantics.combiners import accumulate, carrier, fold, identity, merge, settle
from headrace.semantics.contractions import contract
from headrace.semantics.frame import Empty, Frame, Handler, known_element_type
from headrace.semantics.nests import Domain, extents, over
from headrace.semantics.structured import numbers, split

Array = np.ndarray[Any, Any]


def _maps(text: str) -> tuple[AffineMap, ...]:
    """Maps of a contraction from its letters: "mk,kn,mn"; the dims are numbered in order of appearance in
    the last."""
    parts = text.split(",")
    letters = parts[-1] + "".join(sorted(set("".join(parts)) - set(parts[-1])))
    number = {letter: AffineExpr.dimension(k) for k, letter in enumerate(letters)}
    return tuple(AffineMap(len(letters), 0, tuple(number[c] for c in part)) for part in parts)


CONTRACTIONS: dict[str, tuple[AffineMap, ...]] = {
    name: _maps(letters)
    for name, letters in {
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
    }.items()
}


def _contraction(frame: Frame, op: Operation) -> Sequence[Any]:
    given = op.properties.get("indexing_maps", op.attributes.get("indexing_maps"))
    maps = CONTRACTIONS.get(op.name.removeprefix("linalg."), ())
    if isinstance(given, ArrayAttr) and given.data:
        maps = tuple(m.data for m in given.data)
    return [contraction(frame, op, maps)]


def contraction(frame: Frame, op: Operation, maps: Sequence[AffineMap], apart: int = 0) -> Array:
    """outs + the sum of products of two operands, whose axes walk the dims of `maps`, rounded once.

    The first `apart` dims count matrices (`contract`).
    """
    ins, outs = split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    values = [frame.array(op, v) for v in ins]
    start = frame.get(outs[0])
    try:
        sizes = extents(tuple(maps), (*(v.shape for v in values), start.shape))
        used = {d for e in maps[-1].results for d in e.used_dims()}
        domain = Domain(sizes, tuple(d for d in range(len(sizes)) if d not in used))
        total = contract(
            over(values[0], maps[0], sizes), over(values[1], maps[1], sizes), domain, dtype, apart
        )
    except (ValueError, OutOfBounds) as error:
        raise frame.error(op, str(error)) from None
    result = _accumulator(frame, op, start, dtype, "add")
    out = over(result, maps[-1], sizes, True)
    accumulate(out, total, dtype)
    return result


def _accumulator(frame: Frame, op: Operation, start: Any, dtype: str, kind: str) -> Array:
    if not isinstance(start, Empty):
        return np.array(start)
    if frame.launch.options.empty == "identity":
        frame.warn(
            op,
            f"the accumulator is a tensor.empty; it starts at the identity of '{kind}'",
            "fill the accumulator with a linalg.fill",
        )
    return np.full(start.shape, identity(kind, dtype) if frame.launch.options.empty == "identity" else 0)


CONVOLUTIONS: dict[str, tuple[str, str, str]] = {
    "conv_1d_ncw_fcw": ("ncW", "fcw", "nfW"),
    "conv_1d_nwc_wcf": ("nWc", "wcf", "nWf"),
    "conv_2d_nchw_fchw": ("ncHW", "fchw", "nfHW"),
    "conv_2d_nhwc_hwcf": ("nHWc", "hwcf", "nHWf"),
    "conv_2d_nhwc_fhwc": ("nHWc", "fhwc", "nHWf"),
    "depthwise_conv_2d_nchw_chw": ("ncHW", "chw", "ncHW"),
    "depthwise_conv_2d_nhwc_hwc": ("nHWc", "hwc", "nHWc"),
    "pooling_nchw_max": ("ncHW", "hw", "ncHW"),
    "pooling_nchw_sum": ("ncHW", "hw", "ncHW"),
    "pooling_nhwc_max": ("nHWc", "hw", "nHWc"),
    "pooling_nhwc_min": ("nHWc", "hw", "nHWc"),
    "pooling_nhwc_sum": ("nHWc", "hw", "nHWc"),
}
"""Letters of input, window and result; a capital in the input is result position * stride + window
position * dilation."""


def _window_maps(op: Operation) -> tuple[AffineMap, ...]:
    image, window, result = CONVOLUTIONS[op.name.removeprefix("linalg.")]
    letters = result + "".join(c for c in window if c not in result)
    spatial = [c for c in image if c.isupper()]
    strides = dict(zip(spatial, numbers(op, "strides", [1] * len(spatial)), strict=True))
    dilations = dict(zip(spatial, numbers(op, "dilations", [1] * len(spatial)), strict=True))
    dims = {c: AffineExpr.dimension(k) for k, c in enumerate(letters)}
    walked = [
        dims[c] * strides[c] + dims[c.lower()] * dilations[c] if c in strides else dims[c] for c in image
    ]
    read = (tuple(walked), tuple(dims[c] for c in window), tuple(dims[c] for c in result))
    return tuple(AffineMap(len(letters), 0, e) for e in read)


def _convolution(frame: Frame, op: Operation) -> Sequence[Any]:
    return [contraction(frame, op, _window_maps(op))]


def _pooling(frame: Frame, op: Operation) -> Sequence[Any]:
    maps = _window_maps(op)
    ins, outs = split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    image, window, start = frame.array(op, ins[0]), frame.get(ins[1]), frame.get(outs[0])
    how = op.name.rsplit("_", 1)[1]
    kind = {"sum": "add", "max": "maximum" if is_float(dtype) else "maxs"}.get(
        how, "minimum" if is_float(dtype) else "mins"
    )
    try:
        sizes = extents(maps, (image.shape, window.shape, start.shape))
        view = over(image, maps[0], sizes)
    except (ValueError, OutOfBounds) as error:
        raise frame.error(op, str(error)) from None
    reductions = tuple(range(len(start.shape), len(sizes)))
    result = _accumulator(frame, op, start, dtype, kind)
    total = fold(kind, np.broadcast_to(view, sizes), dtype, reductions).reshape(result.shape)
    result[...] = settle(merge(kind, carrier(kind, result, dtype), total, dtype), dtype)
    return [result]


NAMED: dict[str, Handler] = {
    **{f"linalg.{name}": _contraction for name in (*CONTRACTIONS, "contract")},
    **{f"linalg.{name}": _pooling if "pooling" in name else _convolution for name in CONVOLUTIONS},
}
"""The handler of every such op, by name."""
