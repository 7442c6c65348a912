"""The evaluator's state: what SSA names are bound to, and the statements emitted so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from headrace.ir.diagnostics import Diagnostic, Location
from headrace.ir.text import location
from headrace.schedule.graph import (
    Arg,
    Axis,
    Compute,
    Dim,
    Indirect,
    Load,
    Out,
    Statement,
    Value,
    View,
)
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.bodies.body import Body
from headrace.schedule.model.tensors import (
    AnyTensor,
    Constant,
    Filled,
    Integer,
    Tensor,
    is_whole,
    plain_number,
    through,
)
from headrace.schedule.ring import Apart, Pairs, Use

Blocks = Literal["joined", "exact", "apart"]
"""What becomes of loops over blocks of keys: one block, up to the longest end of all tiles where the rest is
hidden; one block up to the end of each tile; loops.
"""


class Split(Exception):
    """Tiles of the group go different ways: `keys` has one entry a tile, equal entries stay together."""

    def __init__(self, keys: np.ndarray) -> None:
        super().__init__("tiles differ")
        self.keys = keys


class Refused(Exception):
    """The op cannot be modelled; its results are unknown from here on."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True)
class Part:
    """One partition of a memory view: coordinates low..high of the whole live at coordinate - low."""

    view: View
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True)
class MemoryView:
    """A memref: its shape and the partitions that hold it (one, unless it is distributed)."""

    shape: tuple[int, ...]
    dtype: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Tile:
    """An access tile: origin per view dim, the walk of every tile axis, and indexed dims."""

    view: MemoryView
    origin: tuple[Num, ...]
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    indirect: tuple[Indirect, ...] = ()
    repeats: tuple[int, ...] = ()
    """Tile axes that walk nothing: every position along them is the same element."""
    written: tuple[int, ...] | None = None
    """The tile's shape in the text, where some of its variables were cut in several axes."""

    @property
    def seen(self) -> tuple[int, ...]:
        """The shape of the tensors that are loaded and stored."""
        return self.shape if self.written is None else self.written


@dataclass(frozen=True)
class Unknown:
    """What an op that could not be modelled leaves behind."""


@dataclass(frozen=True)
class Undelivered:
    """What a delivery op leaves on a tile that is none of its consumers."""


@dataclass(frozen=True)
class Future:
    """One run of a produce op: its key, the message buffer of every value, their shapes and types."""

    key: str
    names: tuple[str, ...]
    kinds: tuple[tuple[tuple[int, ...], str], ...]
    pairs: Pairs | Apart = ()
    """If the values pass over a ring: the cores that send and those that receive."""
    values: tuple[AnyTensor, ...] = ()
    """If they do: the values of the tiles themselves."""


Binding = Integer | Constant | Tensor | Filled | MemoryView | Tile | Future | Undelivered | Unknown


def axis(number: int) -> str:
    """The name of a coordinate in `State.formulas`."""
    return f"#{number}"


def _along(formula: Num, walk: Sequence[Axis]) -> Num:
    """The number at the coordinates a nest walks."""
    names = {axis(k) for k in range(len(walk))}
    found = Num(formula.const, {n: c for n, c in formula.terms.items() if n not in names}, formula.arg)
    for k, step in enumerate(walk):
        factor = formula.terms.get(axis(k), 0)
        if factor:
            here = Num(step.offset, {} if step.dim is None else {step.dim: 1})
            found = nm.add(found, nm.scale(here, factor))
    return found


