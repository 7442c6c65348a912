"""What an SSA value of type index, memref or scalar stands for while a program is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir.affine import AffineMap

from headrace.machine.image import Index, Place


@dataclass(frozen=True)
class UnitHandle:
    """A unit: its number in `Image.instances`."""

    number: int


@dataclass(frozen=True)
class MemoryHandle:
    """A memory: "global", "ct_local" of core `owner`, "register" of unit `owner` (-1: of its user)."""

    kind: str
    name: str
    owner: int = 0


@dataclass(frozen=True)
class GroupHandle:
    """A multicast group: its number in `Image.groups`."""

    number: int


@dataclass(frozen=True)
class Words:
    """A start address in words of the accessing unit: it came from `symbol.create_symbol`."""

    index: Index


@dataclass(frozen=True)
class Units:
    """A group of units made by `dataflow.create_group`."""

    members: tuple[UnitHandle, ...]


@dataclass(frozen=True)
class PerInstance:
    """A value that differs between the instances of the program, in their order."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Mapping:
    """A constant map; keys and values are handles, integers or `Words`."""

    items: dict[Any, Any]


@dataclass(frozen=True)
class FloatArgument:
    """A floating-point argument of the entry function."""

    name: str
    dtype: str


@dataclass(frozen=True)
class Page:
    """A box low..high (inclusive) of a view's positions, whose bytes lie `shift` further on."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    shift: Index


@dataclass(frozen=True)
class View:
    """Memory seen as a tensor: element (i, ...) is at byte `base` + layout(i, ...) x itemsize.

    A size of -1 is a run-time value. With `pages` the shift of the first page that holds the position is
    added; a position in none of them has no byte. `buffer` is what `headrace.buffer` calls it.
    """

    place: Place
    base: Index
    dtype: str
    layout: AffineMap
    shape: tuple[int, ...]
    pages: tuple[Page, ...] = ()
    buffer: str = ""
