"""The plan: every decision the scheduler took for a TileGraph, as data that prints, saves, is edited and
replayed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.plan_data import read

VERSION = 1


@dataclass(frozen=True)
class PhasePlan:
    """How one phase runs.

    `computes` describes what it computes (for readers and as a check on replay), `unit` computes it, `lane`
    is the dim of a vector and `step` its elements (`chunk` those of the second half of a long row, 0
    without), `tile` the extents of a scratchpad tile by dim, in loop order; `copies` the rotating copies of
    streamed buffers by "in" and "out" ("filling": "in" while what is kept is filled; "waiting": of whole
    tiles of a contraction's results, each of which is stored while the next one is computed); `blocks`
    (contractions) the depth and columns of a resident block, the rows of a result stage, "filling" the depth
    of a step that fills what is kept; `split` what the corelets share out; `once` lists operands loaded
    before the tile loop, `kept` (contractions) those whose whole depth stays while tiles of rows pass, filled
    step by step by the first of them, `taper` the rows of these tiles in order, or the extents of the tiles
    of the innermost loop if results are "waiting" (none: all alike), `multicast` those several cores read in
    one transfer, `joined` how many neighbouring cores read their parts of an operand (contractions: the
    weights) as one, each using its own, `beside` names the phase before (a vector phase) whose rows run
    between those of a contraction, if any. Cycles are predicted for each of its `runs` (in a loop, as often
    as that turns): of all, and by resource.
    """

    name: str
    kind: str
    computes: tuple[str, ...]
    unit: str
    lane: str
    step: int
    tile: Mapping[str, int]
    extents: Mapping[str, int]
    chunk: int = 0
    passes: int = 1
    copies: Mapping[str, int] = field(default_factory=dict)
    blocks: Mapping[str, int] = field(default_factory=dict)
    split: str = ""
    order: str = ""
    once: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    taper: tuple[int, ...] = ()
    multicast: tuple[str, ...] = ()
    joined: Mapping[str, int] = field(default_factory=dict)
    beside: str = ""
    lx_bytes: int = 0
    cycles: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    runs: int = 1


@dataclass(frozen=True)
class ClassPlan:
    """The phases of one class of cores in order, and where the values between them live ("lx" or
    "scratch").

    `strips` (if the phases run strip by strip): the "rows" of a strip, in how many "steps" the columns grow
    that a mask leaves, whether factors all strips read are "kept" in the scratchpad and whether a strip
    begins before the one before it ends ("ahead") (1 or 0), how many columns of a softmax come at a
    time ("block", 0: all), by how many steps results are stored "late", those of the first
    "waiting" steps. `is_holding`: what loops read of
    loads before them is brought into the scratchpad once. `overlapped` are the predicted cycles of all
    phases where loads and stores of one go on beside the work of others, 0 where each is counted by itself.
    """

    cores: tuple[int, ...]
    phases: tuple[PhasePlan, ...]
    homes: Mapping[str, str]
    strips: Mapping[str, int] = field(default_factory=dict)
    overlapped: float = 0.0
    is_holding: bool = False

    @property
    def cycles(self) -> float:
        """Predicted cycles of all runs of all phases."""
        return self.overlapped or sum(p.cycles * p.runs for p in self.phases)


@dataclass(frozen=True)
class Alternative:
    """A candidate the search compared: what differs from the winner, its predicted and simulated cycles."""

    what: str
    predicted_cycles: float
    simulated_cycles: float | None = None


@dataclass(frozen=True)
class Plan:
    """All classes of a function with what the search knows about them; cycles and bound are predictions for
    the device; `room_bytes` of the scratchpad were given to each phase and the values between phases.
    `between`: arguments whose values later kernels of the module read on the core that computed them;
    `over_ring`: whether values between tiles pass over the ring where they can; `in_blocks`: whether loops
    over blocks of keys stay loops that could be one block of all keys.
    """

    kernel: str
    device: str
    fusing: bool
    classes: tuple[ClassPlan, ...]
    predicted_cycles: float = 0.0
    bound_cycles: float = 0.0
    resource: str = ""
    seen: int = 0
    pruned: int = 0
    simulated: int = 0
    room_bytes: int = 0
    without: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    between: tuple[str, ...] = ()
    over_ring: bool = True
    in_blocks: bool = False

    @property
    def gap(self) -> float:
        """Predicted cycles over the bound, minus one."""
        return self.predicted_cycles / self.bound_cycles - 1 if self.bound_cycles else 0.0

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps({"version": VERSION, "plan_hash": self.plan_hash, **asdict(self)}, indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Return the plan a JSON text holds; HeadraceError if it is not one."""
        hint = "start from the plan.json that `headrace compile` writes"
        try:
            data = json.loads(text)
            if "version" not in data:
                raise TypeError("version is missing")
            if data.pop("version") != VERSION:
                raise HeadraceError(
                    Diagnostic("the plan is of another version", hint=f"this is version {VERSION}")
                )
            data.pop("plan_hash", None)
            found: Plan = read(Plan, data)
            return found
        except (TypeError, AttributeError, json.JSONDecodeError) as error:
            raise HeadraceError(Diagnostic(f"not a plan: {error}", hint=hint)) from None

    @property
    def plan_hash(self) -> str:
        """Digest of the decisions, not of predictions or of the search: equal decisions have equal hashes."""
        decisions = [
            [
                c.cores,
                dict(sorted(c.homes.items())),
                dict(sorted(c.strips.items())),
                c.is_holding,
                *map(_decisions, c.phases),
            ]
            for c in self.classes
        ]
        chosen = [self.kernel, self.device, self.fusing, self.between, self.over_ring, decisions]
        if self.in_blocks:
            chosen.append("in blocks")
        text = json.dumps(chosen, sort_keys=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _decisions(phase: PhasePlan) -> dict[str, Any]:
    found = asdict(phase)
    for key in ("cycles", "parts", "runs", "lx_bytes"):
        del found[key]
    return found
