"""Random KTIR kernels: chains of pointwise, broadcast, reduction and matmul statements in any order."""

from __future__ import annotations

import random

from benchmarks.kernels.text import Text, part_count, tensor

Value = tuple[str, tuple[int, ...]]
UNARY = {
    "tanh": ["%out = math.tanh %in0 : {t}"],
    "half": ["%h = arith.constant 0.5 : {t}", "%out = arith.mulf %in0, %h : {t}"],
    "exp": [
        "%m = arith.constant 1.0 : {t}",
        "%c = arith.minimumf %in0, %m : {t}",
        "%out = math.exp %c : {t}",
    ],
    "abs": ["%out = math.absf %in0 : {t}"],
    "relu": ["%z = arith.constant 0.0 : {t}", "%out = arith.maximumf %in0, %z : {t}"],
    "clip": [
        "%z = arith.constant 0.25 : {t}",
        "%c = arith.cmpf ogt, %in0, %z : {t}",
        "%out = arith.select %c, %z, %in0 : {t}",
    ],
}
BINARY = ["arith.addf", "arith.subf", "arith.maximumf", "arith.mulf"]
COMBINERS = {"arith.addf": "0.0", "arith.maximumf": "0xFF800000", "arith.minimumf": "0x7F800000"}


def chain(seed: int) -> tuple[str, list[str]]:
    """(KTIR text, statement kinds) of a random kernel: 2 to 8 statements over an f16 or f32 matrix of
    awkward extents.
    """
    rng = random.Random(seed)
    rows = rng.choice([1, 3, 17, 63, 64, 96])
    columns = rng.choice([1, 7, 33, 64, 129, 300])
    cores = rng.choice([1, 2, 5, 32])
    dtype = rng.choice(["f16", "f32"])
    count = rng.randint(2, 8)
    t = Text()
    views: list[str] = []
    kinds: list[str] = []

    def argument(shape: tuple[int, ...]) -> object:
        name = f"a{len(views)}"
        views.append(name)
        return t.view(name, shape, dtype)

    def build(first: str, size: int) -> None:
        maker = _Chain(t, rng_copy(), argument, first, size, rows, columns, dtype)
        maker.run(count)
        kinds[:] = maker.kinds

    state = rng.getstate()

    def rng_copy() -> random.Random:
        fresh = random.Random()
        fresh.setstate(state)
        views.clear()
        return fresh

    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    parts = part_count(rows, cores)
    t.split(rows, parts, tile, build)
    args = ", ".join(f"%{name}: index" for name in views)
    return t.module("chain", args, (parts,), f"// random chain {seed}: {' '.join(kinds)}"), kinds


class _Chain:
    """Writes statements one after the other; every value it holds is [size, c], [size] or [c]."""

    def __init__(self, t, rng, argument, first, size, rows, columns, dtype):  # type: ignore[no-untyped-def]
        self.t, self.rng, self.argument = t, rng, argument
        self.first, self.size, self.rows, self.dtype = first, size, rows, dtype
        self.kinds: list[str] = []
        self.current = self._load(columns)

    def run(self, count: int) -> None:
        for _ in range(count):
            kind = self.rng.choice(["pointwise", "binary", "broadcast", "reduction", "matmul", "columns"])
            self.kinds.append(kind)
            getattr(self, f"_{kind}")()
        name, shape = self.current
        out = self.argument((self.rows, shape[1]))
        self.t.store(name, out, [self.first, self.t.index(0)], shape)

    def _load(self, columns: int) -> Value:
        shape = (self.size, columns)
        view = self.argument((self.rows, columns))
        return self.t.load(view, [self.first, self.t.index(0)], shape), shape

    def _body(self, lines: list[str]) -> list[str]:
        return [line.format(t=self.dtype) for line in lines]

    def _pointwise(self) -> None:
        name, shape = self.current
        body = self._body(UNARY[self.rng.choice(sorted(UNARY))])
        self.current = self.t.generic([(name, shape, self.dtype, None)], shape, self.dtype, body), shape

    def _binary(self) -> None:
        name, shape = self.current
        other, _ = self._load(shape[1])
        op = self.rng.choice(BINARY)
        ins = [(name, shape, self.dtype, None), (other, shape, self.dtype, None)]
        self.current = (
            self.t.generic(ins, shape, self.dtype, [f"%out = {op} %in0, %in1 : {self.dtype}"]),
            shape,
        )

    def _broadcast(self) -> None:
        name, shape = self.current
        row = self.t.load(self.argument((shape[1],)), [self.t.index(0)], (shape[1],))
        ins = [(name, shape, self.dtype, None), (row, (shape[1],), self.dtype, "d1")]
        self.current = (
            self.t.generic(ins, shape, self.dtype, [f"%out = arith.addf %in0, %in1 : {self.dtype}"]),
            shape,
        )

    def _reduction(self) -> None:
        self._reduce(1, "d0")

    def _columns(self) -> None:
        self._reduce(0, "d1")

    def _reduce(self, dim: int, kept: str) -> None:
        """Reduce over a dim and bring the result back in: x - r, scaled for a sum."""
        name, shape = self.current
        combiner = self.rng.choice(sorted(COMBINERS))
        left = (shape[1 - dim],)
        init = self.t.constant(COMBINERS[combiner], "f32", f"%init_{combiner[6:]}")
        wide = self._wide(name, shape)
        start, ty = self.t.fill(init, left, "f32"), tensor(left, "f32")
        total = self.t.let(
            f"linalg.reduce {{ {combiner} }} ins({wide} : {tensor(shape, 'f32')}) outs({start} : {ty}) "
            f"dimensions = [{dim}]",
            "r",
        )
        scale = 1.0 / shape[dim] if combiner == "arith.addf" else 0.5
        cast = (
            f"%out = arith.truncf %d : f32 to {self.dtype}"
            if self.dtype == "f16"
            else "%out = arith.addf %d, %z : f32"
        )
        body = [
            f"%s = arith.constant {scale:.9f} : f32",
            "%z = arith.constant 0.0 : f32",
            "%p = arith.mulf %in1, %s : f32",
            "%d = arith.subf %in0, %p : f32",
            cast,
        ]
        ins = [(wide, shape, "f32", None), (total, left, "f32", kept)]
        self.current = self.t.generic(ins, shape, self.dtype, body), shape

    def _wide(self, name: str, shape: tuple[int, ...]) -> str:
        if self.dtype == "f32":
            return name
        return self.t.let(f"arith.extf {name} : {tensor(shape, 'f16')} to {tensor(shape, 'f32')}", "w")

    def _matmul(self) -> None:
        name, (size, k) = self.current
        n = self.rng.choice([1, 5, 64, 130])
        weights = self.t.load(self.argument((k, n)), [self.t.index(0), self.t.index(0)], (k, n))
        zero = self.t.constant("0.0", "f32", "%init_addf")
        start, out = self.t.fill(zero, (size, n), "f32"), tensor((size, n), "f32")
        product = self.t.let(
            f"linalg.matmul ins({name}, {weights} : {tensor((size, k), self.dtype)}, "
            f"{tensor((k, n), self.dtype)}) "
            f"outs({start} : {out}) -> {out}",
            "p",
        )
        body = [f"%s = arith.constant {1.0 / (1.0 + k**0.5):.9f} : f32", "%d = arith.mulf %in0, %s : f32"]
        body.append(
            "%out = arith.truncf %d : f32 to f16" if self.dtype == "f16" else "%out = math.tanh %d : f32"
        )
        self.current = (
            self.t.generic([(product, (size, n), "f32", None)], (size, n), self.dtype, body),
            (size, n),
        )
