"""Values at the edges of their types, on both engines, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from headrace.ir.text import parse
from headrace.numbers.memory import Memory
from headrace.semantics import batched, plain

from .tiles import box, by_x, evaluate, identity

BF16, F8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504.0, 65520.0]
EDGES += [1 + 2**-11, 1e-40, 3e38]
FLOATS = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f8E4M3FN": F8}


def per_tile(body, dtypes, rows, shape):
    """A kernel in which tile t loads row t of x (and y) as %x (%y), and stores %result in row t of o."""
    whole, part = (rows, *shape), (1, *shape)
    lines, names = [], [n for n in "xyo" if n in dtypes]
    for n in names:
        strides = [int(np.prod(whole[k + 1 :])) for k in range(len(whole))]
        ty = f"memref<{by_x(whole, dtypes[n])}>"
        lines.append(
            f"%{n}_view = ktdp.construct_memory_view %{n}_at, sizes: {list(whole)}, strides: {strides} "
            f"{{coordinate_set = {box(whole)}, memory_space = #ktdp.memory_space<global>}} : {ty}"
        )
        at = ", ".join(["%t", *("0" for _ in shape)])
        lines.append(
            f"%{n}_tile = ktdp.construct_access_tile %{n}_view[{at}] {{access_tile_order = "
            f"{identity(len(whole))}, access_tile_set = {box(part)}}} : {ty} -> "
            f"!ktdp.access_tile<{by_x(part, 'index')}>"
        )
        if n != "o":
            lines.append(
                f"%{n} = ktdp.load %{n}_tile : <{by_x(part, 'index')}> -> tensor<{by_x(part, dtypes[n])}>"
            )
    inside = "\n".join(lines)
    stored = f"ktdp.store %result, %o_tile : tensor<{by_x(part, dtypes['o'])}>, <{by_x(part, 'index')}>"
    arguments = ", ".join(f"%{n}_at: index" for n in names)
    head = f"func.func @k({arguments}) attributes {{grid = [{rows}]}} {{"
    return f"{head}\n%t = ktdp.get_compute_tile_id : index\n{inside}\n{body}\n{stored}\nreturn\n}}"


def on_both(body, dtypes, out, **arrays):
    """What both engines leave in o, which has to be the same bits (NaN is NaN)."""
    rows, *shape = next(iter(arrays.values())).shape
    module, results = parse(per_tile(body, dtypes, rows, tuple(shape))), []
    for engine in (plain, batched):
        memory, starts = Memory(1 << 24), {}
        for name, array in {**arrays, "o": np.zeros((rows, *shape), out)}.items():
            address = memory.allocate(max(array.nbytes, 1))
            np.ndarray(array.shape, array.dtype, memory.bytes, address)[...] = array
            starts[f"{name}_at"] = address // array.itemsize
        engine.interpret(module, memory, starts)
        end = np.ndarray((rows, *shape), out, memory.bytes, starts["o_at"] * np.dtype(out).itemsize)
        results.append(end.copy())
    one, other = results
    nan = np.zeros(one.shape, np.bool_)
    if np.dtype(out).kind not in "iub":
        nan = np.isnan(one.astype(np.float32))
        assert np.array_equal(nan, np.isnan(other.astype(np.float32)))
    assert np.where(nan, 0, one).astype(out).tobytes() == np.where(nan, 0, other).astype(out).tobytes()
    return one


def same(got, wanted):
    """Equal numbers, NaN like NaN, zeros with their signs."""
    a, b = got.astype(np.float64), np.asarray(wanted).astype(np.float64)
    np.testing.assert_array_equal(a, b)
    assert np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))


def pairs(dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.array(EDGES, np.float64).astype(np.float32).astype(dtype)
    a, b = np.meshgrid(edges, edges, indexing="ij")
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


ARITHMETIC = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
}


@pytest.mark.parametrize("dtype", sorted(FLOATS))
@pytest.mark.parametrize("op", sorted(ARITHMETIC))
def test_float_arithmetic_of_edges_is_f32_arithmetic_rounded_once(op, dtype):
    a, b = pairs(FLOATS[dtype])
    with np.errstate(all="ignore"):
        wanted = ARITHMETIC[op](a.astype(np.float32), b.astype(np.float32)).astype(FLOATS[dtype])
    ty = f"tensor<1x{len(EDGES)}x{dtype}>"
    got = on_both(f"%result = {op} %x, %y : {ty}", dict.fromkeys("xyo", dtype), FLOATS[dtype], x=a, y=b)
    same(got, wanted)


def extreme(a, b, largest, skips_nan):
    if np.isnan(a) or np.isnan(b):
        return (b if np.isnan(a) else a) if skips_nan else np.nan
    if a == b == 0:
        signs = np.signbit(a), np.signbit(b)
        return -0.0 if (all(signs) if largest else any(signs)) else 0.0
    return max(a, b) if largest else min(a, b)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("op", ["maximumf", "minimumf", "maxnumf", "minnumf"])
def test_extremes_know_nan_and_the_sign_of_zero(op, dtype):
    a, b = pairs(FLOATS[dtype])
    flat = zip(a.astype(np.float64).ravel(), b.astype(np.float64).ravel(), strict=True)
    wanted = [extreme(x, y, op.startswith("max"), "num" in op) for x, y in flat]
    ty = f"tensor<1x{len(EDGES)}x{dtype}>"
    got = on_both(f"%result = arith.{op} %x, %y : {ty}", dict.fromkeys("xyo", dtype), FLOATS[dtype], x=a, y=b)
    same(got, np.reshape(wanted, a.shape))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8E4M3FN"])
def test_f64_rounds_to_narrow_floats_once(dtype):
    target = FLOATS[dtype]
    bits = 8 * np.dtype(target).itemsize
    with np.errstate(invalid="ignore"):
        every = np.arange(2**bits, dtype=np.uint32).astype(f"u{bits // 8}").view(target).astype(np.float64)
    every = np.unique(every[np.isfinite(every)])
    middle = (every[1:] + every[:-1]) / 2
    near = np.concatenate([np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)])
    wanted = []
    for k, value in enumerate(near):
        low, high = every[k % len(middle)], every[k % len(middle) + 1]
        gap = Fraction(value) * 2 - Fraction(low) - Fraction(high)
        if gap == 0:
            low_bits = int(np.array(low).astype(target).view(f"u{bits // 8}"))
            wanted.append(low if low_bits % 2 == 0 else high)
        else:
            wanted.append(low if gap < 0 else high)
    x = near.reshape(3, -1)
    body = f"%result = arith.truncf %x : tensor<1x{x.shape[1]}xf64> to tensor<1x{x.shape[1]}x{dtype}>"
    got = on_both(body, {"x": "f64", "o": dtype}, target, x=x)
    np.testing.assert_array_equal(got.astype(np.float64), np.reshape(wanted, x.shape))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("is_unsigned", [False, True])
def test_wide_integers_become_the_nearest_float(dtype, is_unsigned):
    random, target = np.random.default_rng(1), FLOATS[dtype]
    values = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**24 + 1, 2049, 2051, 65519, 65520]
    values += [int(v) >> k for k, v in enumerate(random.integers(-(2**63), 2**63 - 1, 62))]
    x = np.array(values[: len(values) // 2 * 2], np.int64).reshape(2, -1)
    exact = x.view(np.uint64) if is_unsigned else x
    precision = {"f16": 11, "bf16": 8, "f32": 24}[dtype]

    def nearest(n):
        n = int(n)
        drop = max(abs(n).bit_length() - precision, 0)
        half = Fraction(abs(n), 2**drop)
        whole = half.numerator // half.denominator
        rest = half - whole
        whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2)
        size = whole * 2**drop
        size = np.inf if dtype == "f16" and size > 65504 else float(size)
        return -size if n < 0 else size

    wanted = np.reshape([nearest(n) for n in exact.ravel()], x.shape)
    op = "uitofp" if is_unsigned else "sitofp"
    n = x.shape[1]
    body = f"%result = arith.{op} %x : tensor<1x{n}xi64> to tensor<1x{n}x{dtype}>"
    same(on_both(body, {"x": "i64", "o": dtype}, target, x=x), wanted)


INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def wrapped(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def quotient(a, b):
    return -(abs(a) // abs(b)) if (a < 0) != (b < 0) else abs(a) // abs(b)


EXACT = {
    "addi": lambda a, b, u, w: a + b,
    "subi": lambda a, b, u, w: a - b,
    "muli": lambda a, b, u, w: a * b,
    "divsi": lambda a, b, u, w: quotient(a, b),
    "remsi": lambda a, b, u, w: a - quotient(a, b) * b,
    "floordivsi": lambda a, b, u, w: a // b,
    "ceildivsi": lambda a, b, u, w: -(-a // b),
    "divui": lambda a, b, u, w: u(a) // u(b),
    "remui": lambda a, b, u, w: u(a) % u(b),
    "ceildivui": lambda a, b, u, w: -(-u(a) // u(b)),
    "maxui": lambda a, b, u, w: max(u(a), u(b)),
    "minui": lambda a, b, u, w: min(u(a), u(b)),
    "maxsi": lambda a, b, u, w: max(a, b),
    "minsi": lambda a, b, u, w: min(a, b),
    "shli": lambda a, b, u, w: a << u(b) if u(b) < w else 0,
    "shrui": lambda a, b, u, w: u(a) >> u(b) if u(b) < w else 0,
    "shrsi": lambda a, b, u, w: a >> min(u(b), w - 1),
}


@pytest.mark.parametrize("dtype", sorted(INTEGERS))
@pytest.mark.parametrize("op", sorted(EXACT))
def test_integers_wrap_and_keep_their_signedness(op, dtype):
    kind = INTEGERS[dtype]
    bits = 8 * np.dtype(kind).itemsize
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    edges = [low, low + 1, -7, -2, -1, 0, 1, 2, 3, bits - 1, bits, high - 1, high]
    a, b = np.meshgrid(np.array(edges, kind), np.array(edges, kind), indexing="ij")
    is_division = "div" in op or "rem" in op
    if is_division:
        b = np.where(b == 0, 3, b).astype(kind)
    wanted = [
        wrapped(EXACT[op](int(x), int(y), lambda v: v % (1 << bits), bits), bits)
        for x, y in zip(a.ravel(), b.ravel(), strict=True)
    ]
    ty = f"tensor<1x{len(edges)}x{dtype}>"
    got = on_both(
        f"%result = arith.{op} %x, %y : {ty}", dict.fromkeys("xyo", dtype), kind, x=a.copy(), y=b.copy()
    )
    assert got.ravel().tolist() == wanted


REDUCED = {
    "arith.addi": ("i8", "0", lambda x, axes: np.add.reduce(x, axis=axes, dtype=np.int8)),
    "arith.muli": ("i16", "1", lambda x, axes: np.multiply.reduce(x, axis=axes, dtype=np.int16)),
    "arith.maxui": ("i8", "0", lambda x, axes: x.view(np.uint8).max(axis=axes).view(np.int8)),
    "arith.minui": ("i8", "-1", lambda x, axes: x.view(np.uint8).min(axis=axes).view(np.int8)),
    "arith.maximumf": ("f16", "0xFC00", lambda x, axes: x.max(axis=axes)),
    "arith.minimumf": ("f32", "0x7F800000", lambda x, axes: x.min(axis=axes)),
    "arith.maxnumf": ("f32", "0xFF800000", lambda x, axes: np.fmax.reduce(x, axis=axes)),
}


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("op", sorted(REDUCED))
def test_reductions_along_any_dims_with_edges_among_the_terms(op, dims):
    dtype, start, of = REDUCED[op]
    random = np.random.default_rng(len(dims))
    kind = {**INTEGERS, **FLOATS}[dtype]
    if dtype[0] == "i":
        x = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, (3, 4, 5), kind, endpoint=True)
    else:
        x = random.choice(
            np.array([np.nan, -0.0, 0.0, np.inf, 1.5, -3.0], kind),
            (3, 4, 5),
            p=[0.03, 0.2, 0.2, 0.07, 0.25, 0.25],
        )
    kept = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    ty = f"tensor<{by_x(kept, dtype)}>" if kept else f"tensor<{dtype}>"
    body = f"""%s = arith.constant {start} : {dtype}
    %e = tensor.empty() : {ty}
    %i = linalg.fill ins(%s : {dtype}) outs(%e : {ty}) -> {ty}
    %result = linalg.reduce {{ {op} }} ins(%x : tensor<3x4x5x{dtype}>) outs(%i : {ty})
      dimensions = {list(dims)}"""
    got = evaluate(body, (kept, dtype), x=x)
    assert np.array_equal(got, of(x, dims), equal_nan=dtype[0] == "f")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1)])
def test_empty_and_single_elements_pass_through_both_engines(shape):
    x = np.ones((4, *shape), np.float32)
    ty = f"tensor<{by_x((1, *shape), 'f32')}>"
    got = on_both(f"%result = arith.addf %x, %x : {ty}", {"x": "f32", "o": "f32"}, np.float32, x=x)
    assert np.array_equal(got, x + x)


def test_float_to_integer_saturates_and_nan_is_zero():
    x = np.array(
        [[np.nan, np.inf, -np.inf, 1e30, -1e30, -0.9], [127.9, -128.9, 2.5, -2.5, 255.0, 0.0]], np.float32
    )
    body = "%result = arith.fptosi %x : tensor<1x6xf32> to tensor<1x6xi8>"
    assert on_both(body, {"x": "f32", "o": "i8"}, np.int8, x=x).tolist() == [
        [0, 127, -128, 127, -128, 0],
        [127, -128, 2, -2, 127, 0],
    ]
    body = "%result = arith.fptoui %x : tensor<1x6xf32> to tensor<1x6xi8>"
    assert on_both(body, {"x": "f32", "o": "i8"}, np.int8, x=x).view(np.uint8).tolist() == [
        [0, 255, 0, 255, 0, 0],
        [127, 0, 2, 0, 255, 0],
    ]
