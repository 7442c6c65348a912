"""Matrix products."""

from __future__ import annotations

from headrace.numbers.dtypes import is_float
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.shapes import full
from headrace.runtime.ktir.values import Value


def matmul(a: Value, b: Value, start: Value | None = None) -> Value:
    """`start + a @ b` of matrices or batches of matrices; without `start` it begins at 0 in f32 (floats
    except f64) or i32, the types sums are kept in.
    """
    if not isinstance(b, Value) or not isinstance(a, Value):
        raise wrong("'matmul' takes loaded tensors", "load a box first")
    left, right = a.extents, b.extents
    rank = len(left)
    if rank not in (2, 3) or len(right) != rank or left[:-2] != right[:-2] or left[-1] != right[-2]:
        raise wrong(
            f"'matmul' of shapes {list(left)} and {list(right)}", "[m, k] @ [k, n], with or without a batch"
        )
    if a.dtype != b.dtype:
        raise wrong(f"'matmul' of {a.dtype} and {b.dtype}", "cast one of them")
    shape = (*left[:-1], right[-1])
    kept = a.dtype if a.dtype in ("f64", "i64") else "f32" if is_float(a.dtype) else "i32"
    out = start if start is not None else full(a.code, shape, 0, kept)
    if out.shape != shape:
        raise wrong(f"'matmul' gives {list(shape)}, its start is {list(out.extents)}")
    op = "linalg.matmul" if rank == 2 else "linalg.batch_matmul"
    ins = f"ins({a.use()}, {b.use()} : {a.type}, {b.type})"
    return a.let(f"{op} {ins} outs({out.use()} : {out.type}) -> {out.type}", out.dtype, shape, "product")
