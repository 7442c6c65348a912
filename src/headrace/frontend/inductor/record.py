"""Inductor loop bodies → loop programs: nests of SSA statements in plain literals.

A program is a dict:

    name     kernel name
    args     [(buffer, "in" | "out" | "inout", torch dtype name)]      in the order of the call
    sizes    [symbol]                                                   dynamic sizes, passed after the
    tensors temps    {buffer: (elements, dtype)}                                intermediates that nothing
    outside reads layouts  {buffer: (sizes, strides)}                                 in elements,
    expressions over `sizes` loops    [{"iter": [(symbol, extent)], "red": [(symbol, extent)], "body":
    [statement]}] statement (result | (result, ...) | None, op, operand, ...)

Index expressions and extents are Python text. Loops run in order; later ones may read temps of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.codegen.common import Kernel
from torch._inductor.codegen.wrapper import pexpr
from torch._inductor.ops_handler import DefaultHandler
from torch._inductor.scheduler import SchedulerNode
from torch._inductor.virtualized import V

from headrace.frontend.ops import LOOP_OPS
from headrace.ir.diagnostics import Diagnostic, HeadraceError

Statement = tuple[Any, ...]
RESULTS = {"welford_reduce": 3, "welford_combine": 3, "online_softmax_reduce": 2}


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")


class LoopKernel(Kernel):  # type: ignore[misc]
    """The recording of one kernel. Of Inductor's Kernel only the bookkeeping of sizes and buffers is used."""

    overrides = DefaultHandler

    def __init__(self, real_name: Callable[[str], str]) -> None:
        super().__init__()
        self.real_name = real_name
        self.buffers: dict[str, str] = {}  # graph name -> name in the program
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.updates: set[str] = set()
        self.loops: list[dict[str, Any]] = []
        self.blocks: list[list[Statement]] = []
        self._values = 0

    def new_value(self) -> str:
        """A fresh SSA name."""
        self._values += 1
        return f"v{self._values}"

    def text(self, expression: Any) -> str:
        """An index expression as Python text, dynamic sizes by their argument names."""
        return str(pexpr(self.rename_indexing(sympy.sympify(expression))))

    def emit(self, *statement: Any) -> None:
        """Appends a statement to the innermost open block."""
        self.blocks[-1].append(statement)

    def read(self, name: str) -> str:
        """The program's name of a graph buffer that is read here."""
        name = self.real_name(name)
        if name not in self.writes and name not in self.reads:
            self.reads.append(name)
        return self._local(name)

    def write(self, name: str) -> str:
        """The program's name of a graph buffer that is written here."""
        self.store_buffer_names.add(name)
        real = self.real_name(name)
        if real != name:  # an update of a buffer that exists already, perhaps of a part of it
            self.updates.add(real)
        if real not in self.writes:
            self.writes.append(real)
        return self._local(real)

    def _local(self, name: str) -> str:
        return self.buffers.setdefault(name, f"b{len(self.buffers)}")

    def record(self, node: SchedulerNode) -> None:
        """Adds the loop nest of a scheduler node."""
        extents, reduced = node.get_ranges()
        symbols = [sympy.Symbol(f"i{k}", integer=True, nonnegative=True) for k in range(len(extents))]
        red_symbols = [sympy.Symbol(f"r{k}", integer=True, nonnegative=True) for k in range(len(reduced))]
        self.current_node = node
        self.blocks = [[]]
        node._body(symbols, red_symbols)
        self.loops.append(
            {
                "iter": self._ranges(symbols, extents),
                "red": self._ranges(red_symbols, reduced),
                "body": self.blocks[0],
            }
        )

    def _ranges(self, symbols: Sequence[sympy.Symbol], extents: Sequence[Any]) -> list[tuple[str, str]]:
        return [(str(s), self.text(e)) for s, e in zip(symbols, extents, strict=True)]


