"""What is found out about a launch before any tensor is computed, kept for the next launch of the same kind.

Plans hang on the memory they address and go with it. A plan is used again for the same ops, unchanged since,
with the same arguments, grid and options.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from headrace.numbers.memory import Memory
from headrace.semantics.batches.conflicts import Touched
from headrace.semantics.batches.reach import Reach, has_known_extents, is_inter_tile, obstacle, reach
from headrace.semantics.frame import Launch

Array = np.ndarray[Any, Any]
KERNELS = 16
LAUNCHES = 4
"""So many kernels of a memory, and launches of a kernel, keep what was found; the last used ones."""


@dataclass
class Plan:
    """How a launch runs: why its tiles do not run together, or their groups and what they touch.

    `size` tiles of a group run at once. Once it has run: `tapes`, one per batch in the order they run, and
    the largest number of live bytes in a tile and where it is reached, if no loaded element decides it.
    """

    reason: str
    groups: list[Array]
    touched: Touched
    size: int
    is_in_order: bool
    tapes: list[list[Any]] | None = None
    peak_bytes: int | None = None
    peak_at: Operation | None = None
    is_taped: bool = True


@dataclass
class Prepared:
    """Facts about a kernel on a grid that hold for any arguments, and the plans of its last launches.

    `is_alike`: which tensors live at a time, and their sizes, are the same whatever is loaded.
    """

    fingerprint: list[Any]
    facts: Reach
    obstacle: str
    is_inter_tile: bool
    is_alike: bool
    blocks: dict[Block, Any] = field(default_factory=dict)
    once: dict[tuple[str, Operation], Any] = field(default_factory=dict)
    launches: OrderedDict[Any, Plan] = field(default_factory=OrderedDict)

    def plan(self, values: Sequence[Any], find: Callable[[], Plan]) -> Plan:
        """The plan for the values of the arguments."""
        key = tuple(v if isinstance(v, int) else (str(v.dtype), v.tobytes()) for v in values)
        found = self.launches.get(key)
        if found is None:
            found = self.launches[key] = find()
        self.launches.move_to_end(key)
        while len(self.launches) > LAUNCHES:
            self.launches.popitem(last=False)
        return found


_SHELVES: WeakKeyDictionary[Memory, OrderedDict[Any, Prepared]] = WeakKeyDictionary()


def prepared(launch: Launch, kernel: FuncOp) -> Prepared:
    """What is known of a kernel on a grid, found anew when the kernel changed."""
    shelf = _SHELVES.setdefault(launch.memory, OrderedDict())
    key, mark = (kernel, launch.grid, launch.options), _fingerprint(kernel)
    found = shelf.get(key)
    if found is None or found.fingerprint != mark:
        facts = reach(kernel, launch.grid)
        found = shelf[key] = Prepared(
            mark, facts, obstacle(kernel, facts), is_inter_tile(kernel), has_known_extents(kernel, facts)
        )
    shelf.move_to_end(key)
    while len(shelf) > KERNELS:
        shelf.popitem(last=False)
    return found


def _fingerprint(op: Operation) -> list[Any]:
    """All that an op and the ops inside say; equal as long as none of them changes."""
    found: list[Any] = []

    def note(op: Operation) -> None:
        types = [r.type for r in op.results]
        found.append((op, op.name, tuple(op.operands), types, dict(op.properties), dict(op.attributes)))
        for region in op.regions:
            for block in region.blocks:
                found.append((block, [a.type for a in block.args]))
                for inner in block.ops:
                    note(inner)

    note(op)
    return found
