"""Blocks of a transformer, f16 with f32 sums: attention without a mask, the first half of a gated MLP."""

from __future__ import annotations

from benchmarks.kernels.contractions import Grid, over_tiles, product_tile
from benchmarks.kernels.text import Text, tensor

LOW, ZERO = "0xFF800000", "0.0"
Shape = tuple[int, ...]


def attention(heads: int, length: int, width: int, parts: int = 4) -> str:
    """y = softmax(q kt / sqrt(width)) v of every head; a tile owns length/parts queries of a head.

    q, v, y [heads * length, width], kt [heads * width, length] (keys as columns), f16; scores and sums f32,
    the weights rounded to f16 before the second product, the quotient after it.
    """
    t = Text()
    q, v, y = (t.view(arg, (heads * length, width), "f16") for arg in ("q", "v", "y"))
    kt = t.view("kt", (heads * width, length), "f16")
    scale = t.constant(f"{width**-0.5}", "f32", "%scale")
    low, zero = t.constant(LOW, "f32", "%low"), t.constant(ZERO, "f32", "%zero")
    t.op("%head, %part = ktdp.get_compute_tile_id : index, index")
    rows = length // parts
    first = t.let(f"arith.muli %head, {t.index(length)} : index", "first")
    row = t.let(f"arith.addi {first}, {t.let(f'arith.muli %part, {t.index(rows)} : index')} : index", "row")
    key, at = t.let(f"arith.muli %head, {t.index(width)} : index", "key"), t.index(0)
    part, narrow = (rows, length), (rows, width)
    scores = _matmul(
        t, t.load(q, [row, at], narrow), t.load(kt, [key, at], (width, length)), rows, length, width
    )
    scaled = t.generic([(scores, part, "f32", None)], part, "f32", [f"%out = arith.mulf %in0, {scale} : f32"])
    top = t.reduce_rows("arith.maximumf", scaled, part, low)
    body = ["%d = arith.subf %in0, %in1 : f32", "%out = math.exp %d : f32"]
    e = t.generic([(scaled, part, "f32", None), (top, (rows,), "f32", "d0")], part, "f32", body)
    total = t.reduce_rows("arith.addf", e, part, zero)
    weights = t.let(f"arith.truncf {e} : {tensor(part, 'f32')} to {tensor(part, 'f16')}", "w")
    mixed = _matmul(t, weights, t.load(v, [first, at], (length, width)), rows, width, length)
    body = ["%n = arith.divf %in0, %in1 : f32", "%out = arith.truncf %n : f32 to f16"]
    ins = [(mixed, narrow, "f32", None), (total, (rows,), "f32", "d0")]
    t.store(t.generic(ins, narrow, "f16", body), y, [row, at], narrow)
    signature = ", ".join(f"%{arg}: index" for arg in ("q", "kt", "v", "y"))
    return t.module("attention", signature, (heads, parts), "// Attention of heads, f16.")


def gated(m: int, k: int, n: int, grid: Grid = (4, 8), k_step: int | None = None) -> str:
    """h = silu(x g) * (x u); x [m, k], g and u [k, n], h [m, n], f16."""
    t = Text()
    x, h = t.view("x", (m, k), "f16"), t.view("h", (m, n), "f16")
    g, u = t.view("g", (k, n), "f16"), t.view("u", (k, n), "f16")
    one = t.constant("1.0", "f32", "%one")

    def build(row: str, rows: int, column: str, columns: int) -> None:
        part = (rows, columns)
        sums = [product_tile(t, x, w, (row, rows), (column, columns), k_step) for w in (g, u)]
        body = [
            "%n = arith.negf %in0 : f32",
            "%e = math.exp %n : f32",
            f"%d = arith.addf %e, {one} : f32",
            "%s = arith.divf %in0, %d : f32",
            "%p = arith.mulf %s, %in1 : f32",
            "%out = arith.truncf %p : f32 to f16",
        ]
        ins = [(s, part, "f32", None) for s in sums]
        t.store(t.generic(ins, part, "f16", body), h, [row, column], part)

    comment = f"// h = silu(x g) * (x u); x: [{m}, {k}], g, u: [{k}, {n}], h: [{m}, {n}], f16."
    return over_tiles(t, "gated", "x g u h", (m, n), grid, build, comment)


def _matmul(t: Text, a: str, b: str, m: int, n: int, k: int) -> str:
    start, ty = t.fill("%zero", (m, n), "f32"), tensor((m, n), "f32")
    types = f"{tensor((m, k), 'f16')}, {tensor((k, n), 'f16')}"
    return t.let(f"linalg.matmul ins({a}, {b} : {types}) outs({start} : {ty}) -> {ty}", "mm")
