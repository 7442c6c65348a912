"""Attention that walks its keys block by block with a running maximum, in the ways people write it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from headrace import ktir
from headrace.runtime.kernel import Kernel

LOG2E = 1.4426950408889634


@dataclass(frozen=True)
class Online:
    """How the kernel is written. Fields from `broken` on change what it computes, most of them so that its
    blocks are not one block of all keys any more.
    """

    rows: int = 6
    keys: int = 12
    block: int = 4
    depth: int = 8
    width: int = 5
    dtype: str = "f16"
    narrow: str = "f16"
    """The type of the exponentials in the second product."""
    is_flat: bool = False
    """Maximum and sum as [rows], not [rows, 1]."""
    is_turned: bool = False
    """Keys lie as [depth, keys]."""
    is_swapped: bool = False
    """Operands of sums, products and maxima the other way round."""
    start: float = -inf
    scaling: str = "scores"
    """Where scores are scaled: scores, exponent, maximum (of scaled peaks), none."""
    by_two: bool = False
    """Powers of two, by scores times log2(e)."""
    mask: str = ""
    """What is hidden: "", causal, late (columns before the row), tail (columns from `seen` on)."""
    hidden: float = -inf
    seen: int = 9
    guard: str = ""
    """Against a maximum of minus infinity: "", exponent, powers, both."""
    results: str = "quotient"
    """What is stored: quotient, all, logsum (quotient and m + log l)."""
    has_mix: bool = True
    tiles: int = 1
    """Tiles, each with rows of its own; with a causal mask a tile stops at its diagonal."""
    is_bound: bool = False
    first: int = 0
    """The loop begins at this key."""
    parts: int = 1
    """The keys are walked by so many loops in a row."""
    twice: bool = False
    """A second sum of squares of the powers' mix."""
    broken: str = ""

    def but(self, **changes: object) -> Online:
        """The kernel written otherwise."""
        return replace(self, **changes)  # type: ignore[arg-type]


def kernel(o: Online) -> Kernel:
    """The kernel: y, and maximum and sum if they are stored."""
    with ktir.kernel("online", grid=[o.tiles]) as k:
        total = o.rows * o.tiles
        q = k.argument("q", (total, o.depth), o.dtype)
        keys = k.argument("k", (o.depth, o.keys) if o.is_turned else (o.keys, o.depth), o.dtype)
        values = k.argument("v", (o.keys, o.width), o.dtype)
        outs = {"y": k.argument("y", (total, o.width), "f32")}
        if o.results != "quotient" or not o.has_mix:
            outs |= {name: k.argument(name, (total, 1), "f32") for name in ("top", "total")}
        bias = k.argument("bias", (total, o.keys), "f32") if o.mask == "loaded" else None
        trace = k.argument("trace", (o.keys, total), "f32") if o.broken == "stored" else None
        mine = k.tile_id() * o.rows
        queries = q[mine : mine + o.rows, :].load()
        column = (o.rows,) if o.is_flat else (o.rows, 1)
        top, sums = k.full(column, o.start, "f32"), k.zeros(column, "f32")
        mix = k.zeros((o.rows, o.width), "f32")

        def along(value, of):
            return value.reshape(o.rows, 1) if o.is_flat else value

        def either(one, other):
            return (other, one) if o.is_swapped else (one, other)

        def plus(one, other):
            a, b = either(one, other)
            return a + b

        def times(one, other):
            a, b = either(one, other)
            return a * b

        def scores(at):
            part = keys[:, at : at + o.block].load() if o.is_turned else keys[at : at + o.block, :].load().T
            found = queries @ part
            if o.dtype == "f16" and o.narrow == "f32":
                found = found.cast("f32")
            factor = 0.3 * (LOG2E if o.by_two else 1.0)
            if o.scaling == "scores":
                found = times(found, factor)
            if not o.mask:
                return found
            if bias is not None:
                return found + bias[mine : mine + o.rows, at : at + o.block].load()
            rows = (k.arange(o.rows, "i32") + k.number(mine, "i32")).reshape(o.rows, 1)
            columns = (k.arange(o.block, "i32") + k.number(at, "i32")).reshape(1, o.block)
            shown = {
                "causal": lambda: rows >= columns,
                "late": lambda: rows <= columns,
                "tail": lambda: columns < o.seen,
            }[o.mask]()
            return ktir.where(shown, found, o.hidden)

        def block(at, top, sums, mix):
            found = scores(at)
            peak = found.max(axis=1, keepdims=not o.is_flat)
            if o.scaling == "maximum":
                peak = peak * 0.3
                found = found * 0.3
            if o.broken == "other maximum":
                peak = ktir.minimum(peak, top)
            grown = ktir.maximum(*either(top, peak))
            if o.broken == "shifted maximum":
                grown = grown + 0.25
            safe, before = grown, top
            if o.guard in ("exponent", "both"):
                safe = ktir.where(ktir.equal(grown, -inf), 0.0, grown)
            if o.broken == "old maximum":
                safe = top
            below, shrinking = found - along(safe, found), before - safe
            if o.scaling == "exponent":
                below, shrinking = below * 0.3, shrinking * 0.3
            if o.broken == "other factor":
                shrinking = shrinking * 0.5
            if o.broken == "peak again":
                below = below + along(peak, found) * 0.125
            powers, alpha = ktir.exp(below), ktir.exp(shrinking)
            if o.guard in ("powers", "both"):
                alpha = ktir.where(ktir.equal(top, -inf), 0.0, alpha)
                powers = ktir.where(along(ktir.equal(grown, -inf), found), 0.0, powers)
            if o.broken == "no factor":
                alpha = alpha * 0.0 + 1.0
            if o.broken == "stored":
                trace[at : at + 1, mine : mine + o.rows] = grown.reshape(1, o.rows)
            total = powers.sum(axis=1, keepdims=not o.is_flat)
            if o.broken == "sum of squares":
                total = (powers * powers).sum(axis=1, keepdims=not o.is_flat)
            sums = plus(times(sums, alpha), total)
            weights = powers.cast(o.narrow) if o.narrow != "f32" else powers
            part = values[at : at + o.block, :].load()
            if o.narrow == "f32" and o.dtype != "f32":
                part = part.cast("f32")
            if o.twice:
                part = part * part
            product = weights @ part
            if o.broken == "normalised":
                product = product / along(sums, product)
            mix = plus(times(mix, along(alpha, mix)), product)
            if o.broken == "narrow sums":
                mix = mix.cast("f16").cast("f32")
            return grown, sums, mix

        size = (o.keys - o.first) // o.parts
        for number in range(o.parts):
            low = o.first + number * size
            high = (mine + o.rows) if o.is_bound else low + size
            carried = {"top": top, "sums": sums, **({"mix": mix} if o.has_mix else {})}
            with k.loop(low, high, o.block, **carried) as loop:
                now = block(loop.index, loop.top, loop.sums, loop.mix if o.has_mix else mix)
                loop.top, loop.sums = now[:2]
                if o.has_mix:
                    loop.mix = now[2]
            top, sums = loop.top, loop.sums
            mix = loop.mix if o.has_mix else mix
        if o.has_mix:
            outs["y"][mine : mine + o.rows, :] = mix if o.results == "all" else mix / along(sums, mix)
        else:
            outs["y"][mine : mine + o.rows, :] = queries[:, : o.width].cast("f32") * 1.0
        if "top" in outs:
            last = top + ktir.log(sums) if o.results == "logsum" else top
            outs["top"][mine : mine + o.rows, :] = last.reshape(o.rows, 1)
            outs["total"][mine : mine + o.rows, :] = sums.reshape(o.rows, 1)
    if not o.by_two:
        return k.kernel
    return Kernel(k.kernel.text.replace("math.exp ", "math.exp2 "))


