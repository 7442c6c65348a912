"""Kernels of KTIR written in Python: `with ktir.kernel("add", grid=[8]) as k: ...`, then `k.kernel`.

Subscripts of views make boxes, `.load()` makes tensors of boxes, operators and functions make tensors of
tensors, an assignment to a subscript stores.
"""

from headrace.runtime.ktir.blocks import Loop
from headrace.runtime.ktir.builder import Builder, kernel
from headrace.runtime.ktir.contractions import matmul
from headrace.runtime.ktir.functions import (
    absolute,
    ceil,
    cos,
    equal,
    erf,
    exp,
    floor,
    log,
    maximum,
    minimum,
    not_equal,
    power,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tanh,
    where,
)
from headrace.runtime.ktir.index import Index
from headrace.runtime.ktir.memory import Box, View
from headrace.runtime.ktir.values import Value

__all__ = [
    "Box",
    "Builder",
    "Index",
    "Loop",
    "Value",
    "View",
    "absolute",
    "ceil",
    "cos",
    "equal",
    "erf",
    "exp",
    "floor",
    "kernel",
    "log",
    "matmul",
    "maximum",
    "minimum",
    "not_equal",
    "power",
    "rsqrt",
    "sigmoid",
    "sin",
    "sqrt",
    "tanh",
    "where",
]
