"""What an op does besides giving results: nothing, read memory, or something that has to stay."""

from __future__ import annotations

from enum import IntEnum

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation
from xdsl.traits import IsTerminator


class Effect(IntEnum):
    """In rising order: an op with regions has the largest effect inside."""

    NONE = 0
    READ = 1
    WRITE = 2


_PURE = ("arith.", "math.", "tensor.", "spyreop.")
_NAMED = frozenset(
    """
    affine.apply affine.min affine.max linalg.index
    ktdp.construct_memory_view ktdp.construct_distributed_memory_view ktdp.construct_access_tile
    ktdp.get_compute_tile_id ktdp.runtime_arg_extract
    """.split()
)
_READS = frozenset(["ktdp.load", "ktdp.construct_indirect_access_tile"])
_CONTROL = frozenset(["scf.for", "scf.if"])


def effect(op: Operation) -> Effect:
    """The effect of an op; what is not known to be harmless counts as a write."""
    if op.name in _CONTROL:
        inner = (o for r in op.regions for b in r.blocks for o in b.ops)
        return max((effect(o) for o in inner if not is_terminator(o)), default=Effect.NONE)
    if op.name in _READS:
        return Effect.READ
    if op.name in _NAMED or op.name.startswith(_PURE):
        return Effect.NONE
    if op.name.startswith("linalg.") and op.results and not _touches_memory(op):
        return Effect.NONE
    return Effect.WRITE


def is_terminator(op: Operation) -> bool:
    """Whether the op ends its block."""
    return bool(op.has_trait(IsTerminator))


def is_dead(op: Operation) -> bool:
    """Whether nobody would miss the op: no use of a result, nothing written."""
    if any(r.first_use is not None for r in op.results):
        return False
    if not op.results and op.name not in _CONTROL:
        return False
    return not is_terminator(op) and effect(op) < Effect.WRITE


def _touches_memory(op: Operation) -> bool:
    return any(isinstance(v.type, MemRefType) for v in op.operands)
