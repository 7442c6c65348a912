"""Random valid KTIR kernels: what they are (data), their text, and what they compute in NumPy.

A kernel loads tiles of its inputs in some order, applies a chain of steps, may reduce one dim, and stores.
Tiles of the grid share one dim; the last one may have less, and a tile may walk its part row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headrace.numbers.dtypes import is_float, numpy_dtype

from .tiles import box, by_x

Array = np.ndarray[Any, Any]
Perm = tuple[int, ...]
Meaning = Callable[..., Array]

FLOATS, INTEGERS = ("f16", "bf16", "f32"), ("i8", "i16", "i32", "i64")
DTYPES = (*FLOATS, *INTEGERS)
FORMS = ("tensor", "generic", "map")


def _unsigned(of: Meaning) -> Meaning:
    return lambda *x: of(*(a.view(f"u{a.dtype.itemsize}") for a in x)).view(x[0].dtype)


def _divided(of: Meaning) -> Meaning:
    """The divisor is made odd and positive, so that no division is undefined."""
    return lambda a, b: of(a, (b & 7) | 1)


FLOAT_OPS: dict[str, tuple[int, Meaning]] = {
    "arith.addf": (2, np.add),
    "arith.subf": (2, np.subtract),
    "arith.mulf": (2, np.multiply),
    "arith.divf": (2, np.divide),
    "arith.remf": (2, np.fmod),
    "arith.maximumf": (2, np.maximum),
    "arith.minimumf": (2, np.minimum),
    "arith.maxnumf": (2, np.fmax),
    "arith.minnumf": (2, np.fmin),
    "arith.negf": (1, np.negative),
    "math.absf": (1, np.abs),
    "math.floor": (1, np.floor),
    "math.ceil": (1, np.ceil),
    "math.exp": (1, np.exp),
    "math.sqrt": (1, np.sqrt),
    "math.tanh": (1, np.tanh),
}
INTEGER_OPS: dict[str, tuple[int, Meaning]] = {
    "arith.addi": (2, np.add),
    "arith.subi": (2, np.subtract),
    "arith.muli": (2, np.multiply),
    "arith.andi": (2, np.bitwise_and),
    "arith.ori": (2, np.bitwise_or),
    "arith.xori": (2, np.bitwise_xor),
    "arith.maxsi": (2, np.maximum),
    "arith.minsi": (2, np.minimum),
    "arith.maxui": (2, _unsigned(np.maximum)),
    "arith.minui": (2, _unsigned(np.minimum)),
    "math.absi": (1, np.abs),
}
GUARDED: dict[str, Meaning] = {
    "arith.divsi": _divided(lambda a, b: (a - np.fmod(a, b)) // b),
    "arith.remsi": _divided(np.fmod),
    "arith.floordivsi": _divided(np.floor_divide),
    "arith.divui": _divided(_unsigned(np.floor_divide)),
    "arith.remui": _divided(_unsigned(np.remainder)),
    "arith.shli": _divided(np.left_shift),
    "arith.shrsi": _divided(np.right_shift),
    "arith.shrui": _divided(_unsigned(np.right_shift)),
}
"""Integer ops whose second operand is brought into 1, 3, 5 or 7 first."""
COMPARISONS = {
    "arith.cmpf": {"olt": np.less, "oge": np.greater_equal, "oeq": np.equal, "une": np.not_equal},
    "arith.cmpi": {"slt": np.less, "sge": np.greater_equal, "eq": np.equal, "ne": np.not_equal},
}
NAMED = {"linalg.add": np.add, "linalg.sub": np.subtract, "linalg.mul": np.multiply, "linalg.max": np.maximum}
CASTS = {
    "f16": ("arith.extf", "f32", "arith.truncf"),
    "bf16": ("arith.extf", "f32", "arith.truncf"),
    "i8": ("arith.extsi", "i32", "arith.trunci"),
    "i16": ("arith.extui", "i64", "arith.trunci"),
    "i32": ("arith.sitofp", "f64", "arith.fptosi"),
}
"""Steps to a wider type and back, which change nothing."""
REDUCTIONS: dict[str, tuple[str, Any]] = {
    "arith.addf": ("0.0", np.add),
    "arith.maximumf": ("0xFF800000", np.maximum),
    "arith.minimumf": ("0x7F800000", np.minimum),
    "arith.addi": ("0", np.add),
    "arith.muli": ("1", np.multiply),
    "arith.xori": ("0", np.bitwise_xor),
}


@dataclass(frozen=True)
class Step:
    """One op on the value so far (`%0`) and an input; `form` says how it is written."""

    op: str
    form: str
    other: int
    predicate: str = ""


@dataclass(frozen=True)
class Program:
    """A kernel. `layouts` and `orders` are those of the inputs, then of the output."""

    dtype: str
    shape: tuple[int, ...]
    split: int
    grid: tuple[int, ...]
    is_loop: bool
    layouts: tuple[Perm, ...]
    orders: tuple[Perm, ...]
    steps: tuple[Step, ...]
    reduction: tuple[str, int] | None

    @property
    def tiles(self) -> int:
        return int(np.prod(self.grid))

    @property
    def size(self) -> int:
        """Extent of the split dim in every tile but the last."""
        return -(-self.shape[self.split] // self.tiles)

    @property
    def tail(self) -> int:
        """Extent in the last tile that has any when it is less, 0 otherwise."""
        return self.shape[self.split] % self.size

    @property
    def out_shape(self) -> tuple[int, ...]:
        return tuple(n for d, n in enumerate(self.shape) if self.reduction is None or d != self.reduction[1])


def _ops(dtype: str) -> dict[str, tuple[int, Meaning]]:
    return FLOAT_OPS if is_float(dtype) else INTEGER_OPS


def op_names() -> list[str]:
    """Every op a step may be."""
    casts = {name for up, _, down in CASTS.values() for name in (up, down)}
    return sorted({*FLOAT_OPS, *INTEGER_OPS, *GUARDED, *COMPARISONS, *NAMED, *casts, "linalg.broadcast"})


def order_name(order: Perm) -> str:
    """What kind of permutation an access order is."""
    rank = len(order)
    if order == tuple(range(rank)):
        return "identity"
    if order == tuple(reversed(range(rank))) and rank > 2:
        return "reversed"
    moved = sum(d != k for k, d in enumerate(order))
    return "swap" if moved == 2 else "cycle" if moved == 3 else "other"


def dtypes_of(name: str) -> list[str]:
    """The element types that an op of a step or a reduction is for."""
    if name in NAMED or name == "linalg.broadcast":
        return list(DTYPES)
    if any(name in (up, down) for up, _, down in CASTS.values()):
        return [dtype for dtype, (up, _, down) in CASTS.items() if name in (up, down)]
    is_of_floats = name in FLOAT_OPS or name == "arith.cmpf"
    return list(FLOATS if is_of_floats else INTEGERS)


@st.composite
def programs(draw: Any, op: str = "", reduction: str = "", order: str = "") -> Program:
    """Any `Program`; with an `op` among its steps, a `reduction`, tiles and memory in an `order`."""
    wanted = dtypes_of(op) if op else [d for d in DTYPES if not reduction or d in _reduced(reduction)]
    dtype, rank = draw(st.sampled_from(wanted)), draw(st.integers(2 if op or reduction else 1, 4))
    rank = 4 if order else rank
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=rank, max_size=rank)))
    split = draw(st.integers(0, rank - 1))
    others = [d for d in range(rank) if d != split]
    kinds = [reduction] if reduction else [r for r in REDUCTIONS if dtype in _reduced(r)]
    is_reduced = bool(others) and not order and (bool(reduction) or draw(st.booleans()))
    fold = (draw(st.sampled_from(kinds)), draw(st.sampled_from(others))) if is_reduced else None
    inputs = draw(st.integers(1, 2))
    ranks = [rank] * inputs + [rank - is_reduced]
    steps = draw(st.lists(_step(dtype, inputs, rank), min_size=2, max_size=8))
    steps += [draw(_step(dtype, inputs, rank, op))] if op else []
    return Program(
        dtype,
        shape,
        split,
        draw(st.sampled_from([(1,), (2,), (3,), (4,), (2, 2), (3, 1), (2, 1, 2)])),
        draw(st.booleans()),
        tuple(draw(_turn(r, order)) for r in ranks),
        tuple(draw(_turn(r, order)) for r in ranks),
        () if fold and fold[0] == "arith.addf" else tuple(steps),
        fold,
    )


def _reduced(name: str) -> list[str]:
    if name == "arith.addf":
        return ["f32"]  # the rounding of narrow sums is free
    return list(FLOATS if name.endswith("f") else INTEGERS)


def _turn(rank: int, order: str) -> st.SearchStrategy[Perm]:
    perms = [p for p in permutations(range(rank)) if not order or order_name(p) == order]
    return st.sampled_from(perms)


@st.composite
def _step(draw: Any, dtype: str, inputs: int, rank: int, op: str = "") -> Step:
    compare = "arith.cmpf" if is_float(dtype) else "arith.cmpi"
    names = [*_ops(dtype), compare] + ["linalg.broadcast"] * (rank > 1)
    names += [] if is_float(dtype) else [*GUARDED]
    names += ["linalg.add", "linalg.sub", "linalg.mul", "linalg.max"]
    names += [CASTS[dtype][0]] * 2 if dtype in CASTS else []
    if any(op == down for _, _, down in CASTS.values()):
        op = CASTS[dtype][0]
    op = op or draw(st.sampled_from(names))
    predicate = draw(st.sampled_from(sorted(COMPARISONS[compare]))) if op == compare else ""
    return Step(op, draw(st.sampled_from(FORMS)), draw(st.integers(0, inputs - 1)), predicate)


# -- what it computes --------------------------------------------------------------------------------------


def random_inputs(program: Program, seed: int) -> list[Array]:
    """Arrays of the program's shape."""
    random, dtype = np.random.default_rng(seed), numpy_dtype(program.dtype)
    count = len(program.layouts) - 1
    if is_float(program.dtype):
        return [(3 * random.standard_normal(program.shape, np.float32)).astype(dtype) for _ in range(count)]
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return [random.integers(low, high, program.shape, dtype, endpoint=True) for _ in range(count)]


