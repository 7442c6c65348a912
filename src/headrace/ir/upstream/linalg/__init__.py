"""linalg: the text mlir-opt reads and writes, effects, and the ops xDSL lacks.

`from headrace.ir.upstream import linalg` gives our classes; each is an instance of xDSL's where xDSL has one.
"""

from __future__ import annotations

from typing import Any

from headrace.ir.upstream.linalg import named, structured
from headrace.ir.upstream.linalg.named import *  # noqa: F403
from headrace.ir.upstream.linalg.structured import (
    BroadcastOp,
    GenericOp,
    MapOp,
    MultiReduceOp,
    ReduceOp,
    TransposeOp,
)

OPS: tuple[type[Any], ...] = (*named.OPS, *structured.OPS)

__all__ = [op.__name__ for op in named.OPS] + [
    "OPS",
    "BroadcastOp",
    "GenericOp",
    "MapOp",
    "MultiReduceOp",
    "ReduceOp",
    "TransposeOp",
]
