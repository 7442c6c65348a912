"""The events of a unit program, op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.events import Event, Filling, Message, Signal, Touch, Work
from headrace.schedule.verify.programs.transfers import MESSAGES, TRANSFERS, WRITING, message
from headrace.schedule.verify.programs.values import BINARY, DEFINING, Handle, Scope, Unverifiable

LAST = 4
"""Iterations at the end of a loop that run in any case."""


def start(program: Any, handle: Handle, known: dict[Any, Any], shared: dict[Any, Any]) -> Scope:
    """Return what a unit knows from the start: all that follows from constants and from which unit it is."""
    scope = Scope(dict(known), handle, shared)
    ops, own = scope.asked(program, _settled)
    scope.known.update(dict.fromkeys(own, handle))
    for op in ops:
        scope.define(op)
    return scope


def _settled(program: Any) -> tuple[list[Any], list[Any]]:
    """(the ops of a program, in loops too, whose results no loop changes; the names it has for its unit)."""
    ops = list(program.region.walk())
    own = list(program.region.block.args)
    inside = {result for op in ops for result in op.results}
    for op in ops:
        args = [arg for region in op.regions for block in region.blocks for arg in block.args]
        if op.name == "uniform.uniformize_regions":
            own += args
        else:
            inside.update(args)
    settled = []
    for op in ops:
        if (op.name in BINARY or op.name in DEFINING) and not any(v in inside for v in op.operands):
            inside.difference_update(op.results)
            settled.append(op)
    return settled, own


class Program:
    """The events of one unit instance.

    Loops of more iterations than `clip` (None: none) leave out a multiple of their `period` of them: the
    first `clip` and at least the last ones, a period and not fewer than `LAST`, run, so that buffers taken in
    turns stay in turn.
    """

    def __init__(
        self, scope: Scope, clip: int | None, period: Callable[[int], int | None] = lambda count: 1
    ) -> None:
        self.scope, self.clip, self.period = scope, clip, period

    def events(self, ops: Any) -> Iterator[Event]:
        """Yield the events of a block."""
        for op in ops:
            if self.scope.define(op) or op.name in IGNORED or op.name.startswith(COMPUTING):
                continue
            if op.name in TRANSFERS:
                yield from TRANSFERS[op.name](self.scope, op)
            elif op.name in CONTROL:
                yield from getattr(self, CONTROL[op.name])(op)
            else:
                message = "cannot be followed by the checker"
                raise Unverifiable(Diagnostic(message, location(op), op.name, severity="warning"))

    def loop(self, op: Any) -> Iterator[Event]:
        """A loop; a nest of messages only is one event."""
        low, high, step = (self.scope[v] for v in self.scope.asked(op, _bounds))
        count = max(0, -(-(high - low) // step))
        folded = self.folded(op, count) if self.clip is None or "loop_type" in op.attributes else None
        if folded is not None:
            if folded.steps:
                yield folded
            return
        block = op.body.block
        carried = [self.scope.known.get(v) for v in op.iter_args]
        following = 0
        for k in range(count) if self.scope.asked(op, _only_signals) else self.kept(count):
            if k > following and not carried:
                yield from self.filled(op, low, step, range(following, k), self.period(count) or 1)
            following = k + 1
            self.scope.known[block.args[0]] = low + k * step
            for arg, value in zip(block.args[1:], carried, strict=True):
                if value is not None:
                    self.scope.known[arg] = value
            yield from self.events(block.ops)
            carried = [self.scope.known.get(v) for v in block.last_op.operands]
        for result, value in zip(op.results, carried, strict=True):
            if value is not None:
                self.scope.known[result] = value

    def filled(self, op: Any, low: int, step: int, left_out: range, period: int) -> Iterator[Event]:
        """What iterations that are left out write where no other iteration does, which those that run may
        read.
        """
        key = ("moving", op)
        if key not in self.scope.shared:
            found: set[Any] = set()
            if any(child.name in WRITING for child in op.body.walk()):
                once, again = (self.written(op, low + k * step) for k in (left_out[0], left_out[0] + period))
                is_alike = len(once) == len(again)
                found = {a.op for a, b in zip(once, again, strict=False) if a.touches != b.touches}
                if not is_alike:
                    found = {work.op for work in (*once, *again)}
            self.scope.shared[key] = found
        for k in left_out if self.scope.shared[key] else ():
            for work in self.written(op, low + k * step):
                if work.op in self.scope.shared[key]:
                    yield Filling(work.touches, work.op)

    def written(self, op: Any, value: int) -> list[Work]:
        """What an iteration of a loop writes to scratchpads, inner loops in full."""
        self.scope.known[op.body.block.args[0]] = value
        events = Program(self.scope, None).events(op.body.block.ops)
        works = [event for event in events if isinstance(event, Work)]
        return [work for w in works if (work := replace(w, touches=_filled(w))).touches]

    def kept(self, count: int) -> Iterator[int]:
        """The iterations that run, of so many."""
        if self.clip is None or count <= self.clip:
            yield from range(count)
            return
        first, period = self.clip, self.period(count)
        left_out = 0 if period is None else max(0, count - first - max(period, LAST)) // period * period
        if left_out:
            yield from range(first)
            yield from range(first + left_out, count)
        else:
            yield from range(count)

    def folded(self, op: Any, count: int) -> Work | None:
        """Return a loop as one event if its body only computes and passes messages, or is such a loop
        alone.
        """
        script: list[Message] = []
        inner: Work | None = None
        for child in op.body.block.ops:
            if child.name in MESSAGES:
                script.append(message(self.scope, child))
            elif child.name == "scf.for":
                bounds = (child.lb, child.ub, child.step)
                if inner is not None or script or any(v not in self.scope.known for v in bounds):
                    return None
                low, high, step = (self.scope[v] for v in bounds)
                inner = self.folded(child, max(0, -(-(high - low) // step)))
                if inner is None:
                    return None
            elif (
                child.name not in IGNORED
                and not child.name.startswith(COMPUTING)
                and not self._is_index(child)
            ):
                return None
        if inner is not None:
            return None if script else Work(count * inner.steps, inner.script, (), op)
        return Work(count, tuple(script), (), op) if script else None

    def _is_index(self, op: Any) -> bool:
        return op.name.startswith("arith.") or op.name in ("scf.yield", "vector.broadcast")

    def branch(self, op: Any) -> Iterator[Event]:
        region = op.regions[0 if self.scope[op.cond] else 1]
        if region.blocks:
            yield from self.events(region.block.ops)

    def roles(self, op: Any) -> Iterator[Event]:
        """uniformize_regions: the region of this unit runs."""
        for region, units in groups_of(op):
            if self.scope.me in [self.scope[u] for u in units]:
                if region.block.args:
                    self.scope.known[region.block.args[0]] = self.scope.me
                yield from self.events(region.block.ops)
                return

    def signal(self, op: Any) -> Iterator[Event]:
        is_send, partner, label = self.scope.asked(op, _signalled)
        peer = self.scope[partner]
        if peer == self.scope.me:
            yield Signal("fence", None, label, op)
        else:
            yield Signal("send" if is_send else "wait", peer, label, op)


def _filled(work: Work) -> tuple[Touch, ...]:
    """What an event writes to scratchpads."""
    return tuple(t for t in work.touches if t.is_write and t.view.memory.kind == "lx")


def _only_signals(op: Any) -> bool:
    """Whether a loop only repeats a signal: others take it one by one elsewhere, so none is left out."""
    return all(child.name in SIGNALS or child.name in IGNORED for child in op.body.block.ops)


def _bounds(op: Any) -> tuple[Any, ...]:
    return op.lb, op.ub, op.step


def _signalled(op: Any) -> tuple[bool, Any, str]:
    """(is it sent, the partner, the label) of a signal."""
    is_send = op.name == "dataflow.sync_send"
    return is_send, op.to if is_send else op.from_, op.dbgName.data if op.dbgName is not None else ""


def groups_of(op: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The regions of uniformize_regions with their units."""
    if hasattr(op, "groups"):
        yield from op.groups()
        return
    at = 0
    for region, count in zip(op.regions, op.list_sizes.get_values(), strict=True):
        yield region, op.operands[at : at + count]
        at += count


SIGNALS = ("dataflow.sync_send", "dataflow.sync_recv")
COMPUTING = ("vectorchain.", "math.", "arith.", "vector.")
IGNORED = {
    "dataflow.return",
    "scf.yield",
    "agen.yield",
    "uniform.yield",
    "func.return",
    "agen.set_transfer_mask_state",
    "dataflow.opaque",
    "symbol.create_id",
    "func.call",
}
CONTROL = {
    "scf.for": "loop",
    "scf.if": "branch",
    "uniform.uniformize_regions": "roles",
    "dataflow.sync_send": "signal",
    "dataflow.sync_recv": "signal",
}
"""The methods of `Program` that follow ops which do not move data."""
