"""Tensors and scalars with the operators of Python: each writes one op of KTIR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.numbers.dtypes import is_float
from headrace.runtime.ktir import casts, operators, reductions, shapes
from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.types import Shape, type_text


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
        return operators.binary("add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return operators.binary("sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return operators.binary("mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return operators.binary("div", self, other)

    def __and__(self, other: Operand) -> Value:
        return operators.binary("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return operators.binary("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return operators.binary("xor", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return operators.binary("sub", other, self)

    def __rtruediv__(self, other: Operand) -> Value:
        return operators.binary("div", other, self)

    __radd__ = __add__
    __rmul__ = __mul__
    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __neg__(self) -> Value:
        if is_float(self.dtype):
            return self.let(f"arith.negf {self.use()} : {self.type}", self.dtype, self.shape)
        return operators.binary("sub", 0, self)

    def __lt__(self, other: Operand) -> Value:
        return operators.compare("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return operators.compare("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return operators.compare("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return operators.compare("ge", self, other)

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
