"""Passes over a decoded body: dead vector work goes, a load with its send becomes a one-message transfer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.machine.image import (
    Box,
    Constant,
    Contract,
    Extract,
    If,
    Load,
    Loop,
    Node,
    Read,
    Receive,
    Reduce,
    Send,
    Store,
    Stream,
    Value,
    VectorOp,
    Write,
    walk,
)

_PURE = (Constant, VectorOp, Reduce, Contract)


def tidy(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The body without unused vector work, neighbours load + send and receive + store joined."""
    while True:
        uses = Counter(v.number for node in walk(body) for v in operands(node))
        smaller = _without_dead(body, uses)
        if smaller == body:
            return _joined(body, uses)
        body = smaller


def operands(node: Node) -> tuple[Value, ...]:
    """The registers a node reads itself, not through its body."""
    match node:
        case VectorOp():
            return node.operands
        case Reduce():
            return (node.operand,)
        case Contract():
            rest = () if node.addend is None else (node.addend,)
            return (node.left, node.right, *rest)
        case Send() | Store() | Extract():
            return (node.value,)
        case Loop():
            return tuple(v for c in node.carried for v in (c.initial, c.yielded))
        case If():
            return tuple(v for c in node.results for v in (c.then, c.otherwise))
    return ()


def _without_dead(body: Sequence[Node], uses: Counter[int]) -> tuple[Node, ...]:
    out: list[Node] = []
    for node in body:
        if isinstance(node, _PURE) and not uses[node.result.number]:
            continue
        if isinstance(node, Loop):
            node = replace(node, body=_without_dead(node.body, uses))
        elif isinstance(node, If):
            node = replace(
                node, then=_without_dead(node.then, uses), otherwise=_without_dead(node.otherwise, uses)
            )
        out.append(node)
    return tuple(out)


def _joined(body: Iterable[Node], uses: Counter[int]) -> tuple[Node, ...]:
    out: list[Node] = []
    for node in body:
        previous = out[-1] if out else None
        if isinstance(node, Loop):
            node = replace(node, body=_joined(node.body, uses))
        elif isinstance(node, If):
            node = replace(node, then=_joined(node.then, uses), otherwise=_joined(node.otherwise, uses))
        elif isinstance(node, Send) and isinstance(previous, Load) and _is_pair(previous, node, uses):
            stream = Stream(previous.box, node.peer, node.value.shape, node.direction, node.where)
            out[-1] = Read((stream,), 1, previous.where)
            continue
        elif isinstance(node, Store) and isinstance(previous, Receive) and _is_pair(previous, node, uses):
            stream = Stream(node.box, previous.peer, node.value.shape, "", previous.where)
            out[-1] = Write((stream,), 1, node.where)
            continue
        out.append(node)
    return tuple(out)


def _is_pair(first: Load | Receive, second: Send | Store, uses: Counter[int]) -> bool:
    box: Box = first.box if isinstance(first, Load) else second.box  # type: ignore[union-attr]
    return first.result == second.value and uses[second.value.number] == 1 and box.place.kind != "register"
