"""Copies of a tape: results written where they go at once, messages put one after the other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from headrace.machine.execute.tape.record import VALUES, Op, Recorder
from headrace.machine.execute.tape.views import View, paired


def direct(recorder: Recorder, ops: dict[int, Op], functions: frozenset[str]) -> dict[int, Op]:
    """The ops without the copies to memory that the op before them can write itself.

    `functions`: those that may write anywhere, element by element.
    """
    users: dict[int, int] = {}
    for op in ops.values():
        for need in op.needs:
            users[need] = users.get(need, 0) + 1
    out, numbers = dict(ops), list(ops)
    for number, op in ops.items():
        if op.function != "move" or op.out.region == VALUES or op.inputs[0].region != VALUES:
            continue
        if len(op.needs) != 1 or users[op.needs[0]] != 1:
            continue
        maker = op.needs[0]
        made = out[maker]
        target = _in_order_of(made.out, op)
        if made.function not in functions or target is None or made.out.region != VALUES:
            continue
        if not all(recorder.is_apart(v, op.out) for v in made.inputs):
            continue
        between = numbers[bisect_right(numbers, maker) : bisect_left(numbers, number)]
        is_read = any(not recorder.is_apart(v, op.out) for k in between for v in ops[k].inputs)
        if not is_read and recorder.is_unchanged(op.out, maker, number):
            out[maker] = replace(made, out=target)
            del out[number]
    return out


def parts(op: Op) -> Iterator[Op]:
    """The copies that put messages, [instance, iteration, …], one after the other along their iterations."""
    out, at = op.out, 0
    for x in op.inputs:
        shape = (out.shape[0], x.shape[1], *out.shape[2:])
        part = replace(out, offset=out.offset + at * out.strides[1], shape=shape)
        yield Op("move", part, (x,), (), None, paired(part, x))
        at += x.shape[1]


def _in_order_of(value: View, copy: Op) -> View | None:
    """The target of a copy in the order of a dense value, all of which it moves; None for another copy."""
    assert copy.copied is not None
    size = value.dtype.itemsize
    dims = sorted(copy.copied.dims, key=lambda d: -d[2])
    if copy.inputs[0].offset != value.offset or prod(n for n, _, _ in dims) != prod(value.shape):
        return None
    step = size
    for n, _, stride in reversed(dims):
        if stride != step:
            return None
        step *= n
    dense = size
    for n, s in zip(reversed(value.shape), reversed(value.strides), strict=True):
        if n > 1 and s != dense:
            return None
        dense *= n
    return View(
        copy.out.region, copy.out.offset, tuple(d[0] for d in dims), tuple(d[1] for d in dims), value.dtype
    )
