"""The `dataflow` dialect: units, the program of each unit, messages, signals, views of memory."""

from xdsl.ir import Dialect

from headrace.ir.dataflow.messages import (
    ImplicitSyncOnStreamingBufferOp,
    ReceiveOp,
    SendOp,
    SyncRecvOp,
    SyncSendOp,
)
from headrace.ir.dataflow.types import (
    VECTOR,
    CustomName,
    CustomType,
    CustomVectorType,
    Direction,
    DirectionAttr,
    MxFloatType,
    MxIntType,
)
from headrace.ir.dataflow.units import (
    CreateGroupOp,
    CreateMulticastGroupOp,
    GetLocalUnitOp,
    GetUnitOp,
    ProgramUnitOp,
    ReturnOp,
)
from headrace.ir.dataflow.views import (
    GetLogicalMemoryViewOp,
    GetPagedLogicalMemoryViewOp,
    OpaqueOp,
)

Dataflow = Dialect(
    "dataflow",
    [
        GetUnitOp,
        GetLocalUnitOp,
        ReturnOp,
        ProgramUnitOp,
        CreateGroupOp,
        CreateMulticastGroupOp,
        SyncSendOp,
        SyncRecvOp,
        ImplicitSyncOnStreamingBufferOp,
        SendOp,
        ReceiveOp,
        GetLogicalMemoryViewOp,
        GetPagedLogicalMemoryViewOp,
        OpaqueOp,
    ],
    [DirectionAttr, CustomVectorType, MxFloatType, MxIntType, CustomType],
)

__all__ = [
    "CreateGroupOp",
    "CreateMulticastGroupOp",
    "CustomName",
    "CustomType",
    "CustomVectorType",
    "Dataflow",
    "Direction",
    "DirectionAttr",
    "GetLocalUnitOp",
    "GetLogicalMemoryViewOp",
    "GetPagedLogicalMemoryViewOp",
    "GetUnitOp",
    "ImplicitSyncOnStreamingBufferOp",
    "MxFloatType",
    "MxIntType",
    "OpaqueOp",
    "ProgramUnitOp",
    "ReceiveOp",
    "ReturnOp",
    "SendOp",
    "SyncRecvOp",
    "SyncSendOp",
    "VECTOR",
]
