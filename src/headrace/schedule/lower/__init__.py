"""KTDF to DFIR: one program for each kind of unit.

`read` makes control trees (`tree`, `index`, `memories`); `order` finds what must happen before what and
where buffers lie; `programs` projects a tree onto each unit kind, with `emit` for moving units and `step`
for computing ones.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.syntax import set_name
from headrace.schedule.lower.emit.function import FunctionValues
from headrace.schedule.lower.emit.ops import INDEX, body, make, text
from headrace.schedule.lower.order.accesses import accesses
from headrace.schedule.lower.order.addresses import assign, shared
from headrace.schedule.lower.order.conflicts import fences, signals
from headrace.schedule.lower.programs import UnitProgram
from headrace.schedule.lower.read import Source, read
from headrace.schedule.lower.tree import stages

VERSION = 1
COPIED = ("headrace.args", "headrace.work", "headrace.device")


def lower(ktdf: ModuleOp, device: Device) -> ModuleOp:
    """Return the DFIR module of a KTDF module: the classes of cores of a kernel become one function.

    Raises HeadraceError for what is no schedule, or does not fit the device.
    """
    kernels: dict[str, list[Source]] = {}
    for source in read(ktdf, device):
        kernels.setdefault(re.sub(r"__\d+$", "", source.function.name), []).append(source)
    functions = [_function(name, sources, device) for name, sources in kernels.items()]
    attributes: dict[str, Attribute] = {
        "headrace.dfir": IntegerAttr(VERSION, i64),
        "headrace.device": DictionaryAttr({"name": text(device.name), "sha256": text(device.sha256)}),
    }
    attributes |= {key: ktdf.attributes[key] for key in COPIED if key in ktdf.attributes}
    return ModuleOp(functions, attributes=attributes)


def _function(name: str, sources: list[Source], device: Device) -> Operation:
    """Return the DFIR function of one kernel."""
    arguments = sources[0].function.arguments
    for source in sources:
        if source.function.arguments != arguments:
            message = f"the classes of @{name} have different arguments"
            raise HeadraceError(Diagnostic(message, hint="give every class all arguments of the kernel"))
    entry = Block(arg_types=[INDEX] * len(arguments))
    for arg, hint in zip(entry.args, arguments, strict=True):
        set_name(arg, hint)
    values = FunctionValues(device, dict(zip(arguments, entry.args, strict=True)))
    programs = [program for source in sources for program in _programs(source, values, device)]
    entry.add_ops([*values.head, *values.groups, *programs, make("func.return")])
    cores = sum(len(source.function.cores) for source in sources)
    properties: dict[str, Attribute] = {
        "sym_name": text(name),
        "function_type": FunctionType.from_lists([INDEX] * len(arguments), []),
    }
    attributes = {"grid": ArrayAttr([IntegerAttr(cores, i64)]), **_kept(sources[0])}
    return make("func.func", (), (), properties, [body(entry)], attributes)


def _kept(source: Source) -> dict[str, Any]:
    """The attributes of a KTDF function that a DFIR function carries, too."""
    return {k: v for k, v in source.attributes.items() if k in ("headrace.lx_in", "headrace.lx_out")}


def _programs(source: Source, values: FunctionValues, device: Device) -> list[Operation]:
    """Return the programs of one class of cores, in the order of the device's units."""
    function = source.function
    touched = list(accesses(function.body))
    addresses = assign(function, touched, device)
    edges = signals(function.body, touched, device, shared(function.buffers, addresses))
    waits = fences(touched, device)
    working = {stage.unit for stage in stages(function.body)}
    return [
        UnitProgram(function, unit.kind, values, edges, addresses, waits, source.index, source.slots).build()
        for unit in device.units
        if unit.kind in working
    ]
