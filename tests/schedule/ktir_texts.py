"""Small KTIR kernels written for the tests of `model`."""

from __future__ import annotations

from collections.abc import Sequence


def box(*extents: int, low: Sequence[int] = ()) -> str:
    """The affine set of a box with these extents."""
    names = [f"d{k}" for k in range(len(extents))]
    first = list(low) or [0] * len(extents)
    parts = [f"{d} - {a} >= 0, {a + n - 1} - {d} >= 0" for d, n, a in zip(names, extents, first, strict=True)]
    return f"affine_set<({', '.join(names)}) : ({', '.join(parts)})>"


def identity(rank: int) -> str:
    """The identity map."""
    names = ", ".join(f"d{k}" for k in range(rank))
    return f"affine_map<({names}) -> ({names})>"


def kind(shape: Sequence[int], element: str) -> str:
    """tensor/memref element text: 4x8xf16."""
    return "x".join([*map(str, shape), element])


class Text:
    """A function under construction; every method returns the SSA name it defines."""

    def __init__(self, grid: Sequence[int] = (1,)) -> None:
        self.grid, self.count = list(grid), 0
        self.args: list[str] = []
        self.lines: list[str] = []

    def let(self, expression: str) -> str:
        """A new SSA value."""
        self.count += 1
        self.lines.append(f"%s{self.count} = {expression}")
        return f"%s{self.count}"

    def do(self, line: str) -> None:
        """A line as it is."""
        self.lines.append(line)

    def index(self, value: int) -> str:
        """An index constant."""
        return self.let(f"arith.constant {value} : index")

    def tile_ids(self) -> list[str]:
        """The grid coordinates."""
        names = [f"%t{k}" for k in range(len(self.grid))]
        types = ", ".join(["index"] * len(names))
        self.lines.append(f"{', '.join(names)} = ktdp.get_compute_tile_id : {types}")
        return names

    def view(
        self,
        name: str,
        shape: Sequence[int],
        element: str = "f32",
        strides: Sequence[int] = (),
        space: str = "global",
        start: str = "",
    ) -> str:
        """A memory view of an argument (packed unless strides are given)."""
        if f"%{name}: index" not in self.args:
            self.args.append(f"%{name}: index")
        steps = list(strides) or [_product(shape[k + 1 :]) for k in range(len(shape))]
        return self.let(
            f"ktdp.construct_memory_view {start or '%' + name}, sizes: {list(shape)}, strides: {steps} "
            f"{{coordinate_set = {box(*shape)}, memory_space = #ktdp.memory_space<{space}>}} : "
            f"memref<{kind(shape, element)}>"
        )

    def tile(
        self, view: str, shape: Sequence[int], element: str, at: Sequence[str], extents: Sequence[int]
    ) -> str:
        """An access tile at SSA subscripts."""
        return self.let(
            f"ktdp.construct_access_tile {view}[{', '.join(at)}] {{access_tile_order = "
            f"{identity(len(extents))}, "
            f"access_tile_set = {box(*extents)}}} : memref<{kind(shape, element)}> -> "
            f"!ktdp.access_tile<{kind(extents, 'index')}>"
        )

    def load(
        self, view: str, shape: Sequence[int], element: str, at: Sequence[str], extents: Sequence[int]
    ) -> str:
        """A load of a box of a view."""
        tile = self.tile(view, shape, element, at, extents)
        return self.let(f"ktdp.load {tile} : <{kind(extents, 'index')}> -> tensor<{kind(extents, element)}>")

    def store(
        self,
        value: str,
        view: str,
        shape: Sequence[int],
        element: str,
        at: Sequence[str],
        extents: Sequence[int],
    ) -> None:
        """A store into a box of a view."""
        tile = self.tile(view, shape, element, at, extents)
        self.do(f"ktdp.store {value}, {tile} : tensor<{kind(extents, element)}>, <{kind(extents, 'index')}>")

    def fill(self, value: str, shape: Sequence[int], element: str) -> str:
        """A tensor filled with a literal."""
        scalar = self.let(f"arith.constant {value} : {element}")
        return self.let(f"tensor.splat {scalar} : tensor<{kind(shape, element)}>")

    def empty(self, shape: Sequence[int], element: str) -> str:
        """An uninitialised tensor."""
        return self.let(f"tensor.empty() : tensor<{kind(shape, element)}>")

    def module(self, name: str = "kernel", attributes: str = "") -> str:
        """The module's text."""
        more = f", {attributes}" if attributes else ""
        body = "\n".join(f"    {line}" for line in self.lines)
        return (
            f"module {{\n  func.func @{name}({', '.join(self.args)}) attributes {{grid = "
            f"{self.grid}{more}}} {{\n"
            f"{body}\n    return\n  }}\n}}\n"
        )


def _product(numbers: Sequence[int]) -> int:
    result = 1
    for n in numbers:
        result *= n
    return result
