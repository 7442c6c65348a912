"""The printer behind `text.print_module`: canonical MLIR text.

Differences from xDSL 0.75: sorted attribute dictionaries; affine maps and sets in MLIR's spelling, as
`#map` and `#set` aliases when they occur more than once; SSA names kept as they are and scoped like
MLIR's (sibling regions reuse names); several results of one name as `%r:2`; `module {`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    UnregisteredOp,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove

from headrace.ir.affine import map_text, set_text
from headrace.ir.ktdp.spaces import MemorySpaceAttr

# Ops whose direct children are written without the prefix of their dialect.
_ELIDED = {"func.func": "func.", "ktdf_arch.device": "ktdf_arch.", "ktdf_arch.group": "ktdf_arch."}
_PLACEHOLDER = re.compile("\x01([0-9]+)\x02")


class TextPrinter(Printer):
    """Prints one module; use `headrace.ir.text.print_module`."""

    def __init__(self, generic: bool = False, has_older_spaces: bool = False) -> None:
        super().__init__(StringIO(), print_generic_format=generic)
        self._has_older_spaces = has_older_spaces
        self._used: dict[str, int] = {}
        self._opened: list[list[str]] = [[]]
        self._next = 0
        self._shared: dict[Attribute, int] = {}
        self._marks: dict[int, tuple[Attribute, str]] = {}  # keeps the attribute alive: ids are not reused

    def text(self, module: Operation) -> str:
        self.print_op(module)
        return self._with_aliases(self.stream.getvalue()) + "\n"

    # -- aliases -------------------------------------------------------------------------------------------

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, AffineMapAttr | AffineSetAttr):
            self.print_string(self._mark(attribute))
        elif isinstance(attribute, ArrayAttr):
            self._print_array(attribute)
        elif self._has_older_spaces and isinstance(attribute, MemorySpaceAttr):
            super().print_attribute(attribute.older_form())
        else:
            super().print_attribute(attribute)

    def _mark(self, attribute: AffineMapAttr | AffineSetAttr) -> str:
        known = self._marks.get(id(attribute))
        if known is None:
            known = attribute, f"\x01{self._shared.setdefault(attribute, len(self._shared))}\x02"
            self._marks[id(attribute)] = known
        return known[1]

    def _print_array(self, array: ArrayAttr[Any]) -> None:
        """MLIR leaves out the type of i64 elements of an array: `[1, 2]`."""
        with self.in_square_brackets():
            for i, e in enumerate(array):
                if i:
                    self.print_string(", ")
                if isinstance(e, IntegerAttr) and e.type == i64:
                    self.print_string(str(e.value.data))
                else:
                    self.print_attribute(e)

    def _with_aliases(self, body: str) -> str:
        """`body` with every affine attribute spelt out, or named above the module when it occurs twice or
        more.
        """
        order = list(self._shared)
        counts = [0] * len(order)
        for m in _PLACEHOLDER.finditer(body):
            counts[int(m.group(1))] += 1
        spelt: list[str] = []
        definitions: dict[str, list[str]] = {"map": [], "set": []}
        for attribute, count in zip(order, counts, strict=True):
            is_map = isinstance(attribute, AffineMapAttr)
            text = map_text(attribute.data) if is_map else set_text(attribute.data)
            if count > 1:
                known = definitions["map" if is_map else "set"]
                name = f"#{'map' if is_map else 'set'}{len(known) or ''}"
                known.append(f"{name} = {text}\n")
                text = name
            spelt.append(text)
        head = "".join(definitions["map"] + definitions["set"])
        return head + _PLACEHOLDER.sub(lambda m: spelt[int(m.group(1))], body)

    def print_float(self, value: float, type: AnyFloat) -> None:
        """As MLIR: what has no decimal form is its bits, in capitals."""
        if math.isfinite(value):
            super().print_float(value, type)
        else:
            self.print_string(f"0x{type.pack((value,))[::-1].hex().upper()}")

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        super().print_attr_dict(dict(sorted(attr_dict.items())))

    # -- names ---------------------------------------------------------------------------------------------

    def name_of(self, value: SSAValue) -> str:
        """The name of `value` without `%`, chosen at its first appearance."""
        known = self._ssa_values.get(value)
        if known is None:
            known = self._ssa_values[value] = self._fresh(value.name_hint)
        return str(known)

    def _fresh(self, hint: str | None) -> str:
        if hint is None:
            self._next += 1
            return str(self._next - 1)
        name, k = hint, self._used.get(hint, 0)
        while name in self._used:
            name = f"{hint}_{k}"
            k += 1
        if name != hint:
            self._used[hint] = k
        self._used[name] = 0
        self._opened[-1].append(name)
        return name

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.name_of(value)
        self.print_string(f"%{name}")
        return name

    def name_like(self, value: SSAValue, other: SSAValue) -> None:
        """Give `value` the name of `other` (block arguments that stand for a captured value)."""
        name = self.name_of(other)
        self._ssa_values[value] = name
        if name not in self._used:
            self._used[name] = 0
            self._opened[-1].append(name)

    def _print_results(self, op: Operation) -> None:
        results = op.results
        if len(results) < 2 or len({r.name_hint for r in results}) > 1:
            super()._print_results(op)
            return
        name = self._fresh(results[0].name_hint)
        for i, r in enumerate(results):
            self._ssa_values[r] = f"{name}#{i}"
        self.print_string(f"%{name}:{len(results)} = ")

    def print_region(self, region: Region, *args: Any, **options: Any) -> None:
        mark = self.open_scope()
        super().print_region(region, *args, **options)
        self.close_scope(mark)

    def open_scope(self) -> int:
        self._opened.append([])
        return self._next

    def close_scope(self, next_number: int) -> None:
        for name in self._opened.pop():
            del self._used[name]
        self._next = next_number

    # -- operations ----------------------------------------------------------------------------------------

    def print_op(self, op: Operation) -> None:
        self._print_results(op)
        is_isolated = bool(op.regions) and op.has_trait(IsolatedFromAbove)
        outer = self._used
        if is_isolated:
            self._used = {}
        mark = self.open_scope() if op.regions else 0
        if isinstance(op, UnregisteredOp) or self.print_generic_format or type(op).print is Operation.print:
            self.print_string(f'"{op.name}"')
            self.print_op_with_default_format(op)
        else:
            self.print_string(self._mnemonic(op))
            op.print(self)
        if op.regions:
            self.close_scope(mark)
        if is_isolated:
            self._used = outer

    def _mnemonic(self, op: Operation) -> str:
        """The name as written: `module`, and without prefix inside ops that elide their own dialect's."""
        if isinstance(op, ModuleOp):
            return "module"
        parent = op.parent_op()
        prefix = _ELIDED.get(parent.name, "") if parent is not None else ""
        return str(op.name.removeprefix(prefix))
