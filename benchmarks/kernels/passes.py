"""Kernels of the fidelity rows: a copy, row sums, and softmax taken apart into a kernel an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.kernels.text import Text, View, part_count

LOW, ZERO = "0xFF800000", "0.0"
Shape = tuple[int, ...]


def copy(rows: int, columns: int, cores: int = 32) -> str:
    """o = x, [rows, columns] f16."""

    def build(t: Text, views: dict[str, View], at: list[str], part: Shape) -> None:
        t.store(t.load(views["x"], at, part), views["o"], at, part)

    return _rows("copy", {"x": (rows, columns), "o": (rows, columns)}, cores, build)


def row_sum(rows: int, columns: int, cores: int = 32) -> str:
    """s = sum of x along the columns; x [rows, columns], s [rows], f16, summed in f32."""

    def build(t: Text, views: dict[str, View], at: list[str], part: Shape) -> None:
        zero = t.constant(ZERO, "f32", "%zero")
        wide = _wide(t, t.load(views["x"], at, part), part)
        total = t.reduce_rows("arith.addf", wide, part, zero)
        t.store(_narrow(t, total, part[:1]), views["s"], at[:1], part[:1])

    return _rows("row_sum", {"x": (rows, columns), "s": (rows,)}, cores, build)


def softmax_pass(operations: str, rows: int, columns: int, cores: int = 1) -> str:
    """Part of a softmax: `operations` is "max", "sub", "exp", "sum", "div", or "max sub exp" in one kernel.

    x [rows, columns] and the statistics [rows] are f16 in device memory; every operation rounds to f16.
    """
    whole, statistic = (rows, columns), (rows,)

    def top(t: Text, views: dict[str, View], at: list[str], part: Shape) -> str:
        low = t.constant(LOW, "f32", "%low")
        wide = _wide(t, t.load(views["x"], at, part), part)
        return _narrow(t, t.reduce_rows("arith.maximumf", wide, part, low), part[:1])

    def build(t: Text, views: dict[str, View], at: list[str], part: Shape) -> None:
        match operations:
            case "max":
                t.store(top(t, views, at, part), views["s"], at[:1], part[:1])
            case "sub" | "div":
                x, s = t.load(views["x"], at, part), t.load(views["s"], at[:1], part[:1])
                t.store(_by_row(t, f"arith.{operations}f", x, s, part), views["o"], at, part)
            case "exp":
                t.store(_exp(t, t.load(views["x"], at, part), part), views["o"], at, part)
            case "max sub exp":
                x = t.load(views["x"], at, part)
                t.store(
                    _exp(t, _by_row(t, "arith.subf", x, top(t, views, at, part), part), part),
                    views["o"],
                    at,
                    part,
                )

    has_statistic = operations in ("sub", "div")
    views = {"x": whole, **({"s": statistic} if has_statistic else {}), "o": whole}
    if operations == "max":
        views = {"x": whole, "s": statistic}
    if operations == "sum":
        return row_sum(rows, columns, cores)
    return _rows(f"softmax_{operations.replace(' ', '_')}", views, cores, build)


def _rows(
    name: str,
    shapes: dict[str, Shape],
    cores: int,
    build: Callable[[Text, dict[str, View], list[str], Shape], None],
) -> str:
    """A kernel whose tiles own runs of rows of its views (all of the same number of rows)."""
    t = Text()
    views = {arg: t.view(arg, shape, "f16") for arg, shape in shapes.items()}
    rows, columns = shapes["x"]
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")

    def step(first: str, size: int) -> None:
        build(t, views, [first, t.index(0)], (size, columns))

    t.split(rows, cores, tile, lambda first, size: t.walk(first, size, None, step))
    signature = ", ".join(f"%{arg}: index" for arg in shapes)
    return t.module(name, signature, (part_count(rows, cores),), f"// {name}, f16.", "")


def _wide(t: Text, x: str, shape: Shape) -> str:
    return t.generic([(x, shape, "f16", None)], shape, "f32", ["%out = arith.extf %in0 : f16 to f32"])


def _narrow(t: Text, x: str, shape: Shape) -> str:
    return t.generic([(x, shape, "f32", None)], shape, "f16", ["%out = arith.truncf %in0 : f32 to f16"])


def _exp(t: Text, x: str, shape: Shape) -> str:
    return t.generic([(x, shape, "f16", None)], shape, "f16", ["%out = math.exp %in0 : f16"])


def _by_row(t: Text, op: str, x: str, s: str, shape: Shape) -> str:
    ins: Sequence[tuple[str, Shape, str, str | None]] = [(x, shape, "f16", None), (s, shape[:1], "f16", "d0")]
    return t.generic(ins, shape, "f16", [f"%out = {op} %in0, %in1 : f16"])
