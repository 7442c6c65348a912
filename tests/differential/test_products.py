"""Products of any extents, with results as narrow as their factors, mean the same at all levels."""

from __future__ import annotations

import json

import pytest
from benchmarks.kernels import kernel_text
from benchmarks.kernels.text import Text, tensor

from headrace.arch.presets import device as preset
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare

EXTENTS = [(1, 1, 1), (3, 5, 7), (1, 70, 1), (5, 1, 1), (64, 3, 64), (2, 130, 3)]


def product(op: str, shapes: list[tuple[int, ...]], factor: str, result: str, start: str) -> Kernel:
    """A kernel of one named contraction; `start` "zero" or "tensor"."""
    t = Text()
    loaded = [
        t.load(t.view(n, s, factor), [t.index(0)] * len(s), s) for n, s in zip("ab", shapes[:2], strict=True)
    ]
    out = shapes[2]
    at = [t.index(0)] * len(out)
    if start == "zero":
        init = t.fill(t.constant("0.0", result, "%zero"), out, result)
    else:
        init = t.load(t.view("c", out, result), at, out)
    types = [tensor(s, d) for s, d in zip(shapes, (factor, factor, result), strict=True)]
    made = t.let(
        f"{op} ins({', '.join(loaded)} : {types[0]}, {types[1]}) outs({init} : {types[2]}) -> {types[2]}"
    )
    t.store(made, t.view("y", out, result), at, out)
    args = "%a: index, %b: index, %y: index" + (", %c: index" if start == "tensor" else "")
    return Kernel(t.module("k", args, (1,), "// a product"))


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
@pytest.mark.parametrize(
    "types", [("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"), ("f32", "f32")], ids="-".join
)
@pytest.mark.parametrize("start", ["zero", "tensor"])
@pytest.mark.parametrize("m,k,n", EXTENTS)
def test_a_matrix_product(device: str, types: tuple[str, str], start: str, m: int, k: int, n: int) -> None:
    compare(product("linalg.matmul", [(m, k), (k, n), (m, n)], *types, start), device)


@pytest.mark.parametrize("start", ["zero", "tensor"])
@pytest.mark.parametrize(
    "op,shapes",
    [
        ("linalg.batch_matmul", [(2, 3, 5), (2, 5, 7), (2, 3, 7)]),
        ("linalg.batch_matmul_transpose_b", [(1, 3, 5), (1, 7, 5), (1, 3, 7)]),
        ("linalg.matmul_transpose_a", [(5, 3), (5, 7), (3, 7)]),
        ("linalg.matvec", [(3, 5), (5,), (3,)]),
        ("linalg.vecmat", [(5,), (5, 7), (7,)]),
    ],
)
def test_a_named_product_of_narrow_factors(op: str, shapes: list[tuple[int, ...]], start: str) -> None:
    compare(product(op, shapes, "f16", "f16", start), "tiny", is_checked=True)


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_a_matrix_times_a_column_of_another(device: str, n: int, dtype: str) -> None:
    """The column is strided in memory, and so is the matrix along the depth."""
    t = Text()
    a = t.load(t.view("a", (3, 9), dtype), [t.index(0)] * 2, (3, 9))
    b = t.load(t.view("b", (3, 6), dtype), [t.index(0), t.index(2)], (3, n))
    out = tensor((9, n), dtype)
    zero = t.fill(t.constant("0.0", dtype, "%zero"), (9, n), dtype)
    ins = f"{a}, {b} : {tensor((3, 9), dtype)}, {tensor((3, n), dtype)}"
    y = t.let(f"linalg.matmul_transpose_a ins({ins}) outs({zero} : {out}) -> {out}")
    t.store(y, t.view("y", (9, n), dtype), [t.index(0)] * 2, (9, n))
    compare(Kernel(t.module("k", "%a: index, %b: index, %y: index", (1,), "// a product")), device, True)


@pytest.mark.parametrize(("cores", "consumers"), [(4, 2), (5, 2), (7, 4)])
def test_more_cores_than_one_read_serves_share_it_in_groups(cores: int, consumers: int) -> None:
    chip = preset("spyre", {"core.count": cores, "ddr.multicast.max_consumers": consumers})
    kernel = Kernel(kernel_text("matmul", m=64, k=128, n=64 * cores, grid=(1, cores)))
    run = compare(kernel, chip, True)
    left, right = 2 * 64 * 128, 2 * 128 * 64 * cores
    assert run.timing.bytes["ddr_read"] == left * -(-cores // consumers) + right


def chained() -> Kernel:
    """h = (x a) * (x b); y = h c: h leaves for device memory and stays for the second product."""
    t, rows, width, inner = Text(), 1, 65, 64

    def matmul(left: str, right: str, m: int, k: int, n: int) -> str:
        ins = f"{left}, {right} : {tensor((m, k), 'f32')}, {tensor((k, n), 'f32')}"
        start, out = t.fill("%zero", (m, n), "f32"), tensor((m, n), "f32")
        return t.let(f"linalg.matmul ins({ins}) outs({start} : {out}) -> {out}")

    def loaded(name: str, *shape: int) -> str:
        return t.load(t.view(name, shape, "f32"), [t.index(0)] * 2, shape)

    t.constant("0.0", "f32", "%zero")
    x = loaded("x", rows, width)
    a, b = (matmul(x, loaded(name, width, inner), rows, width, inner) for name in "ab")
    h = t.let(f"arith.mulf {a}, {b} : {tensor((rows, inner), 'f32')}")
    t.store(h, t.view("h", (rows, inner), "f32"), [t.index(0)] * 2, (rows, inner))
    y = matmul(h, loaded("c", inner, width), rows, inner, width)
    t.store(y, t.view("y", (rows, width), "f32"), [t.index(0)] * 2, (rows, width))
    arguments = ", ".join(f"%{name}: index" for name in "xabchy")
    return Kernel(t.module("k", arguments, (1,), "// two products"))


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
def test_a_product_that_is_stored_and_read_by_the_next(device: str) -> None:
    compare(chained(), device, True)


def test_a_plan_that_lets_such_a_product_wait_is_refused() -> None:
    plan = json.loads(json.dumps(chained().compile("tiny").plan))
    phase = plan["classes"][0]["phases"][0]
    column = next(dim for dim, extent in phase["extents"].items() if extent == 64)
    phase["tile"][column] = 32
    phase["copies"] = {"in": 2, "out": 1, "waiting": 1}
    with pytest.raises(HeadraceError, match="a later phase reads"):
        chained().compile("tiny", plan=plan)
