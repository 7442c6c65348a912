"""Causal attention as PyTorch defines it: two products and a softmax per head, a head a tile."""

from __future__ import annotations

from benchmarks.kernels.text import Text, tensor

LOWEST = "0xFF800000"


def attention(heads: int, length: int, depth: int, kv_heads: int | None = None) -> str:
    """y = softmax(mask(q k^T / sqrt(depth))) v for every head; q, y [heads, length, depth], k, v [kv_heads,
    length, depth], f16; scores and sums f32, weights rounded to f16.
    """
    t = Text()
    kv_heads = kv_heads or heads
    own, theirs = (heads, length, depth), (kv_heads, length, depth)
    q, k, v = t.view("q", own, "f16"), t.view("k", theirs, "f16"), t.view("v", theirs, "f16")
    y = t.view("y", own, "f16")
    zero, low = t.constant("0.0", "f32", "%zero"), t.constant(LOWEST, "f32", "%low")
    scale = t.constant(f"{depth**-0.5!r}", "f32", "%scale")
    head = t.let("ktdp.get_compute_tile_id : index", "head")
    group = t.let(f"arith.divui {head}, {t.index(heads // kv_heads)} : index", "group")
    rows, square = (length, depth), (length, length)

    def load(view: object, at: str) -> str:
        part = t.load(view, [at, t.index(0), t.index(0)], (1, *rows))  # type: ignore[arg-type]
        whole, flat = tensor((1, *rows), "f16"), tensor(rows, "f16")
        return t.let(f"tensor.collapse_shape {part} [[0, 1], [2]] : {whole} into {flat}")

    queries, keys, values = load(q, head), load(k, group), load(v, group)
    turned, narrow, wide = tensor((depth, length), "f16"), tensor(rows, "f16"), tensor(square, "f32")
    empty = t.empty((depth, length), "f16")
    keys = t.let(f"linalg.transpose ins({keys} : {narrow}) outs({empty} : {turned}) permutation = [1, 0]")
    start = t.fill(zero, square, "f32")
    scores = t.let(
        f"linalg.matmul ins({queries}, {keys} : {narrow}, {turned}) outs({start} : {wide}) -> {wide}"
    )
    body = [
        f"%scaled = arith.mulf %in0, {scale} : f32",
        "%row = linalg.index 0 : index",
        "%column = linalg.index 1 : index",
        "%seen = arith.cmpi sge, %row, %column : index",
        f"%out = arith.select %seen, %scaled, {low} : f32",
    ]
    masked = t.generic([(scores, square, "f32", None)], square, "f32", body)
    top = t.reduce_rows("arith.maximumf", masked, square, low)
    body = ["%d = arith.subf %in0, %in1 : f32", "%out = math.exp %d : f32"]
    ins = [(masked, square, "f32", None), (top, (length,), "f32", "d0")]
    powers = t.generic(ins, square, "f32", body)
    total = t.reduce_rows("arith.addf", powers, square, zero)
    body = ["%part = arith.divf %in0, %in1 : f32", "%out = arith.truncf %part : f32 to f16"]
    ins = [(powers, square, "f32", None), (total, (length,), "f32", "d0")]
    weights = t.generic(ins, square, "f16", body)
    start, product = t.fill(zero, rows, "f32"), tensor(rows, "f32")
    operands = f"{weights}, {values} : {tensor(square, 'f16')}, {narrow}"
    mixed = t.let(f"linalg.matmul ins({operands}) outs({start} : {product}) -> {product}")
    rounded = t.let(f"arith.truncf {mixed} : {product} to {narrow}")
    whole = tensor((1, *rows), "f16")
    head_result = t.let(
        f"tensor.expand_shape {rounded} [[0, 1], [2]] output_shape [1, {length}, {depth}] "
        f": {narrow} into {whole}"
    )
    t.store(head_result, y, [head, t.index(0), t.index(0)], (1, *rows))
    comment = f"// Causal attention; q, y: {list(own)} f16, k, v: {list(theirs)} f16."
    return t.module("attention", "%q: index, %k: index, %v: index, %y: index", (heads,), comment)