def expected(program: Program, inputs: list[Array]) -> Array:
    """The output, computed on whole arrays."""
    value = inputs[0]
    with np.errstate(all="ignore"):
        for step in program.steps:
            value = _meaning(step, value, inputs[step.other], program)
        if program.reduction is not None:
            _, of = REDUCTIONS[program.reduction[0]]
            value = np.asarray(of.reduce(value, axis=program.reduction[1], dtype=value.dtype))
    return value


def _meaning(step: Step, value: Array, other: Array, program: Program) -> Array:
    op, dtype = step.op, value.dtype
    if op in COMPARISONS:
        return np.where(COMPARISONS[op][step.predicate](value, other), value, other)
    if op == "linalg.broadcast":
        first = np.take(other, [0], axis=_repeated(program))
        return _rounded(np.add, dtype, value, np.broadcast_to(first, value.shape))
    if op in NAMED:
        return _rounded(NAMED[op], dtype, value, other)
    if op in GUARDED:
        return np.asarray(GUARDED[op](value, other)).astype(dtype)
    if op not in _ops(program.dtype):
        return value  # a cast there and back
    arity, of = _ops(program.dtype)[op]
    return _rounded(of, dtype, *(value, other)[:arity])


def _rounded(of: Meaning, dtype: Any, *operands: Array) -> Array:
    """Floats are computed once, wider, and rounded to f32, then to the type."""
    if dtype.kind in "iu":
        return np.asarray(of(*operands)).astype(dtype)
    wide = np.float64 if of in (np.exp, np.sqrt, np.tanh) else np.float32
    return np.asarray(of(*(x.astype(wide) for x in operands))).astype(np.float32).astype(dtype)


