"""Memory: views of arguments, boxes of views, loads and stores, through index views as well."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.index import Index, linear
from headrace.runtime.ktir.shapes import full
from headrace.runtime.ktir.spans import Span, entries, span
from headrace.runtime.ktir.types import Number, Shape, a_thing, require_dtype, type_text
from headrace.runtime.ktir.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

SPACES = {"global": "global", "lx": "ct_local"}


@dataclass(frozen=True, eq=False)
class View:
    """A buffer seen as an array of `shape` with `strides` (in elements); subscripts make boxes of it."""

    code: Code
    name: str
    argument: str
    shape: Shape
    strides: Shape
    dtype: str
    memory: str
    label: str

    @property
    def type(self) -> str:
        """The MLIR type."""
        return f"memref<{''.join(f'{n}x' for n in self.shape)}{self.dtype}>"

    def view(self, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> View:
        """The same buffer seen in another shape, from element `offset` on."""
        return make_view(
            self.code, self.argument, tuple(shape), strides, self.dtype, self.memory, offset, self.label
        )

    def __getitem__(self, key: Any) -> Box:
        dims: list[Dim] = []
        for k, (entry, extent) in enumerate(
            zip(entries(key, len(self.shape), self.label), self.shape, strict=True)
        ):
            dims.append(
                _picks(entry, self, k)
                if isinstance(entry, Box)
                else span(self.code, entry, k, extent, self.label)
            )
        return Box(self, tuple(dims))

    def __setitem__(self, key: Any, value: Value | Number) -> None:
        self[key].store(value)


@dataclass(frozen=True, eq=False)
class Box:
    """Some elements of a view: `size` coordinates along every dim, or those an index box holds."""

    view: View
    dims: tuple[Dim, ...]

    @property
    def shape(self) -> Shape:
        """The shape of what a load gives."""
        return tuple(n for sizes, is_kept in self._sizes() if is_kept for n in sizes)

    @property
    def dtype(self) -> str:
        """The element type."""
        return self.view.dtype

    def load(self) -> Value:
        """The elements as a tensor."""
        tile, shape = self._tile()
        code = self.view.code
        text = f"ktdp.load {tile} : {_tile_type(shape)} -> {type_text(shape, self.dtype)}"
        value = Value(code, code.let(text, self.view.label), self.dtype, shape, code.block)
        return value.reshape(*self.shape)

    def store(self, value: Value | Number) -> None:
        """Writes a tensor (repeated by NumPy's rules), a scalar or a number."""
        code = self.view.code
        if not isinstance(value, Value):
            if not isinstance(value, Real):
                raise wrong(f"a store of {a_thing(value)}", "load a box first")
            value = full(code, self.shape, value, self.dtype)
        if value.dtype != self.dtype:
            hint = f'write .cast("{self.dtype}") on the value'
            raise wrong(f"a store of {value.dtype} to {self.view.label} of {self.dtype}", hint)
        if value.shape is not None and len(value.shape) > len(self.shape):
            raise wrong(f"a store of shape {list(value.shape)} to a box of shape {list(self.shape)}")
        tile, shape = self._tile()
        whole = value.broadcast(*self.shape).reshape(*shape)
        code.op(f"ktdp.store {whole.use()}, {tile} : {whole.type}, {_tile_type(shape)}")

    def _not_loaded(self, other: object) -> NoReturn:
        raise wrong(f"a box of {self.view.label} is memory, not a value", "write .load() after it")

    __add__ = __sub__ = __mul__ = __truediv__ = __matmul__ = _not_loaded
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = _not_loaded
    __lt__ = __le__ = __gt__ = __ge__ = _not_loaded

    def _sizes(self) -> list[tuple[Shape, bool]]:
        return [((d.size,), not d.is_single) if isinstance(d, Span) else (d.shape, True) for d in self.dims]

    def _tile(self) -> tuple[str, Shape]:
        """The access tile's name and its shape, single coordinates included."""
        shape = tuple(n for sizes, _ in self._sizes() for n in sizes)
        code, view = self.view.code, self.view
        box, order = code.box(shape), code.identity(len(shape))
        if not any(isinstance(d, Picks) for d in self.dims):
            at = ", ".join(d.start.text for d in self.dims if isinstance(d, Span))
            text = (
                f"ktdp.construct_access_tile {view.name}[{at}] "
                f"{{access_tile_order = {order}, access_tile_set = {box}}}"
                f" : {view.type} -> !ktdp.access_tile{_tile_type(shape)}"
            )
            return code.let(text, f"{view.label}_box"), shape
        variables = [code.fresh("a") for _ in shape]
        free = iter(variables)
        subscripts = [
            d.subscript(free) if isinstance(d, Picks) else f"({_moved(d.start, next(free))})"
            for d in self.dims
        ]
        types = [view.type, *(d.box.view.type for d in self.dims if isinstance(d, Picks))]
        text = (
            f"ktdp.construct_indirect_access_tile intermediate_variables({', '.join(variables)}) "
            f"{view.name}[{', '.join(subscripts)}] "
            f"{{variables_space_order = {order}, variables_space_set = {box}}}"
            f" : {', '.join(types)} -> !ktdp.access_tile{_tile_type(shape)}"
        )
        return code.let(text, f"{view.label}_box"), shape


@dataclass(frozen=True)
class Picks:
    """Coordinates along one dim that a box of an integer view holds."""

    box: Box

    @property
    def shape(self) -> Shape:
        """The dims that take the place of the one picked from."""
        return self.box.shape

    def subscript(self, free: Any) -> str:
        """`ind(%view[...])`, a variable for every dim of the box."""
        spans = [d for d in self.box.dims if isinstance(d, Span)]
        at = [d.start.text if d.is_single else _moved(d.start, next(free)) for d in spans]
        return f"ind({self.box.view.name}[{', '.join(at)}])"


Dim = Span | Picks


def make_view(
    code: Code,
    argument: str,
    shape: Shape,
    strides: Sequence[int] | None,
    dtype: str,
    memory: str,
    offset: int,
    label: str,
) -> View:
    """A view of an argument; strides are those of packed rows by default."""
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in shape):
        raise wrong(f"{label} of shape {list(shape)}", "sizes are positive integers known when it is written")
    if memory not in SPACES:
        raise wrong(f"no memory '{memory}'", f"memories are {', '.join(SPACES)}")
    steps = tuple(prod(shape[k + 1 :]) for k in range(len(shape))) if strides is None else tuple(strides)
    if len(steps) != len(shape):
        raise wrong(f"{len(steps)} strides for {label} of rank {len(shape)}")
    start = argument
    if offset:
        start = code.at_head(
            f"arith.addi {argument}, {code.constant(offset, 'index')} : index", f"{label}_start"
        )
    memref = f"memref<{''.join(f'{n}x' for n in shape)}{require_dtype(dtype)}>"
    space = f"{{coordinate_set = {code.box(shape)}, memory_space = #ktdp.memory_space<{SPACES[memory]}>}}"
    text = (
        f"ktdp.construct_memory_view {start}, sizes: {list(shape)}, strides: {list(steps)} {space} : {memref}"
    )
    return View(code, code.at_head(text, f"{label}_view"), argument, shape, steps, dtype, memory, label)


def _picks(box: Box, view: View, dim: int) -> Picks:
    if box.dtype not in ("i32", "i64", "index"):
        raise wrong(f"dim {dim} of {view.label}: indices of {box.dtype}", "index views hold i32 or i64")
    if any(isinstance(d, Picks) for d in box.dims):
        raise wrong(f"dim {dim} of {view.label}: indices that are picked through indices")
    return Picks(box)


def _moved(start: Index, variable: str) -> str:
    start.require_open()
    return linear([*start.terms.items(), (variable, 1)], start.constant)


def _tile_type(shape: Shape) -> str:
    return f"<{''.join(f'{n}x' for n in shape)}index>"