class Recorder(DefaultHandler):  # type: ignore[misc]
    """The ops handler a loop body is replayed into: every op becomes a statement of the kernel."""

    def __init__(self, kernel: LoopKernel) -> None:
        self.kernel = kernel

    def _emit(self, op: str, *operands: Any) -> str:
        value = self.kernel.new_value()
        self.kernel.emit(value, op, *operands)
        return value

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if name not in LOOP_OPS or kwargs:
            raise HeadraceError(
                Diagnostic(
                    "has no native form",
                    op=f"ops.{name}",
                    hint="the operator it comes from must run on the host",
                )
            )
        return self._emit(name, *map(self._operand, args))

    def _operand(self, value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        return self.kernel.text(value) if isinstance(value, sympy.Expr) else value

    def load(self, name: str, index: sympy.Expr) -> str:
        return self._emit("load", self.kernel.read(name), self.kernel.text(index))

    def store(self, name: str, index: sympy.Expr, value: str, mode: str | None = None) -> None:
        self.kernel.emit(None, "store", self.kernel.write(name), self.kernel.text(index), value, mode)

    def store_reduction(self, name: str, index: sympy.Expr, value: str) -> None:
        self.kernel.emit(None, "store_reduction", self.kernel.write(name), self.kernel.text(index), value)

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, reduction_type: str, value: Any) -> Any:
        count = RESULTS.get(reduction_type, 1)
        values = tuple(self.kernel.new_value() for _ in range(count))
        result = values[0] if count == 1 else values
        self.kernel.emit(result, "reduction", dtype_name(dtype), dtype_name(src_dtype), reduction_type, value)
        return result

    def constant(self, value: Any, dtype: torch.dtype) -> str:
        return self._emit("constant", value, dtype_name(dtype))

    def index_expr(self, expr: sympy.Expr, dtype: torch.dtype) -> str:
        is_narrow = not dtype.is_floating_point and dtype.itemsize < 4
        kind = torch.int32 if is_narrow else dtype  # positions are counted in i32 at least
        return self._index_value(sympy.sympify(expr), dtype_name(kind))

    def _index_value(self, expr: sympy.Expr, dtype: str) -> str:
        """An index expression as a value; products of loop variables are values of their own."""
        if not _multiplies(expr):
            return self._emit("index_expr", self.kernel.text(expr), dtype)
        if expr.is_Pow:
            return reduce(partial(self._emit, "mul"), [self._index_value(expr.base, dtype)] * int(expr.exp))
        apart = [term for term in expr.args if _multiplies(term) or (expr.is_Mul and _varies(term))]
        rest = expr.func(*(term for term in expr.args if term not in apart))
        values = [self._index_value(term, dtype) for term in apart]
        if rest != expr.func():
            values.append(self._index_value(rest, dtype))
        return reduce(partial(self._emit, "add" if expr.is_Add else "mul"), values)

    def value_expr(self, expr: sympy.Expr, dtype: torch.dtype) -> str:
        return self._emit("value_expr", self.kernel.text(expr), dtype_name(dtype))

    def to_dtype(
        self, x: str, dtype: torch.dtype, src_dtype: torch.dtype | None = None, use_compute_types: bool = True
    ) -> str:
        return self._emit("to_dtype", x, dtype_name(dtype), use_compute_types)

    def indirect_indexing(self, x: str, size: Any, check: bool = True, wrap_neg: bool = True) -> sympy.Symbol:
        value = self._emit("indirect", x, self.kernel.text(size), bool(check), bool(wrap_neg))
        return sympy.Symbol(value, integer=True)

    def check_bounds(self, expr: sympy.Expr, size: sympy.Expr, lower: bool, upper: bool) -> None:
        self.kernel.emit(None, "check_bounds", self.kernel.text(expr), self.kernel.text(size), lower, upper)

    def device_assert_async(self, cond: str, msg: str) -> None:
        self.kernel.emit(None, "assert", cond, str(msg))

    def masked(self, mask: str, body: Callable[[], Any], other: Any) -> str:
        block: list[Statement] = []
        self.kernel.blocks.append(block)
        result = body()
        self.kernel.blocks.pop()
        return self._emit("masked", mask, block, result, other)

    def load_seed(self, name: str, offset: Any) -> str:
        return self._emit("load", self.kernel.read(name), self.kernel.text(offset))


def _varies(expr: sympy.Expr) -> bool:
    """Whether an index expression holds a loop variable (`i0`, `r0`) or an index from memory (`v0`)."""
    return any(s.name[0] in "irv" and s.name[1:].isdigit() for s in expr.free_symbols)


def _multiplies(expr: sympy.Expr) -> bool:
    """Whether loop variables are multiplied with one another (outside of `//`, `%`, `min`, `max`)."""
    if expr.is_Mul:
        return sum(map(_varies, expr.args)) > 1 or any(map(_multiplies, expr.args))
    if expr.is_Pow:
        return _varies(expr.base) and expr.exp.is_Integer and int(expr.exp) > 1
    return expr.is_Add and any(map(_multiplies, expr.args))


def layout_of(kernel: LoopKernel, buffer: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sizes and strides of a graph buffer, as text."""
    layout = underlying(buffer).get_layout()
    return tuple(map(kernel.text, layout.size)), tuple(map(kernel.text, layout.stride))


def underlying(buffer: Any) -> Any:
    """The buffer inside Inductor's boxes."""
    while isinstance(buffer, ir.MutableBox):
        buffer = buffer.data
    return buffer


def program_text(value: Any) -> str:
    """`value` as text that `ast.literal_eval` reads back: infinities become 1e999, NaN the text "nan"."""
    match value:
        case float() if value != value:
            return "'nan'"
        case float() if value in (float("inf"), float("-inf")):
            return "1e999" if value > 0 else "-1e999"
        case dict():
            return "{" + ", ".join(f"{key!r}: {program_text(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(program_text, value)) + "]"
        case tuple():
            inside = ", ".join(map(program_text, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    raise TypeError(f"{type(value).__name__} has no literal form")


def storage_elements(kernel: LoopKernel, name: str) -> str:
    """How many elements a graph buffer's storage holds, as text."""
    return kernel.text(V.graph.get_buffer(name).get_layout().storage_size())
