"""A loop program with its extents as integers: what the lowering reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.numbers.dtypes import itemsize

Statement = tuple[Any, ...]

TYPES = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "ui8",
    "bool": "i1",
}
"""Torch dtypes that kernels hold, by MLIR name; "ui8" is told apart from "i8" in bodies only."""


class Unsupported(HeadraceError):
    """The loop program cannot become a kernel; it runs on the host instead."""

    def __init__(self, what: str) -> None:
        super().__init__(Diagnostic(what, op="loop program", hint="this kernel runs on the host"))


@dataclass(frozen=True)
class LoopNest:
    """One nest: loop variables with extents (outer first), which of them are reduced, the statements."""

    extents: Mapping[str, int]
    reduced: frozenset[str]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Layout:
    """Sizes and strides of a graph buffer in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def span(self) -> int:
        """Elements from the first to the last one."""
        return 1 + sum((n - 1) * s for n, s in zip(self.sizes, self.strides, strict=True) if n > 0)


@dataclass(frozen=True)
class LoopProgram:
    """args: (buffer, role, dtype) in the order of the call; temps: buffers nothing outside reads."""

    name: str
    args: tuple[tuple[str, str, str], ...]
    temps: frozenset[str]
    dtypes: Mapping[str, str]
    layouts: Mapping[str, Layout]
    nests: tuple[LoopNest, ...]

    def itemsize(self, buffer: str) -> int:
        """Bytes of an element of a buffer."""
        return itemsize(self.dtypes[buffer].removeprefix("u"))


def read_program(literal: Mapping[str, Any]) -> LoopProgram:
    """The program of a recorder's literal; Unsupported for dynamic sizes, empty loops and other dtypes."""
    if literal["sizes"]:
        raise Unsupported("dynamic sizes")
    dtypes = {buffer: dtype for buffer, _, dtype in literal["args"]}
    dtypes |= {buffer: dtype for buffer, (_, dtype) in literal["temps"].items()}
    for buffer, dtype in dtypes.items():
        if dtype not in TYPES:
            raise Unsupported(f"buffer {buffer} of {dtype}")
    nests = tuple(_nest(loop) for loop in literal["loops"])
    layouts = {
        b: Layout(_integers(sizes), _integers(strides)) for b, (sizes, strides) in literal["layouts"].items()
    }
    args = tuple((buffer, role, TYPES[dtype]) for buffer, role, dtype in literal["args"])
    types = {buffer: TYPES[dtype] for buffer, dtype in dtypes.items()}
    return LoopProgram(literal["name"], args, frozenset(literal["temps"]), types, layouts, nests)


def statements(body: tuple[Statement, ...] | list[Statement]) -> Iterator[Statement]:
    """Every statement, those of masked blocks before the statement that holds them."""
    for statement in body:
        if statement[1] == "masked":
            yield from statements(statement[3])
        yield statement


def _nest(loop: Mapping[str, Any]) -> LoopNest:
    extents = {name: int(extent) for name, extent in (*loop["iter"], *loop["red"])}
    if 0 in extents.values():
        raise Unsupported("an empty loop")
    return LoopNest(extents, frozenset(name for name, _ in loop["red"]), tuple(loop["body"]))


def _integers(texts: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(int(text) for text in texts)
