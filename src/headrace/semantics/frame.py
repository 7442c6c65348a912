"""One compute tile at work: the values of its SSA names, what it is, and how its errors are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IndexType, ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.spyreop.undefined import why_undefined
from headrace.ir.text import location
from headrace.numbers.dtypes import is_known, numpy_dtype
from headrace.numbers.memory import Memory
from headrace.semantics.ledger import Ledger
from headrace.semantics.options import Options
from headrace.semantics.report import Report

Array = np.ndarray[Any, Any]
Handler = Callable[["Frame", Operation], Sequence[Any]]
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Empty:
    """A tensor nobody has written yet."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Nothing:
    """A value that does not exist on this tile; `why` is the end of an error message."""

    why: str


@dataclass
class Launch:
    """What the tiles of one function share: memory, scratchpads by tile, options, report.

    `on_store` is called after every store with the tile's frame and the op.
    """

    memory: Memory
    scratchpads: dict[int, Array]
    scratchpad_bytes: int
    grid: tuple[int, ...]
    options: Options
    report: Report
    functions: dict[str, Block] = field(default_factory=dict)
    plans: dict[Block, Any] = field(default_factory=dict)
    mail: dict[Any, Any] = field(default_factory=dict)
    facts: dict[tuple[str, Operation], Any] = field(default_factory=dict)
    shared: dict[Operation, Any] = field(default_factory=dict)
    on_store: Callable[[Frame, Operation], None] | None = None

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return int(np.prod(self.grid, dtype=np.int64))

    def scratchpad(self, tile: int) -> Array:
        """The bytes of tile `tile`'s own memory."""
        if tile not in self.scratchpads:
            self.scratchpads[tile] = np.zeros(self.scratchpad_bytes, np.uint8)
        return self.scratchpads[tile]


@dataclass
class Frame:
    """The state of one tile; `domain` holds the iteration dims of the nest whose body is being evaluated."""

    launch: Launch
    tile: int
    coordinates: tuple[int, ...]
    values: dict[SSAValue, Any] = field(default_factory=dict)
    domain: Sequence[Array] = ()
    ledger: Ledger = field(default_factory=Ledger)
    counts: dict[Operation, int] = field(default_factory=dict)

    def get(self, value: SSAValue) -> Any:
        """The value of an SSA name; HeadraceError when this tile does not have it."""
        found = self.values[value]
        if isinstance(found, Nothing):
            message = f"tile {self.tile}: %{value.name_hint or '?'} {found.why}"
            op = value.owner
            where = location(op) if isinstance(op, Operation) else None
            raise HeadraceError(Diagnostic(message, where, getattr(op, "name", "")))
        return found

    def once(self, what: str, op: Operation, find: Callable[[], Fact]) -> Fact:
        """`find()`, called once for all tiles: for facts about an op that no tile changes."""
        facts = self.launch.facts
        if (what, op) not in facts:
            facts[what, op] = find()
        return facts[what, op]  # type: ignore[no-any-return]

    def array(self, op: Operation, value: SSAValue) -> Array:
        """The value as an array (rank 0 for scalars); an error when it is a tensor nobody has written."""
        found = self.get(value)
        if isinstance(found, Empty):
            if self.launch.options.empty == "zero":
                return np.zeros(found.shape, numpy_dtype(found.dtype))
            raise self.error(
                op,
                f"reads %{value.name_hint or '?'}, a tensor.empty that nothing has written",
                "fill it first",
            )
        return (
            found
            if isinstance(found, np.ndarray)
            else np.asarray(found, numpy_dtype(element_type(value.type)))
        )

    def arrays(self, op: Operation) -> list[Array]:
        """All operands as arrays."""
        return [self.array(op, v) for v in op.operands]

    def integer(self, value: SSAValue) -> int:
        """An index or integer scalar as a Python number."""
        return int(self.get(value))

    def integers(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        """Several of them."""
        return tuple(int(self.get(v)) for v in values)

    def error(self, op: Operation, message: str, hint: str = "") -> HeadraceError:
        """The error to raise about `op`, with its location."""
        return HeadraceError(Diagnostic(message, location(op), op.name, hint))

    def warn(self, op: Operation, message: str, hint: str = "") -> None:
        """Notes a warning about `op` in the report, once."""
        self.launch.report.warn(Diagnostic(message, location(op), op.name, hint, "warning"))


_NAMES = {Float16Type: "f16", Float32Type: "f32", BFloat16Type: "bf16", IndexType: "index"}


def element_type(ty: Attribute) -> str:
    """The name of a type's elements, or of the scalar type itself."""
    element = ty.get_element_type() if isinstance(ty, ShapedType) else ty
    return _NAMES.get(type(element)) or str(element)


def known_element_type(frame: Frame, op: Operation, ty: Attribute) -> str:
    """`element_type`, an error when Headrace does not compute with it."""
    name = element_type(ty)
    if not is_known(name):
        raise frame.error(op, f"element type {name} is not supported", why_undefined(name))
    return name


def scalar(array: Any, dtype: str) -> Any:
    """A rank-0 result as scalars are kept: index and integers as Python numbers, floats and i1 as rank-0
    arrays."""
    if dtype == "index" and array.ndim == 0:
        return int(array)
    return array
