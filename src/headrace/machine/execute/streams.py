"""Readers and writers: one strided access per stream, one chunk of messages per channel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.machine.execute.access import Access, uniform
from headrace.machine.execute.exchange import Queue, checked
from headrace.machine.image import Read, Stream, Write

if TYPE_CHECKING:
    from headrace.machine.execute.execution import Execution
    from headrace.machine.execute.team import Team

Array = np.ndarray[Any, Any]
Route = tuple[Queue, list[tuple[Stream, Access]]]


def run_read(run: Execution, team: Team, node: Read) -> bool:
    """Sends every vector of every stream; never waits."""
    for queue, streams in routes(run, team, node, True):
        parts = [access.load(team.env, stream.shape) for stream, access in streams]
        steps = parts[0].shape[1]
        if not steps:
            continue
        if node.granularity == 1 or len(parts) == 1:
            queue.push(parts, steps)
            continue
        for first, count, burst in _bursts(steps, node.granularity):
            cut = [p[:, first : first + count] for p in parts]
            queue.push([p[:, j::burst] for p in cut for j in range(burst)], count // burst)
    return True


def run_write(run: Execution, team: Team, node: Write) -> bool:
    """Stores every vector of every stream once all of them have been sent."""
    found = routes(run, team, node, False)
    steps = prod(uniform(d.extent.evaluate(team.env)) for d in node.streams[0].box.times)
    if not steps:
        return True
    if any(queue.available < steps * len(streams) for queue, streams in found):
        return False
    for queue, streams in found:
        for part, (stream, access) in zip(_taken(queue, node, steps, len(streams)), streams, strict=True):
            message = checked(
                part, stream.shape, stream.box.dtype, stream.where, run.partner(team, stream.peer)
            )
            access.store(team.env, message)
    return True


def routes(run: Execution, team: Team, node: Read | Write, is_sender: bool) -> list[Route]:
    """The streams by channel, in order, cached."""
    key = id(node)
    if key not in team.plans:
        out: list[Route] = []
        for stream in node.streams:
            queue = run.queue(team, stream.peer, is_sender)
            access = run.access(team, stream.box, stream.where)
            for known, streams in out:
                if known is queue:
                    streams.append((stream, access))
                    break
            else:
                out.append((queue, [(stream, access)]))
        team.plans[key] = out
    found: list[Route] = team.plans[key]
    return found


def _taken(queue: Queue, node: Write, steps: int, count: int) -> list[Array]:
    if node.granularity == 1 or count == 1:
        return queue.take(steps, count, node.where)
    pieces: list[list[Array]] = [[] for _ in range(count)]
    for _, total, burst in _bursts(steps, node.granularity):
        rounds = queue.take(total // burst, count * burst, node.where)
        for s in range(count):
            group = rounds[s * burst : (s + 1) * burst]
            stacked = np.stack(group, axis=2)
            pieces[s].append(stacked.reshape(stacked.shape[0], -1, *stacked.shape[3:]))
    return [np.concatenate(p, axis=1) for p in pieces]


def _bursts(steps: int, granularity: int) -> list[tuple[int, int, int]]:
    """(first step, steps, burst): whole bursts, then a shorter last one."""
    whole = steps // granularity * granularity
    out = [(0, whole, granularity)] if whole else []
    return [*out, (whole, steps - whole, steps - whole)] if whole < steps else out
