"""What a run loses its cycles to, in words: every saving is the difference of two simulated runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.arch.cost import Bound
from headrace.arch.device import Device
from headrace.ir.diagnostics import HeadraceError
from headrace.machine.operands import Operand
from headrace.machine.sharing import Shared, share_reads
from headrace.machine.timing import Link, Timing
from headrace.report.whatif import WhatIf, once_read, what_ifs
from headrace.runtime.retime import Retiming

SMALLEST = 0.005
"""Savings below this part of the run are not told."""


OFF_PATH = ("queues", "links", "ring", "bursts")
"""Changes that can save something though nothing on the critical path carries their name; a cost that is not
on it can go without the end coming sooner.
"""


@dataclass(frozen=True)
class Loss:
    """A cause of waiting: what it is, what the run shows of it, and the cycles a run without it takes.

    `share` is its part of the critical path, `saving` the part of the run that goes when it does.
    """

    name: str
    cycles: int
    saving: float
    share: float
    text: str

    def to_json(self) -> dict[str, Any]:
        """The loss as one JSON object."""
        return {
            "name": self.name,
            "cycles_without": self.cycles,
            "saving": round(self.saving, 4),
            "critical_path_share": round(self.share, 4),
            "text": self.text,
        }


@dataclass(frozen=True)
class Facts:
    """What the words about a run are made of."""

    device: Device
    timing: Timing
    bound: Bound
    operands: Sequence[Operand]

    def share(self, causes: Iterable[str], kinds: Iterable[str] | None = None) -> float:
        """The part of the critical path of some causes (at units of some kinds)."""
        wanted, units = set(causes), None if kinds is None else set(kinds)
        held = sum(
            link.cycles
            for link in self.timing.path
            if link.cause in wanted and (units is None or link.kind in units)
        )
        return held / self.timing.cycles if self.timing.cycles else 0.0

    def stall(self, cause: str) -> tuple[float, str]:
        """The largest part of a unit kind's time spent on a cause, and the kind."""
        parts = [
            (getattr(unit, cause) / (unit.instances * self.timing.cycles), kind)
            for kind, unit in self.timing.units.items()
        ]
        return max(parts, default=(0.0, ""))

    def busy(self, kind: str) -> float:
        """The part of its time a unit kind is busy."""
        unit = self.timing.units[kind]
        return unit.busy / (unit.instances * self.timing.cycles)


def losses(run: Retiming, facts: Facts, without: Mapping[str, int] = {}) -> list[Loss]:
    """Return what a run loses cycles to, largest saving first; `without` has the cycles with each
    optimisation on that the program was compiled without.
    """
    found = []
    for one in what_ifs(facts.device, facts.bound, facts.timing):
        share, fact = _fact(one, facts)
        if share > 0 or one.name in OFF_PATH:
            found.append(_loss(one, run.time(one.device), share, fact, facts))
    if "multicast" not in without:
        found += _sharing(run, facts)
    found += [_switched(name, cycles, facts) for name, cycles in without.items()]
    return sorted((one for one in found if one.saving >= SMALLEST), key=lambda one: -one.saving)


def _saving(cycles: int, facts: Facts) -> float:
    return 1 - cycles / facts.timing.cycles if facts.timing.cycles else 0.0


def _loss(one: WhatIf, timing: Timing, share: float, fact: str, facts: Facts) -> Loss:
    saving = _saving(timing.cycles, facts)
    return Loss(one.name, timing.cycles, saving, share, f"{fact}; {one.words} would save {_percent(saving)}")


def _switched(name: str, cycles: int, facts: Facts) -> Loss:
    saving = _saving(cycles, facts)
    text = f"compiled without {name}; with it the run would save {_percent(saving)}"
    return Loss(f"without {name}", cycles, saving, 0.0, text)


def _sharing(run: Retiming, facts: Facts) -> list[Loss]:
    """Loads of equal bytes by several cores, timed as multicasts."""
    image, shared = share_reads(run.program.image, run.values, facts.device)
    if not shared:
        return []
    is_in_order = all(one.is_in_order for one in shared)
    would = "multicast" if is_in_order else "multicast, if all came to them in one order,"
    try:
        timing = run.time(image=image)
    except HeadraceError:  # members that come to different loads in different orders never meet
        is_in_order = False
        timing = run.time(once_read(facts.device, facts.timing, sum(one.saved_bytes for one in shared)))
        would = "reading them once (timed as a memory faster by the bytes that go)"
    saving = _saving(timing.cycles, facts)
    share = facts.share(("transfer", "bandwidth", "latency"), _loaders(facts.device))
    text = (
        f"DDR reads hold {_percent(share)} of the critical path: {_fetched(shared)} separately"
        f"{'' if is_in_order else ', in different orders'}; {would} would save {_percent(saving)}"
    )
    return [Loss("multicast", timing.cycles, saving, share, text)]


