"""A DFIR module as an `Image`: entry, calls, unit programs, channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Operation, SSAValue

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.machine.decode.builder import Builder
from headrace.machine.decode.handles import Handles
from headrace.machine.decode.meanings import FloatArgument, PerInstance, UnitHandle, Units
from headrace.machine.decode.program import ProgramDecoder
from headrace.machine.decode.reading import attribute, body_of, fault, integer, is_vector, name_of, text
from headrace.machine.decode.table import TABLE
from headrace.machine.decode.tidy import tidy
from headrace.machine.execute.vectors import is_supported
from headrace.machine.image import (
    Argument,
    Channel,
    Image,
    Index,
    Instance,
    Node,
    Program,
    Read,
    Receive,
    Resident,
    Schedule,
    Send,
    Symbol,
    VectorOp,
    Write,
    walk,
)
from headrace.machine.index import of
from headrace.machine.options import Options


def decode(
    module: Operation, device: Device, function: str | None = None, options: Options | None = None
) -> Image:
    """The image of a DFIR module on a device; `function` names the entry where the module has several.

    Raises HeadraceError naming the op and its place for anything the machine does not execute.
    """
    functions = {text(f, "sym_name"): f for f in _functions(module)}
    entry = _entry(functions, function)
    decoder = _ModuleDecoder(module, device, functions, options or Options())
    arguments, env = decoder.entry_arguments(entry)
    decoder.function(entry, env)
    handles = decoder.handles
    cores = 1 + max((i.core for i in handles.instances), default=0)
    return Image(
        text(entry, "sym_name"),
        tuple(handles.instances),
        tuple(decoder.schedules),
        arguments,
        _channels(decoder.schedules, handles),
        tuple(handles.groups),
        tuple(handles.memories()),
        cores,
        device.name,
    )


def _functions(op: Operation) -> Iterator[Operation]:
    """Every function with a body, nested modules included."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if name_of(inner) == "func.func":
                    if body_of(inner.regions[0]) is not None and len(body_of(inner.regions[0]).ops):
                        yield inner
                elif name_of(inner) == "builtin.module":
                    yield from _functions(inner)


def _callee(op: Operation) -> str:
    found = attribute(op, "callee")
    if not hasattr(found, "string_value"):
        fault(op, "attribute callee is missing")
    return str(found.string_value())


def _entry(functions: dict[str, Operation], name: str | None) -> Operation:
    """The function to start with: the named one, or the only one that no other calls."""
    if name is not None:
        if name not in functions:
            raise HeadraceError(f"there is no function {name}", hint="it has " + ", ".join(functions))
        return functions[name]
    called = {_callee(o) for f in functions.values() for o in f.walk() if name_of(o) == "func.call"}
    free = [f for n, f in functions.items() if n not in called]
    if len(free) == 1:
        return free[0]
    if not free:
        raise HeadraceError("the module has no function to run")
    names = ", ".join(text(f, "sym_name") for f in free)
    raise HeadraceError(
        Diagnostic(
            "the module has several functions to run",
            location(free[1]),
            "func.func",
            f"choose one of {names}",
        )
    )


_PER_CLASS = ("uniform.uniformize_regions", "uniform.equalize_pattern")
_VIEWS = ("dataflow.get_logical_memory_view", "dataflow.get_paged_logical_memory_view")


def _is_register_work(op: Operation) -> bool:
    """Whether an op outside the unit programs makes something that every unit has for itself."""
    values = (*op.results, *(op.operands if name_of(op).startswith("uniform.") else ()))
    return name_of(op) in _VIEWS or any(is_vector(v.type) for v in values)


def _require_known(body: tuple[Node, ...]) -> None:
    """A fault for a vector function the machine does not compute."""
    for node in walk(body):
        if isinstance(node, VectorOp) and not is_supported(node):
            raise HeadraceError(Diagnostic("this op is not executed", node.where, node.name))


