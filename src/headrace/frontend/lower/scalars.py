"""Scalar code of a linalg body: typed values, constants, casts, and what each loop operation becomes in
arith and math.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from headrace.frontend.lower.program import Unsupported

Typed = tuple[str, str]
"""(SSA name, MLIR type)."""

FLOAT_BINARY = {
    "add": "arith.addf",
    "sub": "arith.subf",
    "mul": "arith.mulf",
    "mul_rn": "arith.mulf",
    "truediv": "arith.divf",
    "div_rn": "arith.divf",
    "maximum": "arith.maximumf",
    "minimum": "arith.minimumf",
    "pow": "math.powf",
    "fmod": "arith.remf",
    "atan2": "math.atan2",
    "copysign": "math.copysign",
    "dot": "arith.mulf",
}
INTEGER_BINARY = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "mul": "arith.muli",
    "maximum": "arith.maxsi",
    "minimum": "arith.minsi",
    "floordiv": "arith.floordivsi",
    "truncdiv": "arith.divsi",
    "mod": "arith.remsi",
    "fmod": "arith.remsi",
    "and_": "arith.andi",
    "or_": "arith.ori",
    "xor": "arith.xori",
    "bitwise_and": "arith.andi",
    "bitwise_or": "arith.ori",
    "bitwise_xor": "arith.xori",
    "bitwise_left_shift": "arith.shli",
    "bitwise_right_shift": "arith.shrsi",
    "lshift": "arith.shli",
    "rshift": "arith.shrsi",
    "dot": "arith.muli",
}
LOGICAL = {"logical_and": "arith.andi", "logical_or": "arith.ori", "logical_xor": "arith.xori"}
FLOAT_UNARY = {
    "neg": "arith.negf",
    "abs": "math.absf",
    "exp": "math.exp",
    "exp2": "math.exp2",
    "expm1": "math.expm1",
    "log": "math.log",
    "log2": "math.log2",
    "log10": "math.log10",
    "log1p": "math.log1p",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "sin": "math.sin",
    "cos": "math.cos",
    "tanh": "math.tanh",
    "erf": "math.erf",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "trunc": "math.trunc",
    "round": "math.roundeven",
    "tan": "math.tan",
    "sinh": "math.sinh",
    "cosh": "math.cosh",
    "asin": "math.asin",
    "acos": "math.acos",
    "atan": "math.atan",
    "asinh": "math.asinh",
    "acosh": "math.acosh",
    "atanh": "math.atanh",
    "erfc": "math.erfc",
}
COMPARE = {
    "eq": ("oeq", "eq"),
    "ne": ("une", "ne"),
    "lt": ("olt", "slt"),
    "le": ("ole", "sle"),
    "gt": ("ogt", "sgt"),
    "ge": ("oge", "sge"),
}
TO_INTEGER = {
    "floor_to_int": "floor",
    "ceil_to_int": "ceil",
    "trunc_to_int": "trunc",
    "round_to_int": "round",
}
UNSIGNED = {
    "arith.maxsi": "arith.maxui",
    "arith.minsi": "arith.minui",
    "arith.floordivsi": "arith.divui",
    "arith.divsi": "arith.divui",
    "arith.remsi": "arith.remui",
    "arith.shrsi": "arith.shrui",
}
"""What an operation on signed integers is on unsigned ones."""
_RANK = {kind: rank for rank, kind in enumerate(("i1", "ui8", "i8", "i16", "i32", "i64", "f32"))}


def is_float(dtype: str) -> bool:
    """True for a floating-point type name."""
    return dtype.startswith(("f", "bf"))


def computed(dtype: str) -> str:
    """The type a value of a stored type is computed in: f32 for the narrow floats."""
    return "f32" if dtype in ("f16", "bf16", "f8E4M3FN") else dtype


def literal(value: Any, dtype: str) -> str:
    """A number as the text of an attribute of this type."""
    if dtype == "i1":
        return "true" if value else "false"
    if not is_float(dtype):
        half = 1 << (_bits(dtype) - 1)
        return str((int(value) + half) % (2 * half) - half)
    number = math.nan if value == "nan" else float(value)
    if math.isnan(number):
        return "0x7FC00000"
    if math.isinf(number):
        return "0x7F800000" if number > 0 else "0xFF800000"
    text = repr(number)
    return text if "." in text else text.replace("e", ".0e") if "e" in text else f"{text}.0"


class Code:
    """Lines of one body; every method returns the typed value it wrote.

    Unsigned bytes have the type "ui8" here; the finished text calls them i8, only the operations differ.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names = 0

    def let(self, expression: str, dtype: str) -> Typed:
        """Appends `%sN = expression`."""
        self._names += 1
        self.lines.append(f"%s{self._names} = {expression}")
        return f"%s{self._names}", dtype

    def constant(self, value: Any, dtype: str) -> Typed:
        """A constant."""
        text = literal(value, dtype)
        return self.let(f"arith.constant {text}" + ("" if dtype == "i1" else f" : {dtype}"), dtype)

    def cast(self, value: Typed, dtype: str) -> Typed:
        """The value in another type, by torch's rules: truth for i1, truncation to integers."""
        name, source = value
        if source == dtype:
            return value
        if dtype == "i1":
            return self.compare("ne", value, self.constant(0, source))
        if source.removeprefix("u") == dtype.removeprefix("u"):
            return name, dtype
        if is_float(source) and dtype in ("ui8", "i8", "i16"):  # as C does: what i32 holds, cut off
            return self.cast(self.cast(value, "i32"), dtype)
        return self.let(f"{_cast_op(source, dtype)} {name} : {source} to {dtype}", dtype)

    def compare(self, op: str, a: Typed, b: Typed) -> Typed:
        """a op b as i1; false for NaN, except `ne`."""
        a, b = self.alike(a, b)
        kind, predicate = ("cmpf", COMPARE[op][0]) if is_float(a[1]) else ("cmpi", COMPARE[op][1])
        if a[1] == "i1" and op in ("lt", "le", "gt", "ge"):
            a, b = self.cast(a, "i32"), self.cast(b, "i32")
        if a[1] == "ui8":
            predicate = predicate.replace("s", "u")
        return self.let(f"arith.{kind} {predicate}, {a[0]}, {b[0]} : {a[1]}", "i1")

    def select(self, condition: Typed, yes: Typed, no: Typed) -> Typed:
        """condition ? yes : no."""
        yes, no = self.alike(yes, no)
        return self.let(f"arith.select {condition[0]}, {yes[0]}, {no[0]} : {yes[1]}", yes[1])

    def binary(self, op: str, a: Typed, b: Typed) -> Typed:
        """An op on two values of one type."""
        op = UNSIGNED.get(op, op) if a[1] == "ui8" else op
        return self.let(f"{op} {a[0]}, {b[0]} : {a[1]}", a[1])

    def unary(self, op: str, a: Typed) -> Typed:
        """An op on one value."""
        return self.let(f"{op} {a[0]} : {a[1]}", a[1])

    def alike(self, a: Typed, b: Typed) -> tuple[Typed, Typed]:
        """Both values in the wider of their types."""
        if a[1] == b[1]:
            return a, b
        wide = max(a[1], b[1], key=lambda t: _RANK[t])
        return self.cast(a, wide), self.cast(b, wide)

    def apply(self, op: str, a: list[Typed]) -> Typed:
        """What a loop operation computes from its operands; Unsupported when arith and math cannot say it."""
        special = _SPECIAL.get(op)
        if special is not None:
            return special(self, *a)
        if op in COMPARE:
            return self.compare(op, a[0], a[1])
        if op in LOGICAL:
            return self.binary(LOGICAL[op], self.cast(a[0], "i1"), self.cast(a[1], "i1"))
        if op in TO_INTEGER:
            return self.unary(FLOAT_UNARY[TO_INTEGER[op]], a[0]) if is_float(a[0][1]) else a[0]
        if len(a) == 1 and op in FLOAT_UNARY and is_float(a[0][1]):
            return self.unary(FLOAT_UNARY[op], a[0])
        if len(a) == 2:
            x, y = self.alike(*a)
            table: Mapping[str, str] = FLOAT_BINARY if is_float(x[1]) else INTEGER_BINARY
            if x[1] == "i1":
                table = {
                    **INTEGER_BINARY,
                    "mul": "arith.andi",
                    "add": "arith.ori",
                    "maximum": "arith.ori",
                    "minimum": "arith.andi",
                }
            if op in table:
                return self.binary(table[op], x, y)
        raise Unsupported(f"operation {op} on {', '.join(t for _, t in a)}")


