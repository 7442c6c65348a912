"""NumPy's BLAS: products that add to what is there, and the number of threads (one for small products)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@contextmanager
def single_threaded() -> Iterator[None]:
    """Inside, BLAS uses one thread; without effect on any other library than OpenBLAS of the NumPy wheel."""
    library = _library()
    if library is None:
        yield
        return
    get, put = library
    before = get()
    if before == 1:
        yield
        return
    put(1)
    try:
        yield
    finally:
        put(before)


# ---- products ----------------------------------------------------------------------------------------------
def multiply(out: Array, a: Array, b: Array) -> None:
    """`out` = a @ b in f32, [batch, row, column] each.

    Every matrix has a contiguous axis, `out` the last one.
    """
    _multiply(out, a, b, 0.0)


def multiply_add(out: Array, a: Array, b: Array) -> None:
    """`out` += a @ b (see `multiply`)."""
    _multiply(out, a, b, 1.0)


def _multiply(out: Array, a: Array, b: Array, beta: float) -> None:
    run = _sgemm()
    if run is None:
        for c, x, y in zip(out, a, b, strict=True):
            c[...] = x @ y if beta == 0 else c + x @ y
        return
    (_, m, n), k = out.shape, a.shape[2]
    turned_a, step_a = _orientation(a)
    turned_b, step_b = _orientation(b)
    at = [int(x.__array_interface__["data"][0]) for x in (out, a, b)]
    for i in range(out.shape[0]):
        c, x, y = (start + i * v.strides[0] for start, v in zip(at, (out, a, b), strict=True))
        run(101, turned_a, turned_b, m, n, k, 1.0, x, step_a, y, step_b, beta, c, max(out.strides[1] // 4, n))


def _orientation(x: Array) -> tuple[int, int]:
    """(code of CBLAS for a matrix as it is or turned, elements from line to line)."""
    if x.strides[2] == x.itemsize or x.shape[2] == 1:
        return 111, max(x.strides[1] // x.itemsize, x.shape[2])
    return 112, max(x.strides[2] // x.itemsize, x.shape[1])


@cache
def _sgemm() -> Any:
    """`cblas_sgemm` of the NumPy wheel with its integers; None for another BLAS."""
    for path in _paths():
        library = ctypes.CDLL(str(path))
        for suffix, integer in (("64_", ctypes.c_int64), ("", ctypes.c_int32)):
            function = getattr(library, f"scipy_cblas_sgemm{suffix}", None)
            if function is not None:
                enum, real, pointer = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
                matrix = [pointer, integer]
                function.argtypes = [*3 * [enum], *3 * [integer], real, *2 * matrix, real, *matrix]
                function.restype = None
                return function
    return None


@cache
def product_address() -> int | None:
    """Where `cblas_sgemm` with 64-bit integers lies, for compiled code; None where there is none."""
    run = _sgemm()
    if run is None or run.argtypes[3] is not ctypes.c_int64:
        return None
    return ctypes.cast(run, ctypes.c_void_p).value


# ---- threads -----------------------------------------------------------------------------------------------
def _paths() -> list[Path]:
    return sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*"))


@cache
def _library() -> tuple[Any, Any] | None:
    """(get, set) functions of the number of threads."""
    for path in _paths():
        library = ctypes.CDLL(str(path))
        for suffix in ("64_", ""):
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                return get, put
    return None
