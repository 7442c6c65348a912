"""Index values, handles and memory views of DFIR, evaluated for one unit instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize

ARGUMENT_SHIFT = 44
"""Argument k of the function stands for byte address (k + 1) << 44, so that arguments never overlap."""

SYMBOLS = 1000
"""Symbols are numbered from here on, as if they were arguments."""

EXAMPLE_SCALAR = 1000
"""What an argument counts as that is no memory address."""


class Unverifiable(HeadraceError):
    """The program depends on values that exist only at run time."""


class Handle(NamedTuple):
    """A unit or memory: kind in lower case, core (-1: the device), corelet."""

    kind: str
    core: int
    corelet: int = 0

    def __str__(self) -> str:
        where = "" if self.core < 0 else f" of core {self.core}"
        return f"{self.kind}{where}" + (f" corelet {self.corelet}" if self.corelet else "")


@dataclass(frozen=True)
class View:
    """An array in memory: element i at `start` + strides . i elements of `itemsize` bytes.

    `buffer` is the name `headrace.buffer` gives what it shows.
    """

    memory: Handle
    start: int
    strides: tuple[int, ...]
    shape: tuple[int | None, ...]
    dtype: str
    itemsize: int
    buffer: str = ""


BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.divsi": lambda x, y: int(x / y) if abs(x) < 2**50 else x // y,
    "arith.divui": lambda x, y: x // y,
    "arith.floordivsi": lambda x, y: x // y,
    "arith.ceildivsi": lambda x, y: -(-x // y),
    "arith.remsi": lambda x, y: x - y * int(x / y),
    "arith.remui": lambda x, y: x % y,
    "arith.minsi": min,
    "arith.maxsi": max,
}
COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
) * 2


class Scope:
    """What SSA values are for one unit instance; inner loops add to it. `shared` is kept for all
    instances.
    """

    def __init__(self, known: dict[Any, Any], me: Handle, shared: dict[Any, Any]) -> None:
        self.known, self.me, self.shared = known, me, shared

    def copy(self) -> Scope:
        """The same knowledge, to add to."""
        return Scope(dict(self.known), self.me, self.shared)

    def __getitem__(self, value: Any) -> Any:
        try:
            return self.known[value]
        except KeyError:
            op = value.owner
            message = "a value that only a run knows steers the program"
            raise Unverifiable(
                Diagnostic(message, location(op) if hasattr(op, "name") else None, severity="warning")
            ) from None

    def define(self, op: Any) -> bool:
        """Note what an op without effects defines; False if it is not one of those."""
        name = op.name
        if name in BINARY or name in DEFINING:
            if name == "uniform.def_immutable_mapping" or all(v in self.known for v in op.operands):
                rule = DEFINING.get(name)
                found = rule(self, op) if rule else BINARY[name](*(self.known[v] for v in op.operands))
                if found is not None:
                    self.known[op.results[0]] = found
            return True
        return False

    def asked(self, op: Any, what: Callable[[Any], Any]) -> Any:
        """What the text says of an op, asked once for all its runs."""
        key = (what, id(op))
        if key not in self.shared:
            self.shared[key] = what(op)
        return self.shared[key]

    def subscripts(self, amap: Any, operands: Any) -> tuple[int, ...]:
        """Return the values of a subscript list."""
        values = [self[v] for v in operands]
        return tuple(amap.data.eval(values[: amap.data.num_dims], values[amap.data.num_dims :]))


def _constant(scope: Scope, op: Any) -> Any:
    value = getattr(op.value, "value", None)
    data = getattr(value, "data", None)
    return data if isinstance(data, int) else None


def _unit(scope: Scope, op: Any) -> Handle:
    numbers = {k: int(op.attributes[k].value.data) for k in ("core", "corelet") if k in op.attributes}
    kind = op.unit_type.data.lower()
    return Handle(ALIASES.get(kind, kind), numbers.get("core", -1), numbers.get("corelet", 0))


def is_device(unit: Any) -> bool:
    """Whether a value is a unit or memory of the device, by its definition."""
    op = unit.owner
    return getattr(op, "name", "") == "dataflow.get_unit" and "core" not in op.attributes


ALIASES = {"ddr": "hbm", "global": "hbm", "l1": "lx", "ct_local": "lx"}


def _local_unit(scope: Scope, op: Any) -> Handle:
    owner = scope[op.unit]
    kind = op.unit_name.data.lower()
    kind = ALIASES.get(kind, kind)
    # a register file is private to its unit
    return Handle(
        kind if kind == "lx" else f"{owner.kind}.{kind}", owner.core, 0 if kind == "lx" else owner.corelet
    )


def _mapping(scope: Scope, op: Any) -> dict[Any, Any]:
    """Key -> value (still SSA); the same for every instance, so the first one's answer is kept under the
    op.
    """
    found = scope.shared.get(op)
    if found is None:
        operands = op.operands
        count = len(operands) // 2
        pairs = zip(operands[:count], operands[count:], strict=True)
        found = scope.shared[op] = {scope[k]: v for k, v in pairs}
    return found


def _query(scope: Scope, op: Any) -> Any:
    entry = scope[op.map].get(scope[op.key])
    return None if entry is None else scope[entry]


def _view(scope: Scope, op: Any) -> View:
    base, *what = scope.asked(op, _viewed)
    memory = scope[op.unit]
    if memory.kind not in ("hbm", "lx") and "." not in memory.kind:
        # a register file named by itself is the one of whoever uses it
        memory = Handle(f"{scope.me.kind}.{memory.kind}", scope.me.core, scope.me.corelet)
    return View(memory, scope[op.start] + base, *what)


def _viewed(op: Any) -> tuple[int, tuple[int, ...], tuple[int | None, ...], str, int, str]:
    """(elements from the start to the first one, strides, shape, type, itemsize, buffer) of a view."""
    kind = op.result.type
    layout = op.layout_map.data
    rank = layout.num_dims
    base = layout.eval([0] * rank, [])[0]
    strides = tuple(layout.eval([int(d == k) for d in range(rank)], [])[0] - base for k in range(rank))
    dtype = str(kind.get_element_type())
    shape = tuple(None if e < 0 else int(e) for e in kind.get_shape())
    name = op.attributes.get("headrace.buffer")
    return base, strides, shape, dtype, itemsize(dtype), "" if name is None else name.data


def _cast(scope: Scope, op: Any) -> Any:
    return scope[op.operands[0]]


def _compare(scope: Scope, op: Any) -> bool:
    a, b = (scope[v] for v in op.operands)
    return bool(COMPARE[int(op.predicate.value.data)](a, b))


def _group(scope: Scope, op: Any) -> tuple[Any, ...]:
    return ("group", *(scope[v] for v in op.consumers))


def _symbol(scope: Scope, op: Any) -> int:
    """A launch value: a base of its own, beyond all arguments."""
    return (SYMBOLS + abs(int(op.attributes["SymbolId"].value.data))) << ARGUMENT_SHIFT - 1


DEFINING: dict[str, Callable[[Scope, Any], Any]] = {
    "symbol.create_symbol": _symbol,
    "arith.constant": _constant,
    "dataflow.get_unit": _unit,
    "dataflow.get_local_unit": _local_unit,
    "uniform.def_immutable_mapping": _mapping,
    "uniform.query_map": _query,
    "dataflow.get_logical_memory_view": _view,
    "arith.index_cast": _cast,
    "arith.cmpi": _compare,
    "dataflow.create_multicast_group": _group,
    "affine.apply": lambda scope, op: scope.subscripts(op.map, op.operands)[0],
}
