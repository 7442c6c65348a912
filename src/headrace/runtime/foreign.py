"""Arguments of DFIR that does not declare them: what its views of device memory start at and reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.dtypes import itemsize

if TYPE_CHECKING:
    from headrace.machine.image import Box, Image, Index, Loop, Node


@dataclass
class _Reach:
    """What the boxes of one argument touch; `bytes` is None where a run-time size decides."""

    dtypes: Counter[str] = field(default_factory=Counter)
    bytes: int | None = 0
    is_read: bool = False
    is_written: bool = False
    is_byte: bool = False


def foreign_arguments(image: Image, scalars: Mapping[str, float | int]) -> tuple[Argument, ...]:
    """The arguments of an image: memory where a view of device memory starts at one, scalars else.

    Extents are in elements, flat; those that depend on a scalar need its value. An argument that starts views
    as a symbol, or counted in bytes, has the unit "byte".
    """
    found: dict[str, _Reach] = {}
    for program in (p for schedule in image.schedules for p in schedule.programs):
        for box, is_written, known in _boxes(program.body, _Known(scalars)):
            for name in _starts(box):
                _note(found.setdefault(name, _Reach()), box, name, is_written, known)
    return tuple(_argument(a.name, a.dtype, found.get(a.name), scalars) for a in image.arguments)


def _argument(name: str, dtype: str, reach: _Reach | None, scalars: Mapping[str, float | int]) -> Argument:
    if reach is None:
        example = scalars.get(name)
        return Argument(name, "scalar", dtype, example=example)
    element = reach.dtypes.most_common(1)[0][0]
    if reach.bytes is None:
        raise HeadraceError(
            f"how far argument '{name}' reaches depends on a scalar without a value",
            hint="pass --arg NAME=VALUE for every size the program takes",
        )
    role = "inout" if reach.is_read and reach.is_written else "out" if reach.is_written else "in"
    shape = (-(-reach.bytes // itemsize(element)),)
    return Argument(name, "memory", element, shape, role, unit="byte" if reach.is_byte else "element")


@dataclass(frozen=True)
class _Known:
    """What is known of the symbols of an expression: scalar arguments, and loops around it."""

    scalars: Mapping[str, float | int]
    loops: tuple[Loop, ...] = ()

    def inside(self, loop: Loop) -> _Known:
        return _Known(self.scalars, (*self.loops, loop))

    def greatest(self, index: Index, start: str = "") -> int | None:
        """The greatest value of an index, counted from argument `start`; None if it is not known."""
        from headrace.machine.image import Index
        from headrace.machine.index import of

        numbers = {**{k: int(v) for k, v in self.scalars.items()}, start: 0}
        index = index.replace(
            {s: Index(numbers[s.name]) for s in index.symbols if s.role == "argument" and s.name in numbers}
        )
        for k, loop in reversed(list(enumerate(self.loops))):
            if loop.iv in index.symbols:
                end = _Known(self.scalars, self.loops[:k]).greatest(loop.upper, start)
                last = None if end is None else max(end - 1, loop.iv.low or 0)
                index = index.replace({loop.iv: of(replace(loop.iv, high=last))})
        return index.high


def _note(reach: _Reach, box: Box, name: str, is_written: bool, known: _Known) -> None:
    reach.dtypes[box.dtype] += 1
    reach.is_written |= is_written
    reach.is_read |= not is_written
    direct = [c for atom, c in box.view_start.terms if getattr(atom, "name", None) == name]
    reach.is_byte |= direct != [box.itemsize]
    end = _end(box, name, known)
    reach.bytes = None if end is None or reach.bytes is None else max(reach.bytes, end)


def _end(box: Box, name: str, known: _Known) -> int | None:
    """The byte behind the last one touched, counted from the argument; None if it is not known."""
    last = known.greatest(box.base if box.address is None else box.address, name)
    if last is None:
        return None
    for dim in (*box.times, *box.run):
        extent = known.greatest(dim.extent, name)
        if extent is None:
            return None
        if extent <= 0:
            return 0
        last += (extent - 1) * max(0, dim.stride)
    return last + box.itemsize


def _starts(box: Box) -> set[str]:
    return {s.name for s in box.view_start.symbols if s.role == "argument"}


def _boxes(nodes: tuple[Node, ...], known: _Known) -> Iterator[tuple[Box, bool, _Known]]:
    """Every box of device memory, whether it is written, and what is known there."""
    from headrace.machine.image import If, Loop

    for node in nodes:
        if isinstance(node, Loop):
            yield from _boxes(node.body, known.inside(node))
        elif isinstance(node, If):
            yield from _boxes((*node.then, *node.otherwise), known)
        for box, is_written in _of(node):
            if box.place.kind == "global":
                yield box, is_written, known


def _of(node: Node) -> list[tuple[Box, bool]]:
    from headrace.machine.image import Copy, Load, Read, Store, Write

    match node:
        case Copy():
            index = [] if node.indirect is None else [(node.indirect.box, False)]
            return [(node.source, False), (node.target, True), *index]
        case Read() | Write():
            return [(s.box, isinstance(node, Write)) for s in node.streams]
        case Load() | Store():
            return [(node.box, isinstance(node, Store))]
    return []
