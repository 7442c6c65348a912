"""Two element-wise ops in one, where only the second reads what the first one writes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute.tape.record import Kernel, Op, Recorder
from headrace.machine.execute.tape.views import Array, NotRecordable, View, elementwise

_BINARY = ("add", "sub", "mul", "div", "max", "min")
FUSED = {**{("narrow", f"{f}_f32"): f"{f}_narrow" for f in _BINARY}, ("exp", "sub_f32"): "sub_exp"}
"""(second function, first one): the function that is both, rounding after each as they do."""


def fused(recorder: Recorder, ops: dict[int, Op]) -> dict[int, Op]:
    """The ops with such pairs made one, in the place of the second."""
    users: dict[int, int] = {}
    for op in ops.values():
        for need in op.needs:
            users[need] = users.get(need, 0) + 1
    out = dict(ops)
    for number, op in ops.items():
        if len(op.needs) != 1 or users[op.needs[0]] != 1:
            continue
        first = out[op.needs[0]]
        function = FUSED.get((op.function, first.function))
        if function is None or not _is_same(op.inputs[0], first.out):
            continue
        if not all(recorder.is_unchanged(v, op.needs[0], number) for v in first.inputs):
            continue
        out[number] = Op(function, op.out, first.inputs, first.needs, _both(first, op))
        del out[op.needs[0]]
    return out


def _is_same(one: View, other: View) -> bool:
    """Whether two views enumerate the same elements in the same order."""
    if (one.region, one.offset, prod(one.shape)) != (other.region, other.offset, prod(other.shape)):
        return False
    try:
        return all(a == b for _, a, b in elementwise([one, other]))
    except NotRecordable:
        return False


def _both(first: Op, second: Op) -> Kernel:
    """What the pair does on arrays."""
    one, two = first.kernel, second.kernel
    assert one is not None and two is not None

    def kernel(out: Array, *given: Array) -> None:
        between: Any = np.empty(np.broadcast_shapes(*(x.shape for x in given)), np.float32)
        one(between, *given)
        two(out, between.reshape(out.shape))

    return kernel
