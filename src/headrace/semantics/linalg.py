"""The linalg ops: generic, reduce, map and the named ones, each as a nest or a contraction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.rounding import cast
from headrace.semantics.access import OutOfBounds
from headrace.semantics.combiners import carrier, fold, identity, merge, settle
from headrace.semantics.contractions import contract
from headrace.semantics.elementwise import float_op, integer_op
from headrace.semantics.frame import Empty, Frame, Handler, element_type, known_element_type
from headrace.semantics.nest import Nest, run
from headrace.semantics.nests import Domain, extents, over

Array = np.ndarray[Any, Any]


def _split(op: Operation) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """The `ins` and the `outs` of a structured op on tensors."""
    outs = len(op.results)
    return tuple(op.operands[: len(op.operands) - outs]), tuple(op.operands[len(op.operands) - outs :])


def _numbers(op: Operation, key: str, default: Sequence[int] = ()) -> tuple[int, ...]:
    value: Any = op.properties.get(key, op.attributes.get(key))
    if value is None:
        return tuple(default)
    values = value.get_values() if hasattr(value, "get_values") else [v.value.data for v in value.data]
    return tuple(int(v) for v in values)


def _generic(frame: Frame, op: Operation) -> Sequence[Any]:
    return run(frame, frame.once("nest", op, lambda: _generic_nest(op)))


def _generic_nest(op: Operation) -> Nest:
    ins, outs = _split(op)
    maps: Any = op.properties["indexing_maps"]
    kinds: Any = op.properties["iterator_types"]
    reductions = tuple(d for d, k in enumerate(kinds.data) if str(k.data.value) == "reduction")
    return Nest(op, ins, outs, tuple(m.data for m in maps.data), reductions, op.regions[0].block)


def _reduce(frame: Frame, op: Operation) -> Sequence[Any]:
    rank = len(frame.get(op.operands[0]).shape)
    return run(frame, frame.once("nest", op, lambda: _reduce_nest(op, rank)))


def _reduce_nest(op: Operation, rank: int) -> Nest:
    ins, outs = _split(op)
    dims = _numbers(op, "dimensions")
    whole = AffineMap.identity(rank)
    kept = AffineMap(rank, 0, tuple(AffineExpr.dimension(d) for d in range(rank) if d not in dims))
    return Nest(op, ins, outs, (whole,) * len(ins) + (kept,) * len(outs), dims, op.regions[0].block)


def _map(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = _split(op)
    rank = len(frame.get(outs[0]).shape)
    return run(
        frame, Nest(op, ins, outs, (AffineMap.identity(rank),) * len(op.operands), (), op.regions[0].block)
    )


def _fill(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = _split(op)
    out = frame.get(outs[0])
    dtype = known_element_type(frame, op, op.results[0].type)
    value = cast(frame.array(op, ins[0]), element_type(ins[0].type), dtype)
    return [np.full(out.shape, value, numpy_dtype(dtype))]


def _broadcast(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = _split(op)
    source, shape = frame.array(op, ins[0]), frame.get(outs[0]).shape
    added = _numbers(op, "dimensions")
    view = source.reshape([1 if d in added else shape[d] for d in range(len(shape))])
    return [np.ascontiguousarray(np.broadcast_to(view, shape))]


def _transpose(frame: Frame, op: Operation) -> Sequence[Any]:
    source = frame.array(op, op.operands[0])
    turned = np.ascontiguousarray(source.transpose(_numbers(op, "permutation")))
    expected = frame.get(op.operands[1]).shape
    if turned.shape != expected:
        raise frame.error(op, f"the result is {list(turned.shape)}, outs is {list(expected)}")
    return [turned]


ELEMENTWISE: dict[str, tuple[str, str]] = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": ("arith.divf", "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "powf": ("math.powf", ""),
    "abs": ("math.absf", "math.absi"),
    "ceil": ("math.ceil", ""),
    "copy": ("copy", "copy"),
    "erf": ("math.erf", ""),
    "exp": ("math.exp", ""),
    "floor": ("math.floor", ""),
    "log": ("math.log", ""),
    "negf": ("arith.negf", ""),
    "reciprocal": ("spyreop.reciprocal", ""),
    "round": ("math.round", ""),
    "rsqrt": ("math.rsqrt", ""),
    "sqrt": ("math.sqrt", ""),
    "square": ("square", "square"),
    "tanh": ("math.tanh", ""),
}
"""Named elementwise ops and what they do to floats and integers; operands are cast to the result's type
first."""


def _elementwise(frame: Frame, op: Operation) -> Sequence[Any]:
    ins, outs = _split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    values = [cast(frame.array(op, v), element_type(v.type), dtype) for v in ins]
    shape = frame.get(outs[0]).shape
    if any(v.shape != shape for v in values):
        raise frame.error(op, f"operands are {[list(v.shape) for v in values]}, outs is {list(shape)}")
    name = ELEMENTWISE[op.name.removeprefix("linalg.")][0 if is_float(dtype) else 1]
    if name == "copy":
        return [np.array(values[0])]
    if name == "square":
        name, values = ("arith.mulf" if is_float(dtype) else "arith.muli"), [values[0], values[0]]
    if not name:
        raise frame.error(op, f"is not defined for {dtype}")
    return [np.asarray((float_op if is_float(dtype) else integer_op)(name, values, dtype))]


def _select(frame: Frame, op: Operation) -> Sequence[Any]:
    condition, a, b = (frame.array(op, v) for v in _split(op)[0])
    return [np.where(condition, a, b)]


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


def contraction(frame: Frame, op: Operation, maps: Sequence[AffineMap]) -> Array:
    """outs + the sum of products of two operands, whose axes walk the dims of `maps`, rounded once."""
    ins, outs = _split(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    values = [frame.array(op, v) for v in ins]
    start = frame.get(outs[0])
    try:
        sizes = extents(tuple(maps), (*(v.shape for v in values), start.shape))
        used = {d for e in maps[-1].results for d in e.used_dims()}
        domain = Domain(sizes, tuple(d for d in range(len(sizes)) if d not in used))
        total = contract(over(values[0], maps[0], sizes), over(values[1], maps[1], sizes), domain)
    except (ValueError, OutOfBounds) as error:
        raise frame.error(op, str(error)) from None
    result = _accumulator(frame, op, start, dtype, "add")
    out = over(result, maps[-1], sizes, True)
    out[...] = settle(merge("add", carrier("add", out, dtype), total, dtype), dtype)
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
    strides = dict(zip(spatial, _numbers(op, "strides", [1] * len(spatial)), strict=True))
    dilations = dict(zip(spatial, _numbers(op, "dilations", [1] * len(spatial)), strict=True))
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
    ins, outs = _split(op)
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


def _named(names: Sequence[str], handler: Callable[[Frame, Operation], Sequence[Any]]) -> dict[str, Handler]:
    return {f"linalg.{name}": handler for name in names}


LINALG: dict[str, Handler] = {
    "linalg.generic": _generic,
    "linalg.reduce": _reduce,
    "linalg.map": _map,
    "linalg.fill": _fill,
    "linalg.broadcast": _broadcast,
    "linalg.transpose": _transpose,
    "linalg.select": _select,
    "linalg.contract": _contraction,
    **_named(tuple(ELEMENTWISE), _elementwise),
    **_named(tuple(CONTRACTIONS), _contraction),
    **_named([n for n in CONVOLUTIONS if "conv" in n], _convolution),
    **_named([n for n in CONVOLUTIONS if "pooling" in n], _pooling),
}
"""The handler of every linalg op, by name."""
