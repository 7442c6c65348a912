"""Slots, tables and registers of one program while it is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.machine.decode.meanings import Mapping, PerInstance, Words
from headrace.machine.image import Index, Symbol, Value
from headrace.machine.index import Role, of


class Builder:
    """Hands out environment slots and vector registers; equal tables and equal arguments share a slot.

    `loaded` are the carried integers that depend on what the program loads from memory.
    """

    def __init__(self, instances: Sequence[int]) -> None:
        self.instances = tuple(instances)
        self.slots = 0
        self.values = 0
        self.loops = 0
        self.tables: dict[tuple[int, ...], Symbol] = {}
        self.arguments: dict[str, Symbol] = {}
        self.loaded: set[Symbol] = set()

    def symbol(self, role: Role, name: str = "", low: int | None = None, high: int | None = None) -> Symbol:
        """A new slot."""
        self.slots += 1
        return Symbol(self.slots - 1, role, name, low, high)

    def coordinate(self, extent: Index) -> Symbol:
        """A new slot for a position inside a box."""
        high = extent.high
        return self.symbol("coordinate", "", 0, None if high is None else high - 1)

    def table(self, values: Sequence[int]) -> Index:
        """One integer per instance as an index: a constant where all are equal."""
        key = tuple(int(v) for v in values)
        if len(set(key)) == 1:
            return Index(key[0])
        if key not in self.tables:
            self.tables[key] = self.symbol("table", "", min(key), max(key))
        return of(self.tables[key])

    def argument(self, name: str) -> Index:
        """A run-time argument of the entry function, an address or a size and hence not negative."""
        if name not in self.arguments:
            self.arguments[name] = self.symbol("argument", name, 0)
        return of(self.arguments[name])

    def rebind(self, meaning: Any) -> Any:
        """A meaning from outside the program: the run-time arguments in it get slots of this program."""
        match meaning:
            case Index() if meaning.terms:
                outer = [s for s in meaning.symbols if s.role == "argument" and s.slot < 0]
                return meaning.replace({s: self.argument(s.name) for s in outer}) if outer else meaning
            case Words():
                return Words(self.rebind(meaning.index))
            case Mapping():
                return Mapping({k: self.rebind(v) for k, v in meaning.items.items()})
            case PerInstance():
                return PerInstance(tuple(self.rebind(i) for i in meaning.items))
        return meaning

    def value(self, shape: Sequence[int], dtype: str) -> Value:
        """A new vector register."""
        self.values += 1
        return Value(self.values - 1, tuple(shape), dtype)

    def loop(self) -> int:
        """A number for a loop or a branch."""
        self.loops += 1
        return self.loops - 1
