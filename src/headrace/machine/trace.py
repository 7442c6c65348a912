"""A timing as Chrome trace JSON (chrome://tracing, Perfetto): one track per unit, counters of their own.

Slices of a track never overlap. They are named by what is moved and the how-manieth time (the tile): "load x
[3]". Counters: bytes per cycle of device memory, rings and scratchpads, messages in the queues of the first
core, bytes of its scratchpad that are in use, transfers in flight. Of alike cores one is shown, and of many
different ones as many as `EVENTS` allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.arch.device import Device
from headrace.machine.image import Image, Instance
from headrace.machine.occupancy import occupancy
from headrace.machine.timing.result import Fill, Interval, Timing

EVENTS = 180_000
"""Slices of a trace that shows some of the cores: less than 50 MB of JSON."""
BINS = 2_000
"""Points of a counter, at most."""
Event = dict[str, Any]


def chrome_trace(
    timing: Timing,
    image: Image,
    device: Device,
    is_whole: bool = False,
    scalars: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the trace object: times are µs; processes are cores, threads are units, process 0 has counters.

    With `is_whole` every core is shown, alike ones too, whatever the size. `scalars` are the run-time
    arguments the run was timed with.
    """
    instances = {instance.name: instance for instance in image.instances}
    tracks = _by_track(timing.intervals)
    shown = _shown(tracks, instances, is_whole)
    events: list[Event] = [_named("process_name", 0, 0, "counters")]
    for core, alike in _cores(shown, timing, instances, is_whole).items():
        events.append(_named("process_name", core + 1, 0, f"core {core}" + alike))
    thread = 0
    for name in sorted(shown, key=lambda track: instances[track].number):
        slices = list(_disjoint(shown[name]))
        for unit in timing.alike.get(name, (name,)) if is_whole else (name,):
            thread += 1
            process = instances[unit].core + 1
            events.append(_named("thread_name", process, thread, unit))
            events.extend(_slices(slices, process, thread, device))
    events.extend(_rates(timing, device))
    events.extend(_transfers(timing.intervals, device))
    first = min((instances[name].core for name in shown), default=0)
    for fill in timing.fills:
        if instances[fill.sender].core == first:
            events.extend(_fill(fill, timing.cycles, device))
    events.extend(_occupied(timing, image, device, scalars or {}, first))
    other = {
        "cycles": timing.cycles,
        "device": device.name,
        "clock_mhz": device.clock_mhz,
        "program": image.name,
        "cores": timing.cores,
        "cores_shown": sorted({event["pid"] - 1 for event in events if event["pid"]}),
    }
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def _by_track(intervals: Iterable[Interval]) -> dict[str, list[Interval]]:
    tracks: dict[str, list[Interval]] = {}
    for one in intervals:
        tracks.setdefault(one.track, []).append(one)
    return tracks


