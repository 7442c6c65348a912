"""The kernel being written: its grid, arguments and blocks; leaving the `with` block makes a Kernel of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import location, parse
from headrace.ir.verify import verify
from headrace.runtime.kernel import Kernel
from headrace.runtime.ktir import memory, operators, shapes
from headrace.runtime.ktir.blocks import Loop, When
from headrace.runtime.ktir.code import Code, Line, literal
from headrace.runtime.ktir.errors import place, wrong
from headrace.runtime.ktir.index import Index, IndexLike
from headrace.runtime.ktir.memory import View
from headrace.runtime.ktir.types import Number, require_dtype
from headrace.runtime.ktir.values import Value


class Builder:
    """What `with ktir.kernel(...) as k` binds."""

    def __init__(self, name: str, grid: Sequence[int]) -> None:
        if not name.isidentifier():
            raise wrong(f"'{name}' is no name for a kernel", "use letters, digits and underscores")
        if not grid or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in grid):
            raise wrong(f"a grid of {list(grid)}", "one positive number of tiles for each grid dim")
        self.name, self.grid = name, tuple(grid)
        self._code = Code()
        self._arguments: dict[str, str] = {}
        self._examples: dict[str, str] = {}
        self._tiles: list[str] = []
        self._start = place()
        self._kernel: Kernel | None = None

    def __enter__(self) -> Builder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._kernel = self._finish()

    @property
    def kernel(self) -> Kernel:
        """The finished kernel: it prints (`.text`), compiles, and runs on the reference interpreter."""
        if self._kernel is None:
            raise wrong(f"kernel '{self.name}' is not finished", "read .kernel after the `with` block")
        return self._kernel

    def argument(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        strides: Sequence[int] | None = None,
        memory: str = "global",
    ) -> View:
        """A buffer as an array; `memory` "lx" makes it scratch in a core's scratchpad."""
        self._declare(name, "index")
        return _view(self._code, name, tuple(shape), strides, dtype, memory)

    def scalar(self, name: str, dtype: str, example: Number | None = None) -> Value:
        """A number given at launch; `example` is used when nobody gives one."""
        if dtype == "index":
            raise wrong(f"scalar '{name}' of type index", "k.index_argument(name) makes one")
        self._declare(name, require_dtype(dtype), example)
        return Value(self._code, f"%{name}", dtype, None, 0)

    def index_argument(self, name: str, example: int | None = None) -> Index:
        """An integer given at launch that offsets and loop bounds may depend on."""
        self._declare(name, "index", example)
        return Index(self._code, {f"%{name}": 1})

    def tile_id(self, dim: int = 0) -> Index:
        """The coordinate of the compute tile along a grid dim."""
        if not 0 <= dim < len(self.grid):
            raise wrong(f"grid dim {dim} of a grid of {len(self.grid)} dims")
        code = self._code
        if not self._tiles:
            self._tiles = [code.fresh("tile") for _ in self.grid]
            types = ", ".join("index" for _ in self.grid)
            code.head.append((f"    {', '.join(self._tiles)} = ktdp.get_compute_tile_id : {types}", place()))
            code.ranges.update({t: (0, n - 1) for t, n in zip(self._tiles, self.grid, strict=True)})
        return Index(code, {self._tiles[dim]: 1})

    def loop(self, low: IndexLike, high: IndexLike, step: IndexLike = 1, **carried: Value) -> Loop:
        """`with k.loop(0, 512, 64, acc=…) as loop`: from low up to, not including, high."""
        bounds = [self.index(n) for n in (low, high, step)]
        if not bounds[2].terms and bounds[2].constant < 1:
            raise wrong(f"a loop of step {bounds[2].constant}", "steps are positive")
        return Loop(self._code, (bounds[0], bounds[1], bounds[2]), carried)

    def when(self, condition: Value) -> When:
        """`with k.when(condition)`: what is inside runs where the condition holds."""
        return When(self._code, condition)

    def index(self, value: IndexLike) -> Index:
        """A number as an index expression."""
        if isinstance(value, Index):
            return value
        return Index(self._code) + value

    def number(self, value: IndexLike, dtype: str) -> Value:
        """An index as a scalar to compute with."""
        return operators.number(self.index(value), dtype, self._code)

    def full(self, shape: Sequence[int], number: Number, dtype: str) -> Value:
        """A tensor of one number."""
        return shapes.full(self._code, tuple(shape), number, require_dtype(dtype))

    def zeros(self, shape: Sequence[int], dtype: str) -> Value:
        """A tensor of zeros."""
        return self.full(shape, 0, dtype)

    def arange(self, size: int, dtype: str) -> Value:
        """0, 1, … size - 1 as a tensor."""
        return shapes.arange(self._code, size, require_dtype(dtype))

    def _declare(self, name: str, kind: str, example: Number | None = None) -> None:
        if not name.isidentifier():
            raise wrong(f"'{name}' is no name for an argument", "use letters, digits and underscores")
        if name in self._arguments:
            raise wrong(
                f"two arguments '{name}'", "use k.argument(...).view(...) for another view of a buffer"
            )
        if self._code.fresh(name) != f"%{name}":
            raise wrong(f"the name '{name}' is taken", "declare the arguments before anything else")
        self._arguments[name] = kind
        if example is not None:
            self._examples[name] = f"{name} = {literal(example, kind)}{'' if kind == 'i1' else f' : {kind}'}"

    def _finish(self) -> Kernel:
        """The parsed and verified kernel; its ops stand where the Python that made them stands."""
        self._code.is_finished = True
        lines = self._lines()
        text = "\n".join(line for line, _ in lines) + "\n"
        kernel = Kernel(text, f"<{self.name}>", self.name)
        module: Any = parse(text, kernel.file)
        for op, line in [(op, location(op).line) for op in module.walk()]:
            at = lines[line - 1][1]
            op.location = FileLineColLoc(StringAttr(at.file), IntAttr(at.line), IntAttr(at.col))
        errors = [found for found in verify(module) if found.severity == "error"]
        if errors:
            raise HeadraceError(errors)
        kernel.__dict__["module"] = module
        return kernel

    def _lines(self) -> list[Line]:
        code, here = self._code, self._start
        given = ", ".join(f"%{name}: {kind}" for name, kind in self._arguments.items())
        extra = f", headrace.example = {{{', '.join(self._examples.values())}}}" if self._examples else ""
        head = f"  func.func @{self.name}({given}) attributes {{grid = {list(self.grid)}{extra}}} {{"
        aliases = [f"{alias} = {text}" for text, alias in code.aliases.items()]
        return [
            *((line, here) for line in (*aliases, "module {", head)),
            *code.head,
            *code.body,
            *((line, here) for line in ("    return", "  }", "}")),
        ]


def _view(
    code: Code, name: str, shape: tuple[int, ...], strides: Sequence[int] | None, dtype: str, space: str
) -> View:
    return memory.make_view(code, f"%{name}", shape, strides, dtype, space, 0, name)


def kernel(name: str, grid: Sequence[int] = (1,)) -> Builder:
    """Starts a kernel: `with ktir.kernel("softmax", grid=[32]) as k: ...`, then `k.kernel`."""
    return Builder(name, grid)
