"""Matrix products: a 2-D grid over the result, f16 in memory, f32 accumulators."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.kernels.text import Text, View, part_count, tensor

Grid = tuple[int, int]
Build = Callable[[str, int, str, int], None]


def matmul(m: int, k: int, n: int, grid: Grid = (4, 8), k_step: int | None = None) -> str:
    """c = a b; a [m, k], b [k, n], c [m, n], f16; the K loop takes `k_step` elements and carries the sums."""
    t = Text()
    a, b, c = t.view("a", (m, k), "f16"), t.view("b", (k, n), "f16"), t.view("c", (m, n), "f16")

    def build(row: str, rows: int, column: str, columns: int) -> None:
        acc = product_tile(t, a, b, (row, rows), (column, columns), k_step)
        part = (rows, columns)
        narrow = t.let(f"arith.truncf {acc} : {tensor(part, 'f32')} to {tensor(part, 'f16')}", "h")
        t.store(narrow, c, [row, column], part)

    comment = f"// c = a b; a: [{m}, {k}], b: [{k}, {n}], c: [{m}, {n}], f16 with f32 accumulation."
    return over_tiles(t, "matmul", "a b c", (m, n), grid, build, comment)


def matmul_bias_gelu(m: int, k: int, n: int, grid: Grid = (4, 8), k_step: int | None = None) -> str:
    """y = gelu(x w + b); x [m, k], w [k, n], b [n], y [m, n], f16; gelu through erf, in f32."""
    t = Text()
    x, w, y = t.view("x", (m, k), "f16"), t.view("w", (k, n), "f16"), t.view("y", (m, n), "f16")
    b = t.view("b", (n,), "f16")
    half, one = t.constant("0.5", "f32", "%half"), t.constant("1.0", "f32", "%one")
    root = t.constant("0.70710678118654757", "f32", "%inverse_root_2")

    def build(row: str, rows: int, column: str, columns: int) -> None:
        acc = product_tile(t, x, w, (row, rows), (column, columns), k_step)
        part, bias = (rows, columns), t.load(b, [column], (columns,))
        body = [
            "%wide = arith.extf %in1 : f16 to f32",
            "%z = arith.addf %in0, %wide : f32",
            f"%s = arith.mulf %z, {root} : f32",
            "%e = math.erf %s : f32",
            f"%p = arith.addf %e, {one} : f32",
            f"%h = arith.mulf %z, {half} : f32",
            "%g = arith.mulf %h, %p : f32",
            "%out = arith.truncf %g : f32 to f16",
        ]
        ins = [(acc, part, "f32", None), (bias, (columns,), "f16", "d1")]
        t.store(t.generic(ins, part, "f16", body), y, [row, column], part)

    comment = f"// y = gelu(x w + b); x: [{m}, {k}], w: [{k}, {n}], b: [{n}], y: [{m}, {n}], f16."
    return over_tiles(t, "matmul_bias_gelu", "x w b y", (m, n), grid, build, comment)


def product_tile(
    t: Text, a: View, b: View, rows: tuple[str, int], columns: tuple[str, int], k_step: int | None
) -> str:
    """The f32 tile a[rows, :] b[:, columns]."""
    k, part = a.shape[1], (rows[1], columns[1])
    ty = tensor(part, "f32")
    acc = t.fill(t.constant("0.0", "f32", "%zero"), part, "f32")

    def step(at: str, size: int, acc: str) -> str:
        left = t.load(a, [rows[0], at], (rows[1], size))
        right = t.load(b, [at, columns[0]], (size, columns[1]))
        types = f"{tensor((rows[1], size), a.dtype)}, {tensor((size, columns[1]), b.dtype)}"
        return t.let(f"linalg.matmul ins({left}, {right} : {types}) outs({acc} : {ty}) -> {ty}", "mm")

    size = k_step or k
    whole = k // size * size
    if whole > size:
        t.index(0), t.index(whole), t.index(size)
        head = f"scf.for %k = %c0 to %c{whole} step %c{size} iter_args(%acc = {acc}) -> ({ty}) {{"
        result = t.let(head, "sum")
        t.op(f"scf.yield {step('%k', size, '%acc')} : {ty}")
        t.op("}")
        acc = result
    elif whole:
        acc = step(t.index(0), size, acc)
    return step(t.index(whole), k - whole, acc) if k > whole else acc


def over_tiles(t: Text, name: str, args: str, shape: Grid, grid: Grid, build: Build, comment: str) -> str:
    real = over_grid(t, shape, grid, build)
    return t.module(name, ", ".join(f"%{arg}: index" for arg in args.split()), real, comment)


def over_grid(t: Text, shape: Grid, grid: Grid, build: Build) -> Grid:
    """Write the tiles of a result of `shape`; the grid that takes."""
    t.op("%tile_m, %tile_n = ktdp.get_compute_tile_id : index, index")

    def columns(row: str, rows: int) -> None:
        t.split(shape[1], grid[1], "%tile_n", lambda column, size: build(row, rows, column, size))

    t.split(shape[0], grid[0], "%tile_m", columns)
    return part_count(shape[0], grid[0]), part_count(shape[1], grid[1])
