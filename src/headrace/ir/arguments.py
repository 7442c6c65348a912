"""What a KTIR function takes: which arguments are memory, of what type and extent, and which are scalars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.ranges import Range, Ranges
from headrace.ir.spyreop.undefined import why_undefined
from headrace.ir.text import location
from headrace.numbers.dtypes import is_known, itemsize

Kind = Literal["memory", "lx", "scalar", "unused"]
UNKNOWN = -1
"""An extent that depends on a scalar without a value."""


@dataclass(frozen=True)
class Argument:
    """One argument of a function.

    `kind` "memory": start of global views; `shape` in memory order covers every element they reach, `role`
    is "in", "out" or "inout". "lx": scratch, its views are `ct_local`. "scalar": a number (`example`: the one
    the kernel suggests). "unused": an `index` nothing reads. `index_limit`: elements are indices below it.
    `unit`: what the start of memory is counted in when the program gets it.
    """

    name: str
    kind: Kind
    dtype: str
    shape: tuple[int, ...] = ()
    role: str = ""
    index_limit: int | None = None
    example: float | int | None = None
    unit: Literal["element", "byte"] = "element"


@dataclass
class _Use:
    """A view that starts at an argument: extents, strides, offsets of its start, and what is done with it."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    start: Range | None
    is_global: bool
    access: set[str] = field(default_factory=set)
    limits: list[int] = field(default_factory=list)

    @property
    def elements(self) -> int:
        """Elements from the argument's start to the last one reached; UNKNOWN when an extent is."""
        if self.start is None or UNKNOWN in self.sizes:
            return UNKNOWN
        if 0 in self.sizes:
            return 0
        reach = sum((n - 1) * max(s, 0) for n, s in zip(self.sizes, self.strides, strict=True))
        return self.start[1] + reach + 1

    @property
    def memory_shape(self) -> tuple[int, ...]:
        """The extents in the order of memory when the view is dense from the start, else the flat extent."""
        if self.elements == UNKNOWN:
            return self.sizes
        dims = sorted(zip(self.sizes, self.strides, strict=True), key=lambda d: -d[1])
        if all(a >= b for a, b in zip(self.strides, self.strides[1:], strict=False)):
            dims = list(zip(self.sizes, self.strides, strict=True))
        dense = 1
        for n, s in reversed(dims):
            if n != 1 and s != dense:
                return (self.elements,)
            dense *= n
        return tuple(n for n, _ in dims) if self.start == (0, 0) else (self.elements,)


def arguments(
    module: ModuleOp, function: str | None = None, scalars: Mapping[str, float | int] | None = None
) -> tuple[Argument, ...]:
    """The arguments of `function`, or of the module: its host function's, or those of all functions by name.

    Extents that depend on scalars use `scalars`, then the kernel's examples, else are UNKNOWN.
    """
    entry = _named(module, function) if function else host_function(module)
    if entry is not None:
        return _of_function(module, entry, scalars or {})
    merged: dict[str, Argument] = {}
    for kernel in functions(module):
        for argument in _of_function(module, kernel, scalars or {}):
            merged[argument.name] = _merge(merged.get(argument.name), argument)
    return tuple(merged.values())


