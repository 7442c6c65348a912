"""Kernels in f32 throughout, as the second architecture's published runs have them."""

from __future__ import annotations

from benchmarks.kernels.text import Text, tensor

LOW, ZERO = "0xFF800000", "0.0"
Shape = tuple[int, ...]


def gemm(m: int, n: int, k: int) -> str:
    """c = a b; a [m, k], b [k, n], c [m, n] f32, one tile."""
    t = Text()
    a, b, c = t.view("a", (m, k), "f32"), t.view("b", (k, n), "f32"), t.view("c", (m, n), "f32")
    at = [t.index(0), t.index(0)]
    t.store(_matmul(t, t.load(a, at, (m, k)), t.load(b, at, (k, n)), m, n, k), c, at, (m, n))
    return _module(t, "gemm", "a b c", 1)


def softmax(rows: int, columns: int) -> str:
    """y = softmax(x) along the columns; [rows, columns] f32, one tile."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f32"), t.view("y", (rows, columns), "f32")
    at, part = [t.index(0), t.index(0)], (rows, columns)
    weights, total = _weights(t, t.load(x, at, part), part)
    t.store(_by_row(t, ["%out = arith.divf %in0, %in1 : f32"], weights, total, part), y, at, part)
    return _module(t, "softmax", "x y", 1)


def layernorm(rows: int, columns: int) -> str:
    """y = (x - mean) * rsqrt(variance + 1e-5) * w + b; x [rows, columns], w, b [columns] f32, one tile."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f32"), t.view("y", (rows, columns), "f32")
    w, b = t.view("w", (columns,), "f32"), t.view("b", (columns,), "f32")
    zero, count = t.constant(ZERO, "f32", "%zero"), t.constant(f"{float(columns)}", "f32", "%count")
    eps = t.constant("1.0e-05", "f32", "%eps")
    at, part, row = [t.index(0), t.index(0)], (rows, columns), (columns,)
    value = t.load(x, at, part)
    total = t.reduce_rows("arith.addf", value, part, zero)
    mean = t.generic(
        [(total, (rows,), "f32", None)], (rows,), "f32", [f"%out = arith.divf %in0, {count} : f32"]
    )
    centred = _by_row(t, ["%out = arith.subf %in0, %in1 : f32"], value, mean, part)
    square = t.generic([(centred, part, "f32", None)], part, "f32", ["%out = arith.mulf %in0, %in0 : f32"])
    spread = t.reduce_rows("arith.addf", square, part, zero)
    body = [
        f"%m = arith.divf %in0, {count} : f32",
        f"%v = arith.addf %m, {eps} : f32",
        "%out = math.rsqrt %v : f32",
    ]
    scale = t.generic([(spread, (rows,), "f32", None)], (rows,), "f32", body)
    weight, bias = t.load(w, [t.index(0)], row), t.load(b, [t.index(0)], row)
    ins = [(centred, part, "f32", None), (scale, (rows,), "f32", "d0")]
    ins += [(weight, row, "f32", "d1"), (bias, row, "f32", "d1")]
    body = [
        "%n = arith.mulf %in0, %in1 : f32",
        "%p = arith.mulf %n, %in2 : f32",
        "%out = arith.addf %p, %in3 : f32",
    ]
    t.store(t.generic(ins, part, "f32", body), y, at, part)
    return _module(t, "layernorm", "x w b y", 1)


def attention(heads: int, length: int, width: int) -> str:
    """y = softmax(q kt / sqrt(width)) v of every head, f32, a head a tile; scaled before, divided after the
    products; q, v, y [heads * length, width], kt [heads * width, length] (keys as columns).
    """
    t = Text()
    q, v, y = (t.view(arg, (heads * length, width), "f32") for arg in ("q", "v", "y"))
    kt = t.view("kt", (heads * width, length), "f32")
    scale = t.constant(f"{width**-0.5}", "f32", "%scale")
    tile, zero = t.let("ktdp.get_compute_tile_id : index", "tile"), t.index(0)
    row = t.let(f"arith.muli {tile}, {t.index(length)} : index", "row")
    key = t.let(f"arith.muli {tile}, {t.index(width)} : index", "key")
    narrow, part = (length, width), (length, length)
    body = [f"%out = arith.mulf %in0, {scale} : f32"]
    queries = t.generic([(t.load(q, [row, zero], narrow), narrow, "f32", None)], narrow, "f32", body)
    scores = _matmul(t, queries, t.load(kt, [key, zero], (width, length)), length, length, width)
    weights, total = _weights(t, scores, part)
    mixed = _matmul(t, weights, t.load(v, [row, zero], narrow), length, width, length)
    t.store(_by_row(t, ["%out = arith.divf %in0, %in1 : f32"], mixed, total, narrow), y, [row, zero], narrow)
    return _module(t, "attention", "q kt v y", heads)


def _matmul(t: Text, a: str, b: str, m: int, n: int, k: int) -> str:
    start, ty = t.fill(t.constant(ZERO, "f32", "%zero"), (m, n), "f32"), tensor((m, n), "f32")
    types = f"{tensor((m, k), 'f32')}, {tensor((k, n), 'f32')}"
    return t.let(f"linalg.matmul ins({a}, {b} : {types}) outs({start} : {ty}) -> {ty}", "mm")


def _weights(t: Text, x: str, part: Shape) -> tuple[str, str]:
    """(exp(x - the row's largest), its row sums)."""
    low, zero = t.constant(LOW, "f32", "%low"), t.constant(ZERO, "f32", "%zero")
    top = t.reduce_rows("arith.maximumf", x, part, low)
    e = _by_row(t, ["%d = arith.subf %in0, %in1 : f32", "%out = math.exp %d : f32"], x, top, part)
    return e, t.reduce_rows("arith.addf", e, part, zero)


def _by_row(t: Text, body: list[str], x: str, s: str, part: Shape) -> str:
    return t.generic([(x, part, "f32", None), (s, part[:1], "f32", "d0")], part, "f32", body)


def _module(t: Text, name: str, args: str, tiles: int) -> str:
    signature = ", ".join(f"%{arg}: index" for arg in args.split())
    return t.module(name, signature, (tiles,), f"// {name}, f32.", "")
