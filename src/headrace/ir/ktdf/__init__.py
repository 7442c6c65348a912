"""The `ktdf` dialect: pipelines of stages, FIFO slots, data transfers, tile sizes, rotating buffers."""

from xdsl.ir import Dialect

from headrace.ir.ktdf.fifo import CreateTokenOp, FifoAllocateOp, OpaqueOp, ReadFromFifoOp, WriteToFifoOp
from headrace.ir.ktdf.pipeline import (
    ParallelOp,
    ParallelYieldOp,
    PipelineOp,
    PrivateOp,
    PrivateYieldOp,
    StageOp,
)
from headrace.ir.ktdf.tiling import (
    BufferPhaseOp,
    DeriveSizeOp,
    LinearizeIndexOp,
    ReserveSizeOp,
    SelectMemrefOp,
)
from headrace.ir.ktdf.transfer import DataTransferOp
from headrace.ir.ktdf.types import FifoSlotType, LoopKind, LoopTypeAttr, TokenType

Ktdf = Dialect(
    "ktdf",
    [
        FifoAllocateOp,
        ReadFromFifoOp,
        WriteToFifoOp,
        CreateTokenOp,
        OpaqueOp,
        ReserveSizeOp,
        DeriveSizeOp,
        LinearizeIndexOp,
        BufferPhaseOp,
        SelectMemrefOp,
        PipelineOp,
        StageOp,
        PrivateOp,
        PrivateYieldOp,
        ParallelOp,
        ParallelYieldOp,
        DataTransferOp,
    ],
    [TokenType, FifoSlotType, LoopTypeAttr],
)

__all__ = [
    "BufferPhaseOp",
    "CreateTokenOp",
    "DataTransferOp",
    "DeriveSizeOp",
    "FifoAllocateOp",
    "FifoSlotType",
    "Ktdf",
    "LinearizeIndexOp",
    "LoopKind",
    "LoopTypeAttr",
    "OpaqueOp",
    "ParallelOp",
    "ParallelYieldOp",
    "PipelineOp",
    "PrivateOp",
    "PrivateYieldOp",
    "ReadFromFifoOp",
    "ReserveSizeOp",
    "SelectMemrefOp",
    "StageOp",
    "TokenType",
    "WriteToFifoOp",
]