class _ModuleDecoder:
    """Follows calls from the entry and collects one schedule per function with unit programs."""

    def __init__(
        self, module: Operation, device: Device, functions: dict[str, Operation], options: Options
    ) -> None:
        self.handles = Handles(device)
        self.functions = functions
        self.options = options
        self.names = _argument_names(module)
        self.address_unit = options.address_unit or text(module, "headrace.address_unit", "element")
        if self.address_unit not in ("element", "byte"):
            fault(module, f"headrace.address_unit cannot be {self.address_unit}", "it is element or byte")
        self.schedules: list[Schedule] = []
        self.arguments: dict[str, Symbol] = {}
        self.depth = 0

    def entry_arguments(self, entry: Operation) -> tuple[tuple[Argument, ...], dict[SSAValue, Any]]:
        """The run-time arguments and what they stand for: names from `headrace.args`, the text, or arg0…"""
        found: list[Argument] = []
        env: dict[SSAValue, Any] = {}
        block = body_of(entry.regions[0])
        named = self.names if len(self.names) == len(block.args) else []
        for k, value in enumerate(block.args):
            name = named[k] if named else value.name_hint or f"arg{k}"
            type_ = str(value.type)
            found.append(Argument(name, type_))
            if type_ in ("index", "i64", "i32", "i1"):
                self.arguments[name] = Symbol(-1 - k, "argument", name, 0)
                env[value] = of(self.arguments[name])
            elif type_ in ("f16", "bf16", "f32", "f64"):
                env[value] = FloatArgument(name, type_)
            else:
                fault(
                    entry,
                    f"argument {name} has type {type_}",
                    "arguments are index, integer or float scalars",
                )
        return tuple(found), env

    def function(self, function: Operation, env: dict[SSAValue, Any]) -> None:
        """Runs through a function: constants and handles, calls, unit programs."""
        self.depth += 1
        if self.depth > 64:
            fault(function, "calls are nested too deeply")
        outside = ProgramDecoder(Builder((0,)), self.handles, env, self.options, TABLE, self.address_unit)
        outside.rebind = lambda meaning: meaning
        units: list[Operation] = []
        shared: list[Operation] = []
        for op in body_of(function.regions[0]).ops:
            match name_of(op):
                case "dataflow.program_unit":
                    units.append(op)
                case "func.call":
                    self._call(op, env)
                case "symbol.create_id":
                    self.handles.symbols[integer(op, "symbol_id")] = outside.index(op.operands[0])
                case _ if _is_register_work(op):
                    shared.append(op)
                case _:
                    if outside.op(op) is not None:
                        fault(op, "only constants, integers and views are made outside a unit program")
        if units:
            self.schedules.append(self._schedule(function, units, shared, env))
        self.depth -= 1

    def _call(self, op: Operation, env: dict[SSAValue, Any]) -> None:
        name = _callee(op)
        if name not in self.functions:
            fault(op, f"there is no function {name}")
        callee = self.functions[name]
        arguments = body_of(callee.regions[0]).args
        if len(arguments) != len(op.operands) or len(op.results):
            fault(op, f"{name} takes {len(arguments)} values and returns none")
        missing = [v for v in op.operands if v not in env]
        if missing:
            fault(op, "only integers and floating-point arguments can be passed on")
        inner = dict(zip(arguments, (env[v] for v in op.operands), strict=True))
        self.function(callee, inner)

    def _schedule(
        self, function: Operation, units: list[Operation], shared: list[Operation], env: dict[SSAValue, Any]
    ) -> Schedule:
        programs: list[Program] = []
        for parts, members in self._classes(units, env).items():
            programs.append(self._program(len(programs), [units[k] for k, _ in parts], shared, members, env))
        return Schedule(
            text(function, "sym_name"),
            tuple(programs),
            _residents(function, "headrace.lx_in"),
            _residents(function, "headrace.lx_out"),
        )

    def _classes(
        self, units: list[Operation], env: dict[SSAValue, Any]
    ) -> dict[tuple[tuple[int, tuple[int | None, ...]], ...], list[int]]:
        """Instances by what they run: unit programs, and the regions they choose in each."""
        signature: dict[int, list[tuple[int, tuple[int | None, ...]]]] = {}
        for k, unit in enumerate(units):
            choices = [o for o in unit.walk() if name_of(o) in _PER_CLASS]
            for value in unit.operands:
                found = env.get(value)
                for handle in found.members if isinstance(found, Units) else (found,):
                    if not isinstance(handle, UnitHandle):
                        fault(unit, "a program runs on units that are named outside of it")
                    chosen = tuple(self.handles.region_of(o, env, handle.number) for o in choices)
                    signature.setdefault(handle.number, []).append((k, chosen))
        classes: dict[tuple[tuple[int, tuple[int | None, ...]], ...], list[int]] = {}
        for number, parts in signature.items():
            classes.setdefault(tuple(parts), []).append(number)
        return classes

    def _program(
        self,
        number: int,
        parts: list[Operation],
        shared: list[Operation],
        members: list[int],
        env: dict[SSAValue, Any],
    ) -> Program:
        instances: list[Instance] = [self.handles.instances[n] for n in members]
        order = sorted(
            range(len(members)), key=lambda i: (instances[i].core, instances[i].corelet, members[i])
        )
        members = [members[i] for i in order]
        kinds = {self.handles.instances[n].kind for n in members}
        if len(kinds) != 1:
            fault(parts[0], "a program runs on units of one kind", "write one program_unit per kind")
        builder = Builder(members)
        local = {v: builder.rebind(m) for v, m in env.items()}
        decoder = ProgramDecoder(builder, self.handles, local, self.options, TABLE, self.address_unit)
        nodes = decoder.ops(shared)
        for part in parts:
            block = body_of(part.regions[0])
            me = tuple(UnitHandle(n) for n in members)
            for argument in block.args:
                local[argument] = me[0] if len(me) == 1 else PerInstance(me)
            nodes.extend(decoder.block(block))
        body = tidy(tuple(nodes))
        _require_known(body)
        return Program(
            number,
            kinds.pop(),
            tuple(members),
            body,
            builder.slots,
            tuple((s.slot, key) for key, s in builder.tables.items()),
            tuple((s.slot, name) for name, s in builder.arguments.items()),
            builder.values,
        )


