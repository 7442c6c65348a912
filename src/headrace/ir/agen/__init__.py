"""The `agen` dialect: address generation, what load, store and DMA units transfer per step and over time."""

from xdsl.ir import Dialect

from headrace.ir.agen.base import DirectionAttr, YieldOp
from headrace.ir.agen.composite import (
    CompositeLoadAndStoreOp,
    CompositeLoadOp,
    CompositeMemoryInterleaveOp,
    CompositeStoreOp,
)
from headrace.ir.agen.indirect import (
    CompositeIndirectLoadAndStoreOp,
    CompositeIndirectLoadOp,
    CompositeIndirectStoreOp,
    IndirectVectorLoadOp,
    IndirectVectorStoreOp,
)
from headrace.ir.agen.vector import (
    SetTransferMaskStateOp,
    SymbolicVectorLoadOp,
    SymbolicVectorStoreOp,
    VectorLoadOp,
    VectorStoreOp,
)

Agen = Dialect(
    "agen",
    [
        YieldOp,
        VectorLoadOp,
        VectorStoreOp,
        SymbolicVectorLoadOp,
        SymbolicVectorStoreOp,
        SetTransferMaskStateOp,
        CompositeLoadAndStoreOp,
        CompositeLoadOp,
        CompositeStoreOp,
        CompositeMemoryInterleaveOp,
        IndirectVectorLoadOp,
        IndirectVectorStoreOp,
        CompositeIndirectLoadOp,
        CompositeIndirectStoreOp,
        CompositeIndirectLoadAndStoreOp,
    ],
    [DirectionAttr],
)

__all__ = [
    "Agen",
    "CompositeIndirectLoadAndStoreOp",
    "CompositeIndirectLoadOp",
    "CompositeIndirectStoreOp",
    "CompositeLoadAndStoreOp",
    "CompositeLoadOp",
    "CompositeMemoryInterleaveOp",
    "CompositeStoreOp",
    "DirectionAttr",
    "IndirectVectorLoadOp",
    "IndirectVectorStoreOp",
    "SetTransferMaskStateOp",
    "SymbolicVectorLoadOp",
    "SymbolicVectorStoreOp",
    "VectorLoadOp",
    "VectorStoreOp",
    "YieldOp",
]
