"""KTIR text in the making: fresh names, constants and views at the head of the function, lines of its
body.
"""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]


class Writer:
    """The lines of one function; methods that write an op return its SSA name."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.lines: list[str] = []
        self._names = 0
        self._known: dict[str, str] = {}

    def fresh(self, stem: str = "v") -> str:
        """A new SSA name."""
        self._names += 1
        return f"%{stem}{self._names}"

    def op(self, line: str) -> None:
        """Appends a line to the body."""
        self.lines.append(line)

    def let(self, expression: str, stem: str = "v") -> str:
        """Appends `%name = expression`."""
        name = self.fresh(stem)
        self.op(f"{name} = {expression}")
        return name

    def once(self, expression: str, stem: str) -> str:
        """The name of an expression at the head of the function, written the first time."""
        if expression not in self._known:
            self._known[expression] = self.fresh(stem)
            self.head.append(f"{self._known[expression]} = {expression}")
        return self._known[expression]

    def index(self, value: int) -> str:
        """An index constant."""
        return self.once(f"arith.constant {value} : index", "c")

    def empty(self, shape: Shape, dtype: str) -> str:
        """An uninitialised tensor."""
        return self.let(f"tensor.empty() : {tensor(shape, dtype)}", "e")

    def filled(self, value: str, shape: Shape, dtype: str) -> str:
        """A tensor full of a scalar literal."""
        scalar = self.once(
            f"arith.constant {value} : {dtype}" if dtype != "i1" else f"arith.constant {value}", "k"
        )
        empty, kind = self.empty(shape, dtype), tensor(shape, dtype)
        return self.let(f"linalg.fill ins({scalar} : {dtype}) outs({empty} : {kind}) -> {kind}", "f")

    def view(
        self, argument: str, offset: int, sizes: Sequence[int], strides: Sequence[int], dtype: str
    ) -> str:
        """A memory view of an argument's memory, `offset` elements in; written once."""
        base = f"%{argument}"
        if offset:
            base = self.once(f"arith.addi {base}, {self.index(offset)} : index", "start")
        return self.once(
            f"ktdp.construct_memory_view {base}, sizes: {list(sizes)}, strides: {list(strides)} "
            f"{{coordinate_set = {box_set(sizes)}, memory_space = #ktdp.memory_space<global>}} "
            f": {memref(sizes, dtype)}",
            "view",
        )

    def function(self, name: str, arguments: Sequence[str], grid: Sequence[int]) -> str:
        """The whole module's text."""
        taken = ", ".join(f"%{argument}: index" for argument in arguments)
        body = "\n".join(f"    {line}" for line in (*self.head, *self.lines, "return"))
        body = body.replace("ui8", "i8")  # integers of MLIR have no sign, their operations have
        head = f"func.func @{name}({taken}) attributes {{grid = {list(grid)}}}"
        return f"module {{\n  {head} {{\n{body}\n  }}\n}}\n"


def tensor(shape: Sequence[int], dtype: str) -> str:
    """`tensor<4x8xf16>`."""
    return f"tensor<{by_x(shape, dtype)}>"


def memref(shape: Sequence[int], dtype: str) -> str:
    """`memref<4x8xf16>`."""
    return f"memref<{by_x(shape, dtype)}>"


def tile_type(shape: Sequence[int]) -> str:
    """`<4x8xindex>`, an access tile without its prefix."""
    return f"<{by_x(shape, 'index')}>"


def by_x(shape: Sequence[int], dtype: str) -> str:
    """`4x8xf16`."""
    return "x".join([*map(str, shape), dtype])


def identity(rank: int) -> str:
    """The identity map."""
    return indexing_map(rank, [f"d{k}" for k in range(rank)])


def indexing_map(rank: int, results: Sequence[str]) -> str:
    """The map from `rank` dims to the results."""
    return f"affine_map<({', '.join(f'd{k}' for k in range(rank))}) -> ({', '.join(results)})>"


def box_set(shape: Sequence[int]) -> str:
    """The set 0 <= d_k < shape_k."""
    if not shape:
        return "affine_set<() : (0 == 0)>"
    dims = [f"d{k}" for k in range(len(shape))]
    bounds = ", ".join(f"{d} >= 0, -{d} + {n - 1} >= 0" for d, n in zip(dims, shape, strict=True))
    return f"affine_set<({', '.join(dims)}) : ({bounds})>"
