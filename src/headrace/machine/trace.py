"""A timing as Chrome trace JSON (chrome://tracing, Perfetto): one track per unit, counters of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.arch.device import Device
from headrace.machine.image import Image
from headrace.machine.timing.result import Interval, Timing


def chrome_trace(timing: Timing, image: Image, device: Device) -> dict[str, Any]:
    """Return the trace object: slices never overlap within a track, times are µs, alike cores show as one.

    Processes are cores (one of each class), threads are units; process 0 holds the counters.
    """
    instances = {instance.name: instance for instance in image.instances}
    tracks = {name: list(slices) for name, slices in _by_track(timing.intervals)}
    events: list[dict[str, Any]] = [_named("process_name", 0, 0, "counters")]
    cores = sorted({instances[name].core for name in tracks})
    for core in cores:
        alike = max(slices[0].cores for name, slices in tracks.items() if instances[name].core == core)
        label = f"core {core}" if alike == 1 else f"core {core} (and {alike - 1} alike)"
        events.append(_named("process_name", core + 1, 0, label))
    for thread, name in enumerate(sorted(tracks, key=lambda track: instances[track].number), start=1):
        process = instances[name].core + 1
        events.append(_named("thread_name", process, thread, name))
        events.extend(_slice(one, process, thread, device) for one in _disjoint(tracks[name]))
    events.extend(_transfers(timing.intervals, device))
    other = {
        "cycles": timing.cycles,
        "device": device.name,
        "clock_mhz": device.clock_mhz,
        "program": image.name,
    }
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def _by_track(intervals: Iterable[Interval]) -> list[tuple[str, list[Interval]]]:
    tracks: dict[str, list[Interval]] = {}
    for one in intervals:
        tracks.setdefault(one.track, []).append(one)
    return list(tracks.items())


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _disjoint(slices: list[Interval]) -> Iterator[Interval]:
    """Slices in order of time, each cut where the one before it ends."""
    end = 0.0
    for one in sorted(slices, key=lambda interval: (interval.start, interval.end)):
        start = max(one.start, end)
        if one.end > start:
            yield Interval(one.track, start, one.end, one.label, one.cores, one.where)
            end = one.end


def _slice(one: Interval, process: int, thread: int, device: Device) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": one.label,
        "cat": "unit",
        "pid": process,
        "tid": thread,
        "ts": device.microseconds(one.start),
        "dur": device.microseconds(one.end - one.start),
        "args": {"where": str(one.where), "cycles": one.end - one.start},
    }


def _transfers(intervals: Iterable[Interval], device: Device) -> Iterator[dict[str, Any]]:
    """A counter of transfers in flight by direction, over all cores."""
    running = {"load": 0, "store": 0, "pull": 0}
    changes: dict[float, dict[str, int]] = {}
    for one in intervals:
        if one.label in running:
            changes.setdefault(one.start, {}).setdefault(one.label, 0)
            changes[one.start][one.label] += one.cores
            changes.setdefault(one.end, {}).setdefault(one.label, 0)
            changes[one.end][one.label] -= one.cores
    for time in sorted(changes):
        for label, change in changes[time].items():
            running[label] += change
        args = dict(running)
        yield {
            "ph": "C",
            "name": "transfers in flight",
            "pid": 0,
            "tid": 0,
            "ts": device.microseconds(time),
            "args": args,
        }
