"""Kernels of attention over whole rows of scores, in the ways authors and front-ends write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headrace import ktir
from headrace.runtime.kernel import Kernel


@dataclass(frozen=True)
class Attention:
    """y = softmax(q k^T / sqrt(depth)) v with queries [queries, depth], keys and values [keys, depth] of a
    type, masked above a diagonal that `shift` moves to the right, or by a tensor that is added.

    `quotient` says what is divided by the sums: the weights before the second product, or its result. Scores
    are scaled before their maxima are taken away, or behind that (`is_late`).
    """

    queries: int
    keys: int
    depth: int = 16
    dtype: str = "f16"
    mask: Literal["none", "causal", "added"] = "none"
    shift: int = 0
    quotient: Literal["weights", "result"] = "weights"
    heads: int = 1
    is_turned: bool = True
    is_late: bool = False

    def kernel(self) -> Kernel:
        """The kernel; a head a tile. Keys lie as [depth, keys] if they need not be turned."""
        rows, columns = self.heads * self.queries, self.heads * self.keys
        with ktir.kernel("attention", grid=[self.heads]) as k:
            q = k.argument("q", (rows, self.depth), self.dtype)
            keys = k.argument(
                "k", (columns, self.depth) if self.is_turned else (self.depth, columns), self.dtype
            )
            values = k.argument("v", (columns, self.depth), self.dtype)
            bias = k.argument("bias", (self.queries, self.keys), "f32") if self.mask == "added" else None
            y = k.argument("y", (rows, self.depth), self.dtype)
            first, own = k.tile_id() * self.keys, k.tile_id() * self.queries
            if self.is_turned:
                across = keys[first : first + self.keys, :].load().T
            else:
                across = keys[:, first : first + self.keys].load()
            scale = self.depth**-0.5
            scores = q[own : own + self.queries, :].load() @ across
            scores = scores if self.is_late else scores * scale
            if self.mask == "causal":
                at = k.arange(self.queries, "i32").reshape(self.queries, 1)
                seen = at + self.shift >= k.arange(self.keys, "i32").reshape(1, self.keys)
                scores = ktir.where(seen, scores, float("-inf"))
            if bias is not None:
                scores = scores + bias[:, :].load()
            less = scores - scores.max(axis=1, keepdims=True)
            powers = ktir.exp(less * scale if self.is_late else less)
            total = powers.sum(axis=1, keepdims=True)
            weights = powers / total if self.quotient == "weights" else powers
            mixed = weights.cast(self.dtype) @ values[first : first + self.keys, :].load()
            if self.quotient == "result":
                mixed = mixed / total
            y[own : own + self.queries, :] = mixed.cast(self.dtype)
        return k.kernel
