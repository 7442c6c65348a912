"""Kernel to Program: runs the scheduler from whatever level the kernel is at, or takes a program from the
cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headrace.arch.device import Device
from headrace.arch.presets import device as find_device
from headrace.ir.arguments import Argument
from headrace.ir.collector import collector_paused
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.runtime.cache import content_key, keep, known
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program

DECISIONS = ("division",)
"""Optimisations of the front-end: reductions divided over cores that combine their results."""


@dataclass(frozen=True)
class Options:
    """How to compile: optimisations to leave out, a plan (JSON data) to replay, search effort, scalar
    arguments; `settings` are choices of what DFIR means (fields of `machine.options.Options`).
    """

    without: tuple[str, ...] = ()
    effort: int = 1
    plan: Any = None
    scalars: Mapping[str, float | int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def compile_kernel(kernel: Kernel, device: Device | str, options: Options) -> Program:
    """The kernel as a program for the device, known from before where its text, the device and the options
    are; HeadraceError when it cannot be scheduled there.
    """
    device = find_device(device) if isinstance(device, str) else device
    require_known(options.without)
    start = time.perf_counter()
    key = content_key(kernel, device, options)
    program = known(key, kernel, device)
    if program is None:
        with collector_paused():
            program = _compiled(kernel, device, options)
        if options.settings:
            program.meta["settings"] = dict(options.settings)
        if kernel.level == "ktir":
            keep(key, program)
    program.meta["compile_ms"] = round(1e3 * (time.perf_counter() - start), 3)
    return program


def _compiled(kernel: Kernel, device: Device, options: Options) -> Program:
    match kernel.level:
        case "ktir":
            return _from_ktir(kernel, device, options)
        case "ktdf":
            return _from_ktdf(kernel, device)
        case _:
            return _from_dfir(kernel, device, options)


def require_known(without: tuple[str, ...]) -> None:
    """HeadraceError for a name that no optimisation has, of the scheduler (`schedule.` may stand in front) or
    of the front-end (`decide.`), whose decisions a kernel has in it already.
    """
    from headrace.schedule.search import OPTIMISATIONS

    rooms = {"": (*OPTIMISATIONS, *DECISIONS), "schedule": OPTIMISATIONS, "decide": DECISIONS}
    for name in without:
        room, _, own = name.rpartition(".")
        if own not in rooms.get(room, ()):
            raise HeadraceError(
                f"--without {name}: no such optimisation", hint=f"names are {', '.join(rooms[''])}"
            )


def _from_ktir(kernel: Kernel, device: Device, options: Options) -> Program:
    from headrace.schedule.compile import Request, compile_module
    from headrace.schedule.plan import Plan

    _require_scalars(kernel.arguments, options.scalars)
    plan = Plan.from_json(json.dumps(options.plan)) if options.plan is not None else None
    without = frozenset(name.removeprefix("schedule.") for name in options.without)
    simulate = partial(_cycles, device=device, scalars=options.scalars)
    request = Request(options.scalars, kernel.function, without, options.effort, plan, simulate)
    compiled = compile_module(kernel.module, device, request)
    return Program(
        name=compiled.graph.name,
        device=device,
        arguments=kernel.arguments_for(options.scalars),
        dfir_module=compiled.dfir,
        ktdf_module=compiled.ktdf,
        ktir=kernel.text,
        plan=json.loads(compiled.plan.to_json()),
        grid=compiled.graph.grid,
        work=compiled.work,
        scalars=dict(options.scalars),
        file=kernel.file,
        meta={
            "reduction_terms": compiled.reduction_terms,
            "rounded_between": compiled.rounded_between,
            "asked": _asked(kernel, options),
        },
    )


def _asked(kernel: Kernel, options: Options) -> dict[str, Any]:
    """What a compilation was asked for beside text, device and scalars, as JSON data."""
    return {
        "function": kernel.function,
        "is_masked": kernel.is_masked,
        "without": list(options.without),
        "effort": options.effort,
        "plan": options.plan,
        "settings": dict(options.settings),
    }


def recompile(program: Program, scalars: Mapping[str, float | int]) -> Program:
    """The program for other scalar values, everything else as it was asked for."""
    asked = {**_asked(Kernel(program.ktir), Options()), **program.meta.get("asked", {})}
    kernel = Kernel(program.ktir, program.file, asked["function"], asked["is_masked"])
    without, plan = tuple(asked["without"]), asked["plan"]
    options = Options(without, asked["effort"], plan, scalars, asked["settings"])
    return compile_kernel(kernel, program.device, options)


def _cycles(dfir: Any, device: Device, scalars: Mapping[str, float | int]) -> float:
    """Simulated cycles of a DFIR module whose arrays start at aligned addresses."""
    from headrace.machine.decode import decode
    from headrace.machine.timing import time as simulated

    image = decode(dfir, device)
    return simulated(image, {a.name: scalars.get(a.name, 0) for a in image.arguments}, device).cycles


def _from_ktdf(kernel: Kernel, device: Device) -> Program:
    from headrace.schedule.lower import lower

    return _declared(kernel, device, lower(kernel.module, device), kernel.module)


def _from_dfir(kernel: Kernel, device: Device, options: Options) -> Program:
    """A program as it stands; where it does not declare its arguments, they are what it does with them."""
    from headrace.runtime.foreign import foreign_arguments

    program = _declared(kernel, device, kernel.module, None)
    program.scalars = dict(options.scalars)
    if kernel.function:
        program.meta["entry"] = kernel.function
    program.meta |= {"settings": dict(options.settings)} if options.settings else {}
    program.name = program.image.name
    if not program.arguments:
        program.arguments = foreign_arguments(program.image, program.scalars)
    return program


def _declared(kernel: Kernel, device: Device, dfir: Any, ktdf: Any) -> Program:
    """A program whose arguments and work are what the module's own attributes say."""
    from headrace.runtime.declared import declared_arguments, declared_work, function_name

    return Program(
        name=function_name(dfir),
        device=device,
        arguments=declared_arguments(dfir),
        dfir_module=dfir,
        ktdf_module=ktdf,
        work=declared_work(dfir),
        file=kernel.file,
    )


def _require_scalars(arguments: tuple[Argument, ...], scalars: Mapping[str, float | int]) -> None:
    missing = [a for a in arguments if a.kind == "scalar" and a.name not in scalars]
    if missing:
        raise HeadraceError(
            [
                Diagnostic(f"scalar argument '{a.name}' has no value", hint=f"pass --arg {a.name}=VALUE")
                for a in missing
            ]
        )
