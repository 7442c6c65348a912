"""Writing KTIR kernels as text: constants, views, box tiles, loads, stores, generics, uneven splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Shape = tuple[int, ...]


class Text:
    """The lines of one kernel in the making; every method returns the SSA name (with %) of what it wrote."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._names = 0

    def op(self, line: str) -> None:
        """Writes one line as it is."""
        self._lines.append(line)

    def let(self, expression: str, stem: str = "v") -> str:
        """Writes `%name = expression`."""
        self._names += 1
        name = f"%{stem}{self._names}"
        self.op(f"{name} = {expression}")
        return name

    def index(self, value: int) -> str:
        """The constant `value : index`."""
        return self.constant(str(value), "index", f"%c{value}")

    def constant(self, value: str, dtype: str, name: str) -> str:
        """A scalar constant at the head of the function."""
        self._constants[name] = f"{name} = arith.constant {value} : {dtype}"
        return name

    def box(self, shape: Shape) -> str:
        """The set 0 <= d_k < shape_k."""
        alias = "#box_" + "x".join(map(str, shape))
        dims = [f"d{k}" for k in range(len(shape))]
        bounds = ", ".join(
            f"{d} >= 0, -{d} + {n - 1} >= 0" if n > 1 else f"{d} >= 0, -{d} >= 0"
            for d, n in zip(dims, shape, strict=True)
        )
        self._aliases[alias] = f"affine_set<({', '.join(dims)}) : ({bounds})>"
        return alias

    def map(self, rank: int, results: str | None = None) -> str:
        """The map (d0, ...) -> (results); the identity without `results`."""
        dims = ", ".join(f"d{k}" for k in range(rank))
        return f"affine_map<({dims}) -> ({dims if results is None else results})>"

    def identity(self, rank: int) -> str:
        """An alias of the identity map."""
        self._aliases[f"#id{rank}"] = self.map(rank)
        return f"#id{rank}"

    def view(self, arg: str, shape: Shape, dtype: str) -> View:
        """The contiguous global view of argument `arg`."""
        strides = [1]
        for n in reversed(shape[1:]):
            strides.insert(0, strides[0] * n)
        self.op(
            f"%{arg}_view = ktdp.construct_memory_view %{arg}, sizes: {list(shape)}, strides: {strides} "
            f"{{coordinate_set = {self.box(shape)}, memory_space = #ktdp.memory_space<global>}} "
            f": {memref(shape, dtype)}"
        )
        return View(f"%{arg}_view", shape, dtype)

    def tile(self, view: View, at: Sequence[str], shape: Shape) -> str:
        """An access tile of `shape` whose first element is view[at]."""
        return self.let(
            f"ktdp.construct_access_tile {view.name}[{', '.join(at)}] "
            f"{{access_tile_order = {self.identity(len(at))}, access_tile_set = {self.box(shape)}}} "
            f": {memref(view.shape, view.dtype)} -> {access_tile(shape)}",
            "at",
        )

    def load(self, view: View, at: Sequence[str], shape: Shape) -> str:
        """The tensor view[at : at + shape]."""
        tile = self.tile(view, at, shape)
        return self.let(f"ktdp.load {tile} : <{by_x(shape, 'index')}> -> {tensor(shape, view.dtype)}", "x")

    def store(self, value: str, view: View, at: Sequence[str], shape: Shape) -> None:
        """view[at : at + shape] = value."""
        tile = self.tile(view, at, shape)
        self.op(f"ktdp.store {value}, {tile} : {tensor(shape, view.dtype)}, <{by_x(shape, 'index')}>")

    def empty(self, shape: Shape, dtype: str) -> str:
        """An uninitialised tensor."""
        return self.let(f"tensor.empty() : {tensor(shape, dtype)}", "e")

    def fill(self, value: str, shape: Shape, dtype: str) -> str:
        """A tensor full of the scalar `value`."""
        empty, ty = self.empty(shape, dtype), tensor(shape, dtype)
        return self.let(f"linalg.fill ins({value} : {dtype}) outs({empty} : {ty}) -> {ty}", "f")

    def generic(self, ins: Sequence[Operand], shape: Shape, dtype: str, body: Sequence[str]) -> str:
        """An elementwise `linalg.generic` over `shape`; `body` reads %in0, %in1, ... and defines %out."""
        maps = ", ".join([self.map(len(shape), map) for _, _, _, map in ins] + [self.map(len(shape))])
        iterators = ", ".join(['"parallel"'] * len(shape))
        names, types = ", ".join(i[0] for i in ins), ", ".join(tensor(i[1], i[2]) for i in ins)
        args = ", ".join(f"%in{k}: {i[2]}" for k, i in enumerate(ins))
        empty, ty = self.empty(shape, dtype), tensor(shape, dtype)
        out = self.let(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} "
            f"ins({names} : {types}) outs({empty} : {ty}) {{",
            "g",
        )
        self.op(f"^bb0({args}, %init: {dtype}):")
        for line in body:
            self.op(line)
        self.op(f"linalg.yield %out : {dtype}")
        self.op(f"}} -> {ty}")
        return out

    def reduce_rows(self, combiner: str, value: str, shape: Shape, init: str) -> str:
        """The f32 reduction of an f32 tensor over its last dim, starting at the scalar `init`."""
        start, ty = self.fill(init, shape[:-1], "f32"), tensor(shape[:-1], "f32")
        return self.let(
            f"linalg.reduce {{ {combiner} }} ins({value} : {tensor(shape, 'f32')}) outs({start} : {ty}) "
            f"dimensions = [{len(shape) - 1}]",
            "r",
        )

    def split(self, extent: int, parts: int, tile: str, build: Callable[[str, int], None]) -> None:
        """Calls `build(first, size)` for the part that `tile` owns, twice if the last is smaller."""
        size, count = part_size(extent, parts), part_count(extent, parts)
        last = extent - (count - 1) * size
        first = self.let(f"arith.muli {tile}, {self.index(size)} : index", "first")
        if last == size:
            build(first, size)
            return
        is_full = self.let(f"arith.cmpi ult, {tile}, {self.index(count - 1)} : index", "full")
        self.op(f"scf.if {is_full} {{")
        build(first, size)
        self.op("} else {")
        build(first, last)
        self.op("}")

    def walk(self, first: str, size: int, step: int | None, build: Callable[[str, int], None]) -> None:
        """Calls `build` for `size` rows from `first`, `step` at a time in an `scf.for`, then the rest."""
        if step is None or step >= size:
            build(first, size)
            return
        whole = size // step * step
        end = self.let(f"arith.addi {first}, {self.index(whole)} : index", "end")
        self._names += 1
        row = f"%row{self._names}"
        self.op(f"scf.for {row} = {first} to {end} step {self.index(step)} {{")
        build(row, step)
        self.op("}")
        if size > whole:
            build(end, size - whole)

    def module(self, name: str, args: str, grid: Shape, comment: str, attributes: str = "") -> str:
        """The whole text; `attributes` are further function attributes, starting with a comma."""
        head = [*comment.splitlines(), *self.aliases(), "module {"]
        return "\n".join(_indented([*head, *self.function(name, args, grid, attributes), "}"])) + "\n"

    def function(self, name: str, args: str, grid: Shape, attributes: str = "") -> list[str]:
        """The lines of the function alone, without indentation."""
        head = f"func.func @{name}({args}) attributes {{grid = {list(grid)}{attributes}}} {{"
        return [head, *self._constants.values(), *self._lines, "return", "}"]

    def aliases(self) -> list[str]:
        """The definitions of the aliases the lines use."""
        return [f"{alias} = {value}" for alias, value in sorted(self._aliases.items())]


