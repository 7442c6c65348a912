"""Upstream MLIR dialects, completed: what xDSL 0.75 lacks or spells differently from mlir-opt.

Ops are replaced by plain subclasses (so `isinstance` against xDSL's classes holds) or added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect

# dialect -> our module; each holds OPS, a sequence of op classes that replace equal names or are added.
_MODULES = {
    "func": "func",
    "linalg": "linalg",
    "scf": "scf",
    "arith": "arith",
    "math": "math",
    "memref": "memref",
    "tensor": "tensor",
    "vector": "vector",
    "affine": "affine",
}


def patched(name: str, stock: Callable[[], Dialect]) -> Callable[[], Dialect]:
    """A factory of the dialect `name` with our ops in place."""
    module = _MODULES.get(name)
    if module is None:
        return stock
    return lambda: _with(stock(), import_module(f"headrace.ir.upstream.{module}").OPS)


def _with(dialect: Dialect, ours: Sequence[Any]) -> Dialect:
    by_name = {op.name: op for op in ours}
    ops = [by_name.pop(op.name, op) for op in dialect.operations]
    return Dialect(
        dialect.name,
        [*ops, *by_name.values()],
        list(dialect.attributes),
        list(getattr(dialect, "interfaces", [])),
    )
