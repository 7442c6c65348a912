"""Small images written by hand for the timing tests: units, boxes and bodies with as few words as
possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.arch.device import Device
from headrace.arch.presets import device as preset
from headrace.machine.image import (
    Box,
    Channel,
    Copy,
    Dim,
    Group,
    Image,
    Index,
    Instance,
    Loop,
    Node,
    Place,
    Program,
    Read,
    Receive,
    Schedule,
    Send,
    Signal,
    Stream,
    Symbol,
    Value,
    VectorOp,
    Wait,
    Write,
)
from headrace.machine.index import of

SIGNAL = 4
"""Signal cycles of the test device."""


def machine(cores: int = 2, **changes: object) -> Device:
    """`tiny` with round figures: device memory 16 B/cycle without turnaround, no ceilings, latency 40 +
    links."""
    plain: dict[str, object] = {
        "core.count": cores,
        "ddr.turnaround_ns_per_byte": 0,
        "mnilu.outstanding": 1000,
        "mnisu.outstanding": 1000,
        "ddr.access_bytes": 1,
        "mnilu->lx.bandwidth": 1000,
        "lx->mnisu.bandwidth": 1000,
        "ddr->mnilu.bandwidth": 1000,
        "mnisu->ddr.bandwidth": 1000,
        "lx.read_bytes_per_cycle": 10_000,
        "lx.write_bytes_per_cycle": 10_000,
    }
    return preset("tiny", plain | {key.replace("__", "."): value for key, value in changes.items()})


@dataclass
class Chip:
    """Collects programs that run on `cores` cores of a device."""

    device: Device
    cores: int = 1
    instances: list[Instance] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def __post_init__(self) -> None:
        for core in range(self.cores):
            for unit in self.device.units:
                for corelet in range(unit.count):
                    name = f"C{core}-{unit.kind.lower()}-CL{corelet}"
                    self.instances.append(Instance(len(self.instances), name, unit.kind, core, corelet))

    def number(self, kind: str, core: int, corelet: int = 0) -> int:
        """The instance number of a unit."""
        return next(i.number for i in self.instances if (i.kind, i.core, i.corelet) == (kind, core, corelet))

    def program(
        self, kind: str, write: Callable[[Body], Sequence[Node]], cores: Sequence[int] | None = None
    ) -> None:
        """Give the units of a kind (corelet 0) on some cores a program."""
        on = list(cores) if cores is not None else list(range(self.cores))
        body = Body(self, on)
        nodes = tuple(write(body))
        instances = tuple(self.number(kind, core) for core in on)
        tables = tuple((slot, tuple(values)) for slot, values in body.tables)
        self.programs.append(
            Program(len(self.programs), kind, instances, nodes, body.slots, tables, values=body.values)
        )

    def group(self, *cores: int) -> int:
        """A multicast group of the loaders of some cores."""
        self.groups.append(Group(len(self.groups), tuple(self.number("MNILU", c) for c in cores), "global"))
        return len(self.groups) - 1

    def image(self) -> Image:
        """The image of all programs, as one schedule."""
        pairs = sorted(
            {(i.number, j.number) for i in self.instances for j in self.instances if i.core == j.core}
        )
        channels = tuple(Channel(a, b) for a, b in pairs)
        schedule = Schedule("main", tuple(self.programs))
        return Image(
            "main", tuple(self.instances), (schedule,), (), channels, tuple(self.groups), cores=self.cores
        )


@dataclass
class Body:
    """Makes the nodes of one program; remembers tables and slots."""

    chip: Chip
    cores: list[int]
    tables: list[tuple[int, list[int]]] = field(default_factory=list)
    slots: int = 0
    values: int = 0

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def table(self, values: Sequence[int]) -> Index:
        """A number for each core."""
        slot = self.slot()
        self.tables.append((slot, list(values)))
        return of(Symbol(slot, "table", f"t{slot}"))

    def unit(self, kind: str, further: int = 0) -> Index:
        """The unit of a kind on the same core, or some cores further on."""
        cores = self.chip.device.cores
        return self.table([self.chip.number(kind, (core + further) % cores) for core in self.cores])

    def send(self, kind: str, further: int = 0, waits: bool = False) -> Signal:
        return Signal(self.unit(kind, further), waits=waits)

    def wait(self, kind: str, further: int = 0) -> Wait:
        return Wait(self.unit(kind, further))

    def load(self, size: int, group: Index | None = None, address: int = 0) -> Copy:
        return Copy(_box("global", size, address), _box("ct_local", size), size, group=group)

    def store(self, size: int, address: int = 0) -> Copy:
        return Copy(_box("ct_local", size), _box("global", size, address), size)

    def pull(self, size: int, further: int, direction: str = "") -> Copy:
        """The scratchpad of the core some cores further on into the own one."""
        cores = self.chip.device.cores
        owners = self.table([(core + further) % cores for core in self.cores])
        source = Box(Place("ct_local", "lx", owners), Index(0), (), (Dim(Index(size), 1),), "i8")
        return Copy(source, _box("ct_local", size), size, direction=direction)

    def read(self, rows: int, lanes: int, kind: str = "SFU", pitch: int = 1) -> Read:
        """`rows` messages of f16 from the scratchpad to a unit of this core."""
        return Read((Stream(_rows(rows, lanes, pitch), self.unit(kind), (lanes,)),))

    def write(self, rows: int, lanes: int, kind: str = "SFU") -> Write:
        return Write((Stream(_rows(rows, lanes, 1), self.unit(kind), (lanes,)),))

    def value(self, lanes: int, dtype: str = "f16") -> Value:
        self.values += 1
        return Value(self.values - 1, (lanes,), dtype)

    def receive(self, lanes: int, kind: str = "L1LU") -> Receive:
        return Receive(self.unit(kind), self.value(lanes))

    def loop(self, trip: int | Index, *body: Node, marked: bool = False) -> Loop:
        slot = self.slot()
        end = trip if isinstance(trip, Index) else Index(trip)
        iv = Symbol(slot, "iv", f"i{slot}")
        kind = "parallel" if marked else None
        return Loop(slot, iv, Index(0), end, Index(1), tuple(body), kind)

    def vector(self, rows: int | Index, lanes: int, ops: int = 1, marked: bool = True) -> Loop:
        """SFU: receive a row, `ops` additions, send it on."""
        taken = self.receive(lanes)
        nodes: list[Node] = [taken]
        last = taken.result
        for _ in range(ops):
            result = self.value(lanes)
            nodes.append(VectorOp("arith.addf", "addf", (last, last), result))
            last = result
        nodes.append(Send(self.unit("L1SU"), last))
        return self.loop(rows, *nodes, marked=marked)


def _box(kind: str, size: int, address: int = 0) -> Box:
    return Box(Place(kind, kind), Index(address), (), (Dim(Index(size), 1),), "i8")  # type: ignore[arg-type]


def _rows(rows: int, lanes: int, pitch: int) -> Box:
    times = (Dim(Index(rows), lanes * 2 * pitch),)
    return Box(Place("ct_local", "lx"), Index(0), times, (Dim(Index(lanes), 2 * pitch),), "f16")
