"""From the SSA values of a nest to `linalg.generic` ops: bodies on demand, costly row values hoisted
into their own op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.frontend.lower.program import TYPES, Unsupported
from headrace.frontend.lower.quasi import Call, Floor, Quasi, variable
from headrace.frontend.lower.scalars import COMPARE, TO_INTEGER, Code, Typed, computed, is_float
from headrace.frontend.lower.writer import indexing_map, tensor

COSTLY = frozenset(
    "exp exp2 expm1 log log2 log1p log10 sqrt rsqrt sin cos tanh erf pow reciprocal sigmoid truediv".split()
)
"""Operations worth an op of their own when they do not depend on every dim of the nest."""


@dataclass(frozen=True)
class Operand:
    """A tensor and the group dim that walks each of its axes (None: extent 1)."""

    name: str
    dims: tuple[str | None, ...]
    shape: tuple[int, ...]
    dtype: str


@dataclass
class Combiner:
    """How a reduction folds a body value: the op's combining code, initial literal, result type."""

    fold: Callable[[Code, Typed, Typed], Typed]
    initial: str
    dtype: str
    op: str


@dataclass
class Body:
    """The body of one generic over `dims`: its operands and scalar code, grown by asking for values."""

    nest: Any  # NestEmitter
    dims: tuple[str, ...]
    code: Code = field(default_factory=Code)
    operands: list[Operand] = field(default_factory=list)
    known: dict[str, Typed] = field(default_factory=dict)
    taken: dict[tuple[str, tuple[str | None, ...]], Typed] = field(default_factory=dict)
    root: str | None = None

    def take(self, operand: Operand) -> Typed:
        """The element of an operand at the current point."""
        key = (operand.name, operand.dims)
        if key not in self.taken:
            self.taken[key] = (f"%in{len(self.operands)}", operand.dtype)
            self.operands.append(operand)
        return self.taken[key]

    def value(self, name: Any) -> Typed:
        """A value of the nest (or a plain number), in its computed type."""
        if isinstance(name, bool | int | float):
            kind = "i1" if isinstance(name, bool) else "i64" if isinstance(name, int) else "f32"
            return self.code.constant(name, kind)
        if name not in self.known:
            self.known[name] = (
                self._hoisted(name) or self._shared(name) or self._relation(name) or self._compute(name)
            )
        return self.known[name]

    def coordinate(self, e: Quasi, kind: str = "index") -> Typed:
        """An index expression over the dims of this body, as index or, where values from memory meet, i64."""
        total: Typed | None = None
        for atom, factor in e.terms:
            part = self._atom(atom, kind)
            if factor != 1:
                part = self.code.binary("arith.muli", part, self._number(factor, kind))
            total = part if total is None else self.code.binary("arith.addi", total, part)
        if total is None:
            return self._number(e.const, kind)
        return self.code.binary("arith.addi", total, self._number(e.const, kind)) if e.const else total

    def _number(self, value: int, kind: str) -> Typed:
        return (self.nest.index(value), "index") if kind == "index" else self.code.constant(value, kind)

    def wrapped(self, value: Typed, size: int) -> Typed:
        """An i64 index into `size` elements, a negative one counted from the end."""
        is_negative = self.code.compare("lt", value, self.code.constant(0, "i64"))
        from_end = self.code.binary("arith.addi", value, self.code.constant(size, "i64"))
        return self.code.select(is_negative, from_end, value)

    def _from_memory(self, symbol: str) -> Typed:
        """An indirect symbol as an i64 value."""
        source, size, wraps = self.nest.scan.sources[symbol]
        value = self.code.cast(self.value(source), "i64")
        return self.wrapped(value, size) if wraps and self.nest.kernel.wraps_negative else value

    def _as(self, value: Typed, kind: str) -> Typed:
        """An integer as index or i64."""
        if value[1] == kind:
            return value
        return self.code.let(f"arith.index_cast {value[0]} : {value[1]} to {kind}", kind)

    def _atom(self, atom: Any, kind: str) -> Typed:
        if isinstance(atom, str):
            if atom in self.nest.scan.sources:
                return self._as(self._from_memory(atom), kind)
            if atom not in self.dims:
                raise Unsupported("an index value over a dim its tensor does not have")
            here = self.code.let(f"linalg.index {self.dims.index(atom)} : index", "index")
            base = self.nest.base(atom)
            if base is not None:
                here = self.code.binary("arith.addi", here, (base, "index"))
            return self._as(here, kind)
        if isinstance(atom, Call):
            return self._as(self._call(atom), kind)
        inner, divisor = self.coordinate(atom.inner, kind), self._number(atom.divisor, kind)
        whole = self.code.binary("arith.floordivsi", inner, divisor)
        if isinstance(atom, Floor):
            return whole
        return self.code.binary("arith.subi", inner, self.code.binary("arith.muli", whole, divisor))

    def _call(self, atom: Call) -> Typed:
        """abs, min or max of coordinates, as i64."""
        values = [self.coordinate(e, "i64") for e in atom.arguments]
        if atom.name == "abs":
            values.append(self.code.binary("arith.subi", self.code.constant(0, "i64"), values[0]))
        op = "arith.minsi" if atom.name == "min" else "arith.maxsi"
        total = values[0]
        for value in values[1:]:
            total = self.code.binary(op, total, value)
        return total

    def _hoisted(self, name: str) -> Typed | None:
        """The value read from a tensor over fewer dims, when it is costly and does not need all of them."""
        statement = self.nest.definition(name)
        if (
            name == self.root
            or statement[1] not in COSTLY
            or any(isinstance(x, list | tuple) for x in statement[2:])
        ):
            return None
        needed = self.nest.dependences(name)
        fewer = tuple(d for d in self.dims if d in needed)
        if len(fewer) == len(self.dims) or all(self.nest.size(d) == 1 for d in self.dims if d not in fewer):
            return None
        return self.take(self.nest.hoist(name, fewer))

    def _shared(self, name: str) -> Typed | None:
        """A choice by position (scores under a causal mask), read from a tensor of its own: the nests of a
        product and its softmax that ask for the same one get it computed once, and the scheduler sees what
        it hides.
        """
        nest = self.nest
        _, op, *args = nest.definition(name)
        if op != "where" or name == self.root or not nest.kernel.has_product:
            return None
        if nest.scan.conditions.get(args[0]) is None or nest.dependences(name) != set(self.dims):
            return None
        return self.take(nest.hoist(name, self.dims))

    def _relation(self, name: str) -> Typed | None:
        """A comparison of indices; None for another value, and for one outer index against a number.

        Positions that fit the lanes of an index are compared as such. Neighbours in memory that share a
        comparison get it as lanes of a vector: their own index is added to both sides, since a comparison of
        outer loop variables alone cannot be scheduled.
        """
        _, op, *args = self.nest.definition(name)
        values = self.nest.scan.values
        if op not in COMPARE or any(x not in values for x in args):
            return None
        a, b = (values[x] for x in args)
        walked = a.variables | b.variables
        if walked & self.nest.innermost and all(self._is_short(e) for e in (a, b)):
            return self.code.compare(op, self.coordinate(a), self.coordinate(b))
        lanes = sorted(self.nest.innermost & set(self.dims))
        if len(walked) < 2 or walked & self.nest.innermost or not lanes:
            return None
        lane = variable(lanes[-1])
        return self.code.compare(op, self.coordinate(a + lane, "i64"), self.coordinate(b + lane, "i64"))

    def _is_short(self, e: Quasi) -> bool:
        """Whether an expression is a sum of loop variables that stays within 32 bits."""
        extents = self.nest.kernel.group.extents
        if not all(isinstance(atom, str) and atom in extents for atom, _ in e.terms):
            return False
        return bool(abs(e.const) + sum(abs(k) * extents[atom] for atom, k in e.terms) < 2**31)

    def _compute(self, name: str) -> Typed:
        _, op, *args = self.nest.definition(name)
        code = self.code
        match op:
            case "load":
                value = self.take(self.nest.load(self.nest.definition(name)))
                return code.cast(value, computed(value[1]))
            case "constant":
                return code.constant(args[0], computed(_type(args[1])))
            case "index_expr" | "value_expr":
                return self._index_value(name, computed(_type(args[1])))
            case "to_dtype":
                return self._to_dtype(args)
            case "reduction":
                return self.take(self.nest.reduced(name))
            case "masked":
                padded = self.nest.padded(self.nest.definition(name))
                if padded is not None:
                    return code.cast(self.take(padded), computed(padded.dtype))
                inner, mask = self.value(args[2]), self.value(args[0])
                return code.select(mask, inner, code.constant(args[3], inner[1]))
            case "indirect":
                raise Unsupported("an indirect index used as a value")
        return self._operation(op, args)

    def _operation(self, op: str, args: Sequence[Any]) -> Typed:
        types = [x for x in args if isinstance(x, str) and x in TYPES and not self.nest.is_defined(x)]
        values = [self.value(x) for x in args if isinstance(x, str) and x not in types]
        first = values[0][1] if values else "f32"
        typed = iter(values)
        operands: list[Typed] = []
        for x in args:
            if isinstance(x, str):
                if x not in types:
                    operands.append(next(typed))
            elif isinstance(x, bool | int | float):
                wanted = first if op != "where" or len(values) < 2 else values[1][1]
                kind = wanted if is_float(wanted) or not isinstance(x, float) else "f32"
                operands.append(self.code.constant(x, kind if op not in COMPARE or kind != "i1" else "i32"))
        result = self.code.apply(op, operands)
        return self.code.cast(result, TYPES[types[0]]) if op in TO_INTEGER and types else result

    def _to_dtype(self, args: Sequence[Any]) -> Typed:
        value, dtype, use_compute_types = self.value(args[0]), _type(args[1]), args[2]
        if computed(dtype) == dtype or (use_compute_types and dtype != "f8E4M3FN"):
            return self.code.cast(value, computed(dtype))
        return self.code.cast(self.code.cast(value, dtype), "f32")  # a rounding the program asks for

    def _index_value(self, name: str, dtype: str) -> Typed:
        expression = self.nest.index_value(name)
        if not expression.terms:
            return self.code.constant(expression.const, dtype)
        if expression.variables & self.nest.scan.sources.keys():  # lanes of i64, as it is read
            return self.code.cast(self.coordinate(expression, "i64"), dtype)
        found = self.coordinate(expression)
        if is_float(dtype):
            wide = self.code.let(f"arith.index_cast {found[0]} : index to i64", "i64")
            return self.code.cast(wide, dtype)
        kind = "i32" if dtype == "i32" else "i64"
        cast = self.code.let(f"arith.index_cast {found[0]} : index to {kind}", kind)
        return self.code.cast(cast, dtype)


