"""The `ktdf_arch` dialect: a device as memories, execution units, switches and the datapaths between them."""

from xdsl.ir import Dialect

from headrace.ir.ktdf_arch.containers import DeviceOp, GroupOp, PatternsOp, YieldOp
from headrace.ir.ktdf_arch.resources import DatapathOp, ExecUnitOp, MemoryOp, SwitchOp
from headrace.ir.ktdf_arch.types import ArchMapAttr, ExecUnitType, MemoryType, PortType

KtdfArch = Dialect(
    "ktdf_arch",
    [DeviceOp, MemoryOp, ExecUnitOp, SwitchOp, DatapathOp, GroupOp, YieldOp, PatternsOp],
    [ArchMapAttr, MemoryType, ExecUnitType, PortType],
)

__all__ = [
    "ArchMapAttr",
    "DatapathOp",
    "DeviceOp",
    "ExecUnitOp",
    "ExecUnitType",
    "GroupOp",
    "KtdfArch",
    "MemoryOp",
    "MemoryType",
    "PatternsOp",
    "PortType",
    "SwitchOp",
    "YieldOp",
]