def functions(module: ModuleOp) -> list[FuncOp]:
    """The functions with a body, in textual order."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]


def host_function(module: ModuleOp) -> FuncOp | None:
    """The function that only calls the others, None when there is none."""
    for op in functions(module):
        names = [inner.name for inner in op.body.block.ops]
        if "func.call" in names and set(names) <= {"func.call", "func.return", "arith.constant"}:
            return op
    return None


MOST_TILES = 1 << 20
"""More compute tiles than that nobody can run in a day here."""


def grid(function: FuncOp, default: int = 1) -> tuple[int, ...]:
    """The compute tiles along every grid dim; `(default,)` without a `grid` attribute.

    HeadraceError for a grid that is no list of positive integers, or of more than MOST_TILES tiles.
    """
    attribute = function.attributes.get("grid")
    if attribute is None:
        return (default,)
    numbers = list(attribute) if isinstance(attribute, ArrayAttr) else []
    tiles = tuple(n.value.data for n in numbers if isinstance(n, IntegerAttr))
    if not tiles or len(tiles) < len(numbers) or min(tiles) < 1:
        message = f"the grid {attribute} is no list of positive integers"
        raise HeadraceError(
            Diagnostic(message, location(function), function.name, "write grid = [8] or [4, 2]")
        )
    if math.prod(tiles) > MOST_TILES:
        message = f"the grid {list(tiles)} has {math.prod(tiles)} tiles, more than {MOST_TILES}"
        raise HeadraceError(Diagnostic(message, location(function), function.name, "let a tile do more"))
    return tiles


def argument_name(function: FuncOp, position: int) -> str:
    """The name without `%`, or `argN`."""
    return function.body.block.args[position].name_hint or f"arg{position}"


def examples(function: FuncOp) -> dict[str, float | int]:
    """The scalars of the function's `headrace.example` attribute."""
    attribute = function.attributes.get("headrace.example")
    if not isinstance(attribute, DictionaryAttr):
        return {}
    return {k: v.value.data for k, v in attribute.data.items() if isinstance(v, IntegerAttr | FloatAttr)}


def start_of(value: SSAValue, ranges: Ranges) -> tuple[SSAValue | None, Range | None]:
    """The function argument a start address counts from (None: a constant) and the offsets added to it."""
    owner = value.owner
    if isinstance(owner, Block):
        is_argument = isinstance(owner.parent_op(), FuncOp)
        return (value, (0, 0)) if is_argument else (None, ranges.of(value))
    if owner.name in ("arith.index_cast", "arith.index_castui"):
        return start_of(owner.operands[0], ranges)
    if owner.name in ("arith.addi", "arith.subi"):
        sign = 1 if owner.name == "arith.addi" else -1
        for base, other in (owner.operands, reversed(owner.operands))[: 2 if sign == 1 else 1]:
            argument, offset = start_of(base, ranges)
            step = ranges.of(other)
            if argument is not None and step is not None and offset is not None:
                low, high = sorted((sign * step[0], sign * step[1]))
                return argument, (offset[0] + low, offset[1] + high)
            if argument is not None and start_of(other, ranges)[0] is None:
                return argument, None
    return None, ranges.of(value)


def _named(module: ModuleOp, name: str) -> FuncOp:
    found = {op.sym_name.data: op for op in functions(module)}
    if name not in found:
        raise HeadraceError(
            f"no function '{name}'", hint=f"the module has {', '.join(found) or 'no function'}"
        )
    return found[name]


def _of_function(
    module: ModuleOp, function: FuncOp, scalars: Mapping[str, float | int]
) -> tuple[Argument, ...]:
    suggested = examples(function)
    values = {**suggested, **scalars}
    formal = function.body.block.args
    names = [argument_name(function, k) for k in range(len(formal))]
    known = {a: int(values[n]) for a, n in zip(formal, names, strict=True) if n in values and _is_integer(a)}
    ranges = Ranges(grid(function), known)
    uses: dict[SSAValue, list[_Use]] = {}
    called: dict[SSAValue, Argument] = {}
    for op in function.walk():
        if op.name == "ktdp.construct_memory_view":
            argument, start = start_of(op.operands[0], ranges)
            if argument is not None:
                uses.setdefault(argument, []).append(_use(op, start, ranges))
        elif op.name == "func.call":
            callee: Any = op.properties["callee"]
            inner = _of_function(module, _named(module, callee.root_reference.data), scalars)
            for operand, argument in zip(op.operands, inner, strict=True):
                called[operand] = _merge(called.get(operand), argument)
    found: list[Argument] = []
    for value, name in zip(formal, names, strict=True):
        found.append(_argument(value, name, uses.get(value, []), called.get(value), suggested.get(name)))
    return tuple(found)


