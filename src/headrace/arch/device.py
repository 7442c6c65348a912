"""The machine as data: what an architecture file says, as frozen dataclasses every room reads.

Bandwidths are bytes per cycle of `Device.clock_mhz`; `None` means that the file states no limit. Kinds of
memories are "global" (device memory), "ct_local" (a core's scratchpad) or the kind string of the file
(register files).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache

from headrace.ir.diagnostics import Diagnostic, HeadraceError

GRANULE_BYTES = 128
"""One entry of a queue and one operand of a vector unit: what an issue consumes."""

ALIASES = {"hbm": "global", "ddr": "global", "lx": "ct_local", "l1": "ct_local"}
"""Other names of the two memories every device has, in lower case."""


@lru_cache(maxsize=1024)
def canonical(kind: str) -> str:
    """Return the one spelling a kind or name is looked up by: lower case, memories by their own name."""
    lower = kind.lower()
    return ALIASES.get(lower, lower)


@dataclass(frozen=True)
class Multicast:
    """One read of a memory answers up to `max_consumers` requests; `sync_cycles` is the meeting of the
    requests.
    """

    max_consumers: int
    sync_cycles: int = 0


@dataclass(frozen=True)
class Memory:
    """A kind of memory; `per` says what has one of its own: "device", "core" or "corelet"."""

    kind: str
    name: str
    per: str
    size_bytes: int
    peak_gbps: float | None = None
    sustained_gbps: float | None = None
    turnaround_ns_per_byte: float = 0.0
    read_bytes_per_cycle: int | None = None
    write_bytes_per_cycle: int | None = None
    latency_ns: float = 0.0
    access_bytes: int = 1
    align_bytes: int = 128
    reserved: tuple[tuple[int, int], ...] = ()
    span_bytes: int | None = None
    banks: int = 1
    bank_bytes: int | None = None
    multicast: Multicast | None = None


@dataclass(frozen=True)
class Matrix:
    """A contraction unit: MACs per cycle by operand type, one pass takes `rows` of k and `columns` of n."""

    macs: Mapping[str, int]
    accumulate: Mapping[str, str]
    rows: int = 1
    columns: int = 1
    resident_bytes: int | None = None
    accumulator_bytes: int = 0
    swap_cycles: int = 0
    latency_cycles: int = 0


@dataclass(frozen=True)
class Unit:
    """A kind of execution unit; `count` instances in each core (1, or one for each corelet)."""

    kind: str
    per: str
    count: int
    is_compute: bool = False
    is_load: bool = False
    is_store: bool = False
    passive: bool = False
    setup_cycles: int = 0
    issue_cycles: int = 1
    outstanding: int | None = None
    request_bytes: int | None = None
    strided_accesses_per_cycle: int = 1
    wide_internal: bool = False
    op_cycles: Mapping[str, float] = field(default_factory=dict)
    op_latency: Mapping[str, float] = field(default_factory=dict)
    lanes: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    splat: bool = False
    zero_pad: bool = False
    matrix: Matrix | None = None
    index_types: tuple[str, ...] = ()
    word_bytes: Mapping[str, int] = field(default_factory=dict)
    granularity: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    registers: str | None = None
    registers_bytes: int | None = None

    @property
    def is_indirect(self) -> bool:
        """True if the unit gathers (load unit) or scatters (store unit)."""
        return bool(self.index_types)


@dataclass(frozen=True)
class Link:
    """A directed datapath between two kinds; `per` says how often it exists.

    Links of one group instance with the same `port` share one bandwidth. `corelet` is the number of the
    corelet whose units it joins when it exists for that corelet only.
    """

    source: str
    target: str
    per: str
    kind: str | None = None
    bandwidth: int | None = None
    sustained_gbps: float | None = None
    latency_cycles: int = 1
    queue_depth: int | None = None
    queue_bytes: int | None = None
    ordered: bool = False
    port: str | None = None
    granularity: tuple[int, ...] = ()

    @property
    def capacity_bytes(self) -> int | None:
        """Bytes in flight the queue holds: its size, or depth granules of 128 bytes; None without a queue."""
        if self.queue_bytes is not None:
            return self.queue_bytes
        return None if self.queue_depth is None else self.queue_depth * GRANULE_BYTES


@dataclass(frozen=True)
class Ring:
    """A ring of switches, one stop a core: `source` units inject, `target` units eject, `hops` join the
    stops.

    `corelet` is set when the attached units exist once a corelet: the ring joins that corelet of every
    core. `steps` are the directions it offers (+1: to the next core), one hop link each.
    """

    kind: str
    source: str
    target: str
    corelet: int | None
    steps: tuple[int, ...]
    hops: tuple[Link, ...]
    inject: Link
    eject: Link

    def hop(self, step: int) -> Link:
        """Return the link from a stop to the next in direction `step` (+1 or -1)."""
        return self.hops[self.steps.index(step)]

    def distance(self, source_core: int, target_core: int, cores: int) -> tuple[int, int]:
        """Return (hops, step) of the shortest way between two cores; ties go to the first direction of the
        file.
        """
        ways = [((target_core - source_core) * step % cores, step) for step in self.steps]
        return min(ways, key=lambda way: way[0])


@dataclass(frozen=True)
class Device:
    """A device: `cores` cores of `corelets` corelets with units, memories, links and rings by kind."""

    name: str
    clock_mhz: int
    cores: int
    corelets: int
    signal_cycles: int
    launch_cycles: int
    memories: tuple[Memory, ...]
    units: tuple[Unit, ...]
    links: tuple[Link, ...]
    rings: tuple[Ring, ...] = ()
    version: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    text: str = field(default="", compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.sha256)

    @cached_property
    def sha256(self) -> str:
        """Digest of everything that changes schedules or cycles; equal for replicated and written-out
        files.
        """
        content = asdict(self)
        del content["sources"], content["text"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def memory(self, kind: str) -> Memory:
        """The memory of a kind or name ("global", "hbm", "LX", ...); HeadraceError if there is none."""
        found = self.find_memory(kind)
        if found is None:
            raise _unknown("memory", kind, [memory.kind for memory in self.memories], self.name)
        return found

    def find_memory(self, kind: str) -> Memory | None:
        """Return the memory of a kind or name, or None."""
        wanted = canonical(kind)
        for memory in self.memories:
            if wanted in (canonical(memory.kind), canonical(memory.name)):
                return memory
        return None

    def unit(self, kind: str) -> Unit:
        """Return the unit of a kind, in any case; HeadraceError if there is none."""
        found = self.find_unit(kind)
        if found is None:
            raise _unknown("unit", kind, [unit.kind for unit in self.units], self.name)
        return found

    def find_unit(self, kind: str) -> Unit | None:
        """Return the unit of a kind, or None."""
        return self._units.get(kind.lower())

    def link(self, source: str, target: str) -> Link:
        """Return the datapath between two kinds (units, memories); HeadraceError if there is none."""
        found = self.find_link(source, target)
        if found is None:
            known = [f"{link.source}->{link.target}" for link in self.links]
            raise _unknown("link", f"{source}->{target}", known, self.name)
        return found

    def find_link(self, source: str, target: str) -> Link | None:
        """Return the datapath between two kinds, or None."""
        return self._links.get((canonical(source), canonical(target)))

    def find_ring(self, source: str, target: str, corelet: int | None = None) -> Ring | None:
        """Return the ring that carries `source` units' data to `target` units of other cores, or None."""
        wanted = (source.lower(), target.lower())
        for ring in self.rings:
            ends = (ring.source.lower(), ring.target.lower())
            if ends == wanted and (corelet is None or ring.corelet in (None, corelet)):
                return ring
        return None

    def lanes(self, unit: str | Unit, dtype: str) -> int:
        """Return the lanes a vector unit has for an element type; HeadraceError if it does not compute that
        type.
        """
        found = self.unit(unit) if isinstance(unit, str) else unit
        lanes = found.lanes.get(dtype)
        if lanes is None:
            raise _unknown(f"lanes of {found.kind}", dtype, found.lanes, self.name)
        return lanes

    def instances(self, unit: str | Unit) -> int:
        """Return how many units of a kind the device has."""
        found = self.unit(unit) if isinstance(unit, str) else unit
        return found.count * self.cores

    def bytes_per_cycle(self, gbps: float) -> float:
        """Return a rate given in bytes per ns as bytes per cycle."""
        return gbps * 1000 / self.clock_mhz

    def cycles(self, nanoseconds: float) -> float:
        """Return a time given in ns as cycles."""
        return nanoseconds * self.clock_mhz / 1000

    def microseconds(self, cycles: float) -> float:
        """Return a number of cycles as µs."""
        return cycles / self.clock_mhz

    @cached_property
    def _units(self) -> dict[str, Unit]:
        return {unit.kind.lower(): unit for unit in self.units}

    @cached_property
    def _links(self) -> dict[tuple[str, str], Link]:
        return {(canonical(link.source), canonical(link.target)): link for link in self.links}


def _unknown(what: str, name: str, known: Iterable[str], device: str) -> HeadraceError:
    listed = ", ".join(sorted(set(known))) or "none"
    return HeadraceError(Diagnostic(f"device {device} has no {what} {name!r}", hint=f"it has {listed}"))
