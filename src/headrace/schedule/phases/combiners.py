"""The ops that combine partial results, and reductions that combine a single value."""

from __future__ import annotations

from dataclasses import replace

from headrace.numbers.dtypes import is_float
from headrace.schedule.graph import Access, Compute, Out, Scalar, Value
from headrace.schedule.ring import PASS, PREFIX

COMBINE = {
    ("add", True): "arith.addf", ("add", False): "arith.addi",
    ("mul", True): "arith.mulf", ("mul", False): "arith.muli",
    ("max", True): "arith.maximumf", ("max", False): "arith.maxsi",
    ("min", True): "arith.minimumf", ("min", False): "arith.minsi",
    ("or", False): "arith.ori", ("and", False): "arith.andi",
}  # fmt: skip
"""The op that combines two partial results, by (combiner, whether the type is a float)."""


def ring_combiner(entry: Scalar, dtype: str) -> str | None:
    """Return the op that combines what arrives from other cores, None if it is only passed on."""
    return None if entry.op == PASS else COMBINE[entry.op.removeprefix(PREFIX), is_float(dtype)]


def without_single_reductions(compute: Compute, values: dict[str, Value]) -> Compute:
    """Return the Compute with results that reduce nothing (no reduction dim is left) as pointwise ones: the
    start value combined with the one value there is.
    """
    if compute.contraction is not None or any(d.kind == "reduction" for d in compute.dims):
        return compute
    body, ins, outs = list(compute.body), list(compute.ins), []
    for out in compute.outs:
        dtype = compute.body[out.result].dtype
        is_typed = dtype == values[out.value].dtype
        if out.combiner is None or not is_typed or (out.combiner, is_float(dtype)) not in COMBINE:
            outs.append(out)
            continue
        outs.append(replace(out, result=_combined(out, dtype, body, ins), combiner=None, init=None))
    return replace(compute, ins=tuple(ins), outs=tuple(outs), body=tuple(body))


def _combined(out: Out, dtype: str, body: list[Scalar], ins: list[Access]) -> int:
    """Append what combines a result with its start value; returns the position of the outcome."""
    if out.init is None:
        return out.result
    if isinstance(out.init, str):
        ins.append(Access(out.init, out.axes))
        body.append(Scalar("in", (), dtype, len(ins) - 1))
    else:
        body.append(Scalar("const", (), dtype, out.init))
    name = COMBINE[out.combiner or "", is_float(dtype)]
    body.append(Scalar(name, (len(body) - 1, out.result), dtype))
    return len(body) - 1
