"""Tensors and scalars with the operators of Python: each writes one op of KTIR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from headrace.numbers.dtypes import is_float, is_known
from headrace.runtime.ktir import casts, reductions, shapes
from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.index import Index, IndexLike

Number = int | float
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Value:
    """An immutable tensor (`shape`), or a scalar (`shape` None), of element type `dtype`."""

    code: Code
    name: str
    dtype: str
    shape: Shape | None
    block: int
    origin: Value | None = None
    """The same elements in the shape they were computed in: reshaped only when somebody needs it."""

    @property
    def type(self) -> str:
        """The MLIR type."""
        return type_text(self.shape, self.dtype)

    @property
    def extents(self) -> Shape:
        """The shape of a tensor; HeadraceError for a scalar."""
        if self.shape is None:
            raise wrong("a scalar has no shape", "spread it over a tensor first, as in `tensor * scalar`")
        return self.shape

    @property
    def T(self) -> Value:
        """The tensor with its dims reversed."""
        return self.transpose()

    def use(self) -> str:
        """The SSA name; HeadraceError outside the block that defines it."""
        if self.block not in self.code.open_blocks:
            raise wrong(
                f"{self.name} is used outside the block that defines it",
                "carry it out: k.loop(..., name=value)",
            )
        if self.origin is not None:
            return shapes.regrouped(self.origin, self.extents).name
        return self.name

    def let(self, text: str, dtype: str, shape: Shape | None, hint: str = "v") -> Value:
        """The result of an op, of the given type."""
        return Value(self.code, self.code.let(text, hint), dtype, shape, self.code.block)

    def __add__(self, other: Operand) -> Value:
        return binary("add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return binary("sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return binary("mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return binary("div", self, other)

    def __and__(self, other: Operand) -> Value:
        return binary("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return binary("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return binary("xor", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return binary("sub", other, self)

    def __rtruediv__(self, other: Operand) -> Value:
        return binary("div", other, self)

    __radd__ = __add__
    __rmul__ = __mul__
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __neg__(self) -> Value:
        if is_float(self.dtype):
            return self.let(f"arith.negf {self.use()} : {self.type}", self.dtype, self.shape)
        return binary("sub", 0, self)

    def __lt__(self, other: Operand) -> Value:
        return compare("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return compare("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return compare("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return compare("ge", self, other)

    def __bool__(self) -> bool:
        raise wrong(
            "a value of the kernel is not known while it is written", "use ktir.where or `with k.when(...)`"
        )

    def __matmul__(self, other: Value) -> Value:
        from headrace.runtime.ktir.contractions import matmul

        return matmul(self, other)

    def cast(self, dtype: str) -> Value:
        """The values in another element type: floats round to nearest even, float to int toward zero."""
        return casts.cast(self, dtype)

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The sum over some axes (all by default)."""
        return reductions.reduce("sum", self, axis, keepdims)

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The product over some axes."""
        return reductions.reduce("prod", self, axis, keepdims)

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The largest over some axes; NaN when there is one."""
        return reductions.reduce("max", self, axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
        """The smallest over some axes; NaN when there is one."""
        return reductions.reduce("min", self, axis, keepdims)

    def transpose(self, *order: int) -> Value:
        """The tensor with its dims in another order (reversed by default)."""
        return shapes.transpose(self, order)

    def reshape(self, *shape: int) -> Value:
        """The same elements, in row-major order, in another shape."""
        return shapes.reshape(self, shape)

    def broadcast(self, *shape: int) -> Value:
        """The tensor repeated to a shape by NumPy's rules: missing leading dims and dims of 1 repeat."""
        return shapes.broadcast(self, shape)

    def __getitem__(self, key: Any) -> Value:
        return shapes.take(self, key)


Operand = Value | int | float


def a_thing(found: object) -> str:
    """What something is called in an error: "an Index", "a Box"."""
    name = type(found).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def type_text(shape: Shape | None, dtype: str) -> str:
    """`f16`, or `tensor<8x64xf16>`."""
    return dtype if shape is None else f"tensor<{''.join(f'{n}x' for n in shape)}{dtype}>"


def require_dtype(dtype: str) -> str:
    """The dtype; HeadraceError for one that is none."""
    if not is_known(dtype):
        raise wrong(f"no element type '{dtype}'", "f16, bf16, f32, f64, f8E4M3FN, i1, i8, i16, i32, i64")
    return dtype


_BINARY = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "maximum": ("arith.maximumf", "arith.maxsi"),
    "minimum": ("arith.minimumf", "arith.minsi"),
    "power": ("math.powf", ""),
    "and": ("", "arith.andi"),
    "or": ("", "arith.ori"),
    "xor": ("", "arith.xori"),
}
_TESTS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}


