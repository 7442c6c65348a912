"""How many signals and messages pass between every two units, loops multiplied instead of run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.program import COMPUTING, IGNORED, groups_of
from headrace.schedule.verify.programs.sets import box_extents
from headrace.schedule.verify.programs.transfers import MESSAGES
from headrace.schedule.verify.programs.values import Handle, Scope, Unverifiable

Key = tuple[str, Handle, Handle]
"""("signals" or "messages", from, to)."""

SILENT = (
    "agen.composite_load_and_store",
    "agen.composite_indirect_load_and_store",
    "agen.vector_load",
    "agen.vector_store",
)


def unbalanced(programs: Iterable[tuple[Scope, Any]]) -> Iterator[Diagnostic]:
    """Yield a finding for every two units of which one sends more or less than the other takes."""
    sent: Counter[Key] = Counter()
    taken: Counter[Key] = Counter()
    places: dict[Key, Any] = {}
    for scope, ops in programs:
        _Totals(scope, sent, taken, places).block(ops, 1)
    for key in sorted(sent.keys() | taken.keys(), key=str):
        if sent[key] != taken[key]:
            what, sender, receiver = key
            message = f"{sender} sends {sent[key]} {what} to {receiver}, which takes {taken[key]}"
            yield Diagnostic(message, location(places[key]), places[key].name)


class _Totals:
    """Adds up what one unit sends and takes."""

    def __init__(self, scope: Scope, sent: Counter[Key], taken: Counter[Key], places: dict[Key, Any]) -> None:
        self.scope, self.sent, self.taken, self.places = scope, sent, taken, places

    def block(self, ops: Any, times: int) -> None:
        """A block run so many times."""
        for op in ops:
            name = op.name
            if name in MESSAGES or name in ("dataflow.sync_send", "dataflow.sync_recv"):
                self.count(op, times)
            elif name in SILENT or self.scope.define(op) or name in IGNORED or name.startswith(COMPUTING):
                continue
            elif name in ("agen.composite_load", "agen.composite_store"):
                symbols = tuple(self.scope[v] for v in op.time_symbols)
                self.block(op.region.block.ops, times * prod(box_extents(op.time_set, symbols, op)))
            elif name == "agen.composite_memory_interleave":
                self.block(op.region.block.ops, times)
            elif name == "scf.for":
                self.loop(op, times)
            elif name == "scf.if":
                region = op.regions[0 if self.scope[op.cond] else 1]
                self.block(region.block.ops if region.blocks else (), times)
            elif name == "uniform.uniformize_regions":
                self.roles(op, times)
            else:
                message = "cannot be followed by the checker"
                raise Unverifiable(Diagnostic(message, location(op), name, severity="warning"))

    def count(self, op: Any, times: int) -> None:
        is_sent = op.name in ("dataflow.send", "dataflow.sync_send")
        me, peer = self.scope.me, self.scope[op.to if is_sent else op.from_]
        what = "messages" if op.name in MESSAGES else "signals"
        if peer != me or what == "messages":
            ends = (me, peer) if is_sent else (peer, me)
            key = (what, *ends)
            (self.sent if is_sent else self.taken)[key] += times
            self.places.setdefault(key, op)

    def loop(self, op: Any, times: int) -> None:
        """A loop: its body once, multiplied, where nothing in it depends on the iteration."""
        low, high, step = (self.scope[v] for v in (op.lb, op.ub, op.step))
        trips = range(low, high, step)
        known, saved = dict(self.scope.known), (Counter(self.sent), Counter(self.taken))
        try:
            self.block(op.body.block.ops, times * len(trips))
        except Unverifiable:
            for counter, old in zip((self.sent, self.taken), saved, strict=True):
                counter.clear()
                counter.update(old)
            self.iterate(op, trips, times)
        self.scope.known.clear()
        self.scope.known.update(known)

    def iterate(self, op: Any, trips: range, times: int) -> None:
        block = op.body.block
        carried = [self.scope.known.get(v) for v in op.iter_args]
        outside = dict(self.scope.known)
        for k in trips:
            self.scope.known.clear()
            self.scope.known.update(outside)
            values = zip(block.args, (k, *carried), strict=True)
            self.scope.known.update({arg: value for arg, value in values if value is not None})
            self.block(block.ops, times)
            carried = [self.scope.known.get(v) for v in block.last_op.operands]

    def roles(self, op: Any, times: int) -> None:
        for region, units in groups_of(op):
            if self.scope.me in [self.scope[u] for u in units]:
                if region.block.args:
                    self.scope.known[region.block.args[0]] = self.scope.me
                self.block(region.block.ops, times)
                return
