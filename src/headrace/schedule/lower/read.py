"""KTDF functions as control trees: each `func.func` with a grid becomes a `tree.Function`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import UnknownLoc

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.ir.text import location
from headrace.schedule.lower import memories
from headrace.schedule.lower.annotations import cores_of, groups, handover, is_in_parallel, is_zero, order
from headrace.schedule.lower.channels import check_channels
from headrace.schedule.lower.evaluate import Values, evaluate
from headrace.schedule.lower.index import (
    ONE,
    ZERO,
    Expr,
    Number,
    Var,
    collapse,
    combine,
    entries,
    variable,
)
from headrace.schedule.lower.tree import (
    Apply,
    Function,
    Indirect,
    Item,
    Loop,
    Node,
    Place,
    PointLoop,
    Slot,
    Stage,
    Transfer,
    trips,
)

SILENT = {
    "ktdf.private",
    "ktdf.private_yield",
    "ktdf.parallel_yield",
    "ktdf.create_token",
    "scf.yield",
    "func.return",
    "uniform.def_immutable_mapping",
}


ENDS = (
    ("source", "source_indices", "source_map", "source_sizes", "static_source_sizes"),
    ("destination", "dest_indices", "dest_map", "dest_sizes", "static_dest_sizes"),
)
"""What a data_transfer says of its ends: the value, then the box of a memref."""


@dataclass(frozen=True)
class Source:
    """A function's tree with what the SSA values of its compute stages are: index values and channel ends."""

    function: Function
    index: Values
    slots: dict[Any, Slot]
    attributes: dict[str, Any]


def read(module: Any, device: Device) -> tuple[Source, ...]:
    """Return the control tree of every function of a KTDF module that has a grid, in textual order."""
    functions = [op for op in module.body.ops if op.name == "func.func" and "grid" in op.attributes]
    if not functions:
        hint = "a schedule function has the attribute grid = [cores]"
        raise HeadraceError(Diagnostic("the module holds no schedule function", location(module), hint=hint))
    return tuple(_Reader(op, device).source() for op in functions)


