"""Kernels whose rows are independent: every tile owns a run of rows, all columns of them."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.kernels.text import Text, View, access_tile, memref, part_count, tensor

Build = Callable[[str, int], None]
MINUS_INFINITY = "0xFF800000"


def vector_add(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """o = a + b, both [rows, columns] f16; one row is a plain vector, cut along the columns."""
    t = Text()
    shape = (rows, columns) if rows > 1 else (columns,)
    a, b, o = (t.view(arg, shape, "f16") for arg in ("a", "b", "o"))

    def build(first: str, size: int) -> None:
        at = [first, t.index(0)][: len(shape)]
        part = (size, *shape[1:])
        x, y, ty = t.load(a, at, part), t.load(b, at, part), tensor(part, "f16")
        empty = t.empty(part, "f16")
        t.store(t.let(f"linalg.add ins({x}, {y} : {ty}, {ty}) outs({empty} : {ty}) -> {ty}"), o, at, part)

    comment = f"// o = a + b; a, b, o: {list(shape)} f16."
    return over_rows(t, "vector_add", "a b o", shape[0], cores, rows_per_step, build, comment)


def broadcast_add(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """o = x + b, x [rows, columns], b [columns], f16."""
    t = Text()
    x, o = t.view("x", (rows, columns), "f16"), t.view("o", (rows, columns), "f16")
    b = t.view("b", (columns,), "f16")

    def build(first: str, size: int) -> None:
        part, at = (size, columns), [first, t.index(0)]
        wide, narrow = t.load(x, at, part), t.load(b, [t.index(0)], (columns,))
        ins = [(wide, part, "f16", None), (narrow, (columns,), "f16", "d1")]
        t.store(t.generic(ins, part, "f16", ["%out = arith.addf %in0, %in1 : f16"]), o, at, part)

    comment = f"// o = x + b, b along the rows; x, o: [{rows}, {columns}] f16, b: [{columns}] f16."
    return over_rows(t, "broadcast_add", "x b o", rows, cores, rows_per_step, build, comment)


def softmax(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """y = softmax(x) along the columns, f16 in memory, f32 in between."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f16"), t.view("y", (rows, columns), "f16")
    low, zero = t.constant(MINUS_INFINITY, "f32", "%low"), t.constant("0.0", "f32", "%zero")

    def build(first: str, size: int) -> None:
        part, at = (size, columns), [first, t.index(0)]
        wide = _load_wide(t, x, at, part)
        top = t.reduce_rows("arith.maximumf", wide, part, low)
        body = ["%d = arith.subf %in0, %in1 : f32", "%out = math.exp %d : f32"]
        e = t.generic([(wide, part, "f32", None), (top, (size,), "f32", "d0")], part, "f32", body)
        total = t.reduce_rows("arith.addf", e, part, zero)
        body = ["%q = arith.divf %in0, %in1 : f32", "%out = arith.truncf %q : f32 to f16"]
        ins = [(e, part, "f32", None), (total, (size,), "f32", "d0")]
        t.store(t.generic(ins, part, "f16", body), y, at, part)

    comment = f"// y = softmax(x) along the columns; x, y: [{rows}, {columns}] f16."
    return over_rows(t, "softmax", "x y", rows, cores, rows_per_step, build, comment)


def rmsnorm(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """y = x * rsqrt(mean(x^2) + eps) * w, f16 in memory, f32 in between; eps is an argument."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f16"), t.view("y", (rows, columns), "f16")
    w = t.view("w", (columns,), "f16")
    zero, count = t.constant("0.0", "f32", "%zero"), t.constant(f"{float(columns)}", "f32", "%count")

    def build(first: str, size: int) -> None:
        part, at = (size, columns), [first, t.index(0)]
        wide, weight = _load_wide(t, x, at, part), _load_wide(t, w, [t.index(0)], (columns,))
        square = t.generic([(wide, part, "f32", None)], part, "f32", ["%out = arith.mulf %in0, %in0 : f32"])
        total = t.reduce_rows("arith.addf", square, part, zero)
        scale = t.generic([(total, (size,), "f32", None)], (size,), "f32", _inverse_deviation(count, "%eps"))
        body = ["%n = arith.mulf %in0, %in1 : f32", "%p = arith.mulf %n, %in2 : f32"]
        body.append("%out = arith.truncf %p : f32 to f16")
        ins = [(wide, part, "f32", None), (scale, (size,), "f32", "d0"), (weight, (columns,), "f32", "d1")]
        t.store(t.generic(ins, part, "f16", body), y, at, part)

    comment = f"// y = x * rsqrt(mean(x^2) + eps) * w; x, y: [{rows}, {columns}] f16, w: [{columns}] f16."
    return over_rows(t, "rmsnorm", "x w y eps:f32", rows, cores, rows_per_step, build, comment)


def layernorm(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """y = (x - mean) * rsqrt(variance + 1e-5) * w + b, two passes, f16 in memory, f32 in between."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f16"), t.view("y", (rows, columns), "f16")
    w, b = t.view("w", (columns,), "f16"), t.view("b", (columns,), "f16")
    zero, count = t.constant("0.0", "f32", "%zero"), t.constant(f"{float(columns)}", "f32", "%count")
    eps = t.constant("1.0e-05", "f32", "%eps")

    def build(first: str, size: int) -> None:
        part, at, row = (size, columns), [first, t.index(0)], (columns,)
        wide = _load_wide(t, x, at, part)
        weight, bias = _load_wide(t, w, [t.index(0)], row), _load_wide(t, b, [t.index(0)], row)
        total = t.reduce_rows("arith.addf", wide, part, zero)
        body = [f"%out = arith.divf %in0, {count} : f32"]
        mean = t.generic([(total, (size,), "f32", None)], (size,), "f32", body)
        body = ["%out = arith.subf %in0, %in1 : f32"]
        centred = t.generic([(wide, part, "f32", None), (mean, (size,), "f32", "d0")], part, "f32", body)
        body = ["%out = arith.mulf %in0, %in0 : f32"]
        square = t.generic([(centred, part, "f32", None)], part, "f32", body)
        spread = t.reduce_rows("arith.addf", square, part, zero)
        scale = t.generic([(spread, (size,), "f32", None)], (size,), "f32", _inverse_deviation(count, eps))
        body = ["%n = arith.mulf %in0, %in1 : f32", "%p = arith.mulf %n, %in2 : f32"]
        body += ["%q = arith.addf %p, %in3 : f32", "%out = arith.truncf %q : f32 to f16"]
        ins = [(centred, part, "f32", None), (scale, (size,), "f32", "d0")]
        ins += [(weight, row, "f32", "d1"), (bias, row, "f32", "d1")]
        t.store(t.generic(ins, part, "f16", body), y, at, part)

    comment = f"// y = layer_norm(x) * w + b; x, y: [{rows}, {columns}] f16, w, b: [{columns}] f16."
    return over_rows(t, "layernorm", "x w b y", rows, cores, rows_per_step, build, comment)