def _cast_op(source: str, dtype: str) -> str:
    match is_float(source), is_float(dtype):
        case True, True:
            return "arith.extf" if _bits(source) < _bits(dtype) else "arith.truncf"
        case False, True:
            return "arith.uitofp" if source in ("i1", "ui8") else "arith.sitofp"
        case True, False:
            return "arith.fptosi"
    if source in ("i1", "ui8") and _bits(source) < _bits(dtype):
        return "arith.extui"
    return "arith.extsi" if _bits(source) < _bits(dtype) else "arith.trunci"


def _bits(dtype: str) -> int:
    return 8 if dtype == "f8E4M3FN" else int("".join(c for c in dtype if c.isdigit()))


def _sigmoid(c: Code, x: Typed) -> Typed:
    one = c.constant(1.0, x[1])
    e = c.unary("math.exp", c.unary("arith.negf", x))
    return c.binary("arith.divf", one, c.binary("arith.addf", e, one))


def _remainder(c: Code, a: Typed, b: Typed) -> Typed:
    """Python's modulo: the sign of the divisor."""
    a, b = c.alike(a, b)
    zero = c.constant(0, a[1])
    rest = c.binary("arith.remf" if is_float(a[1]) else "arith.remsi", a, b)
    differs = c.binary("arith.xori", c.compare("lt", rest, zero), c.compare("lt", b, zero))
    wrong = c.binary("arith.andi", differs, c.compare("ne", rest, zero))
    return c.select(wrong, c.binary("arith.addf" if is_float(a[1]) else "arith.addi", rest, b), rest)