def _fetched(shared: Sequence[Shared]) -> str:
    most: dict[str, int] = {}
    for one in shared:
        most[one.name] = max(most.get(one.name, 0), one.units)
    listed = [f"operand {name} is fetched by {units} cores" for name, units in most.items()]
    return " and ".join(listed[:3]) + (f" (and {len(listed) - 3} more)" if len(listed) > 3 else "")


def _loaders(device: Device) -> list[str]:
    return [unit.kind for unit in device.units if unit.per == "core" and not unit.is_compute and unit.is_load]


def _fact(one: WhatIf, facts: Facts) -> tuple[float, str]:
    """(share of the critical path, what the run shows of a cause)."""
    timing = facts.timing
    moved = timing.bytes["ddr_read"] + timing.bytes["ddr_write"]
    count = max(1, timing.counts["transfers"])
    match one.name:
        case "latency":
            share = facts.share(("latency",), _movers(facts.device))
            latency = facts.device.memory("global").latency_ns
            return (
                share,
                f"latency of device memory ({latency:g} ns) is {_percent(share)} of the critical path",
            )
        case "requests":
            share = facts.share(("transfer",), _movers(facts.device))
            return share, f"transfers at their unit's own ceiling are {_percent(share)} of the critical path"
        case "setup":
            share = facts.share(("setup",))
            each = f"{count:,} transfers of {moved // count:,} bytes on average"
            return share, f"set-up and control are {_percent(share)} of the critical path ({each})"
        case "signals":
            share = facts.share(("signal", "setup"))
            stalled, kind = facts.stall("signal")
            return (
                share,
                f"{timing.counts['signals']:,} signals: {kind} waits for one {_percent(stalled)} of its time",
            )
        case "serial":
            share = facts.share(("setup", "latency", "signal"))
            return share, f"set-up, latency and signals together are {_percent(share)} of the critical path"
        case "meeting":
            share = facts.share(("meeting",))
            return share, f"members of a multicast meet: {_percent(share)} of the critical path"
        case "queues":
            stalled, kind = facts.stall("space")
            return facts.share(
                ("queue",)
            ), f"{kind} waits for room in a queue {_percent(stalled)} of its time"
        case "scratchpad":
            share = facts.share(("busy",), _scratchpad_units(facts.device))
            return share, f"readers and writers of the scratchpad hold {_percent(share)} of the critical path"
        case "excess":
            return _excess(one, facts)
        case "links":
            share = facts.share(("queue",))
            return share, f"messages that come in over links hold {_percent(share)} of the critical path"
    kind = one.name.removeprefix("latency of ")
    share = facts.share(("busy", "queue"), (kind,))
    if kind != one.name:
        return share, f"{kind} holds {_percent(share)} of the critical path, the latency of its ops included"
    if one.name in timing.units:
        busy = _percent(facts.busy(one.name))
        return share, f"{one.name} is busy {busy} and holds {_percent(share)} of the critical path"
    return share, _PLAIN.get(one.name, f"{one.name} holds {_percent(share)} of the critical path")


_PLAIN = {
    "ring": "messages and pulls travel over the ring",
    "bursts": "device memory moves whole bursts",
}


def _excess(one: WhatIf, facts: Facts) -> tuple[float, str]:
    """The bounding resource does more than the bound counts."""
    if facts.bound.resource != "ddr":
        busy = _percent(facts.busy(facts.bound.resource))
        return facts.share(("busy",), (facts.bound.resource,)), (
            f"{facts.bound.resource} is busy {busy}, {one.detail:.2f} times what the bound counts"
        )
    share = facts.share(("transfer", "bandwidth"), _movers(facts.device))
    again = [o for o in facts.operands if o.distinct and o.moved > 1.01 * o.distinct]
    listed = ", ".join(f"{o.name} {o.moved / (o.distinct or 1):.1f} times" for o in again[:3])
    return share, (
        f"device memory moves {one.detail:.2f} times what the bound counts"
        + (f" (asked for: {listed})" if listed else "")
        + f" and holds {_percent(share)} of the critical path"
    )


def _movers(device: Device) -> list[str]:
    return [unit.kind for unit in device.units if unit.per == "core" and not unit.is_compute]


def _scratchpad_units(device: Device) -> list[str]:
    return [unit.kind for unit in device.units if unit.per == "corelet" and not unit.is_compute]


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %" if part < 0.0995 else f"{100 * part:.0f} %"


def by_cause(path: Sequence[Link]) -> list[tuple[str, str, int]]:
    """Return (unit kind, cause, cycles) of a critical path, largest first."""
    sums: dict[tuple[str, str], int] = {}
    for link in path:
        sums[link.kind, link.cause] = sums.get((link.kind, link.cause), 0) + link.cycles
    return sorted(((kind, cause, n) for (kind, cause), n in sums.items()), key=lambda one: -one[2])
