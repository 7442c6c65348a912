"""The number of threads of NumPy's BLAS: many small products run best on one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


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


@cache
def _library() -> tuple[Any, Any] | None:
    """(get, set) functions of the number of threads."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(folder.glob("libscipy_openblas*")):
        library = ctypes.CDLL(str(path))
        for suffix in ("64_", ""):
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                return get, put
    return None
