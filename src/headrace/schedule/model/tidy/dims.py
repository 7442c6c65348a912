"""Dims get one name for the whole graph wherever nests walk the same full axis of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.schedule.graph import Axis, Compute, Insert, Loop, Reshape, Statement, Value
from headrace.schedule.model.statements import everything, renamed

Node = tuple[str, int]
"""(dim name, -1) or (value name, axis)."""


class _Sets:
    """Union-find over dims and value axes; two dims of one Compute never end up in one set."""

    def __init__(self) -> None:
        self.parent: dict[Node, Node] = {}
        self.nests: dict[Node, frozenset[int]] = {}

    def root(self, node: Node) -> Node:
        """The node that stands for a node's set."""
        while (up := self.parent.setdefault(node, node)) != node:
            self.parent[node] = self.parent[up]
            node = up
        return node

    def join(self, a: Node, b: Node) -> None:
        """Make two sets one, unless that joined two dims of one Compute."""
        a, b = self.root(a), self.root(b)
        left, right = self.nests.get(a, frozenset()), self.nests.get(b, frozenset())
        if a != b and not left & right:
            self.parent[b] = a
            self.nests[a] = left | right


def unify(
    body: Sequence[Statement], values: Mapping[str, Value], name: Callable[[], str]
) -> tuple[Statement, ...]:
    """The block with dims renamed by `name()` in order of appearance, equal where they walk the same axes."""
    sets = _Sets()
    statements = everything(body)
    for i, s in enumerate(statements):
        if isinstance(s, Compute):
            for d in s.dims:
                sets.nests[sets.root((d.name, -1))] = frozenset({i})
    for s in statements:
        for a, b in _pairs(s, values):
            sets.join(a, b)
    names: dict[Node, str] = {}

    def of(dim: str) -> str:
        root = sets.root((dim, -1))
        if root not in names:
            names[root] = name()
        return names[root]

    return tuple(renamed(s, lambda n: n, of) for s in body)


def _pairs(s: Statement, values: Mapping[str, Value]) -> list[tuple[Node, Node]]:
    """Dims and axes that a statement says are the same."""
    if isinstance(s, Compute):
        extents = {d.name: d.extent for d in s.dims}
        accesses: list[tuple[str, tuple[Axis, ...]]] = [(a.value, a.axes) for a in s.ins]
        accesses += [(o.value, o.axes) for o in s.outs] + [
            (o.init, o.axes) for o in s.outs if isinstance(o.init, str)
        ]
        return [
            ((a.dim, -1), (value, k))
            for value, axes in accesses
            for k, a in enumerate(axes)
            if a.dim is not None and not a.offset and extents[a.dim] == values[value].shape[k]
        ]
    if isinstance(s, Loop):
        return [
            ((c.inner, k), (other, k))
            for c in s.carried
            for other in (c.init, c.yielded, c.result)
            for k in range(len(values[c.inner].shape))
        ]
    if isinstance(s, Insert):
        shape, inner = values[s.value].shape, values[s.source].shape
        pairs = [((s.value, k), (s.source, k)) for k, n in enumerate(shape) if inner[k] == n]
        return pairs + ([((s.value, k), (s.dest, k)) for k in range(len(shape))] if s.dest else [])
    if isinstance(s, Reshape):
        return [
            ((s.value, j), (s.source, k)) for j, k in kept_axes(values[s.value].shape, values[s.source].shape)
        ]
    return []


def kept_axes(shape: tuple[int, ...], source: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pairs (axis, source axis) that a row-major reshape leaves as they are."""
    pairs: list[tuple[int, int]] = []
    j = k = 0
    while j < len(shape) and k < len(source):
        if shape[j] == source[k]:
            pairs.append((j, k))
            j, k = j + 1, k + 1
            continue
        left, right = shape[j], source[k]
        while left != right:
            if left < right:
                j += 1
                left *= shape[j]
            else:
                k += 1
                right *= source[k]
        j, k = j + 1, k + 1
    return pairs
