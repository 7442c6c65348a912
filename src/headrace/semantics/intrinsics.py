"""The statistics of the device: mean and mean of squares of a row, what normalises with them, reductions of
slices.

On its own, `spyreop.exx2` gives a number and its square. A `linalg.generic` that yields what it gives over a
reduction dim takes the means over that dim (`nest.run`), which is what the device does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation

from headrace.numbers.rounding import round_to
from headrace.semantics.combiners import fold, settle
from headrace.semantics.frame import Frame, Handler, element_type, known_element_type

Array = np.ndarray[Any, Any]


def _wide(frame: Frame, op: Operation) -> list[Array]:
    return [x.astype(np.float64) for x in frame.arrays(op)]


def _rounded(frame: Frame, op: Operation, value: Array) -> Array:
    """f64 to f32, as the device computes, then to the op's type."""
    dtype = known_element_type(frame, op, op.results[0].type)
    with np.errstate(all="ignore"):
        return round_to(value.astype(np.float32), dtype)


def _exx2(frame: Frame, op: Operation) -> Sequence[Any]:
    (x,) = _wide(frame, op)
    return [_rounded(frame, op, x), _rounded(frame, op, x * x)]


def _scale(frame: Frame, op: Operation) -> Sequence[Any]:
    """1 / sqrt(variance + eps): of mean and mean of squares, or (older spelling) of the variance itself.

    `eps` is the attribute of that name, 0 without one; a variance that rounding left below 0 counts as 0.
    """
    given: Any = {**op.attributes, **op.properties}.get("eps")
    first, *squares = _wide(frame, op)
    with np.errstate(all="ignore"):
        variance = np.maximum(squares[0] - first * first, 0.0) if squares else first
        return [_rounded(frame, op, 1.0 / np.sqrt(variance + (given.value.data if given else 0.0)))]


def _norm(frame: Frame, op: Operation) -> Sequence[Any]:
    """(x - mean) * scale * weight + bias; the mean is the operand that the op calls `squares`."""
    x, mean, scale, weight, bias = _wide(frame, op)
    with np.errstate(all="ignore"):
        return [_rounded(frame, op, (x - mean) * scale * weight + bias)]


def is_statistics(body: Block) -> bool:
    """Whether a body yields the results of `spyreop.exx2` as they are."""
    last = body.last_op
    return bool(last and last.operands) and all(
        isinstance(v.owner, Operation) and v.owner.name == "spyreop.exx2" and v.owner.parent is body
        for v in last.operands  # type: ignore[union-attr]
    )


_KINDS = {
    "add": ("add", "add"),
    "sub": ("sub", "sub"),
    "mul": ("mul", "mul"),
    "max": ("maximum", "maxs"),
    "min": ("minimum", "mins"),
    "abs_max": ("maximum", "maxs"),
}


def slice_reduction(frame: Frame, op: Operation) -> Sequence[Any]:
    """`spyreop.slice_reduction` of tensors, whatever axes are in front of theirs.

    The axes whose extents the result has no longer are combined: kept with extent 1, or dropped, the last
    ones when the scope is inside a slice and the first ones when it is across slices.
    """
    values, properties = frame.array(op, op.operands[0]), op.properties
    shape, wanted = (tuple(v.type.get_shape()) for v in (op.operands[0], op.results[0]))  # type: ignore[attr-defined]
    dtype = known_element_type(frame, op, op.results[0].type)
    if element_type(op.operands[0].type) != dtype:
        raise frame.error(op, "the slices and the result differ in element type")
    kind, scope = (str(properties[f"reduction_{k}"].data) for k in ("kind", "scope"))  # type: ignore[attr-defined]
    axes = _reduced_axes(shape, wanted, scope == "in_slice")
    if axes is None:
        raise frame.error(
            op,
            f"a reduction {scope} of {list(shape)} gives no {list(wanted)}",
            "the reduced axes have extent 1 in the result, or are left out of it",
        )
    ahead = values.ndim - len(shape)
    axes = tuple(a + ahead for a in axes)
    name = _KINDS[kind][0 if values.dtype.kind not in "biu" else 1]
    terms = np.abs(values) if kind == "abs_max" else values
    total = fold(name, terms, dtype, axes)
    if kind == "sub":  # the first element less the others
        first = values[tuple(slice(0, 1) if a in axes else slice(None) for a in range(values.ndim))]
        total = 2 * fold("add", first, dtype, axes) - total
    return [settle(total, dtype).reshape((*values.shape[:ahead], *wanted))]


def _reduced_axes(shape: Sequence[int], wanted: Sequence[int], is_inside: bool) -> tuple[int, ...] | None:
    dropped = len(shape) - len(wanted)
    if dropped == 0:
        axes = tuple(d for d, (n, m) in enumerate(zip(shape, wanted, strict=True)) if n != m)
        return axes if all(wanted[d] == 1 for d in axes) else None
    axes = tuple(range(len(wanted), len(shape)) if is_inside else range(dropped))
    kept = [n for d, n in enumerate(shape) if d not in axes]
    return axes if dropped > 0 and kept == list(wanted) else None


INTRINSICS: dict[str, Handler] = {
    "spyreop.exx2": _exx2,
    "spyreop.layernormnorm": _norm,
    "spyreop.layernormscale": _scale,
}
"""The handlers of the ops of numbers, by name."""