def _argument_names(module: Operation) -> list[str]:
    """Names of the kernel's arguments as `headrace.args` of the module gives them."""
    found = attribute(module, "headrace.args")
    return [] if found is None else [str(entry.data["name"].data) for entry in found.data]


def _residents(function: Operation, key: str) -> tuple[Resident, ...]:
    found = attribute(function, key)
    if found is None:
        return ()
    return tuple(
        Resident(str(e.data["name"].data), int(e.data["address"].value.data), int(e.data["bytes"].value.data))
        for e in found.data
    )


def _channels(schedules: list[Schedule], handles: Handles) -> tuple[Channel, ...]:
    """Every channel that some program uses; a fault where the device has no such path."""
    pairs: dict[tuple[int, int], Any] = {}
    for schedule in schedules:
        for program in schedule.programs:
            for node in walk(program.body):
                for peer, is_sender, where in _ends(node):
                    for mine, other in zip(program.instances, program.numbers(peer), strict=True):
                        pairs.setdefault((mine, other) if is_sender else (other, mine), where)
    for (sender, receiver), where in pairs.items():
        if not handles.has_path(sender, receiver):
            a, b = handles.instances[sender], handles.instances[receiver]
            message = (
                f"device {handles.device.name} has no path from {a.kind} to {b.kind} ({a.name} to {b.name})"
            )
            raise HeadraceError(Diagnostic(message, where, "dataflow.send"))
    return tuple(handles.channel(a, b) for a, b in pairs)


def _ends(node: Node) -> Iterator[tuple[Index, bool, Any]]:
    """(peer, whether this unit sends, place) of every channel end of a node."""
    match node:
        case Read() | Write():
            for stream in node.streams:
                yield stream.peer, isinstance(node, Read), stream.where
        case Send():
            yield node.peer, True, node.where
        case Receive():
            yield node.peer, False, node.where