def _sign(c: Code, x: Typed) -> Typed:
    """1, -1, or 0 for zeros and NaN."""
    zero, one, minus = c.constant(0, x[1]), c.constant(1, x[1]), c.constant(-1, x[1])
    return c.select(c.compare("gt", x, zero), one, c.select(c.compare("lt", x, zero), minus, zero))


def _integer_or(float_op: str, build: Callable[[Code, Typed], Typed]) -> Callable[[Code, Typed], Typed]:
    return lambda c, x: c.unary(float_op, x) if is_float(x[1]) else build(c, x)


def _not(c: Code, x: Typed) -> Typed:
    return c.binary("arith.xori", c.cast(x, "i1"), c.constant(True, "i1"))


def _invert(c: Code, x: Typed) -> Typed:
    return _not(c, x) if x[1] == "i1" else c.binary("arith.xori", x, c.constant(-1, x[1]))


def _square(c: Code, x: Typed) -> Typed:
    return c.binary("arith.mulf" if is_float(x[1]) else "arith.muli", x, x)


def _fma(c: Code, a: Typed, b: Typed, d: Typed) -> Typed:
    return c.binary("arith.addf", c.binary("arith.mulf", a, b), d)


def _sign_of_one(c: Code, x: Typed) -> Typed:
    """A value with the sign of x, also that of a zero."""
    return c.binary("math.copysign", c.constant(1, x[1]), x) if is_float(x[1]) else x


def _hypot(c: Code, a: Typed, b: Typed) -> Typed:
    """√(a² + b²) without overflow on the way: the larger one times √(1 + ratio²); infinite when one is."""
    a, b = c.unary("math.absf", a), c.unary("math.absf", b)
    large, small = c.binary("arith.maximumf", a, b), c.binary("arith.minimumf", a, b)
    ratio = c.binary("arith.divf", small, large)
    square = c.binary("arith.addf", c.binary("arith.mulf", ratio, ratio), c.constant(1, a[1]))
    length = c.binary("arith.mulf", large, c.unary("math.sqrt", square))
    is_zero = c.compare("eq", large, c.constant(0, a[1]))
    length = c.select(is_zero, large, length)
    infinity = c.constant(math.inf, a[1])
    either = [c.compare("eq", x, infinity) for x in (a, b)]
    return c.select(c.binary("arith.ori", *either), infinity, length)


def _same_or_rounded(op: str) -> Callable[[Code, Typed], Typed]:
    return lambda c, x: c.unary(op, x) if is_float(x[1]) else x


_SPECIAL: dict[str, Callable[..., Typed]] = {
    "identity": lambda c, x: x,
    "sigmoid": _sigmoid,
    "relu": lambda c, x: c.apply("maximum", [x, c.constant(0, x[1])]),
    "reciprocal": lambda c, x: c.binary("arith.divf", c.constant(1.0, x[1]), x),
    "square": _square,
    "remainder": _remainder,
    "sign": _sign,
    "fma": _fma,
    "int_truediv": lambda c, a, b: c.binary("arith.divf", c.cast(a, "f32"), c.cast(b, "f32")),
    "logical_not": _not,
    "bitwise_not": _invert,
    "isnan": lambda c, x: c.let(f"arith.cmpf uno, {x[0]}, {x[0]} : {x[1]}", "i1"),
    "isinf": lambda c, x: c.compare("eq", c.unary("math.absf", x), c.constant(math.inf, x[1])),
    "where": lambda c, m, a, b: c.select(c.cast(m, "i1"), a, b),
    "neg": _integer_or("arith.negf", lambda c, x: c.binary("arith.subi", c.constant(0, x[1]), x)),
    "abs": _integer_or("math.absf", lambda c, x: x if x[1] == "ui8" else c.unary("math.absi", x)),
    "signbit": lambda c, x: c.compare("lt", _sign_of_one(c, x), c.constant(0, x[1])),
    "hypot": _hypot,
    "floor": _same_or_rounded("math.floor"),
    "ceil": _same_or_rounded("math.ceil"),
    "trunc": _same_or_rounded("math.trunc"),
    "round": _same_or_rounded("math.roundeven"),
}