def transpose(rows: int, columns: int, cores: int = 32, rows_per_step: int | None = None) -> str:
    """y[columns, rows] = x[rows, columns] transposed, f16; a tile owns rows of x."""
    t = Text()
    x, y = t.view("x", (rows, columns), "f16"), t.view("y", (columns, rows), "f16")

    def build(first: str, size: int) -> None:
        value = t.load(x, [first, t.index(0)], (size, columns))
        empty = t.empty((columns, size), "f16")
        turned = t.let(
            f"linalg.transpose ins({value} : {tensor((size, columns), 'f16')}) "
            f"outs({empty} : {tensor((columns, size), 'f16')}) permutation = [1, 0]"
        )
        t.store(turned, y, [t.index(0), first], (columns, size))

    comment = f"// y = x transposed; x: [{rows}, {columns}] f16, y: [{columns}, {rows}] f16."
    return over_rows(t, "transpose", "x y", rows, cores, rows_per_step, build, comment)


def embedding(
    rows: int,
    columns: int,
    tokens: int,
    cores: int = 32,
    rows_per_step: int | None = None,
    index: str = "i64",
) -> str:
    """y[i] = table[ids[i]], table [rows, columns] f16, ids [tokens] of type `index`."""
    t = Text()
    table, ids = t.view("table", (rows, columns), "f16"), t.view("ids", (tokens,), index)
    y = t.view("y", (tokens, columns), "f16")

    def build(first: str, size: int) -> None:
        part = (size, columns)
        tile = t.let(
            f"ktdp.construct_indirect_access_tile intermediate_variables(%i, %j) "
            f"{table.name}[ind({ids.name}[{first} + %i]), (%j)] {{variables_space_order = {t.identity(2)}, "
            f"variables_space_set = {t.box(part)}}} "
            f": {memref(table.shape, 'f16')}, {memref(ids.shape, index)} -> {access_tile(part)}"
        )
        value = t.let(f"ktdp.load {tile} : <{size}x{columns}xindex> -> {tensor(part, 'f16')}")
        t.store(value, y, [first, t.index(0)], part)

    comment = f"// y[i] = table[ids[i]]; table: [{rows}, {columns}] f16, ids: [{tokens}] {index}."
    return over_rows(t, "embedding", "table ids y", tokens, cores, rows_per_step, build, comment)


def _load_wide(t: Text, view: View, at: list[str], shape: tuple[int, ...]) -> str:
    narrow = t.load(view, at, shape)
    return t.let(f"arith.extf {narrow} : {tensor(shape, view.dtype)} to {tensor(shape, 'f32')}", "w")


def _inverse_deviation(count: str, eps: str) -> list[str]:
    return [
        f"%m = arith.divf %in0, {count} : f32",
        f"%s = arith.addf %m, {eps} : f32",
        "%out = math.rsqrt %s : f32",
    ]


def over_rows(
    t: Text, name: str, args: str, rows: int, cores: int, step: int | None, build: Build, comment: str
) -> str:
    """The module whose tiles take `rows` in equal runs, `step` rows at a time; `args` as "x y eps:f32"."""
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    t.split(rows, cores, tile, lambda first, size: t.walk(first, size, step, build))
    typed = [arg.split(":") if ":" in arg else [arg, "index"] for arg in args.split()]
    example = ", headrace.example = {eps = 1.0e-05 : f32}" if "eps:f32" in args else ""
    signature = ", ".join(f"%{arg}: {ty}" for arg, ty in typed)
    return t.module(name, signature, (part_count(rows, cores),), comment, example)