def binary(kind: str, a: Operand, b: Operand) -> Value:
    """`a kind b` elementwise; HeadraceError when dtypes differ or shapes do not broadcast."""
    left, right = matched(kind, a, b)
    op = _BINARY[kind][0 if is_float(left.dtype) else 1]
    if not op:
        raise wrong(f"no '{kind}' of {left.dtype}", "cast the operands first")
    text = f"{op} {left.use()}, {right.use()} : {left.type}"
    return left.let(text, left.dtype, left.shape)


def compare(kind: str, a: Operand, b: Operand) -> Value:
    """The comparison as i1, elementwise; with NaN only `ne` holds."""
    left, right = matched(kind, a, b)
    if is_float(left.dtype):
        op = f"arith.cmpf {'une' if kind == 'ne' else 'o' + kind}"
    else:
        op = f"arith.cmpi {_TESTS[kind]}"
    return left.let(f"{op}, {left.use()}, {right.use()} : {left.type}", "i1", left.shape)


def matched(what: str, *operands: Operand) -> list[Value]:
    """The operands in one dtype and one shape: numbers become constants, tensors broadcast."""
    values = [o for o in operands if isinstance(o, Value)]
    for o in operands:
        if not isinstance(o, Value | Real):
            hint = "load a box first; an index becomes a number by k.number(index, dtype)"
            raise wrong(f"'{what}' of {a_thing(o)}", hint)
    dtypes = list(dict.fromkeys(v.dtype for v in values))
    if len(dtypes) > 1:
        raise wrong(f"'{what}' of {' and '.join(dtypes)}", f'write .cast("{dtypes[-1]}") on one of them')
    first = values[0]
    shape = common_shape(what, [v.shape for v in values])
    return [spread(first, o, dtypes[0], shape) for o in operands]


def common_shape(what: str, found: Sequence[Shape | None]) -> Shape | None:
    """The shape tensors broadcast to by NumPy's rules; None for scalars alone."""
    tensors = [s for s in found if s is not None]
    if not tensors:
        return None
    rank = max(len(s) for s in tensors)
    padded = [(1,) * (rank - len(s)) + s for s in tensors]
    result = tuple(max(sizes, key=lambda n: n != 1) for sizes in zip(*padded, strict=True))
    for s in padded:
        if any(n not in (1, m) for n, m in zip(s, result, strict=True)):
            texts = " and ".join(str(list(s)) for s in tensors)
            raise wrong(
                f"'{what}' of shapes {texts}", "shapes broadcast from the right; reduce with keepdims=True"
            )
    return result


def spread(near: Value, operand: Operand, dtype: str, shape: Shape | None) -> Value:
    """An operand as a value of the dtype and shape."""
    code = near.code
    if not isinstance(operand, Value):
        operand = Value(code, code.constant(operand, dtype), dtype, None, 0)
    if shape is None or operand.shape == shape:
        return operand
    if operand.shape is not None:
        return shapes.broadcast(operand, shape)
    text = f"tensor.splat {operand.use()} : {type_text(shape, dtype)}"
    return operand.let(text, dtype, shape, "splat")


def number(index: IndexLike, dtype: str, code: Code) -> Value:
    """An index as a scalar of the dtype."""
    if isinstance(index, int):
        return Value(code, code.constant(index, dtype), dtype, None, 0)
    assert isinstance(index, Index)
    whole = dtype if not is_float(require_dtype(dtype)) else "i32"
    name = code.let(f"arith.index_cast {index.name} : index to {whole}", "n")
    value = Value(code, name, whole, None, code.block)
    return value if whole == dtype else value.cast(dtype)
