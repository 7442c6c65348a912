"""Elementwise operators: numbers become constants, tensors broadcast, dtypes have to agree."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

from headrace.numbers.dtypes import is_float
from headrace.runtime.ktir import shapes, values
from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.index import Index, IndexLike
from headrace.runtime.ktir.types import Shape, a_thing, require_dtype, type_text

if TYPE_CHECKING:
    from headrace.runtime.ktir.values import Operand, Value

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
    given = [o for o in operands if isinstance(o, values.Value)]
    for o in operands:
        if not isinstance(o, values.Value | Real):
            hint = "load a box first; an index becomes a number by k.number(index, dtype)"
            raise wrong(f"'{what}' of {a_thing(o)}", hint)
    dtypes = list(dict.fromkeys(v.dtype for v in given))
    if len(dtypes) > 1:
        raise wrong(f"'{what}' of {' and '.join(dtypes)}", f'write .cast("{dtypes[-1]}") on one of them')
    first = given[0]
    shape = common_shape(what, [v.shape for v in given])
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
    if not isinstance(operand, values.Value):
        operand = values.Value(code, code.constant(operand, dtype), dtype, None, 0)
    if shape is None or operand.shape == shape:
        return operand
    if operand.shape is not None:
        return shapes.broadcast(operand, shape)
    text = f"tensor.splat {operand.use()} : {type_text(shape, dtype)}"
    return operand.let(text, dtype, shape, "splat")


def number(index: IndexLike, dtype: str, code: Code) -> Value:
    """An index as a scalar of the dtype."""
    if isinstance(index, int):
        return values.Value(code, code.constant(index, dtype), dtype, None, 0)
    assert isinstance(index, Index)
    whole = dtype if not is_float(require_dtype(dtype)) else "i32"
    name = code.let(f"arith.index_cast {index.name} : index to {whole}", "n")
    value = values.Value(code, name, whole, None, code.block)
    return value if whole == dtype else value.cast(dtype)
