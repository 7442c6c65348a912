"""Unit programs: the control tree projected onto one unit kind, with its signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.lower.emit.function import FunctionValues, Instance
from headrace.schedule.lower.emit.gathers import indirect
from headrace.schedule.lower.emit.handovers import hand_over
from headrace.schedule.lower.emit.ops import INDEX, body, make, text
from headrace.schedule.lower.emit.transfers import Addresses, copy, messages
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.evaluate import Values
from headrace.schedule.lower.index import variables
from headrace.schedule.lower.order.placement import Placement, Step, place
from headrace.schedule.lower.step.compute import ComputeProgram
from headrace.schedule.lower.step.vectors import Vectors
from headrace.schedule.lower.tree import (
    Block as Tree,
)
from headrace.schedule.lower.tree import (
    Function,
    Handover,
    Indirect,
    Loop,
    Node,
    Place,
    PointLoop,
    Slot,
    Stage,
    Transfer,
    trips,
    units_of,
)
from headrace.schedule.signals import Edge, Path

REPEATED = 3
"""More signals in a row than this become a loop."""


class UnitProgram:
    """Builds the program of one unit kind of a class of cores."""

    def __init__(
        self,
        function: Function,
        kind: str,
        values: FunctionValues,
        edges: Sequence[Edge],
        addresses: Addresses,
        fences: frozenset[tuple[Path, int]],
        index: Values,
        slots: dict[Any, Slot],
    ) -> None:
        self.function, self.kind, self.addresses, self.fences = function, kind, addresses, fences
        self.unit = values.device.unit(kind)
        self.corelets = values.device.corelets
        per_core = range(self.corelets if self.unit.per == "corelet" else 1)
        self.instances: list[Instance] = [(core, c) for core in function.cores for c in per_core]
        self.block = Block(arg_types=[INDEX])
        self.program = ProgramValues(values, kind, self.instances, self.block.args[0])
        self.placed: Placement = place(edges, kind)
        self.needed = _needed(function.body, kind, self.placed)
        self.compute = ComputeProgram(Vectors(self.program), index, slots) if self.unit.is_compute else None

    def build(self) -> Operation:
        """Return the program_unit op."""
        inner = Block()
        self.program.here = inner
        self.items(self.function.body, ())
        ops = list(inner.ops)
        for op in ops:
            op.detach()
        self.block.add_ops([*self.program.head, *ops, make("dataflow.return")])
        units = [self.program.function.unit(self.kind, instance) for instance in self.instances]
        return make("dataflow.program_unit", units, regions=[body(self.block)])

    def items(self, items: Tree, path: Path) -> None:
        """Emit the items of a block of the tree and the signals around them."""
        for position, item in enumerate(items):
            here = (*path, position)
            self.signals(self.placed.before.get(here, ()))
            if isinstance(item, Loop):
                if here in self.needed:
                    self.loop(item, here)
            elif isinstance(item, Handover):
                hand_over(item, self.program, self.function.cores)
            elif item.unit == self.kind:
                self.stage(item, here)
            self.signals(self.placed.after.get(here, ()))
        self.signals(self.placed.closing.get(path, ()))

    def loop(self, item: Loop, path: Path) -> None:
        """Emit a loop of the tree."""
        program = self.program
        bounds = [program.value(e) for e in (item.low, item.high, item.step)]
        marks = {"headrace.phase": text(item.phase)} if item.phase else {}
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = item.var.name.split(".")[0]
        outer, program.here = program.here, block
        program.loops[item.var] = block.args[0]
        self.items(item.body, path)
        block.add_op(make("scf.yield"))
        program.here = outer
        program.emit(make("scf.for", bounds, (), {}, [body(block)], marks))

    # -- signals -------------------------------------------------------------------------------------------

    def signals(self, steps: Sequence[Step]) -> None:
        """Emit sends, waits and fences."""
        for step in steps:
            if step.kind == "fence":
                self.fence()
                continue
            name = "dataflow.sync_send" if step.kind == "send" else "dataflow.sync_recv"
            for peer in self.peers(step):
                self.repeat(name, peer, step)

    def fence(self) -> None:
        """Wait until all transfers of this unit are complete."""
        marks = {
            "dbgName": text("fence"),
            "wait_immediately_for_async_transfers": BoolAttr.from_bool(True),
        }
        self.program.emit(make("dataflow.sync_send", [self.program.me], (), marks))

    def peers(self, step: Step) -> list[SSAValue]:
        """Return the handles a signal goes to or comes from: all corelets' units for a unit of the core."""
        pair = step.pair
        other, shift = (pair.receiver, pair.shift) if step.kind == "send" else (pair.sender, -pair.shift)
        if self.program.function.device.unit(other).per == "corelet" and self.unit.per != "corelet":
            return [self.program.peer(other, corelet=c) for c in range(self.corelets)]
        return [self.program.peer(other, shift=shift % self.corelets)]

    def repeat(self, name: str, peer: SSAValue, step: Step) -> None:
        """Emit one signal `count` times."""
        label = {"dbgName": text(step.label)}
        if step.count <= REPEATED:
            for _ in range(step.count):
                self.program.emit(make(name, [peer], (), label))
            return
        inner = Block(arg_types=[INDEX])
        inner.add_op(make(name, [peer], (), label))
        inner.add_op(make("scf.yield"))
        constants = [self.program.function.constant(n) for n in (0, step.count, 1)]
        self.program.emit(make("scf.for", constants, (), {}, [body(inner)]))

    # -- stages --------------------------------------------------------------------------------------------

    def stage(self, stage: Stage, path: Path) -> None:
        """Emit what the unit does in one run of a pipeline."""
        if self.compute is not None:
            self.compute.stage(stage)
            return
        for number, node in enumerate(stage.body):
            if (path, number) in self.fences:
                self.fence()
            self.moves((node,))

    def moves(self, nodes: Sequence[Node]) -> None:
        """Emit transfers; a perfect nest of point loops is the time of one composite op."""
        for node in nodes:
            if isinstance(node, Transfer):
                if isinstance(node.source, Place) and isinstance(node.target, Place):
                    copy(node, self.program, self.addresses)
                else:
                    messages([node], (), self.program, self.addresses)
            elif isinstance(node, Indirect):
                indirect(node, self.program, self.addresses)
            elif isinstance(node, PointLoop):
                nest = _nest(node)
                if nest is None:
                    self.point_loop(node)
                elif _is_copy(nest[1][0]):
                    copy(nest[1][0], self.program, self.addresses, nest[0])
                else:
                    messages(nest[1], nest[0], self.program, self.addresses)
            else:
                op: Any = node.op
                if op.name != "arith.constant":
                    hint = "load and store units run data_transfer and opaque gathers only"
                    raise HeadraceError(Diagnostic("not an op of a moving unit", op=op.name, hint=hint))

    def point_loop(self, node: PointLoop) -> None:
        """Emit a point loop that is no perfect nest of messages as a loop."""
        program = self.program
        bounds = [program.value(e) for e in (node.low, node.high, node.step)]
        block = Block(arg_types=[INDEX])
        outer, program.here = program.here, block
        program.loops[node.var] = block.args[0]
        self.moves(node.body)
        block.add_op(make("scf.yield"))
        program.here = outer
        program.emit(make("scf.for", bounds, (), {}, [body(block)]))


