"""Image → Timing: expand the programs, fold the cores, simulate, account."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.arch.device import Device
from headrace.machine.image import Image, Schedule
from headrace.machine.timing.compiled.worth import is_worth
from headrace.machine.timing.deadlock import check_finished
from headrace.machine.timing.engine import Engine
from headrace.machine.timing.expand import Trips, expand
from headrace.machine.timing.fold import fold
from headrace.machine.timing.footprint import peak_bytes
from headrace.machine.timing.path import critical_path
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.result import BYTES, COUNTS, Fill, Interval, Timing, unit_times
from headrace.machine.timing.ticks import TICKS, cycles


def time(
    image: Image,
    scalars: Mapping[str, float],
    device: Device,
    trips: Trips | None = None,
    is_traced: bool = False,
    is_folding: bool = True,
    is_recorded: bool = False,
    is_compiled: bool | None = None,
) -> Timing:
    """Return the timing of an image on a device.

    `scalars` gives the run-time arguments (only sizes and the alignment of addresses matter), `trips` the
    counts `execute` took where control depends on loaded values. Raises HeadraceError for a deadlock
    (naming who waits for whom) and for ops the device cannot price. `is_recorded` adds the critical path
    (and runs every step to find it). `is_folding` False simulates every core by itself; `is_compiled` says
    whether units run in machine code (None: by what it costs): both change no result.
    """
    engines = [
        _simulate(schedule, image, scalars, device, trips, is_traced, is_folding, is_recorded, is_compiled)
        for schedule in image.schedules
    ]
    total: dict[str, int] = dict.fromkeys((*BYTES, *COUNTS), 0)
    for engine in engines:
        for name, size in engine.transfers.moved.items():
            total[name] += size
        for unit in engine.units:
            for name, size in unit.traffic.items():
                total[name] += size * unit.multiplicity
    return Timing(
        cycles(sum(engine.end for engine in engines)),
        unit_times([(engine.units, engine.end) for engine in engines]),
        {name: total[name] for name in BYTES},
        peak_bytes(image, scalars),
        _intervals(engines) if is_traced else (),
        _fills(engines) if is_traced else (),
        _alike(engines) if is_traced else {},
        max((len(engine.wiring.classes) for engine in engines), default=0),
        max((len(engine.wiring.class_of) for engine in engines), default=0),
        critical_path(engines) if is_recorded else (),
        {name: total[name] for name in COUNTS},
    )


def _simulate(
    schedule: Schedule,
    image: Image,
    scalars: Mapping[str, float],
    device: Device,
    trips: Trips | None,
    is_traced: bool,
    is_folding: bool,
    is_recorded: bool,
    is_compiled: bool | None,
) -> Engine:
    prices = Prices(device, {program.kind for program in schedule.programs})
    parts = [part for program in schedule.programs for part in expand(program, image, prices, scalars, trips)]
    classes = fold(parts, image.groups, device.cores, is_folding)
    is_possible = not (is_traced or is_recorded)
    is_wanted = is_possible and (is_worth(classes) if is_compiled is None else is_compiled)
    engine = Engine(classes, image.groups, prices, is_traced, is_recorded, is_wanted)
    engine.run()
    if engine.compiled is not None and not all(unit.is_done and not unit.queue for unit in engine.units):
        engine = Engine(classes, image.groups, prices)  # which can say who waits for whom
        engine.run()
    check_finished(engine)
    return engine


def _intervals(engines: list[Engine]) -> tuple[Interval, ...]:
    """The slices of one core of every class, schedules one after the other."""
    found, offset = [], 0
    for engine in engines:
        for unit in engine.units:
            instances = engine.wiring.classes[unit.group].instances[unit.role]
            for one in unit.slices:
                begin, stop = (one.start + offset) / TICKS, (one.end + offset) / TICKS
                alike = {"ring": len(instances)}
                moved = (*((name, size * alike.get(name, 1)) for name, size in one.traffic), *one.moved)
                track = instances[0].name
                found.append(
                    Interval(track, begin, stop, one.label, len(instances), one.where, one.name, moved)
                )
        offset += engine.end
    return tuple(found)


def _fills(engines: list[Engine]) -> tuple[Fill, ...]:
    """How full every queue was, schedules one after the other; nothing if that was too much to note."""
    if any(engine.fills is None for engine in engines):
        return ()
    changes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    offset = 0
    for engine in engines:
        for fifo in engine.wiring.fifos.values():
            if fifo.sender >= 0 and fifo.receiver >= 0:
                ends = (_name(engine, fifo.sender), _name(engine, fifo.receiver))
                noted = (engine.fills or {}).get(fifo.number, ())
                changes.setdefault(ends, []).extend((time + offset, change) for time, change in noted)
        offset += engine.end
    found = []
    for (sender, receiver), listed in changes.items():
        level, levels = 0, dict[float, int]()
        for time, change in sorted(listed):
            level += change
            levels[time / TICKS] = level
        found.append(Fill(sender, receiver, tuple(levels.items())))
    return tuple(found)


def _alike(engines: list[Engine]) -> dict[str, tuple[str, ...]]:
    """The units each simulated one stands for."""
    return {
        instances[0].name: tuple(instance.name for instance in instances)
        for engine in engines
        for one in engine.wiring.classes
        for instances in one.instances.values()
    }


def _name(engine: Engine, number: int) -> str:
    unit = engine.units[number]
    return engine.wiring.classes[unit.group].instances[unit.role][0].name