class _Reader:
    """Reads one function; holds what its SSA values mean."""

    def __init__(self, op: Any, device: Device) -> None:
        self.op, self.device = op, device
        self.cores = cores_of(op, device)
        self.core: Number = collapse(tuple(c for c in self.cores for _ in range(device.corelets)))
        self.corelet: Number = collapse(tuple(range(device.corelets)) * len(self.cores))
        self.values: Values = {}
        self.loops: dict[Any, Loop] = {}
        self.memories = memories.Memories(self.values, device.corelets)
        self.around: dict[Any, Location] = {}
        self.pipelines = 0
        self.names = 0

    def source(self) -> Source:
        """Return the tree of the function and its values."""
        block = self.op.body.block
        names = tuple(arg.name_hint or f"arg{i}" for i, arg in enumerate(block.args))
        for name, arg in zip(names, block.args, strict=True):
            self.values[arg] = variable(name, is_argument=True)
        self.memories.group(self.op)
        body = self.block(block.ops)
        name = self.op.sym_name.data
        buffers = tuple(self.memories.buffers)
        function = Function(name, self.cores, self.device.corelets, names, body, buffers)
        return Source(function, self.values, self.memories.slots, dict(self.op.attributes))

    def where(self, op: Any) -> Location:
        """Return where an op stands; ops built by a program stand where the one around them does."""
        parent = op.parent_op() if type(op.location) is UnknownLoc else None
        if parent is None:
            return location(op)
        if parent not in self.around:
            self.around[parent] = location(parent)
        return self.around[parent]

    def block(self, ops: Iterable[Any]) -> tuple[Item, ...]:
        """Return the loops and stages of a block of the control tree."""
        items: list[Item] = []
        for op in ops:
            if op.name == "scf.for":
                items.extend(self.loop(op))
            elif op.name == "ktdf.parallel":
                items.extend(self.parallel(op))
            elif op.name == "ktdf.pipeline":
                items.extend(self.pipeline(op))
            elif op.name == "ktdf.opaque":
                items.append(handover(op, self.device))
            elif not self.index(op):
                hint = "a block holds index ops, scf.for, ktdf.parallel and ktdf.pipeline"
                raise HeadraceError(Diagnostic("not part of a control tree", location(op), op.name, hint))
        return tuple(items)

    def index(self, op: Any) -> bool:
        """Note what an op without effect on the tree defines; False if the op is none of those."""
        if op.name in SILENT:
            return True
        if self.memories.define(op):
            return True
        form = evaluate(op, self.values, self.core, self.loops)
        if form is not None:
            self.values[op.results[0]] = form
        return form is not None

    def bounds(self, op: Any) -> tuple[Expr, Expr, Expr]:
        """Return lower bound, upper bound and step of an scf.for."""
        for operand in (op.lb, op.ub, op.step):
            if operand not in self.values:
                hint = (
                    "bounds are index arithmetic on constants, arguments, core and corelet numbers and loops"
                )
                raise HeadraceError(Diagnostic("a loop bound is not known", location(op), op.name, hint))
        return self.values[op.lb], self.values[op.ub], self.values[op.step]

    def fresh(self, value: Any) -> Var:
        """Return a variable for an induction value."""
        self.names += 1
        return Var(f"{value.name_hint or 'i'}.{self.names}")

    def loop(self, op: Any) -> tuple[Item, ...]:
        """Return a loop over tiles; its body alone if it runs once, nothing if it never runs."""
        low, high, step = self.bounds(op)
        block = op.body.block
        if op.iter_args:
            hint = "carry the value in a buffer"
            raise HeadraceError(Diagnostic("a loop over tiles carries values", location(op), op.name, hint))
        count = trips(low, high, step)
        if count.is_number and max(entries(count.const)) <= 0:
            return ()
        if count == ONE:
            self.values[block.args[0]] = low
            return self.block(block.ops)
        var = self.fresh(block.args[0])
        self.values[block.args[0]] = Expr(0, ((var, 1),))
        phase = op.attributes.get("headrace.phase")
        label = phase.data if phase is not None else ""
        place = self.where(op)
        self.loops[block.args[0]] = Loop(var, low, high, step, (), label, place)
        return (Loop(var, low, high, step, self.block(block.ops), label, place),)

    def parallel(self, op: Any) -> tuple[Item, ...]:
        """Return the share of this corelet: instance i of n runs the i-th block of ceil(points / n)
        points.
        """
        *ivs, instance = op.region.block.args
        instances = int(op.num_instances.value.data)
        if instances > self.device.corelets:
            hint = f"distribute over at most {self.device.corelets}"
            raise HeadraceError(Diagnostic("more instances than corelets", location(op), op.name, hint))
        lows = [self.values[v] for v in op.lower_bounds]
        steps = [self.values[v] for v in op.steps]
        counts = [
            trips(low, self.values[high], step)
            for low, high, step in zip(lows, op.upper_bounds, steps, strict=True)
        ]
        self.values[instance] = Expr(self.corelet)
        total = ONE
        for count in counts:
            total = combine("mul", total, count)
        first, last = self.share(total, instances)
        var = self.fresh(ivs[0])
        single = trips(first, last, ONE) == ONE
        rest = first if single else Expr(0, ((var, 1),))
        for iv, low, step, count in reversed(list(zip(ivs, lows, steps, counts, strict=True))):
            own = combine("mod", rest, count) if len(ivs) > 1 else rest
            self.values[iv] = low + combine("mul", own, step)
            rest = combine("floordiv", rest, count) if len(ivs) > 1 else rest
        body = self.block(op.region.block.ops)
        return body if single else (Loop(var, first, last, ONE, body, where=self.where(op)),)

    def share(self, total: Expr, instances: int) -> tuple[Expr, Expr]:
        """Return the first point and the end of the share of each corelet."""
        size = combine("ceildiv", total, Expr(instances))
        first = size.scaled(self.corelet)
        return combine("min", first, total), combine("min", first + size, total)

    def pipeline(self, op: Any) -> tuple[Item, ...]:
        """Return the stages of a pipeline in text order; a composite stage is a block of its own."""
        self.pipelines += 1
        number = self.pipelines
        items: list[Item] = []
        for child in op.region.block.ops:
            if child.name == "ktdf.private":
                self.memories.private(child)
        for child in op.region.block.ops:
            if child.name != "ktdf.stage":
                continue
            units = [unit.data for unit in child.applicable_units or ()]
            if len(units) == 1:
                items.extend(self.stage(child, units[0], number))
            else:
                items.extend(self.block(child.region.block.ops))
        return tuple(items)

    def stage(self, op: Any, kind: str, number: int) -> tuple[Item, ...]:
        """Return a stage of one unit; outside `ktdf.parallel` a corelet's unit works on corelet 0 only."""
        unit = self.device.find_unit(kind)
        if unit is None:
            known = ", ".join(u.kind for u in self.device.units)
            message = f'no unit "{kind}" on {self.device.name}'
            raise HeadraceError(Diagnostic(message, location(op), op.name, f"its units are {known}"))
        body = self.nodes(op.region.block.ops)
        if not body:
            return ()
        stage = Stage(unit.kind, number, body, self.where(op))
        check_channels(stage, self.memories.slots, self.device)
        alone = unit.per == "corelet" and self.device.corelets > 1 and not is_in_parallel(op)
        if not alone:
            return (stage,)
        self.names += 1
        once = Expr(is_zero(self.corelet))
        return (Loop(Var(f"once.{self.names}"), ZERO, once, ONE, (stage,), where=stage.where),)

    def nodes(self, ops: Iterable[Any]) -> tuple[Node, ...]:
        """Return what a stage does, in order."""
        found: list[Node] = []
        for op in ops:
            if op.name == "scf.for":
                found.extend(self.point_loop(op))
            elif op.name == "ktdf.data_transfer":
                found.append(self.transfer(op))
            elif op.name == "ktdf.opaque":
                found.append(self.indirect(op))
            elif not self.index(op):
                found.append(Apply(op))
            elif op.name == "arith.constant":
                found.append(Apply(op))
        return tuple(found)

    def point_loop(self, op: Any) -> tuple[Node, ...]:
        """Return a loop inside a stage; its body alone if it runs once and carries nothing."""
        low, high, step = self.bounds(op)
        block = op.body.block
        last = block.last_op
        if last is None or len(last.operands) != len(op.iter_args):
            hint = "yield one value for each carried one"
            raise HeadraceError(
                Diagnostic("a loop yields other values than it carries", location(op), op.name, hint)
            )
        count = trips(low, high, step)
        if count == ONE and not op.iter_args:
            self.values[block.args[0]] = low
            return self.nodes(block.ops)
        if count.is_number and max(entries(count.const)) <= 0 and not op.iter_args:
            return ()
        var = self.fresh(block.args[0])
        self.values[block.args[0]] = Expr(0, ((var, 1),))
        mark = op.attributes.get("loop_type")
        kind = mark.data.value if mark is not None else None
        return (PointLoop(var, low, high, step, kind, self.nodes(block.ops), op, self.where(op)),)

    def transfer(self, op: Any) -> Transfer:
        """Return a data_transfer."""
        source, target = (self.end(op, *names) for names in ENDS)
        return Transfer(source, target, order(op), groups(op), self.where(op))

    def end(self, op: Any, value: str, *box: str) -> Place | Slot:
        """Return one end of a transfer: a channel, or the box of memory that its operands of these names
        describe.
        """
        given = getattr(op, value)
        slot = self.memories.slot(given)
        return slot if slot else self.memories.box(op, given, *(getattr(op, name) for name in box))

    def indirect(self, op: Any) -> Indirect:
        """Return a gather or scatter written as ktdf.opaque."""
        name = op.template_name.data
        kind = {"headrace.gather": "gather", "headrace.scatter": "scatter"}.get(name)
        if kind is None:
            hint = 'known are "headrace.gather" and "headrace.scatter"'
            raise HeadraceError(Diagnostic(f'unknown opaque op "{name}"', location(op), op.name, hint))
        first, second, third = (self.memories.whole(op, operand) for operand in op.operands)
        dim = int(op.attributes["headrace.dim"].value.data) if "headrace.dim" in op.attributes else 0
        if kind == "gather":
            return Indirect("gather", first, second, third, dim, groups(op), self.where(op))
        return Indirect("scatter", first, third, second, dim, None, self.where(op))
