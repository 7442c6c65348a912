"""Teams: instances of one program that run in step, as long as nothing tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.machine.image import (
    Box,
    Copy,
    If,
    Index,
    Load,
    Loop,
    Node,
    Program,
    Read,
    Receive,
    Schedule,
    Send,
    Store,
    Symbol,
    Write,
    walk,
)

Array = np.ndarray[Any, Any]


@dataclass
class Frame:
    """A block being run: the next node is `nodes[at]`. For a loop, `current` is the value of its variable."""

    nodes: tuple[Node, ...]
    at: int = 0
    loop: Loop | None = None
    current: int = 0
    upper: int = 0
    step: int = 1
    branch: If | None = None
    is_then: bool = True

    def copy(self) -> Frame:
        return Frame(
            self.nodes, self.at, self.loop, self.current, self.upper, self.step, self.branch, self.is_then
        )


@dataclass
class Team:
    """`members` are positions in the program's instance list, `ids` their instance numbers.

    `env` holds the integers of the program (ints, or arrays with one number per member), `values` its
    vector registers (arrays [member or 1, iteration or 1, *vector]). `plans` caches what a node needs, by
    node identity.
    """

    number: int
    program: Program
    members: tuple[int, ...]
    ids: tuple[int, ...]
    env: list[Any]
    values: list[Any]
    frames: list[Frame]
    plans: dict[Any, Any] = field(default_factory=dict)
    is_unfolded: bool = False

    def unroll(self) -> bool:
        """Lets the unmarked loop that the team waits at, if it is one, run step by step from now on."""
        frame = self.frames[-1]
        node = frame.nodes[frame.at]
        if not isinstance(node, Loop) or node.kind is not None or ("single", id(node)) in self.plans:
            return False
        self.plans["single", id(node)] = True
        return True

    @property
    def count(self) -> int:
        return len(self.members)

    @property
    def is_done(self) -> bool:
        return not self.frames


def new_team(number: int, program: Program, members: Sequence[int], scalars: dict[str, Any]) -> Team:
    """A team at the start of its program."""
    env: list[Any] = [0] * program.slots
    for slot, table in program.tables:
        mine = [table[m] for m in members]
        env[slot] = mine[0] if len(set(mine)) == 1 else np.array(mine, np.int64)
    for slot, name in program.arguments:
        env[slot] = int(scalars[name])
    ids = tuple(program.instances[m] for m in members)
    return Team(number, program, tuple(members), ids, env, [None] * program.values, [Frame(program.body)])


def singles(team: Team, first_number: int) -> list[Team]:
    """One team per member, each where the team is now."""
    out = []
    for k, member in enumerate(team.members):
        env = [int(v[k]) if isinstance(v, np.ndarray) else v for v in team.env]
        values = [v[k : k + 1] if isinstance(v, np.ndarray) and len(v) > 1 else v for v in team.values]
        frames = [f.copy() for f in team.frames]
        out.append(Team(first_number + k, team.program, (member,), (team.ids[k],), env, values, frames))
    return out


def partition(schedule: Schedule) -> list[list[list[int]]]:
    """For every program the groups of members that may run in step; found once per schedule.

    Members stay together if every number that steers control is equal for them and their partners are
    together too.
    """
    found: list[list[list[int]]] | None = schedule.__dict__.get("_partition")
    if found is None:
        found = _partition(schedule)
        schedule.__dict__["_partition"] = found
    return found


def _partition(schedule: Schedule) -> list[list[list[int]]]:
    groups = [_by_control(p) for p in schedule.programs]
    home = {n: (k, m) for k, p in enumerate(schedule.programs) for m, n in enumerate(p.instances)}
    partners = [_partners(p) for p in schedule.programs]
    while True:
        label = {
            (k, m): (k, g) for k, parts in enumerate(groups) for g, part in enumerate(parts) for m in part
        }
        label_of = {n: label[at] for n, at in home.items()}
        finer = []
        for parts, rows in zip(groups, partners, strict=True):
            names = [tuple(label_of.get(row[m]) for row in rows) for m in range(sum(map(len, parts)))]
            finer.append([split for part in parts for split in _grouped(part, names.__getitem__)])
        if [len(p) for p in finer] == [len(p) for p in groups]:
            return finer
        groups = finer


def _grouped(members: Iterable[int], key: Any) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for m in members:
        found.setdefault(key(m), []).append(m)
    return list(found.values())


def _partners(program: Program) -> list[tuple[int, ...]]:
    """For every distinct peer expression of messages the partner of each member."""
    peers: dict[Index, None] = {}
    for node in walk(program.body):
        match node:
            case Read() | Write():
                peers.update((s.peer, None) for s in node.streams)
            case Send() | Receive():
                peers[node.peer] = None
    return [program.numbers(p) for p in peers]


def _by_control(program: Program) -> list[list[int]]:
    indices = {i for node in walk(program.body) for i in steering(node)}
    if any(s.role in ("loaded", "carried") for i in indices for s in i.symbols):
        return [[m] for m in range(len(program.instances))]
    parts: dict[Index, None] = {}
    for index in indices:
        _table_parts(index, parts)
    rows = [program.numbers(p) for p in parts]
    return _grouped(range(len(program.instances)), lambda m: tuple(row[m] for row in rows))


def steering(node: Node) -> Iterable[Index]:
    """The indices of a node that must be one number for a team: bounds, conditions, extents."""
    match node:
        case Loop():
            yield from (node.lower, node.upper, node.step)
        case If():
            yield node.condition
        case Copy():
            yield from _extents(node.source)
            yield from _extents(node.target)
        case Read() | Write():
            for stream in node.streams:
                yield from _extents(stream.box)
        case Load() | Store():
            yield from _extents(node.box)


def _extents(box: Box) -> Iterable[Index]:
    return (d.extent for d in (*box.times, *box.run))


def _table_parts(index: Index, found: dict[Index, None]) -> None:
    """The largest sub-expressions made of tables and constants only."""
    if all(s.role == "table" for s in index.symbols):
        if index.symbols:
            found[index] = None
        return
    linear = []
    for atom, c in index.terms:
        if isinstance(atom, Symbol):
            if atom.role == "table":
                linear.append((atom, c))
        else:
            _table_parts(atom.left, found)
            _table_parts(atom.right, found)
    if linear:
        found[Index(0, tuple(linear))] = None
