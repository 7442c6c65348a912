"""Types: shapes, element types and their MLIR text."""

from __future__ import annotations

from headrace.numbers.dtypes import is_known
from headrace.runtime.ktir.errors import wrong

Number = int | float
Shape = tuple[int, ...]


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
