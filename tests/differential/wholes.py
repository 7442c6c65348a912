"""Random kernels of whole numbers: whatever is fused, tiled or reordered, all engines give the very same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from headrace import ktir
from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.runtime.kernel import Kernel

Shape = tuple[int, ...]
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 40, 64, 65, 96, 100, 130, 200, 260)
GRIDS = ([1], [1], [2], [3], [4], [5], [2, 2], [8], [3, 2], [40])
EXACT = {"f32": 2**22, "f16": 1024, "bf16": 128, "i32": 2**24, "i8": 100}
"""Whole numbers up to these are what they are in a type, and so are their sums."""

STEPS = ("load", "unary", "binary", "binary", "broadcast", "mixed", "nearby", "reduce", "reduce", "matmul",
         "matmul", "transpose", "reshape", "slice", "mask", "cast", "store", "loop", "when")  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A tensor of the kernel and the largest magnitude in it."""

    value: Any
    most: int

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        found: Shape = self.value.shape
        return found

    @property
    def dtype(self) -> str:
        """The element type."""
        return str(self.value.dtype)


class Wholes:
    """The kernel of a seed; `inputs` are the arrays it takes, `steps` what it does, for messages."""

    def __init__(self, seed: int) -> None:
        self.r, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.inputs: dict[str, np.ndarray[Any, Any]] = {}
        self.steps: list[str] = []
        self.known: list[Number] = []
        self.loop: tuple[Any, int] | None = None
        self.depth = 0
        grid = self.r.choice(GRIDS)
        self.tiles = prod(grid)
        with ktir.kernel("wholes", grid=grid) as self.k:
            self.tile = self.k.tile_id(0) + (self.k.tile_id(1) * grid[0] if len(grid) > 1 else 0)
            self.known.append(self.load(self.shape(), self.r.choice(["f16", "f32", "bf16", "i32"])))
            for _ in range(self.r.randint(2, 9)):
                self.step()
            self.store(self.pick())
        self.kernel: Kernel = self.k.kernel

    # ---- arguments ------------------------------------------------------------------------------------
    def argument(self, shape: Shape, dtype: str, below: int = 0, strides: Sequence[int] | None = None) -> Any:
        """A new argument: small whole numbers, or indices below a number, each once where they suffice."""
        name = f"a{len(self.inputs)}"
        count = prod(shape)
        if below:
            once = self.numbers.permutation(below)[:count]
            found = once if count <= below else self.numbers.integers(0, below, count)
        else:
            found = self.numbers.integers(-3, 4, count)
        array = found.astype(numpy_dtype(dtype)).reshape(shape if strides is None else -1)
        self.inputs[name] = array.view(np.uint16) if dtype == "bf16" else array
        return self.k.argument(name, shape, dtype, strides)

    def shape(self, rank: int | None = None) -> Shape:
        """A random shape of moderate size."""
        while True:
            found = tuple(self.r.choice(EXTENTS) for _ in range(rank or self.r.choice([1, 2, 2, 2, 3])))
            if prod(found) <= 6000 and prod(found) * self.tiles <= 40000:
                return found

    def load(self, shape: Shape, dtype: str) -> Number:
        """A tensor of a new argument, in one of many ways."""
        kinds = ["shared", "mine", "mine", "padded", "turned", "gather", "single", "column"]
        kind = self.r.choice(["turn", "turn", *kinds] if self.loop is not None else kinds)
        self.steps.append(f"load {kind}")
        n, rest, whole = shape[0], shape[1:], tuple(slice(0, e) for e in shape)
        at = self.tile * n
        match kind:
            case "mine":
                box = self.argument((self.tiles * n, *rest), dtype)[at : at + n]
            case "turn":
                assert self.loop is not None
                index, turns = self.loop
                box = self.argument((turns * n, *rest), dtype)[index * n : index * n + n]
            case "padded":
                before = [self.r.randint(0, 3) for _ in shape]
                ends = [b + e for b, e in zip(before, shape, strict=True)]
                wide = tuple(end + self.r.randint(0, 2) for end in ends)
                box = self.argument(wide, dtype)[tuple(map(slice, before, ends))]
            case "turned":
                order = self.r.sample(range(len(shape)), len(shape))
                strides = [prod(shape[d] for d in order[: order.index(k)]) for k in range(len(shape))]
                box = self.argument(shape, dtype, strides=strides)[whole]
            case "gather":
                rows = self.r.choice([n, 2 * n + 1, 50])
                table = self.argument((rows, *rest), dtype)
                ids = self.argument((self.tiles * n,), self.r.choice(["i32", "i64"]), rows)
                box = table[(ids[at : at + n], *whole[1:])]
            case "single":
                box = self.argument((self.tiles, *shape), dtype)[self.tile]
            case "column":
                first = self.tile * shape[-1]
                wide = self.argument((*shape[:-1], self.tiles * shape[-1]), dtype)
                box = wide[(..., slice(first, first + shape[-1]))]
            case _:
                box = self.argument(shape, dtype)[whole]
        return Number(box.load(), 3)

    def store(self, x: Number) -> None:
        """Store a tensor where no other tile and no other turn of a loop does."""
        x = self.cast(x, self.r.choice([x.dtype, x.dtype, "f16", "f32"]))
        shape, n = x.shape, x.shape[0]
        index, turns = self.loop or (0, 1)
        where, count = self.tile * turns + index, self.tiles * turns
        kind = self.r.choice(["mine", "mine", "column", "padded", "scatter"])
        self.steps.append(f"store {kind}")
        at = where * n
        if kind == "mine":
            self.argument((count * n, *shape[1:]), x.dtype)[at : at + n] = x.value
        elif kind == "column":
            first = where * shape[-1]
            place = self.argument((*shape[:-1], count * shape[-1]), x.dtype)
            place[(..., slice(first, first + shape[-1]))] = x.value
        elif kind == "padded":
            before = [self.r.randint(0, 2) for _ in shape]
            ends = [b + e for b, e in zip(before, shape, strict=True)]
            self.argument((count, *ends), x.dtype)[(where, *map(slice, before, ends))] = x.value
        else:
            rows = count * n + self.r.choice([0, 7])
            place = self.argument((rows, *shape[1:]), x.dtype)
            ids = self.argument((count * n,), "i32", rows)
            place[(ids[at : at + n], *(slice(0, e) for e in shape[1:]))] = x.value

    # ---- numbers that stay exact ------------------------------------------------------------------------
    def tame(self, x: Number, most: int) -> Number:
        """The tensor with nothing larger than `most` in it."""
        if x.most <= most:
            return x
        return Number(ktir.maximum(ktir.minimum(x.value, most), -most), most)

    def cast(self, x: Number, dtype: str) -> Number:
        """The tensor in another type, by way of f32."""
        if x.dtype == dtype:
            return x
        x = self.tame(x, EXACT[dtype])
        through = x.value.cast("f32") if dtype != "f32" and x.dtype != "f32" else x.value
        return Number(through.cast(dtype), x.most)

    def pick(self, rank: int | None = None) -> Number:
        """One of the tensors so far, one of the last ones rather."""
        found = [x for x in self.known if rank in (None, len(x.shape))]
        found = found or [self.load(self.shape(rank), "f32")]
        return self.r.choice(found[-4:] if self.r.random() < 0.7 else found)

    def both(self, a: Number, b: Number) -> Number:
        """Two tensors of one type, combined."""
        match self.r.choice(["add", "sub", "mul", "max", "min", "where"]):
            case "mul":
                a, b = self.tame(a, 8), self.tame(b, 8)
                return Number(a.value * b.value, a.most * b.most)
            case "add" | "sub" as kind:
                a, b = (self.tame(x, EXACT[a.dtype] // 2) for x in (a, b))
                return Number(a.value + b.value if kind == "add" else a.value - b.value, a.most + b.most)
            case "where":
                return Number(ktir.where(a.value < b.value, a.value, b.value), max(a.most, b.most))
            case kind:
                made = ktir.maximum if kind == "max" else ktir.minimum
                return Number(made(a.value, b.value), max(a.most, b.most))

    def reduced(self, x: Number, axes: Sequence[int], kind: str, keepdims: bool) -> Number:
        """The sum, maximum or minimum over some axes."""
        if kind != "sum":
            return Number(getattr(x.value, kind)(axis=axes, keepdims=keepdims), x.most)
        count = prod(x.shape[d] for d in axes)
        if count > EXACT[x.dtype]:
            x = self.cast(x, "f32")
        x = self.tame(x, EXACT[x.dtype] // count)
        return Number(x.value.sum(axis=axes, keepdims=keepdims), count * x.most)

    # ---- steps --------------------------------------------------------------------------------------------
    def step(self) -> None:
        """One random step; its result, if any, is known afterwards."""
        kind = self.r.choice(STEPS)
        if kind in ("loop", "when") and (self.depth > 1 or (kind == "when" and self.tiles == 1)):
            kind = "unary"
        self.steps.append(kind)
        made = getattr(self, f"_{kind}")()
        self.known += [made] if made is not None else []

    def _axes(self, a: Number) -> tuple[int, ...]:
        return tuple(sorted(self.r.sample(range(len(a.shape)), self.r.randint(1, len(a.shape)))))

    def _block(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.step()
        self.depth -= 1

    def _load(self) -> Number:
        return self.load(self.shape(), self.r.choice(["f32", "f16", "bf16", "i32"]))

    def _store(self) -> None:
        self.store(self.pick())

    def _unary(self) -> Number:
        x = self.pick()
        match self.r.choice(["neg", "abs", "half", "square", "step", "relu"]):
            case "neg":
                return Number(-x.value, x.most)
            case "abs":
                return Number(ktir.absolute(x.value), x.most)
            case "half" if is_float(x.dtype):
                return Number(ktir.floor(x.value * 0.5), x.most)
            case "square":
                x = self.tame(x, 8)
                return Number(x.value * x.value, x.most**2)
            case "step":
                return Number(ktir.where(x.value > self.r.choice([0, 1]), x.value, 2), max(2, x.most))
            case _:
                return Number(ktir.maximum(x.value, 0), x.most)

    def _binary(self) -> Number:
        a = self.pick()
        alike = [x for x in self.known if (x.shape, x.dtype) == (a.shape, a.dtype)]
        return self.both(a, self.r.choice(alike) if self.r.random() < 0.5 else self.load(a.shape, a.dtype))

    def _broadcast(self) -> Number:
        a = self.pick()
        shape = tuple(1 if self.r.random() < 0.5 else n for n in a.shape)
        if self.r.random() < 0.5:
            shape = a.shape[self.r.randrange(len(a.shape)) :]
        return self.both(a, self.load(shape, a.dtype))

    def _mixed(self) -> Number:
        a, dtype = self.pick(), self.r.choice(["f32", "f16", "bf16", "i32"])
        b = self.load(a.shape, self.r.choice(["f16", "bf16", "f32", "i32", "i8"]))
        return self.both(self.cast(a, dtype), self.cast(b, dtype))

    def _nearby(self) -> Number:
        """A tensor and its own reduction, as a softmax has."""
        a = self.cast(self.pick(), "f32")
        b = self.reduced(a, self._axes(a), self.r.choice(["sum", "max", "min"]), True)
        return self.both(self.tame(a, 1000), self.tame(b, 1000))

    def _reduce(self) -> Number:
        a = self.pick()
        kind = self.r.choice(["sum", "sum", "max", "min"])
        found = self.reduced(a, self._axes(a), kind, self.r.random() < 0.5)
        return found if found.shape else Number(found.value.reshape(1), found.most)

    def _matmul(self) -> Number:
        """A product whose right side is loaded, turned, repeated or computed."""
        dtype = self.r.choice(["f16", "f16", "bf16", "f32", "i8"])
        a = self.cast(self.tame(self.pick(rank=2), 3), dtype)
        if self.r.random() < 0.3:
            a = Number(a.value.T, a.most)
        m, k = a.shape
        n = self.r.choice([e for e in EXTENTS if e * max(k, m) <= 8000])
        match self.r.choice(["load", "turn", "repeat", "compute", "sum"]):
            case "turn":
                right = Number(self.load((n, k), dtype).value.T, 3)
            case "repeat":
                row = self.load(self.r.choice([(n,), (k, 1), (1, n)]), dtype)
                right = Number(row.value.broadcast(k, n), 3)
            case "compute":
                made = self.both(self.load((k, n), "f32"), self.load((k, 1), "f32"))
                right = self.cast(self.tame(made, 3), dtype)
            case "sum":
                made = self.reduced(self.load((k, n, 2), "f32"), (2,), self.r.choice(["sum", "max"]), False)
                right = self.cast(self.tame(made, 3), dtype)
            case _:
                right = self.load((k, n), dtype)
        return Number(a.value @ right.value, a.most * right.most * k)

    def _transpose(self) -> Number:
        a = self.pick()
        return Number(a.value.transpose(*self.r.sample(range(len(a.shape)), len(a.shape))), a.most)

    def _reshape(self) -> Number:
        a = self.pick()
        count = prod(a.shape)
        d = self.r.choice([d for d in range(1, count + 1) if count % d == 0][:12])
        return Number(a.value.reshape(*self.r.choice([(count // d, d), (d, count // d), (count,)])), a.most)

    def _slice(self) -> Number:
        a = self.pick()
        starts = [self.r.randrange(n) if self.r.random() < 0.6 else 0 for n in a.shape]
        ends = [self.r.randint(b + 1, n) if b else n for b, n in zip(starts, a.shape, strict=True)]
        return Number(a.value[tuple(map(slice, starts, ends))], a.most)

    def _mask(self) -> Number:
        """Rows against columns, as a causal mask compares them."""
        a = self.pick(rank=2)
        m, n = a.shape
        first = self.k.number(self.tile * m, "i32") if self.r.random() < 0.5 else self.r.randint(-3, 3)
        rows = (self.k.arange(m, "i32") + first).reshape(m, 1)
        columns = (self.k.arange(n, "i32") + self.r.choice([0, 5])).reshape(1, n)
        hidden = rows < columns if self.r.random() < 0.7 else rows >= columns
        return Number(ktir.where(hidden, self.r.choice([0, -7]), a.value), max(a.most, 7))

    def _cast(self) -> Number:
        return self.cast(self.pick(), self.r.choice(sorted(EXACT)))

    def _when(self) -> None:
        """Some tiles do more."""
        bound, before = self.r.randint(0, self.tiles), len(self.known)
        with self.k.when(self.tile < bound if self.r.random() < 0.5 else (self.tile % 2) < 1):
            self._block(self.r.randint(1, 3))
            self.store(self.pick())
        del self.known[before:]

    def _loop(self) -> Number | None:
        """A recurrence, or a loop that only stores; it turns as often as the tile says, or alike on all."""
        if self.loop is not None:
            return self._unary()
        turns = self.r.choice([1, 2, 3, 4])
        is_uneven = self.tiles > 1 and self.r.random() < 0.4
        high = self.tile % turns if is_uneven else turns
        start, before = self.tame(self.pick(), 50), len(self.known)
        is_carrying = self.r.random() < 0.7
        with self.k.loop(0, high, **({"sum": start.value} if is_carrying else {})) as loop:
            self.loop = (loop.index, turns)
            if is_carrying:
                self.known.append(Number(loop.sum, 50))
            self._block(self.r.randint(0, 3))
            if is_carrying:
                alike = [x for x in self.known[before:] if x.shape == start.shape]
                last = self.tame(self.cast(alike[-1], start.dtype), 50)
                loop.sum = self.tame(self.both(last, self.load(start.shape, start.dtype)), 50).value
            else:
                self.store(self.pick())
            self.loop = None
        del self.known[before:]
        return Number(loop.sum, 50) if is_carrying else None
