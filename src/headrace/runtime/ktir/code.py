"""The text of one function while it grows: lines with their Python places, names, constants, open blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.ir.diagnostics import Location
from headrace.numbers.dtypes import bit_width, is_float
from headrace.runtime.ktir.errors import place, wrong

Range = tuple[int, int]
Line = tuple[str, Location]
_HEX = {
    "f16": ("0x7C00", "0xFC00", "0x7E00"),
    "bf16": ("0x7F80", "0xFF80", "0x7FC0"),
    "f32": ("0x7F800000", "0xFF800000", "0x7FC00000"),
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"),
}
"""Infinity, minus infinity and NaN."""


@dataclass
class Code:
    """`head` holds views and constants, which every block sees; `body` everything else, in order."""

    head: list[Line] = field(default_factory=list)
    body: list[Line] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    constants: dict[tuple[str, str], str] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    """Values an index takes at least and at most, where known."""
    open_blocks: list[int] = field(default_factory=lambda: [0])
    guards: int = 0
    """How many `when` blocks are open: inside them ranges promise nothing."""
    is_finished: bool = False
    names: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)
    _blocks: int = 0

    def op(self, text: str) -> None:
        """Appends an op to the innermost open block."""
        if self.is_finished:
            raise wrong("the kernel is finished", "write everything inside `with ktir.kernel(...)`")
        self.body.append(("  " * (len(self.open_blocks) + 1) + text, place()))

    def let(self, text: str, hint: str = "v") -> str:
        """Appends an op with one result; returns its name."""
        name = self.fresh(hint)
        self.op(f"{name} = {text}")
        return name

    def at_head(self, text: str, hint: str = "c") -> str:
        """Appends an op with one result before the body; returns its name."""
        name = self.fresh(hint)
        self.head.append((f"    {name} = {text}", place()))
        return name

    def constant(self, value: float, dtype: str) -> str:
        """The name of a constant; equal ones are one."""
        text = literal(value, dtype)
        key = (text, dtype)
        if key not in self.constants:
            hint = f"c{text}" if text.isdecimal() and dtype == "index" else "number"
            ending = "" if dtype == "i1" else f" : {dtype}"
            self.constants[key] = self.at_head(f"arith.constant {text}{ending}", hint)
        return self.constants[key]

    def fresh(self, hint: str) -> str:
        """A new SSA name that starts with `hint`."""
        name = f"%{hint}"
        while name in self.names:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            name = f"%{hint}_{self._counts[hint]}"
        self.names.add(name)
        return name

    def box(self, shape: Sequence[int]) -> str:
        """The alias of the set of coordinates of a box."""
        dims = [f"d{k}" for k in range(len(shape))]
        limits = [f"{d} >= 0, -{d} + {n - 1} >= 0" for d, n in zip(dims, shape, strict=True)]
        text = f"affine_set<({', '.join(dims)}) : ({', '.join(limits)})>"
        return self._alias(text, "box_" + ("x".join(map(str, shape)) or "scalar"))

    def identity(self, rank: int) -> str:
        """The alias of the identity map."""
        dims = ", ".join(f"d{k}" for k in range(rank))
        return self._alias(f"affine_map<({dims}) -> ({dims})>", f"id{rank}")

    def _alias(self, text: str, name: str) -> str:
        return self.aliases.setdefault(text, f"#{name}")

    def enter(self, header: str) -> int:
        """Opens a block under a header that ends in "{"; returns its number."""
        self.op(header)
        self._blocks += 1
        self.open_blocks.append(self._blocks)
        return self._blocks

    def leave(self, last: str = "", ending: str = "") -> None:
        """Closes the innermost block, after a last op; `ending` follows the brace."""
        if last:
            self.op(last)
        self.open_blocks.pop()
        self.op("}" + ending)

    @property
    def block(self) -> int:
        """The number of the innermost open block; 0 is the function's."""
        return self.open_blocks[-1]


def literal(value: float, dtype: str) -> str:
    """A number as MLIR writes it in the type."""
    if dtype == "i1":
        return "true" if value else "false"
    if not is_float(dtype):
        if value != int(value):
            raise wrong(f"{value} is no {dtype}", "write an integer, or cast to a float type first")
        width = 64 if dtype == "index" else bit_width(dtype)
        if not -(1 << (width - 1)) <= value < 1 << width:
            raise wrong(f"{value} does not fit {dtype}")
        return str(int(value))
    number = float(value)
    if math.isfinite(number):
        return f"{number:e}" if float(f"{number:e}") == number else f"{number:.17e}"
    if dtype not in _HEX:
        raise wrong(f"{number} is no {dtype}")
    infinity, minus, nan = _HEX[dtype]
    return nan if math.isnan(number) else infinity if number > 0 else minus
