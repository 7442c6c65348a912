"""What can be said of a function before it runs: which values differ between tiles, which follow from
arguments and tile ids alone, and whether tiles can run together at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ShapedType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from headrace.semantics.batches.frame import captured
from headrace.semantics.control import HANDLERS, TERMINATORS

_DELIVERIES = frozenset({"ktdp.inter_tile_reduce", "ktdp.inter_tile_consume"})
_INTER_TILE = _DELIVERIES | {"ktdp.inter_tile_produce"}
_CONTROL = frozenset({"scf.for", "scf.if"}) | _INTER_TILE
_ADDRESSES = frozenset(
    {"ktdp.construct_memory_view", "ktdp.construct_access_tile", "ktdp.construct_indirect_access_tile"}
)


@dataclass(frozen=True)
class Reach:
    """`varying`: values that may differ between tiles. `known`: scalars that no loaded element decides."""

    varying: frozenset[SSAValue]
    known: frozenset[SSAValue]


def reach(function: FuncOp, grid: Sequence[int]) -> Reach:
    """The facts about a function on a grid."""
    varying: set[SSAValue] = set()
    unknown: set[SSAValue] = set()
    before = -1
    while before != len(varying) + len(unknown):
        before = len(varying) + len(unknown)
        for op in _ops(function):
            _follow(op, varying, grid, "ktdp.get_compute_tile_id")
            _follow(op, unknown, grid, "ktdp.load")
    known = {v for op in _ops(function) for v in op.results if v not in unknown and not _is_tensor(v)}
    known |= {a for op in _ops(function) for r in op.regions for b in r.blocks for a in b.args} - unknown
    return Reach(frozenset(varying), frozenset(known | set(function.body.block.args)))


def _ops(function: FuncOp) -> Iterator[Operation]:
    """The ops of the function and of its loops and branches; bodies of other ops are part of those."""

    def inside(block: Any) -> Iterator[Operation]:
        for op in block.ops:
            yield op
            if op.name in _CONTROL:
                for region in op.regions:
                    for inner in region.blocks:
                        yield from inside(inner)

    return inside(function.body.block)


def _is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, ShapedType)


def _follow(op: Operation, found: set[SSAValue], grid: Sequence[int], source: str) -> None:
    """Adds what the op makes of values in `found`, or of being the source of them."""
    if op.name == source:
        if source == "ktdp.load":
            found.update(op.results)
        else:
            found.update(r for r, n in zip(op.results, grid, strict=False) if n > 1)
    if op.name in _INTER_TILE:
        is_tensor = op.name in _DELIVERIES
        if source == "ktdp.get_compute_tile_id" or is_tensor:
            found.update(a for region in op.regions for a in region.block.args)
            found.update(op.results if is_tensor else ())
    elif op.name == "scf.for":
        body = op.regions[0].block
        yielded = body.last_op.operands if body.last_op else ()
        is_uneven = any(v in found for v in op.operands[:3])  # what it carries goes as far as it runs
        if is_uneven:
            found.add(body.args[0])
        for start, end, inner, outer in zip(
            op.operands[3:], yielded, body.args[1:], op.results, strict=False
        ):
            if is_uneven or start in found or end in found:
                found.update((inner, outer))
    elif op.name == "scf.if":
        for region in op.regions:
            last = region.blocks[0].last_op if region.blocks else None
            for value, result in zip(last.operands if last else (), op.results, strict=False):
                if value in found or (source == "ktdp.get_compute_tile_id" and op.operands[0] in found):
                    found.add(result)
    elif any(v in found for v in (*op.operands, *captured(op))) or (
        source == "ktdp.load" and any(_is_tensor(v) for v in op.results) and op.name not in _ADDRESSES
    ):
        found.update(op.results)


def is_inter_tile(function: FuncOp) -> bool:
    """Whether tiles deliver values to each other."""
    return any(op.name in _INTER_TILE for op in function.walk())


def _is_simple(reduce: Operation, facts: Reach) -> bool:
    """Whether a combiner computes on nothing but what it is given and what all tiles have."""
    inside = [op for op in reduce.regions[0].block.walk() if op.name not in TERMINATORS]
    return all(not op.name.startswith("ktdp.") and op.name not in _CONTROL for op in inside) and not any(
        v in facts.varying for v in captured(reduce)
    )


def obstacle(function: FuncOp, facts: Reach) -> str:
    """Why the tiles of a function cannot run together; empty when nothing stands in the way."""
    for op in _ops(function):
        if op.name not in HANDLERS and op.name not in _CONTROL | TERMINATORS:
            return f"{op.name} runs tile by tile"
        if op.name == "ktdp.construct_memory_view" and getattr(op.memory_space, "is_local", True):  # type: ignore[attr-defined]
            return "a view of a scratchpad belongs to one tile"
        if op.name == "ktdp.inter_tile_reduce" and not _is_simple(op, facts):
            return "what is delivered is combined tile by tile"
        deciding: Sequence[SSAValue] = ()
        if op.name in _ADDRESSES:
            deciding = [v for v in op.operands if not _is_tensor(v)]
        elif op.name == "scf.for":
            deciding = op.operands[:3]
        elif op.name == "scf.if":
            deciding = op.operands[:1]
        if any(v not in facts.known for v in deciding):
            return f"loaded elements decide what {op.name} does"
    return ""


def has_known_extents(function: FuncOp, facts: Reach) -> bool:
    """Whether no loaded element is an extent, an offset or a condition outside of an op's own body."""
    scalars = (v for op in _ops(function) for v in op.operands if str(v.type) in ("index", "i1"))
    return all(v in facts.known for v in scalars)