def _argument(
    value: SSAValue, name: str, uses: Sequence[_Use], called: Argument | None, example: float | int | None
) -> Argument:
    if called is not None:
        return replace(called, name=name, example=called.example if example is None else example)
    if not uses:
        is_unused = value.first_use is None and str(value.type) == "index"
        return Argument(name, "unused" if is_unused else "scalar", _scalar_type(value), example=example)
    widest = max(uses, key=lambda u: (u.elements * itemsize(u.dtype), len(u.memory_shape)))
    access = set().union(*(u.access for u in uses))
    is_memory = any(u.is_global for u in uses)
    role = {"r": "in", "w": "out"}.get("".join(sorted(access)), "inout") if is_memory else "scratch"
    limits = [limit for u in uses for limit in u.limits]
    shape = widest.memory_shape
    return Argument(
        name, "memory" if is_memory else "lx", widest.dtype, shape, role, min(limits, default=None)
    )


def _use(view: Operation, start: Range | None, ranges: Ranges) -> _Use:
    op: Any = view
    sizes = _mixed(op.static_sizes.get_values(), op.sizes, ranges)
    strides = _mixed(op.static_strides.get_values(), op.strides, ranges)
    dtype = str(op.result.type.element_type)
    if not is_known(dtype):
        raise HeadraceError(
            Diagnostic(f"views of {dtype} are not supported", location(view), view.name, why_undefined(dtype))
        )
    is_global = not getattr(op.memory_space, "is_local", False)
    use = _Use(dtype, sizes, strides, start, is_global)
    _follow(op.result, use)
    return use


def _mixed(static: Iterable[int], dynamic: Iterable[SSAValue], ranges: Ranges) -> tuple[int, ...]:
    values = iter(dynamic)
    out = []
    for n in static:
        bounds = (n, n) if n != DYNAMIC_INDEX else ranges.of(next(values))
        out.append(UNKNOWN if bounds is None else bounds[1])
    return tuple(out)


def _follow(view: SSAValue, use: _Use) -> None:
    """Records what the users of a view do with it."""
    for user in view.uses:
        op: Any = user.operation
        if op.name == "ktdp.construct_distributed_memory_view":
            _follow(op.results[0], use)
        elif op.name == "ktdp.construct_access_tile":
            use.access |= _accesses(op.results[0])
        elif op.name == "ktdp.construct_indirect_access_tile":
            if user.index == 0:
                use.access |= _accesses(op.results[0])
                continue
            use.access.add("r")
            dims = [k for k, kind in enumerate(op.per_dim_subscript_kinds) if kind.value.data]
            extent = op.base.type.get_shape()[dims[user.index - 1]]
            if extent > 0:
                use.limits.append(extent)


def _accesses(tile: SSAValue) -> set[str]:
    kinds = {"ktdp.load": "r", "ktdp.store": "w"}
    return {kinds[u.operation.name] for u in tile.uses if u.operation.name in kinds}


def _merge(first: Argument | None, second: Argument) -> Argument:
    """One buffer seen by two functions, the first one running first: what it writes, the other may read."""
    if first is None or first.kind == "unused":
        return second
    if second.kind in ("unused", "scalar") or first.kind == "scalar":
        return first
    roles = {first.role, second.role}
    role = first.role if first.role in ("out", "inout") or len(roles) == 1 else "inout"
    if "memory" in (first.kind, second.kind) and "scratch" in roles:
        role = (roles - {"scratch"}).pop() if len(roles) > 1 else "inout"
    sizes = [math.prod(a.shape) * itemsize(a.dtype) for a in (first, second)]
    wider = second if sizes[1] > sizes[0] else first
    limits = [a.index_limit for a in (first, second) if a.index_limit is not None]
    kind: Kind = "memory" if "memory" in (first.kind, second.kind) else "lx"
    return replace(wider, name=first.name, kind=kind, role=role, index_limit=min(limits, default=None))


def _is_integer(value: SSAValue) -> bool:
    return _scalar_type(value) in ("index", "i8", "i16", "i32", "i64", "i1")


def _scalar_type(value: SSAValue) -> str:
    underlying = getattr(value.type, "underlying", None)
    return str(value.type if underlying is None else underlying)
