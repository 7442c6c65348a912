"""The decoded form of a DFIR module: what the executor, the sanitizer and the timing engine read.

An `Image` is a list of schedules run one after the other; a schedule is a list of programs; a program is
the code that several unit instances run alike. What differs between those instances are numbers,
the per-instance constants `tables`, which enter every `Index`. A program's body is a tree of the node classes
in `nodes.py`; their blocks of memory are in `boxes.py`. All names are importable from here.

Units: addresses, strides and sizes are bytes; extents and trip counts are numbers of elements, vectors or
iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.machine.boxes import NOWHERE, Box, Dim, Indirect, Limit, MemoryKind, Place, Value
from headrace.machine.index import Index, Symbol
from headrace.machine.nodes import (
    Carried,
    CarriedIndex,
    Choice,
    ChoiceIndex,
    Constant,
    Contract,
    Copy,
    Extract,
    If,
    Load,
    Loop,
    LoopKind,
    Node,
    Read,
    Receive,
    Reduce,
    Send,
    Signal,
    Step,
    Store,
    Stream,
    Transfer,
    VectorOp,
    Wait,
    Write,
    op_name,
    walk,
)

__all__ = [
    "NOWHERE",
    "Argument",
    "Box",
    "Carried",
    "CarriedIndex",
    "Channel",
    "Choice",
    "ChoiceIndex",
    "Constant",
    "Contract",
    "Copy",
    "Dim",
    "Extract",
    "Group",
    "If",
    "Image",
    "Index",
    "Indirect",
    "Instance",
    "Limit",
    "Load",
    "Loop",
    "LoopKind",
    "MemoryKind",
    "MemorySize",
    "Node",
    "Place",
    "Program",
    "Read",
    "Receive",
    "Reduce",
    "Resident",
    "Schedule",
    "Send",
    "Signal",
    "Step",
    "Store",
    "Stream",
    "Symbol",
    "Transfer",
    "Value",
    "VectorOp",
    "Wait",
    "Write",
    "op_name",
    "walk",
]


@dataclass(frozen=True)
class Instance:
    """A unit of the chip that runs a program or is named by one. `kind` is spelled as in the device file."""

    number: int
    name: str
    kind: str
    core: int = 0
    corelet: int = 0


@dataclass(frozen=True)
class Group:
    """A multicast group: these instances read the same bytes of `producer` in one transfer."""

    number: int
    members: tuple[int, ...]
    producer: MemoryKind
    producer_core: int = 0


@dataclass(frozen=True)
class Channel:
    """The FIFO from one instance to another; `capacity_bytes` is None where the device gives no limit."""

    sender: int
    receiver: int
    capacity_bytes: int | None = None


@dataclass(frozen=True)
class Program:
    """The code of the instances `instances` (numbers in `Image.instances`).

    `slots` is the size of the environment; `tables` gives slot -> one integer per instance, `arguments`
    slot -> the name of a run-time argument. `values` is the number of vector registers used.
    """

    number: int
    kind: str
    instances: tuple[int, ...]
    body: tuple[Node, ...]
    slots: int
    tables: tuple[tuple[int, tuple[int, ...]], ...] = ()
    arguments: tuple[tuple[int, str], ...] = ()
    values: int = 0

    def numbers(self, index: Index) -> tuple[int, ...]:
        """The value of an index made of constants and tables, one per instance."""
        env: list[Any] = [0] * self.slots
        for slot, values in self.tables:
            env[slot] = np.array(values, np.int64)
        found = np.broadcast_to(np.asarray(index.evaluate(env), np.int64), (len(self.instances),))
        return tuple(int(x) for x in found)


@dataclass(frozen=True)
class MemorySize:
    """A memory of the device that the image may use: bytes of one copy, and the alignment of its buffers."""

    kind: MemoryKind
    name: str
    size_bytes: int
    align_bytes: int = 128


@dataclass(frozen=True)
class Resident:
    """Bytes of every scratchpad that live across calls (`headrace.lx_in`, `headrace.lx_out`)."""

    name: str
    address: int
    bytes: int


@dataclass(frozen=True)
class Schedule:
    """Programs that run together until all have ended."""

    name: str
    programs: tuple[Program, ...]
    lx_in: tuple[Resident, ...] = ()
    lx_out: tuple[Resident, ...] = ()


@dataclass(frozen=True)
class Argument:
    """A run-time value of the entry function; `dtype` is the MLIR type ("index", "f32", ...)."""

    name: str
    dtype: str


@dataclass(frozen=True)
class Image:
    """A decoded module. Schedules run in order; scratchpads keep their bytes between them."""

    name: str
    instances: tuple[Instance, ...]
    schedules: tuple[Schedule, ...]
    arguments: tuple[Argument, ...] = ()
    channels: tuple[Channel, ...] = ()
    groups: tuple[Group, ...] = ()
    memories: tuple[MemorySize, ...] = ()
    cores: int = 1
    device_name: str = ""

    def memory(self, name: str) -> MemorySize:
        """The memory of this name."""
        return next(m for m in self.memories if m.name == name)