def _repeated(program: Program) -> int:
    """The dim along which a broadcast repeats its operand: not the split one."""
    return next(d for d in range(len(program.shape)) if d != program.split)


# -- its text ----------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program, self.lines, self.count = program, list[str](), 0

    def let(self, expression: str) -> str:
        self.count += 1
        self.lines.append(f"%{self.count} = {expression}")
        return f"%{self.count}"

    def number(self, value: int) -> str:
        return self.let(f"arith.constant {value} : index")

    def tensor(self, shape: tuple[int, ...], dtype: str = "") -> str:
        return f"tensor<{by_x(shape, dtype or self.program.dtype)}>"

    def empty(self, shape: tuple[int, ...], dtype: str = "") -> str:
        return self.let(f"tensor.empty() : {self.tensor(shape, dtype)}")

    def view(self, name: str, shape: tuple[int, ...], layout: Perm) -> None:
        """A view whose dims lie in memory in the order of `layout`, outermost first."""
        strides, step = [0] * len(shape), 1
        for d in reversed(layout):
            strides[d], step = step, step * shape[d]
        self.lines.append(
            f"%{name}_view = ktdp.construct_memory_view %{name}, sizes: {list(shape)}, strides: {strides} "
            f"{{coordinate_set = {box(shape)}, memory_space = #ktdp.memory_space<global>}} "
            f": memref<{by_x(shape, self.program.dtype)}>"
        )

    def tile(
        self, name: str, at: list[str], whole: tuple[int, ...], part: tuple[int, ...], order: Perm
    ) -> str:
        dims = ", ".join(f"d{k}" for k in range(len(part)))
        results = ", ".join(f"d{k}" for k in order)
        shape = tuple(part[d] for d in order)
        return self.let(
            f"ktdp.construct_access_tile %{name}_view[{', '.join(at)}] "
            f"{{access_tile_order = affine_map<({dims}) -> ({results})>, access_tile_set = {box(part)}}} "
            f": memref<{by_x(whole, self.program.dtype)}> -> !ktdp.access_tile<{by_x(shape, 'index')}>"
        )

    def transpose(self, value: str, shape: tuple[int, ...], turn: Perm) -> str:
        """The tensor whose dim k is dim turn[k] of `value`."""
        if turn == tuple(range(len(turn))):
            return value
        out = tuple(shape[d] for d in turn)
        empty = self.empty(out)
        return self.let(
            f"linalg.transpose ins({value} : {self.tensor(shape)}) outs({empty} : {self.tensor(out)}) "
            f"permutation = {list(turn)}"
        )

    def part(self, first: str, extent: int) -> None:
        """Everything for `extent` rows of the split dim from `first` on."""
        p = self.program
        shape = tuple(extent if d == p.split else n for d, n in enumerate(p.shape))
        at = [first if d == p.split else "0" for d in range(len(shape))]
        inputs = []
        for k, order in enumerate(p.orders[:-1]):
            walked = tuple(shape[d] for d in order)
            tile = self.tile(f"x{k}", at, p.shape, shape, order)
            loaded = self.let(f"ktdp.load {tile} : <{by_x(walked, 'index')}> -> {self.tensor(walked)}")
            inputs.append(self.transpose(loaded, walked, tuple(order.index(d) for d in range(len(order)))))
        value = inputs[0]
        for step in p.steps:
            value = self.step(step, value, inputs[step.other], shape)
        if p.reduction is not None:
            value, shape, at = self.reduce(value, shape, at)
        order = p.orders[-1]
        value = self.transpose(value, shape, order)
        walked = tuple(shape[d] for d in order)
        tile = self.tile("out", at, p.out_shape, shape, order)
        self.lines.append(f"ktdp.store {value}, {tile} : {self.tensor(walked)}, <{by_x(walked, 'index')}>")

    def reduce(
        self, value: str, shape: tuple[int, ...], at: list[str]
    ) -> tuple[str, tuple[int, ...], list[str]]:
        assert self.program.reduction is not None
        op, dim = self.program.reduction
        left = tuple(n for d, n in enumerate(shape) if d != dim)
        start, empty = self.let(f"arith.constant {self.start(op)} : {self.program.dtype}"), self.empty(left)
        ty = self.tensor(left)
        init = self.let(f"linalg.fill ins({start} : {self.program.dtype}) outs({empty} : {ty}) -> {ty}")
        reduced = self.let(
            f"linalg.reduce {{ {op} }} ins({value} : {self.tensor(shape)}) outs({init} : {ty}) "
            f"dimensions = [{dim}]"
        )
        return reduced, left, [a for d, a in enumerate(at) if d != dim]

    def start(self, op: str) -> str:
        bits = {"f16": (0xFC00, 0x7C00), "bf16": (0xFF80, 0x7F80), "f32": (0xFF800000, 0x7F800000)}
        if op in ("arith.maximumf", "arith.minimumf"):
            return hex(bits[self.program.dtype][op == "arith.minimumf"])
        return REDUCTIONS[op][0]

    def step(self, step: Step, value: str, other: str, shape: tuple[int, ...]) -> str:
        if step.op == "linalg.broadcast":
            return self.broadcast(value, other, shape)
        if step.op in NAMED:
            out, ty = self.empty(shape), self.tensor(shape)
            return self.let(f"{step.op} ins({value}, {other} : {ty}, {ty}) outs({out} : {ty}) -> {ty}")
        if step.form == "tensor":
            return self.scalars(step, value, other, lambda dtype: self.tensor(shape, dtype))
        return self.body(step, value, other, shape)

    def broadcast(self, value: str, other: str, shape: tuple[int, ...]) -> str:
        dim = _repeated(self.program)
        row = tuple(n for d, n in enumerate(shape) if d != dim)
        ones = tuple(1 if d == dim else n for d, n in enumerate(shape))
        zeros = ["0"] * len(shape)
        first = self.let(
            f"tensor.extract_slice {other}[{', '.join(zeros)}] {list(ones)} {[1] * len(shape)} "
            f": {self.tensor(shape)} to {self.tensor(row)}"
        )
        empty = self.empty(shape)
        wide = self.let(
            f"linalg.broadcast ins({first} : {self.tensor(row)}) outs({empty} : {self.tensor(shape)}) "
            f"dimensions = [{dim}]"
        )
        add = "arith.addf" if is_float(self.program.dtype) else "arith.addi"
        return self.let(f"{add} {value}, {wide} : {self.tensor(shape)}")

    def body(self, step: Step, value: str, other: str, shape: tuple[int, ...]) -> str:
        """The step as the body of a linalg.generic or linalg.map."""
        out, ty, dtype = self.empty(shape), self.tensor(shape), self.program.dtype
        maps = ", ".join([f"affine_map<({', '.join(f'd{k}' for k in range(len(shape)))}) -> "
                          f"({', '.join(f'd{k}' for k in range(len(shape)))})>"] * 3)  # fmt: skip
        kinds = ", ".join(['"parallel"'] * len(shape))
        a, b, c = (f"%{n}{self.count}" for n in "abc")
        operands = f"ins({value}, {other} : {ty}, {ty}) outs({out} : {ty})"
        self.count += 1
        result = f"%{self.count}"
        if step.form == "map":
            self.lines.append(f"{result} = linalg.map {operands} ({a}: {dtype}, {b}: {dtype}) {{")
        else:
            head = f"{{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
            self.lines.append(f"{result} = linalg.generic {head} {operands} {{")
            self.lines.append(f"^bb0({a}: {dtype}, {b}: {dtype}, {c}: {dtype}):")
        inner = self.scalars(step, a, b, lambda dtype: dtype or self.program.dtype)
        self.lines.append(f"linalg.yield {inner} : {dtype}")
        self.lines.append("}" if step.form == "map" else f"}} -> {ty}")
        return result

    def scalars(self, step: Step, value: str, other: str, ty: Callable[[str], str]) -> str:
        """The step on values of type `ty(element type)`."""
        op, own = step.op, ty("")
        if op in COMPARISONS:
            bit = self.let(f"{op} {step.predicate}, {value}, {other} : {own}")
            select = own if "tensor" not in own else f"{ty('i1')}, {own}"
            return self.let(f"arith.select {bit}, {value}, {other} : {select}")
        if op in GUARDED:
            seven, one = (self.constant(n, own) for n in (7, 1))
            masked = self.let(f"arith.andi {other}, {seven} : {own}")
            return self.let(f"{op} {value}, {self.let(f'arith.ori {masked}, {one} : {own}')} : {own}")
        if op not in _ops(self.program.dtype):
            up, wide, down = CASTS[self.program.dtype]
            wider = self.let(f"{up} {value} : {own} to {ty(wide)}")
            return self.let(f"{down} {wider} : {ty(wide)} to {own}")
        arity, _ = _ops(self.program.dtype)[op]
        return self.let(f"{op} {', '.join((value, other)[:arity])} : {own}")

    def constant(self, value: int, ty: str) -> str:
        return self.let(f"arith.constant {f'dense<{value}>' if 'tensor' in ty else value} : {ty}")