@dataclass
class State:
    """One evaluation of a function for one group of tiles."""

    module: ModuleOp
    coordinates: np.ndarray
    """One row a tile, one column a grid dim."""
    grid: tuple[int, ...] = ()
    """The extent of every grid dim."""
    ring: Use = Use()
    """How values between tiles may pass over a ring."""
    blocks: Blocks = "joined"
    env: dict[SSAValue, Binding] = field(default_factory=dict)
    ranges: dict[str, tuple[nm.Const, nm.Const]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    block: list[Statement] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    undefined: set[str] = field(default_factory=set)
    """Values that stand for a `tensor.empty`."""
    fills: dict[str, float | int] = field(default_factory=dict)
    """Values filled with one number."""
    loads: dict[str, tuple[Load, int]] = field(default_factory=dict)
    """The load of every loaded value, and how many stores to its memory came before."""
    stores: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Stores so far, by memory space and argument."""
    casts: dict[str, Tensor] = field(default_factory=dict)
    """Values that are an integer read from memory in another type."""
    formulas: dict[str, Num] = field(default_factory=dict)
    """Values whose elements are integers known from their coordinates: number k is the variable `axis(k)`."""
    runs: Counter[Operation] = field(default_factory=Counter)
    """Runs so far of ops that have memory of their own."""
    scratch: dict[str, Arg] = field(default_factory=dict)
    """Memory the kernel does not name: messages between tiles, row numbers of gathers by several indices."""
    counter: int = 0
    end: Num | None = None
    """Where the loop at hand ends on each tile if it is evaluated as if it went on to the longest end."""
    read_further: set[tuple[str, str]] = field(default_factory=set)
    """The memories that loops read which go on to the longest end."""
    goes_on: bool = False
    """Whether one of them ends at a number on every tile."""
    has_blocks: bool = False
    """Whether a loop over blocks of keys became one block of all of them."""

    @property
    def tiles(self) -> np.ndarray:
        """The linear numbers of these tiles, the first grid dim running fastest."""
        numbers, apart = np.zeros(len(self.coordinates), np.int64), 1
        for k, extent in enumerate(self.grid):
            numbers = numbers + self.coordinates[:, k] * apart
            apart *= extent
        return numbers

    def report(self, op: Operation, message: str, hint: str = "") -> None:
        """Note one finding at an op, once."""
        found = Diagnostic(message, location(op), op.name, hint)
        if found not in self.diagnostics:
            self.diagnostics.append(found)

    def fresh(self, prefix: str) -> str:
        """A name not used before."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def dims(self, extents: Sequence[int], kinds: Sequence[str] = ()) -> tuple[Dim, ...]:
        """New iteration dims, parallel unless `kinds` says otherwise."""
        chosen = kinds or ["parallel"] * len(extents)
        return tuple(
            Dim(self.fresh("d"), n, "reduction" if k == "reduction" else "parallel")
            for n, k in zip(extents, chosen, strict=True)
        )

    def value(self, shape: Sequence[int], dtype: str, where: Location | None = None, hint: str = "") -> str:
        """The name of a new value."""
        name = self.fresh(f"{hint}." if hint else "v")
        self.values[name] = Value(name, tuple(shape), dtype, where or Location())
        return name

    def fixed(self, value: Num) -> int:
        """The number; tiles with different numbers part here, loops that change it are unrolled."""
        if not value.is_constant:
            raise NotLinear(tuple(value.terms))
        if isinstance(value.const, np.ndarray):
            raise Split(value.const)
        return value.const

    def compute(self, body: Body, outs: Sequence[Out], where: Location, source: str) -> None:
        """Emit a nest."""
        self.block.append(
            Compute(body.dims, tuple(body.ins), tuple(outs), tuple(body.entries), None, where, source)
        )

    def materialise(self, tensor: AnyTensor, where: Location, source: str = "copy") -> str:
        """The name of a value that holds exactly this tensor, copying if it is only a view of one."""
        if isinstance(tensor, Tensor) and is_whole(tensor, self.values[tensor.source].shape):
            return tensor.source
        body = Body(self.dims(tensor.shape), self.ranges)
        walk = tuple(Axis(d.name) for d in body.dims)
        result = body.place(self.element(body, tensor, walk))
        name = self.value(tensor.shape, tensor.dtype, where)
        if isinstance(tensor, Filled):
            if tensor.fill is None:
                self.undefined.add(name)
            elif (number := plain_number(tensor.fill)) is not None:
                self.fills[name] = number
        self.compute(body, [Out(name, walk, result)], where, source)
        return name

    def element(self, body: Body, tensor: AnyTensor, walk: Sequence[Axis]) -> int | Integer | Constant:
        """The body operand that is one element of a tensor."""
        if isinstance(tensor, Tensor):
            if tensor.source in self.formulas:
                formula = self.formulas[tensor.source]
                return Integer(_along(formula, through(tensor, walk)), tensor.dtype)
            return body.read(tensor.source, through(tensor, walk), tensor.dtype)
        if tensor.fill is None:
            return Constant(0, tensor.dtype)
        return tensor.fill

    def note_formula(self, value: str, dims: Sequence[Dim], element: Integer) -> None:
        """Remember what the elements of a value are whose axes are these dims, in order."""
        names = {d.name: axis(k) for k, d in enumerate(dims)}
        number = element.value
        terms = {names.get(n, n): c for n, c in number.terms.items()}
        self.formulas[value] = Num(number.const, terms, number.arg)

    def get(self, ssa: SSAValue) -> Binding:
        """What an SSA value is bound to."""
        return self.env.get(ssa, Unknown())

    def integer(self, ssa: SSAValue) -> Num:
        """The integer an SSA value is known to be; Refused when it depends on data."""
        bound = self.get(ssa)
        if isinstance(bound, Integer):
            return bound.value
        if isinstance(bound, Constant | Unknown):
            raise Refused("an integer is needed here")
        raise Refused(
            "this integer is read from memory, so it is not known when scheduling",
            "address through ind(...) of an indirect access tile",
        )

    def tensor(self, ssa: SSAValue) -> AnyTensor:
        """The tensor (rank 0 for scalars) an SSA value is bound to."""
        bound = self.get(ssa)
        if isinstance(bound, Tensor | Filled):
            return bound
        if isinstance(bound, Integer | Constant):
            return Filled((), bound.dtype, bound)
        raise Refused("a tensor is needed here")
