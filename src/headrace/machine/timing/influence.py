"""Which integers of a program its timing depends on: trip counts, extents, conditions, peers, alignment;
not addresses.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.machine.boxes import Box
from headrace.machine.index import Index, Symbol
from headrace.machine.nodes import Copy, If, Loop, Node, Read, Receive, Send, Signal, Wait, Write, walk
from headrace.machine.timing.access import relevant

Symbols = frozenset[Symbol]


class Influence:
    """Answers for parts of one program; device memory is touched in units of `access` bytes."""

    def __init__(self, access: int) -> None:
        self.access = access
        self._known: dict[int, tuple[tuple[Node, ...], Symbols]] = {}

    def symbols_of(self, body: tuple[Node, ...]) -> Symbols:
        """Return the symbols that the timing of `body` depends on, through integers computed inside it as
        well.
        """
        known = self._known.get(id(body))
        if known is not None and known[0] is body:
            return known[1]
        found: set[Symbol] = set()
        for node in body:
            found |= self._node(node)
        result = frozenset(self._through(body, found))
        self._known[id(body)] = (body, result)
        return result

    def is_data_dependent(self, body: tuple[Node, ...]) -> bool:
        """Return whether control flow inside depends on loaded values."""
        return any(isinstance(node, Loop | If) and node.is_data_dependent for node in walk(body))

    def _node(self, node: Node) -> set[Symbol]:
        match node:
            case Loop():
                bounds = (node.lower, node.upper, node.step)
                return _all(bounds) | set(self.symbols_of(node.body))
            case If():
                inside = self.symbols_of(node.then) | self.symbols_of(node.otherwise)
                return _all((node.condition,)) | set(inside)
            case Copy():
                return self._copy(node)
            case Read() | Write():
                boxes = [stream.box for stream in node.streams]
                return _all([stream.peer for stream in node.streams]) | _all(_extents(boxes))
            case Signal() | Wait() | Receive() | Send():
                return set(node.peer.symbols)
        return set()

    def _copy(self, node: Copy) -> set[Symbol]:
        boxes = [node.source, node.target] + ([node.indirect.box] if node.indirect is not None else [])
        found = _all(_extents(boxes))
        for box in boxes:
            if box.place.kind == "global":
                found |= relevant(box.base, self.access).symbols
            else:
                found |= box.place.owner.symbols
        return found | (set(node.group.symbols) if node.group is not None else set())

    def _through(self, body: tuple[Node, ...], found: set[Symbol]) -> set[Symbol]:
        """Add what carried and chosen integers are made of, as long as the timing depends on them."""
        while True:
            more: set[Symbol] = set()
            for node in walk(body):
                if isinstance(node, Loop):
                    for carried in node.indices:
                        if carried.argument in found or carried.result in found:
                            more |= carried.initial.symbols | carried.yielded.symbols
                elif isinstance(node, If):
                    for choice in node.indices:
                        if choice.result in found:
                            more |= choice.then.symbols | choice.otherwise.symbols | node.condition.symbols
            if more <= found:
                return found
            found = found | more


def _all(indices: Iterable[Index]) -> set[Symbol]:
    return {symbol for index in indices for symbol in index.symbols}


def _extents(boxes: Iterable[Box]) -> list[Index]:
    return [dim.extent for box in boxes for dim in (*box.times, *box.run)]
