"""Every dialect Headrace reads, in one xDSL context."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from xdsl.context import Context
from xdsl.ir import Dialect

UPSTREAM = ("builtin", "func", "cf", "affine", "arith", "linalg", "math", "memref", "scf", "tensor", "vector")


class HeadraceContext(Context):
    """Keeps attributes and types of unknown dialects as text; misspelt ones of known dialects stay errors."""

    def _is_ours(self, name: str) -> bool:
        return name.split(".", 1)[0] in self._registered_dialects

    def get_optional_type(self, name: str):  # type: ignore[no-untyped-def]
        self.allow_unregistered = not self._is_ours(name)
        try:
            return super().get_optional_type(name)
        finally:
            self.allow_unregistered = False

    def get_optional_attr(self, name: str):  # type: ignore[no-untyped-def]
        self.allow_unregistered = not self._is_ours(name)
        try:
            return super().get_optional_attr(name)
        finally:
            self.allow_unregistered = False


def _own() -> dict[str, Callable[[], Dialect]]:
    from headrace.ir import (
        agen,
        dataflow,
        ktdf,
        ktdf_arch,
        ktdf_lowering,
        ktdp,
        spyreop,
        symbol,
        uniform,
        vectorchain,
    )

    return {
        "ktdp": lambda: ktdp.Ktdp,
        "spyreop": lambda: spyreop.SpyreOp,
        "ktdf": lambda: ktdf.Ktdf,
        "ktdf_arch": lambda: ktdf_arch.KtdfArch,
        "ktdf_lowering": lambda: ktdf_lowering.KtdfLowering,
        "dataflow": lambda: dataflow.Dataflow,
        "agen": lambda: agen.Agen,
        "vectorchain": lambda: vectorchain.Vectorchain,
        "uniform": lambda: uniform.Uniform,
        "symbol": lambda: symbol.Symbol,
    }


@lru_cache(maxsize=1)
def context() -> Context:
    """The shared context; parsing does not change it."""
    from xdsl.dialects import get_all_dialects

    from headrace.ir import upstream

    found = HeadraceContext()
    available = get_all_dialects()
    for name in UPSTREAM:
        found.register_dialect(name, upstream.patched(name, available[name]))
    for name, factory in _own().items():
        found.register_dialect(name, factory)
    return found


def known_names() -> list[str]:
    """The names of all ops, attributes and types, for hints."""
    ctx = context()
    for name in list(ctx.registered_dialect_names):
        ctx.get_optional_dialect(name)
    kinds = (*ctx.loaded_ops, *ctx.loaded_attrs, *ctx.loaded_types)
    return sorted({kind.name for kind in kinds})
