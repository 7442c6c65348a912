"""The `ktdp` dialect: tiles of a grid, views of memory, access tiles, communication between tiles."""

from xdsl.ir import Dialect

from headrace.ir.ktdp.access import ConstructAccessTileOp
from headrace.ir.ktdp.indirect import ConstructIndirectAccessTileOp
from headrace.ir.ktdp.intertile import (
    InterTileConsumeOp,
    InterTileProduceOp,
    InterTileReduceOp,
    YieldPartialOp,
    YieldReducedOp,
)
from headrace.ir.ktdp.spaces import (
    MemorySpaceAttr,
    Space,
    SpaceKind,
    SpyreMemorySpaceAttr,
    memory_space,
)
from headrace.ir.ktdp.types import AccessTileType, ExtractKind, RuntimeArgType, TileFutureType
from headrace.ir.ktdp.views import (
    ConstructDistributedMemoryViewOp,
    ConstructMemoryViewOp,
    GetComputeTileIdOp,
    LoadOp,
    RegionTerminatorOp,
    RuntimeArgExtractOp,
    StoreOp,
)

Ktdp = Dialect(
    "ktdp",
    [
        RegionTerminatorOp,
        GetComputeTileIdOp,
        ConstructMemoryViewOp,
        ConstructDistributedMemoryViewOp,
        ConstructAccessTileOp,
        ConstructIndirectAccessTileOp,
        LoadOp,
        StoreOp,
        RuntimeArgExtractOp,
        YieldPartialOp,
        YieldReducedOp,
        InterTileProduceOp,
        InterTileConsumeOp,
        InterTileReduceOp,
    ],
    [SpyreMemorySpaceAttr, MemorySpaceAttr, AccessTileType, RuntimeArgType, TileFutureType],
)

__all__ = [
    "AccessTileType",
    "ConstructAccessTileOp",
    "ConstructDistributedMemoryViewOp",
    "ConstructIndirectAccessTileOp",
    "ConstructMemoryViewOp",
    "ExtractKind",
    "GetComputeTileIdOp",
    "InterTileConsumeOp",
    "InterTileProduceOp",
    "InterTileReduceOp",
    "Ktdp",
    "MemorySpaceAttr",
    "Space",
    "LoadOp",
    "RegionTerminatorOp",
    "RuntimeArgExtractOp",
    "RuntimeArgType",
    "SpaceKind",
    "SpyreMemorySpaceAttr",
    "StoreOp",
    "TileFutureType",
    "YieldPartialOp",
    "YieldReducedOp",
    "memory_space",
]
