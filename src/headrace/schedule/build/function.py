"""One function of KTDF for each class of cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Region

from headrace.arch.device import Device
from headrace.ir.ktdp.views import GetComputeTileIdOp
from headrace.ir.syntax import set_name
from headrace.schedule.build import mlir
from headrace.schedule.build.emitter import INDEX, Emitter
from headrace.schedule.build.handovers import handover
from headrace.schedule.build.indices import Index, of
from headrace.schedule.build.memory import Memory
from headrace.schedule.build.phases import build_phase
from headrace.schedule.build.vector import Phase, Turn
from headrace.schedule.graph import Arg, Handover, Linear, Loop, PerCore
from headrace.schedule.phases.items import Item, LoopItem
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.shape import Shape
from headrace.schedule.plan import ClassPlan, PhasePlan
from headrace.schedule.replay import Layout


def class_function(
    name: str, args: Sequence[Arg], layout: Layout, plan: ClassPlan, device: Device
) -> func.FuncOp:
    """Return the function of one class."""
    outline = layout.outline
    entry = Block(arg_types=[INDEX] * len(args))
    for value, arg in zip(entry.args, args, strict=True):
        set_name(value, arg.name.removeprefix("%"))
    emit = Emitter()
    with emit.at_head():
        core = Index(0)
        if len(plan.cores) > 1 or plan.cores != (0,):
            core = of(emit.add(GetComputeTileIdOp(1), "core"))
    offsets = {v: (arg, _region(outline, v, len(plan.cores))) for v, arg in layout.scratch.items()}
    memory = Memory(
        emit,
        {a.name: v for a, v in zip(args, entry.args, strict=True)},
        plan.cores,
        core,
        outline.ranges,
        offsets,
        is_shared=bool(plan.strips.get("ahead")),
    )
    for value, place in layout.homes.items():
        if place.kind == "lx":
            memory.home_elements[value] = _elements(outline, value)
    phases = zip(plan.phases, layout.shapes, strict=True)
    _items(outline.items, Context(emit, memory, device, plan), phases)
    emit.finish(entry)
    entry.add_op(func.ReturnOp())
    made = func.FuncOp(name, ([INDEX] * len(args), []), Region(entry))
    made.attributes["grid"] = ArrayAttr([IntegerAttr(len(plan.cores), i64)])
    made.attributes["headrace.cores"] = mlir.dense(plan.cores)
    return made


Phases = Iterator[tuple[PhasePlan, Shape]]


class Context:
    """What emitting the items of a class needs."""

    def __init__(self, emit: Emitter, memory: Memory, device: Device, plan: ClassPlan) -> None:
        self.emit, self.memory, self.device, self.plan = emit, memory, device, plan
        self.hosts = {phase.beside for phase in plan.phases}


def _items(items: Sequence[Item], context: Context, phases: Phases, turn: Turn | None = None) -> None:
    waiting: Phase | None = None
    for item in items:
        if isinstance(item, LoopItem):
            _loop(item, context, phases)
            continue
        if isinstance(item, Handover):
            handover(context.emit, item, context.device, context.plan.cores)
            continue
        plan, made = next(phases)
        phase = Phase(context.emit, context.memory, context.device, made, plan, context.plan.cores, turn)
        if plan.name in context.hosts:
            waiting = phase
            continue
        context.memory.begin()
        build_phase(phase, waiting)
        waiting = None


def _loop(item: LoopItem, context: Context, phases: Phases) -> None:
    loop: Loop = item.loop
    trips = context.memory.number(Linear(loop.trip))
    with context.emit.loop(trips, loop.name.removeprefix("%")) as number:
        context.memory.loops[loop.name] = number * loop.step + context.memory.number(loop.start)
        turn = None
        if context.memory.is_shared and isinstance(loop.trip, int):
            turn = Turn(number, loop.trip)
        _items(item.body, context, phases, turn)
    del context.memory.loops[loop.name]


def _elements(outline: Outline, value: str) -> int:
    count = 1
    for extent in outline.names.values[value].shape:
        count *= extent
    return count


def _region(outline: Outline, value: str, cores: int) -> Linear:
    """Where each core's part of a scratch argument begins: one core after the other."""
    size = _elements(outline, value)
    return Linear(PerCore(tuple(k * size for k in range(cores)))) if cores > 1 else Linear()


def argument_attribute(args: Sequence[Arg]) -> ArrayAttr:  # type: ignore[type-arg]
    """Return `headrace.args`."""
    entries = []
    for arg in args:
        entries.append(
            builtin.DictionaryAttr(
                {
                    "name": StringAttr(arg.name.removeprefix("%")),
                    "dtype": StringAttr(arg.dtype),
                    "shape": mlir.dense(arg.shape),
                    "role": StringAttr(arg.role),
                }
            )
        )
    return ArrayAttr(entries)
