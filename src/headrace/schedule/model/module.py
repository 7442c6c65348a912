"""model: a function of a KTIR module as a TileGraph for one device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, product

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, is_known
from headrace.schedule.graph import Arg, CoreClass, Load, Statement, Store, TileGraph, Value, View
from headrace.schedule.model.cleanup import drop_dead, number_inits, share, simplify_reshapes
from headrace.schedule.model.contraction import recognise_all
from headrace.schedule.model.dims import unify
from headrace.schedule.model.evaluate import argument_names, evaluate
from headrace.schedule.model.number import Num
from headrace.schedule.model.rounds import Piece, core_classes
from headrace.schedule.model.scalars import integer, rounded
from headrace.schedule.model.state import Split, State, literal
from headrace.schedule.model.statements import everything, names
from headrace.schedule.model.tensors import Constant, Integer
from headrace.schedule.model.work import work_of


def model(
    module: ModuleOp,
    device: Device,
    scalars: Mapping[str, float | int] | None = None,
    function: str | None = None,
) -> TileGraph:
    """The TileGraph of a function (the only one, or the one named) on the cores of `device`.

    `scalars` gives arguments that are no addresses their values, by name without the percent sign; the function's
    `headrace.example` stands in for those not given. HeadraceError carries everything that cannot be scheduled.
    """
    chosen = _function(module, function)
    grid = _grid(chosen)
    bindings = _bindings(chosen, scalars or {})
    coordinates = np.array([c[::-1] for c in product(*(range(n) for n in reversed(grid)))], np.int64)
    pieces = _pieces(module, chosen, coordinates, bindings)
    state = State(module, coordinates[:1])
    state.counter = 1_000_000
    classes = _finished(core_classes(pieces, device.cores, state))
    args = _arguments(chosen, classes)
    return TileGraph(chosen.sym_name.data, grid, args, classes, work_of(classes))


def _function(module: ModuleOp, name: str | None) -> FuncOp:
    functions = [f for f in module.walk() if isinstance(f, FuncOp) and not f.is_declaration]
    if name is not None:
        found = [f for f in functions if f.sym_name.data == name]
    else:
        called = {str(literal(op, "callee")) for op in module.walk() if op.name == "func.call"}
        found = [f for f in functions if f"@{f.sym_name.data}" not in called]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f.sym_name.data for f in functions) or "none"
    what = (
        f"no function {name}" if name is not None and not found else f"{len(found)} functions to choose from"
    )
    raise HeadraceError(Diagnostic(what, location(module), hint=f"functions of this module: {names}"))


def _grid(function: FuncOp) -> tuple[int, ...]:
    attr = function.attributes.get("grid")
    if attr is None:
        return (1,)
    if (
        isinstance(attr, ArrayAttr)
        and all(isinstance(a, IntegerAttr) and a.value.data > 0 for a in attr)
        and len(attr)
    ):
        return tuple(a.value.data for a in attr)
    raise HeadraceError(
        Diagnostic(f"grid {attr} is no list of positive integers", location(function), function.name)
    )


def _bindings(function: FuncOp, scalars: Mapping[str, float | int]) -> dict[str, Constant | Integer]:
    """What every argument is bound to; all missing values are reported at once."""
    known = {**_examples(function), **scalars}
    bindings: dict[str, Constant | Integer] = {}
    missing: list[Diagnostic] = []
    for argument, name in zip(function.body.block.args, argument_names(function), strict=True):
        kind = str(getattr(argument.type, "underlying", argument.type))
        if kind == "index" and _is_address(argument):
            bindings[name] = Integer(Num(0, {}, name), kind)
        elif not is_known(kind):
            missing.append(
                Diagnostic(f"argument %{name} has type {argument.type}", location(function), function.name)
            )
        elif name in known:
            value = known[name]
            bindings[name] = (
                Constant(rounded(value, kind), kind) if is_float(kind) else integer(int(value), kind)
            )
        elif argument.uses.get_length():
            hint = f"give it one: --arg {name}=VALUE, or headrace.example on the function"
            missing.append(
                Diagnostic(f"argument %{name} needs a value", location(function), function.name, hint)
            )
        else:
            bindings[name] = integer(0, kind)
    if missing:
        raise HeadraceError(missing)
    return bindings


def _examples(function: FuncOp) -> dict[str, float | int]:
    attr = function.attributes.get("headrace.example")
    if not isinstance(attr, DictionaryAttr):
        return {}
    return {k: v.value.data for k, v in attr.data.items() if isinstance(v, IntegerAttr | FloatAttr)}


def _is_address(value: SSAValue) -> bool:
    """Whether a value becomes the start of a memory view, directly or through additions and calls."""
    for use in value.uses:
        op: Operation = use.operation
        if op.name == "ktdp.construct_memory_view" and use.index == 0:
            return True
        if op.name in ("arith.addi", "arith.subi") and _is_address(op.results[0]):
            return True
        if op.name == "func.call" and _is_called_address(op, use.index):
            return True
    return False


def _is_called_address(call: Operation, index: int) -> bool:
    module = call.get_toplevel_object()
    assert isinstance(module, Operation)
    for f in module.walk():
        if (
            isinstance(f, FuncOp)
            and f"@{f.sym_name.data}" == str(literal(call, "callee"))
            and not f.is_declaration
        ):
            return _is_address(f.body.block.args[index])
    return False


def _pieces(
    module: ModuleOp, function: FuncOp, coordinates: np.ndarray, bindings: Mapping[str, Constant | Integer]
) -> list[Piece]:
    """The function evaluated group by group, groups parted wherever their tiles do not do the same."""
    groups = [np.arange(len(coordinates))]
    pieces: list[Piece] = []
    findings: list[Diagnostic] = []
    while groups:
        tiles = groups.pop(0)
        try:
            state = evaluate(module, function, coordinates[tiles], bindings)
        except Split as parting:
            keys = np.broadcast_to(parting.keys, tiles.shape)
            groups = [tiles[keys == key] for key in np.unique(keys)] + groups
            continue
        findings += [d for d in state.diagnostics if d not in findings]
        pieces.append(Piece(tuple(int(t) for t in tiles), state.values, _cleaned(state)))
    if findings:
        raise HeadraceError(findings)
    return pieces


def _cleaned(state: State) -> tuple[Statement, ...]:
    body = tuple(state.block)
    for _ in range(2):
        body = number_inits(body)
        body = simplify_reshapes(body, state.values)
        body = share(body, state.values)
        body = drop_dead(body, ())
    return body


def _finished(classes: tuple[CoreClass, ...]) -> tuple[CoreClass, ...]:
    """The classes with contractions marked, dims unified and named, unused values gone."""
    numbers: Iterator[int] = count()
    done = []
    for c in classes:
        body = recognise_all(drop_dead(c.body, ()), c.values)
        body = unify(body, c.values, lambda: f"d{next(numbers)}")
        done.append(CoreClass(c.cores, _used(body, c), body))
    return tuple(done)


def _used(body: tuple[Statement, ...], c: CoreClass) -> dict[str, Value]:
    used = names(body)
    return {n: v for n, v in c.values.items() if n in used}


def _arguments(function: FuncOp, classes: tuple[CoreClass, ...]) -> tuple[Arg, ...]:
    """Memory arguments in order: the widest view of each, and whether it is read, written or local."""
    views: dict[str, list[View]] = {}
    modes: dict[str, set[str]] = {}
    for s in (s for c in classes for s in everything(c.body) if isinstance(s, Load | Store)):
        for view, mode in [
            (s.view, "in" if isinstance(s, Load) else "out"),
            *((i.index, "in") for i in s.indirect),
        ]:
            views.setdefault(view.arg, []).append(view)
            modes.setdefault(view.arg, set()).add("scratch" if view.space == "ct_local" else mode)
    args = []
    for name in argument_names(function):
        if name in views:
            widest = max(views[name], key=_reach)
            role = (
                "scratch"
                if modes[name] == {"scratch"}
                else "inout"
                if len(modes[name]) > 1
                else modes[name].pop()
            )
            args.append(Arg(name, widest.dtype, widest.sizes, role))
    return tuple(args)


def _reach(view: View) -> int:
    return 1 + sum((n - 1) * abs(s) for n, s in zip(view.sizes, view.strides, strict=True))