@dataclass(frozen=True)
class Causal:
    """Causal attention of `heads`; a tile owns length/parts queries of one and walks its keys

    - "whole": all at once
    - "all": in blocks, all of them
    - "own": in blocks, up to its last query
    - "rows": as "own" for every `row_block` of its queries
    - "halves": in blocks without a mask up to its first query, then with a mask
    """

    way: str
    heads: int = 2
    length: int = 24
    width: int = 8
    parts: int = 3
    block: int = 4
    row_block: int = 4
    hidden: float = -inf
    is_updating: bool = False
    """The result is stored behind the values, in the same buffer."""


def causal(o: Causal) -> Kernel:
    """y = softmax(q kT / sqrt(width), columns beyond the row hidden) v."""
    rows, total = o.length // o.parts, o.heads * o.length
    with ktir.kernel("causal", grid=[o.heads * o.parts]) as k:
        q = k.argument("q", (total, o.width), "f16")
        keys = k.argument("k", (total + o.block, o.width), "f16")
        values = k.argument("v", (2 * total + o.block, o.width), "f16")
        y = values if o.is_updating else k.argument("y", (total, o.width), "f16")
        part, first = k.tile_id() % o.parts, (k.tile_id() // o.parts) * o.length

        def scores(row, size, at, columns, is_masked):
            found = (
                q[first + row : first + row + size, :].load()
                @ keys[first + at : first + at + columns, :].load().T
            )
            found = found * o.width**-0.5
            if not is_masked:
                return found
            mine = (k.arange(size, "i32") + k.number(row, "i32")).reshape(size, 1)
            theirs = (k.arange(columns, "i32") + k.number(at, "i32")).reshape(1, columns)
            return ktir.where(mine >= theirs, found, o.hidden)

        def mixed(powers, at, columns):
            return powers.cast("f16") @ values[first + at : first + at + columns, :].load()

        def attend(row, size, *spans):
            column = (size, 1)
            kept = {
                "top": k.full(column, -1e30, "f32"),
                "total": k.zeros(column, "f32"),
                "mix": k.zeros((size, o.width), "f32"),
            }
            for low, high, is_masked in spans:
                with k.loop(low, high, o.block, **kept) as loop:
                    found = scores(row, size, loop.index, o.block, is_masked)
                    top = ktir.maximum(loop.top, found.max(axis=1, keepdims=True))
                    alpha, powers = ktir.exp(loop.top - top), ktir.exp(found - top)
                    loop.total = loop.total * alpha + powers.sum(axis=1, keepdims=True)
                    loop.mix = loop.mix * alpha + mixed(powers, loop.index, o.block)
                    loop.top = top
                kept = {"top": loop.top, "total": loop.total, "mix": loop.mix}
            store(row, size, kept["mix"] / kept["total"])

        def store(row, size, result):
            at = first + row + (total + o.block if o.is_updating else 0)
            y[at : at + size, :] = result.cast("f16")

        own = part * rows
        if o.way == "whole":
            found = scores(own, rows, 0, o.length, True)
            powers = ktir.exp(found - found.max(axis=1, keepdims=True))
            store(own, rows, mixed(powers, 0, o.length) / powers.sum(axis=1, keepdims=True))
        elif o.way == "rows":
            with k.loop(0, rows, o.row_block) as outer:
                at = own + outer.index
                attend(at, o.row_block, (0, at + o.row_block, True))
        elif o.way == "halves":
            attend(own, rows, (0, own, False), (own, own + rows, True))
        else:
            attend(own, rows, (0, o.length if o.way == "all" else own + rows, True))
    return k.kernel