def _shown(
    tracks: dict[str, list[Interval]], instances: dict[str, Instance], is_whole: bool
) -> dict[str, list[Interval]]:
    """The tracks of as many cores as there is room for, the first in any case; one core's slices of the same
    op are joined where even they are too many.
    """
    if is_whole:
        return tracks
    by_core: dict[int, list[str]] = {}
    for name in tracks:
        by_core.setdefault(instances[name].core, []).append(name)
    kept: dict[str, list[Interval]] = {}
    total = 0
    for core in sorted(by_core):
        size = sum(len(tracks[name]) for name in by_core[core])
        if kept and total + size > EVENTS:
            break
        total += size
        kept |= {name: tracks[name] for name in by_core[core]}
    if total <= EVENTS:
        return kept
    factor = -(-total // EVENTS)
    return {name: list(_joined(slices, factor)) for name, slices in kept.items()}


def _joined(slices: Sequence[Interval], factor: int) -> Iterator[Interval]:
    """Every `factor` slices of a track as one, named by the first of them."""
    ordered = sorted(slices, key=lambda one: one.start)
    for at in range(0, len(ordered), factor):
        first, last = ordered[at], ordered[min(at + factor, len(ordered)) - 1]
        label = f"{first.label} and {factor - 1} more"
        yield Interval(first.track, first.start, last.end, label, first.cores, first.where, first.name)


def _cores(
    shown: dict[str, list[Interval]], timing: Timing, instances: dict[str, Instance], is_whole: bool
) -> dict[int, str]:
    """The cores of a trace, each with what stands for the ones like it."""
    found: dict[int, int] = {}
    for name in shown:
        units = timing.alike.get(name, (name,))
        for unit in units if is_whole else units[:1]:
            core = instances[unit].core
            found[core] = max(found.get(core, 1), 1 if is_whole else len(units))
    return {core: f" (and {n - 1} alike)" if n > 1 else "" for core, n in sorted(found.items())}


def _named(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _disjoint(slices: list[Interval]) -> Iterator[Interval]:
    """Slices in order of time, each cut where the one before it ends."""
    end = 0.0
    for one in sorted(slices, key=lambda interval: (interval.start, interval.end)):
        start = max(one.start, end)
        if one.end > start:
            yield Interval(one.track, start, one.end, one.label, one.cores, one.where, one.name, one.bytes)
            end = one.end


def _slices(slices: Iterable[Interval], process: int, thread: int, device: Device) -> Iterator[Event]:
    """Slices with the number of the tile: how often the same op has come before."""
    tiles: Counter[tuple[str, Any]] = Counter()
    for one in slices:
        key = (f"{one.label} {one.name}".rstrip(), one.where)
        yield {
            "ph": "X",
            "name": f"{key[0]} [{tiles[key]}]",
            "cat": one.label,
            "pid": process,
            "tid": thread,
            "ts": device.microseconds(one.start),
            "dur": device.microseconds(one.end - one.start),
            "args": {
                "where": str(one.where),
                "cycles": one.end - one.start,
                **{name: size for name, size in one.bytes if size},
            },
        }
        tiles[key] += 1


# ---- counters ----------------------------------------------------------------------------------------------
RATES = {
    "device memory, bytes per cycle": {"read": "ddr_read", "write": "ddr_write"},
    "ring, bytes per cycle": {"all links": "ring"},
    "scratchpads, bytes per cycle": {"read": "lx_read", "write": "lx_write"},
}


def _rates(timing: Timing, device: Device) -> Iterator[Event]:
    """Bytes per cycle over all cores: the bytes of every slice, spread evenly over it."""
    edges = np.linspace(0, timing.cycles, min(BINS, max(1, timing.cycles)) + 1)
    for counter, parts in RATES.items():
        series = {part: _spread(timing.intervals, name, edges) for part, name in parts.items()}
        if any(values.any() for values in series.values()):
            last: dict[str, float] | None = None
            for k, time in enumerate(edges[:-1]):
                args = {part: round(float(values[k]), 3) for part, values in series.items()}
                if args != last:
                    yield _counted(counter, float(time), args, device)
                last = args
            yield _counted(counter, float(timing.cycles), dict.fromkeys(parts, 0.0), device)


def _spread(intervals: Iterable[Interval], name: str, edges: Any) -> Any:
    """Mean bytes per cycle between edges: the difference of the bytes moved by each of them."""
    listed = [
        (one.start, one.end, size * (one.cores if name.startswith("lx") else 1))
        for one in intervals
        for what, size in one.bytes
        if what == name and size and one.end > one.start
    ]
    if not listed:
        return np.zeros(len(edges) - 1)
    starts, ends, sizes = (np.array(column, float) for column in zip(*listed, strict=True))
    rates = sizes / (ends - starts)
    times = np.concatenate([starts, ends])
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(np.concatenate([rates, -rates])[order])
    moved = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(times))])
    return np.diff(np.interp(edges, times, moved)) / np.diff(edges)


def _fill(fill: Fill, cycles: int, device: Device) -> Iterator[Event]:
    """Messages in one queue."""
    name = f"queue {fill.sender} to {fill.receiver}"
    for time, most in _highest(fill.levels, cycles):
        yield _counted(name, time, {"messages": most}, device)


def _occupied(
    timing: Timing, image: Image, device: Device, scalars: Mapping[str, float], core: int
) -> Iterator[Event]:
    """Bytes of one core's scratchpad that were written and will be read, where that can be told."""
    for time, most in _highest(occupancy(timing, image, scalars, core) or (), timing.cycles):
        yield _counted(f"scratchpad of core {core}, bytes in use", time, {"bytes": most}, device)


def _highest(levels: Sequence[tuple[float, int]], cycles: int) -> Iterator[tuple[float, int]]:
    """The highest level in each of at most `BINS` spans, where that changes, and the last."""
    width = max(1.0, cycles / BINS)
    spans: dict[int, int] = {}
    level = 0
    for time, now in levels:
        span = int(time / width)
        spans[span] = max(spans.get(span, level), now)
        level = now
    last = None
    for span, most in spans.items():
        if most != last:
            yield span * width, most
        last = most
    if levels and last != level:
        yield float(cycles), level


def _transfers(intervals: Iterable[Interval], device: Device) -> Iterator[Event]:
    """A counter of transfers in flight by direction, over all cores; of many changes every n-th is shown."""
    running = {"load": 0, "store": 0, "pull": 0}
    changes: dict[float, dict[str, int]] = {}
    for one in intervals:
        if one.label in running:
            for time, change in ((one.start, one.cores), (one.end, -one.cores)):
                now = changes.setdefault(time, {})
                now[one.label] = now.get(one.label, 0) + change
    times = sorted(changes)
    every = -(-len(times) // BINS) if times else 1
    for k, time in enumerate(times):
        for label, change in changes[time].items():
            running[label] += change
        if k % every == 0 or k == len(times) - 1:
            yield _counted("transfers in flight", time, dict(running), device)


def _counted(name: str, time: float, args: dict[str, Any], device: Device) -> Event:
    return {"ph": "C", "name": name, "pid": 0, "tid": 0, "ts": device.microseconds(time), "args": args}
