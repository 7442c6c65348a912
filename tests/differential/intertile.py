"""Random kernels whose tiles exchange values: group sums, values of one tile for all, shifts round a ring."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from benchmarks.kernels.text import Shape, Text, tensor

COMBINERS = {
    "f32": ["arith.addf", "arith.maximumf", "arith.minimumf", "folded"],
    "f16": ["arith.maximumf", "arith.minimumf"],
    "i32": ["arith.addi", "arith.maxsi", "arith.andi"],
}
KINDS = ("all", "one", "shift", "broadcast")


@dataclass(frozen=True)
class Exchanges:
    """`groups` groups of `members` tiles with tensors of `shape`; the steps run `trips` times."""

    groups: int
    members: int
    shape: Shape
    dtype: str
    trips: int
    steps: tuple[tuple[str, int, str], ...]
    """(kind, distance or member, combiner) of every exchange."""

    @property
    def text(self) -> str:
        """The kernel: every tile loads its part of x and stores its part of y."""
        return _Writer(self).text()


def draw(seed: int) -> Exchanges:
    """The kernel of a seed."""
    r = Random(seed)
    dtype = r.choice(["f32", "f32", "f16", "i32"])
    members = r.choice([2, 3, 4, 5, 8])
    steps = tuple(
        (r.choice(KINDS), r.randrange(members), r.choice(COMBINERS[dtype]))
        for _ in range(r.choice([1, 1, 2, 3]))
    )
    shape = r.choice([(1, 64), (4, 16), (3, 7), (16, 40), (1, 130)])
    return Exchanges(r.choice([1, 2, 3]), members, shape, dtype, r.choice([0, 0, 2, 3]), steps)


class _Writer:
    def __init__(self, made: Exchanges) -> None:
        self.made, self.t = made, Text()
        self.kind = tensor(made.shape, made.dtype)
        n = made.members
        self.all = f"affine_set<(t)[g] : (t - g * {n} >= 0, g * {n} + {n - 1} - t >= 0)>"
        groups = f"affine_set<(g) : (g >= 0, -g + {made.groups - 1} >= 0)>"
        self.future = f"<({self.kind}), groups = {groups}>"

    def text(self) -> str:
        made, t = self.made, self.t
        rows, columns = made.shape
        tiles = made.groups * made.members
        x = t.view("x", (tiles * rows, columns), made.dtype)
        y = t.view("y", (tiles * rows, columns), made.dtype)
        self.tile = t.let("ktdp.get_compute_tile_id : index", "tile")
        first = t.let(f"arith.muli {self.tile}, {t.index(rows)} : index", "first")
        value = t.load(x, [first, t.index(0)], made.shape)
        if made.trips:
            bounds = f"{t.index(0)} to {t.index(made.trips)} step {t.index(1)}"
            t.op(f"%after = scf.for %i = {bounds} iter_args(%before = {value}) -> ({self.kind}) {{")
            t.op(f"scf.yield {self.steps('%before')} : {self.kind}")
            t.op("}")
            value = "%after"
        else:
            value = self.steps(value)
        t.store(value, y, [first, t.index(0)], made.shape)
        return t.module("k", "%x: index, %y: index", (tiles,), "// exchanges")

    def steps(self, value: str) -> str:
        """The value after every exchange, each mixed with the tile's own."""
        for kind, distance, combiner in self.made.steps:
            if kind == "all":
                other = self.reduced(value, self.all, combiner)
            elif kind == "one":
                other = self.reduced_to_one(value, distance, combiner)
            else:
                other = self.consumed(value, kind, distance)
            value = self.mixed(value, other)
        return value

    def mixed(self, value: str, other: str) -> str:
        dtype, shape = self.made.dtype, self.made.shape
        body = (
            ["%a = arith.xori %in0, %in1 : i32", "%out = arith.addi %a, %in1 : i32"]
            if dtype == "i32"
            else [
                f"%quarter = arith.constant 0.25 : {dtype}",
                f"%d = arith.subf %in0, %in1 : {dtype}",
                f"%out = arith.mulf %d, %quarter : {dtype}",
            ]
        )
        return self.t.generic([(value, shape, dtype, None), (other, shape, dtype, None)], shape, dtype, body)

    def produced(self, value: str, producers: str) -> str:
        t = self.t
        future = t.let(
            f"ktdp.inter_tile_produce producer_tiles_per_group = {producers} -> {self.future} {{", "f"
        )
        t.op("^bb0(%group: index):")
        t.op(f"ktdp.yield_partial {value} : {self.kind}")
        t.op("}")
        return future

    def reduced(self, value: str, consumers: str, combiner: str) -> str:
        t, kind, dtype = self.t, self.kind, self.made.dtype
        future = self.produced(value, self.all)
        zero = t.constant("0" if dtype == "i32" else "0.0", dtype, "%zero")
        zeros = t.fill(zero, self.made.shape, dtype)
        total = t.let(
            f"ktdp.inter_tile_reduce({future}) consumer_tiles_per_group = {consumers}, "
            f"identity({zeros} : {kind}) : {self.future} -> {kind} {{",
            "r",
        )
        t.op(f"^bb0(%left: {kind}, %right: {kind}):")
        if combiner == "folded":  # the maximum of absolute values, by several ops
            t.op(f"%larger = arith.maximumf %left, %right : {kind}")
            t.op(f"%least = arith.minimumf %left, %right : {kind}")
            t.op(f"%minus = arith.negf %least : {kind}")
            t.op(f"%both = arith.maximumf %larger, %minus : {kind}")
        else:
            t.op(f"%both = {combiner} %left, %right : {kind}")
        t.op(f"ktdp.yield_reduced %both : {kind}")
        t.op("}")
        return total

    def reduced_to_one(self, value: str, member: int, combiner: str) -> str:
        """The total on one tile of the group, the own value on the others."""
        t, n = self.t, self.made.members
        total = self.reduced(value, f"affine_set<(t)[g] : (t - g * {n} - {member} == 0)>", combiner)
        place = t.let(f"arith.remui {self.tile}, {t.index(n)} : index")
        here = t.let(f"arith.cmpi eq, {place}, {t.index(member)} : index")
        chosen = t.let(f"scf.if {here} -> ({self.kind}) {{", "c")
        t.op(f"scf.yield {total} : {self.kind}")
        t.op("} else {")
        t.op(f"scf.yield {value} : {self.kind}")
        t.op("}")
        return chosen

    def consumed(self, value: str, kind: str, distance: int) -> str:
        n = self.made.members
        if kind == "broadcast":
            future = self.produced(value, f"affine_set<(t)[g] : (t - g * {n} - {distance} == 0)>")
            sources = ""
        else:
            future = self.produced(value, self.all)
            source = f"p - (c floordiv {n}) * {n} - (c + {distance}) mod {n} == 0"
            sources = f", producer_dependency_per_consumer = affine_set<(p)[c] : ({source})>"
        return self.t.let(
            f"ktdp.inter_tile_consume({future}) consumer_tiles_per_group = {self.all}{sources} "
            f": {self.future} -> {self.kind}"
        )
