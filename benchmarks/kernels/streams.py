"""Pointwise kernels whose only cost is memory. Every tile owns a run of rows, all columns of them."""

from __future__ import annotations

from benchmarks.kernels.rows import over_rows
from benchmarks.kernels.text import Text, tensor


def copy(rows: int, columns: int, cores: int = 32) -> str:
    """o = x, both [rows, columns] f16."""
    t = Text()
    x, o = t.view("x", (rows, columns), "f16"), t.view("o", (rows, columns), "f16")

    def build(first: str, size: int) -> None:
        at, part = [first, t.index(0)], (size, columns)
        t.store(t.load(x, at, part), o, at, part)

    comment = f"// o = x; x, o: [{rows}, {columns}] f16."
    return over_rows(t, "copy", "x o", rows, cores, None, build, comment)


def cast(rows: int, columns: int, cores: int = 32) -> str:
    """o = x rounded, x [rows, columns] f32, o f16."""
    t = Text()
    x, o = t.view("x", (rows, columns), "f32"), t.view("o", (rows, columns), "f16")

    def build(first: str, size: int) -> None:
        at, part = [first, t.index(0)], (size, columns)
        wide = t.load(x, at, part)
        t.store(t.let(f"arith.truncf {wide} : {tensor(part, 'f32')} to {tensor(part, 'f16')}"), o, at, part)

    comment = f"// o = x rounded to f16; x: [{rows}, {columns}] f32, o: [{rows}, {columns}] f16."
    return over_rows(t, "cast", "x o", rows, cores, None, build, comment)


def chain(rows: int, columns: int, cores: int = 32, links: int = 8) -> str:
    """o = x a + b, `links` times over, x, o [rows, columns] f16, a = 0.75, b = 0.5."""
    t = Text()
    x, o = t.view("x", (rows, columns), "f16"), t.view("o", (rows, columns), "f16")
    ty = tensor((rows, columns), "f16")

    def build(first: str, size: int) -> None:
        at, part = [first, t.index(0)], (size, columns)
        ty = tensor(part, "f16")
        a, b = (t.let(f"arith.constant dense<{value}> : {ty}", "s") for value in ("7.5e-01", "5.0e-01"))
        found = t.load(x, at, part)
        for _ in range(links):
            product = t.let(f"arith.mulf {found}, {a} : {ty}")
            found = t.let(f"arith.addf {product}, {b} : {ty}")
        t.store(found, o, at, part)

    comment = f"// o = x 3/4 + 1/2, {links} times over; x, o: {ty}."
    return over_rows(t, "chain", "x o", rows, cores, None, build, comment)


def broadcast_column(rows: int, columns: int, cores: int = 32) -> str:
    """o = x + b, x [rows, columns], b [rows], f16."""
    t = Text()
    x, o = t.view("x", (rows, columns), "f16"), t.view("o", (rows, columns), "f16")
    b = t.view("b", (rows,), "f16")

    def build(first: str, size: int) -> None:
        at, part = [first, t.index(0)], (size, columns)
        ins = [(t.load(x, at, part), part, "f16", None), (t.load(b, [first], (size,)), (size,), "f16", "d0")]
        t.store(t.generic(ins, part, "f16", ["%out = arith.addf %in0, %in1 : f16"]), o, at, part)

    comment = f"// o = x + b, b along the columns; x, o: [{rows}, {columns}] f16, b: [{rows}] f16."
    return over_rows(t, "broadcast_column", "x b o", rows, cores, None, build, comment)