def text(program: Program) -> str:
    """The kernel as KTIR."""
    w = _Writer(program)
    names = [f"x{k}" for k in range(len(program.layouts) - 1)]
    ids = [f"%id{k}" for k in range(len(program.grid))]
    w.lines.append(f"{', '.join(ids)} = ktdp.get_compute_tile_id : {', '.join(['index'] * len(ids))}")
    for name, layout in zip(names, program.layouts, strict=False):
        w.view(name, program.shape, layout)
    w.view("out", program.out_shape, program.layouts[-1])
    tile, step = ids[0], 1
    for k, extent in enumerate(program.grid[:-1]):
        step *= extent
        term = w.let(f"arith.muli {ids[k + 1]}, {w.number(step)} : index")
        tile = w.let(f"arith.addi {tile}, {term} : index")
    first = w.let(f"arith.muli {tile}, {w.number(program.size)} : index")
    whole = program.shape[program.split] // program.size
    if whole == program.tiles:
        _rows(w, first, program.size)
    else:
        w.lines.append(f"scf.if {w.let(f'arith.cmpi ult, {tile}, {w.number(whole)} : index')} {{")
        _rows(w, first, program.size)
        w.lines.append("} else {")
        if program.tail:
            w.lines.append(f"scf.if {w.let(f'arith.cmpi eq, {tile}, {w.number(whole)} : index')} {{")
            _rows(w, first, program.tail)
            w.lines.append("}")
        w.lines.append("}")
    arguments = ", ".join(f"%{n}: index" for n in [*names, "out"])
    head = f"func.func @k({arguments}) attributes {{grid = {list(program.grid)}}} {{"
    return "\n".join(["module {", head, *w.lines, "return", "}", "}"])


def _rows(w: _Writer, first: str, extent: int) -> None:
    if not w.program.is_loop:
        w.part(first, extent)
        return
    end = w.let(f"arith.addi {first}, {w.number(extent)} : index")
    one = w.number(1)
    w.count += 1
    row = f"%{w.count}"
    w.lines.append(f"scf.for {row} = {first} to {end} step {one} {{")
    w.part(row, 1)
    w.lines.append("}")
