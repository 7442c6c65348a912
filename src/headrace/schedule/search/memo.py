"""Equal phases are planned once: a phase's signature, and a plan carried over to another phase of equal
signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.schedule.phases.linear import values
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search.vector import key


def signature(shape: Shape, cores: int) -> tuple[object, ...]:
    """Return what a phase's plan depends on: structure, extents, strides, where cores read relative to each
    other; no names, no addresses.
    """
    number = {d: k for k, d in enumerate(shape.extents)}
    names: dict[str, int] = {}

    def value(name: str) -> int:
        return names.setdefault(name, len(names))

    def operand(o: Operand) -> tuple[object, ...]:
        strides = tuple(sorted((number[d], s) for d, s in o.surface.strides))
        indirect = tuple(sorted((number[d], s) for d, s in o.surface.indirect))
        starts = values(o.surface.base.const, cores)
        return (
            value(o.value),
            o.dtype,
            o.storage.kind,
            strides,
            indirect,
            tuple(start - starts[0] for start in starts),
        )

    computes = []
    for compute in shape.group.computes:
        dims = tuple((number.get(shape.merged[d.name], -1), d.kind) for d in compute.dims)
        body = tuple(
            (s.op, s.args, s.dtype, s.attr if isinstance(s.attr, str) else None) for s in compute.body
        )
        outs = tuple((value(o.value), o.combiner, isinstance(o.init, str)) for o in compute.outs)
        ins = tuple(value(a.value) for a in compute.ins)
        roles = tuple(len(r) for r in vars(compute.contraction).values()) if compute.contraction else ()
        computes.append((compute.source, dims, body, outs, ins, roles))
    reads = tuple((k, shape.inputs.index(o)) for k, o in shape.reads.items())
    return (
        shape.group.kind, tuple(shape.extents.values()), tuple(sorted(number[d] for d in shape.reduced)),
        tuple(map(operand, shape.inputs)), tuple(map(operand, shape.outputs)), tuple(computes), reads,
    )  # fmt: skip


def carried_over(plan: PhasePlan, source: Shape, target: Shape, name: str) -> PhasePlan:
    """Return the plan of `source` in the names of `target`, a phase of equal signature."""
    dims = dict(zip(source.extents, target.extents, strict=True))
    operands = {key(a): key(b) for a, b in zip(source.inputs, target.inputs, strict=True)}

    def renamed(found: Mapping[str, int]) -> dict[str, int]:
        return {dims[d]: n for d, n in found.items()}

    return replace(
        plan,
        name=name,
        lane=dims.get(plan.lane, plan.lane),
        tile=renamed(plan.tile),
        extents=renamed(plan.extents),
        once=tuple(operands[k] for k in plan.once),
        kept=tuple(operands[k] for k in plan.kept),
        multicast=tuple(operands[k] for k in plan.multicast),
        joined={operands[k]: n for k, n in plan.joined.items()},
    )