def write_generic(
    writer: Any,
    body: Body,
    values: Sequence[Typed],
    out_dims: Sequence[str],
    reduced: Sequence[str],
    size: Callable[[str], int],
    combiner: Combiner | None = None,
) -> list[Operand]:
    """Write the generic of a body whose results are `values` over `out_dims`, folded over `reduced`."""
    shape = tuple(size(d) for d in out_dims)
    rank, position = len(body.dims), {d: k for k, d in enumerate(body.dims)}
    if combiner is None:
        types = [t for _, t in values]
        inits, yielded = [writer.empty(shape, t) for t in types], list(values)
    else:
        types = [combiner.dtype]
        inits = [writer.filled(combiner.initial, shape, combiner.dtype)]
        yielded = [combiner.fold(body.code, ("%out0", combiner.dtype), values[0])]

    def results(dims: Sequence[str | None]) -> str:
        return indexing_map(rank, ["0" if d is None else f"d{position[d]}" for d in dims])

    maps = [results(o.dims) for o in body.operands] + [results(tuple(out_dims))] * len(types)
    iterators = ['"reduction"' if d in reduced else '"parallel"' for d in body.dims]
    kinds = [tensor(shape, t) for t in types]
    ins = ", ".join(o.name for o in body.operands)
    in_types = ", ".join(tensor(o.shape, o.dtype) for o in body.operands)
    names = [writer.fresh("t") for _ in types]
    taken = f" ins({ins} : {in_types})" if body.operands else ""
    writer.op(
        f"{', '.join(names)} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
        f"iterator_types = [{', '.join(iterators)}]}}{taken} outs({', '.join(inits)} : {', '.join(kinds)}) {{"
    )
    arguments = [f"%in{k}: {o.dtype}" for k, o in enumerate(body.operands)]
    arguments += [f"%out{k}: {t}" for k, t in enumerate(types)]
    writer.op(f"^bb0({', '.join(arguments)}):")
    for line in body.code.lines:
        writer.op(f"  {line}")
    writer.op(f"  linalg.yield {', '.join(v for v, _ in yielded)} : {', '.join(types)}")
    writer.op(f"}} -> {kinds[0] if len(kinds) == 1 else '(' + ', '.join(kinds) + ')'}")
    return [Operand(n, tuple(out_dims), shape, t) for n, t in zip(names, types, strict=True)]


def _type(dtype: str) -> str:
    if dtype not in TYPES:
        raise Unsupported(f"values of {dtype}")
    return TYPES[dtype]
