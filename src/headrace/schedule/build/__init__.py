"""Plan to KTDF: one construction, every decision taken before."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64

from headrace.arch.device import Device
from headrace.schedule.build.function import argument_attribute, class_function
from headrace.schedule.graph import TileGraph
from headrace.schedule.phases.local import without_local_views
from headrace.schedule.plan import Plan
from headrace.schedule.replay import Layout, layouts


def build(graph: TileGraph, plan: Plan, device: Device) -> ModuleOp:
    """Return the KTDF module of a plan; HeadraceError if the plan does not fit the graph or the device."""
    graph = without_local_views(graph)
    made: list[Layout] = layouts(graph, plan, device)
    args = [*graph.args, *(a for layout in made for a in layout.arguments)]
    functions: list[Any] = []
    for number, (layout, part) in enumerate(zip(made, plan.classes, strict=True)):
        name = graph.name if len(made) == 1 else f"{graph.name}__{number}"
        functions.append(class_function(name, args, layout, part, device))
    module = ModuleOp(functions)
    module.attributes["headrace.args"] = argument_attribute(args)
    module.attributes["headrace.device"] = DictionaryAttr(
        {"name": StringAttr(device.name), "sha256": StringAttr(device.sha256)}
    )
    work = {k: IntegerAttr(v, i64) for k, v in graph.work.items() if isinstance(v, int)}
    module.attributes["headrace.work"] = builtin.DictionaryAttr(work)
    return module
