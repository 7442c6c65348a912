"""A gated MLP as a module of two functions; the hidden tensor lives between them."""

from __future__ import annotations

from benchmarks.kernels.contractions import Grid, over_grid, product_tile
from benchmarks.kernels.text import Text, module_of, tensor


def gated_mlp(m: int, width: int, hidden: int, grid: Grid = (4, 8), k_step: int | None = None) -> str:
    """y = (silu(x g) * (x u)) d; x, y [m, width], g, u [width, hidden], d [hidden, width], f16, f32 sums."""
    first, second = Text(), Text()
    up = over_grid(first, (m, hidden), grid, lambda *at: _gate_up(first, m, width, hidden, k_step, *at))
    down = over_grid(second, (m, width), grid, lambda *at: _down(second, m, width, hidden, k_step, *at))
    host = [
        "func.func @gated_mlp(%x: index, %g: index, %u: index, %d: index, %h: index, %y: index) {",
        "func.call @gate_up(%x, %g, %u, %h) : (index, index, index, index) -> ()",
        "func.call @down(%h, %d, %y) : (index, index, index) -> ()",
        "return",
        "}",
    ]
    functions = [
        host,
        first.function("gate_up", "%x: index, %g: index, %u: index, %h: index", up),
        second.function("down", "%h: index, %d: index, %y: index", down),
    ]
    comment = f"// y = (silu(x g) * (x u)) d; x, y: [{m}, {width}], g, u: [{width}, {hidden}], f16."
    return module_of(functions, sorted({*first.aliases(), *second.aliases()}), comment)


def _gate_up(
    t: Text,
    m: int,
    width: int,
    hidden: int,
    k_step: int | None,
    row: str,
    rows: int,
    column: str,
    columns: int,
) -> None:
    x, h = t.view("x", (m, width), "f16"), t.view("h", (m, hidden), "f16")
    g, u = t.view("g", (width, hidden), "f16"), t.view("u", (width, hidden), "f16")
    one, part = t.constant("1.0", "f32", "%one"), (rows, columns)
    gate = product_tile(t, x, g, (row, rows), (column, columns), k_step)
    up = product_tile(t, x, u, (row, rows), (column, columns), k_step)
    body = [
        "%m = arith.negf %in0 : f32",
        "%e = math.exp %m : f32",
        f"%p = arith.addf %e, {one} : f32",
        "%s = arith.divf %in0, %p : f32",
        "%w = arith.mulf %s, %in1 : f32",
        "%out = arith.truncf %w : f32 to f16",
    ]
    t.store(
        t.generic([(gate, part, "f32", None), (up, part, "f32", None)], part, "f16", body),
        h,
        [row, column],
        part,
    )


def _down(
    t: Text,
    m: int,
    width: int,
    hidden: int,
    k_step: int | None,
    row: str,
    rows: int,
    column: str,
    columns: int,
) -> None:
    h, y = t.view("h", (m, hidden), "f16"), t.view("y", (m, width), "f16")
    d, part = t.view("d", (hidden, width), "f16"), (rows, columns)
    total = product_tile(t, h, d, (row, rows), (column, columns), k_step)
    narrow = t.let(f"arith.truncf {total} : {tensor(part, 'f32')} to {tensor(part, 'f16')}", "n")
    t.store(narrow, y, [row, column], part)
