"""What to model: which functions, one after the other, and what their arguments are bound to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from headrace.ir.arguments import argument_name, arguments, examples, functions, host_function
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, is_known
from headrace.schedule.graph import Arg
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import literal
from headrace.schedule.model.bodies.scalar_ops import constant
from headrace.schedule.model.bodies.scalars import integer, rounded
from headrace.schedule.model.tensors import Constant, Integer


@dataclass(frozen=True)
class KernelRun:
    """One kernel of a launch and what its arguments are bound to, by name."""

    kernel: FuncOp
    bindings: Mapping[str, Constant | Integer]


def launch(
    module: ModuleOp, name: str | None, scalars: Mapping[str, float | int]
) -> tuple[str, tuple[KernelRun, ...]]:
    """The name of what is launched and its kernels in order.

    That is the function of that name; without a name what the host function calls, or every function that no
    other calls, in textual order: arguments of one name are one buffer.
    """
    known = functions(module)
    host = host_function(module)
    if host is not None and name in (None, host.sym_name.data):
        return host.sym_name.data, tuple(_called(host, known, scalars))
    called = {str(literal(op, "callee")) for op in module.walk() if op.name == "func.call"}
    chosen = [
        f
        for f in known
        if (f.sym_name.data == name if name is not None else f"@{f.sym_name.data}" not in called)
    ]
    if not chosen:
        names = ", ".join(f.sym_name.data for f in known) or "none"
        message = f"no function '{name}'" if name is not None else "no function to schedule"
        raise HeadraceError(Diagnostic(message, location(module), hint=f"this module has: {names}"))
    title = "_".join(f.sym_name.data for f in chosen)
    return title, tuple(KernelRun(f, bindings(f, scalars)) for f in chosen)


def _called(host: FuncOp, known: Sequence[FuncOp], scalars: Mapping[str, float | int]) -> Iterator[KernelRun]:
    """What the calls of a host function run."""
    by_name = {f"@{f.sym_name.data}": f for f in known}
    own = bindings(host, scalars)
    values: dict[SSAValue, Constant | Integer] = {
        argument: own[argument_name(host, k)] for k, argument in enumerate(host.body.block.args)
    }
    for op in host.body.block.ops:
        if op.name == "arith.constant":
            value = constant(literal(op, "value"))
            assert not isinstance(value, list)
            values[op.results[0]] = value
        elif op.name == "func.call":
            kernel = by_name.get(str(literal(op, "callee")))
            if kernel is None:
                raise HeadraceError(
                    Diagnostic(f"no function {literal(op, 'callee')} with a body", location(op), op.name)
                )
            yield KernelRun(kernel, {argument_name(kernel, k): values[v] for k, v in enumerate(op.operands)})


def bindings(function: FuncOp, scalars: Mapping[str, float | int]) -> dict[str, Constant | Integer]:
    """What every argument is bound to: an address, or the number it has.

    HeadraceError with every argument that has neither.
    """
    values = {**examples(function), **scalars}
    bound: dict[str, Constant | Integer] = {}
    missing: list[Diagnostic] = []
    for k, argument in enumerate(function.body.block.args):
        name = argument_name(function, k)
        kind = str(getattr(argument.type, "underlying", argument.type))
        if kind == "index" and _is_address(argument):
            bound[name] = Integer(Num(0, {}, name), kind)
        elif not is_known(kind):
            hint = "arguments are index, integers or floats"
            found = f"argument %{name} has type {argument.type}"
            missing.append(Diagnostic(found, location(function), function.name, hint))
        elif name in values:
            value = values[name]
            bound[name] = (
                Constant(rounded(value, kind), kind) if is_float(kind) else integer(int(value), kind)
            )
        elif argument.first_use is None:
            bound[name] = integer(0, kind)
        else:
            hint = f"give it one: --arg {name}=VALUE, or headrace.example on the function"
            missing.append(
                Diagnostic(f"argument %{name} needs a value", location(function), function.name, hint)
            )
    if missing:
        raise HeadraceError(missing)
    return bound


def _is_address(value: SSAValue) -> bool:
    """Whether a value becomes the start of a memory view, directly or through sums, casts and calls."""
    for use in value.uses:
        op = use.operation
        if op.name == "ktdp.construct_memory_view" and use.index == 0:
            return True
        if op.name in ("arith.addi", "arith.subi", "arith.index_cast") and _is_address(op.results[0]):
            return True
        if op.name == "func.call" and _is_called_address(op, use.index):
            return True
    return False


def _is_called_address(call: Operation, index: int) -> bool:
    module = call.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    callee = str(literal(call, "callee"))
    return any(
        f"@{f.sym_name.data}" == callee and _is_address(f.body.block.args[index]) for f in functions(module)
    )


def memory_arguments(
    module: ModuleOp, name: str | None, scalars: Mapping[str, float | int]
) -> tuple[Arg, ...]:
    """The memory and scratch arguments of a function, or of all that runs, in order."""
    return tuple(
        Arg(a.name, a.dtype, a.shape, a.role)
        for a in arguments(module, name, scalars)
        if a.kind in ("memory", "lx")
    )