def module_of(functions: Sequence[Sequence[str]], aliases: Sequence[str], comment: str) -> str:
    """The text of a module of several functions."""
    lines = [*comment.splitlines(), *aliases, "module {", *(line for each in functions for line in each), "}"]
    return "\n".join(_indented(lines)) + "\n"


class View:
    """A memory view: SSA name, shape, element type."""

    def __init__(self, name: str, shape: Shape, dtype: str) -> None:
        self.name, self.shape, self.dtype = name, shape, dtype


Operand = tuple[str, Shape, str, str | None]
"""An input of a generic: SSA name, shape, element type, results of its indexing map (None: the identity)."""


def by_x(shape: Shape, dtype: str) -> str:
    """`4x8xf16`."""
    return "x".join([*map(str, shape), dtype])


def tensor(shape: Shape, dtype: str) -> str:
    """`tensor<4x8xf16>`."""
    return f"tensor<{by_x(shape, dtype)}>"


def memref(shape: Shape, dtype: str) -> str:
    """`memref<4x8xf16>`."""
    return f"memref<{by_x(shape, dtype)}>"


def access_tile(shape: Shape) -> str:
    """`!ktdp.access_tile<4x8xindex>`."""
    return f"!ktdp.access_tile<{by_x(shape, 'index')}>"


def part_size(extent: int, parts: int) -> int:
    """Elements of every part but the last when `extent` is cut into at most `parts` parts."""
    return -(-extent // parts)


def part_count(extent: int, parts: int) -> int:
    """How many parts that makes."""
    return -(-extent // part_size(extent, parts))


def _indented(lines: Sequence[str]) -> list[str]:
    depth, out = 0, []
    for line in lines:
        code = line.split("//")[0]
        closes = code.startswith(("}", "^"))
        out.append("  " * (depth - closes) + line)
        depth += code.count("{") - code.count("}")
    return out