def _nest(node: PointLoop) -> tuple[list[PointLoop], list[Transfer]] | None:
    """Return the loops and messages of a perfect nest whose inner bounds do not move with outer loops, else
    None.
    """
    loops = [node]
    while len(loops[-1].body) == 1 and isinstance(loops[-1].body[0], PointLoop):
        loops.append(loops[-1].body[0])
    inner = loops[-1].body
    transfers = [n for n in inner if isinstance(n, Transfer)]
    if not inner or len(transfers) != len(inner) or (len(inner) > 1 and any(_is_copy(t) for t in transfers)):
        return None
    own = {loop.var for loop in loops}
    for loop in loops:
        if (variables(loop.low) | variables(trips(loop.low, loop.high, loop.step))) & own:
            return None
    return loops, transfers


def _is_copy(transfer: Transfer) -> bool:
    return isinstance(transfer.source, Place) and isinstance(transfer.target, Place)


def _needed(tree: Tree, kind: str, placed: Placement) -> set[Path]:
    """Return the paths of all loops in which a unit kind works, sends or waits."""
    found: set[Path] = set()
    for steps in (placed.before, placed.after):
        for path in steps:
            found.update(path[:k] for k in range(1, len(path)))
    for path in placed.closing:
        found.update(path[:k] for k in range(1, len(path) + 1))

    def visit(items: Tree, path: Path) -> None:
        for position, item in enumerate(items):
            here = (*path, position)
            if isinstance(item, Loop):
                visit(item.body, here)
            elif kind in units_of(item):
                found.update(here[:k] for k in range(1, len(here)))

    visit(tree, ())
    return found
