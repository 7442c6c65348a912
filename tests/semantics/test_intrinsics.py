"""The statistics of the device, against NumPy in f64."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.kernel import Kernel, interpret

from .tiles import evaluate, kernel

X = np.random.default_rng(0).standard_normal((4, 8), np.float32).astype(np.float16)
WIDE = X.astype(np.float64)
ID = "affine_map<(d0, d1) -> (d0, d1)>"
ROW = "affine_map<(d0, d1) -> (d0)>"


def half(x):
    return x.astype(np.float32).astype(np.float16)


def statistics(result):
    """A body that leaves one of both results of a row-wise exx2."""
    return f"""
    %e = tensor.empty() : tensor<4xf16>
    %g:2 = linalg.generic {{indexing_maps = [{ID}, {ROW}, {ROW}], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<4x8xf16>) outs(%e, %e : tensor<4xf16>, tensor<4xf16>) {{
    ^bb0(%a: f16, %b: f16, %c: f16):
      %m, %s = spyreop.exx2 %a : f16
      linalg.yield %m, %s : f16, f16
    }} -> (tensor<4xf16>, tensor<4xf16>)
    %z = tensor.empty() : tensor<4xf16>
    %result = linalg.copy ins(%g#{result} : tensor<4xf16>) outs(%z : tensor<4xf16>) -> tensor<4xf16>
    """


def test_exx2_over_a_reduction_dim_gives_the_means():
    squares = half(WIDE**2).astype(np.float64)
    assert np.array_equal(evaluate(statistics(0), ((4,), "f16"), x=X), half(WIDE.mean(axis=1)))
    assert np.array_equal(evaluate(statistics(1), ((4,), "f16"), x=X), half(squares.mean(axis=1)))


def pointwise(line, inputs):
    """A body of one op on numbers."""
    names = ", ".join(f"%{n}" for n in inputs)
    types = ", ".join("tensor<4x8xf16>" for _ in inputs)
    maps = ", ".join([ID] * (len(inputs) + 1))
    arguments = ", ".join(f"%in_{n}: f16" for n in inputs)
    return f"""
    %e = tensor.empty() : tensor<4x8xf16>
    %result = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins({names} : {types}) outs(%e : tensor<4x8xf16>) {{
    ^bb0({arguments}, %o: f16):
      {line}
      linalg.yield %v : f16
    }} -> tensor<4x8xf16>
    """


def test_exx2_of_a_number_is_the_number_and_its_square():
    body = pointwise("%u, %v = spyreop.exx2 %in_x : f16", "x")
    assert np.array_equal(evaluate(body, ((4, 8), "f16"), x=X), half(WIDE**2))


def test_layernormscale_inverts_the_deviation():
    mean, squares = half(WIDE / 4), half(WIDE**2 / 16 + 0.5)
    variance = squares.astype(np.float64) - mean.astype(np.float64) ** 2
    body = pointwise("%v = spyreop.layernormscale %in_m squares %in_s : f16", "ms")
    assert np.array_equal(evaluate(body, ((4, 8), "f16"), m=mean, s=squares), half(variance**-0.5))
    body = pointwise("%v = spyreop.layernormscale %in_m squares %in_s {eps = 0.5 : f32} : f16", "ms")
    assert np.array_equal(evaluate(body, ((4, 8), "f16"), m=mean, s=squares), half((variance + 0.5) ** -0.5))
    assert np.array_equal(evaluate(body, ((4, 8), "f16"), m=mean, s=mean * 0), half(0 * mean + 2.0**0.5))
    body = pointwise("%v = spyreop.layernormscale %in_s : f16", "s")
    assert np.array_equal(
        evaluate(body, ((4, 8), "f16"), s=squares), half(squares.astype(np.float64) ** -0.5)
    )


def test_layernormnorm_shifts_scales_and_weighs():
    m, s, w, b = (np.roll(X, k, axis=1) for k in range(1, 5))
    line = "%v = spyreop.layernormnorm %in_x squares %in_m scale %in_s weight %in_w bias %in_b : f16"
    exact = (WIDE - m) * s.astype(np.float64) * w.astype(np.float64) + b
    assert np.array_equal(
        evaluate(pointwise(line, "xmswb"), ((4, 8), "f16"), x=X, m=m, s=s, w=w, b=b), half(exact)
    )


SLICES = {
    "add": lambda x, axis: x.sum(axis=axis, keepdims=True),
    "sub": lambda x, axis: 2 * np.take(x, [0], axis) - x.sum(axis=axis, keepdims=True),
    "mul": lambda x, axis: x.prod(axis=axis, keepdims=True),
    "max": lambda x, axis: x.max(axis=axis, keepdims=True),
    "min": lambda x, axis: x.min(axis=axis, keepdims=True),
    "abs_max": lambda x, axis: np.abs(x).max(axis=axis, keepdims=True),
}


def reduction(kind, scope, to):
    return (
        f"%result = spyreop.slice_reduction %x {{reduction_kind = #spyreop.reduction_kind<{kind}>, "
        f"reduction_scope = #spyreop.reduction_scope<{scope}>}} : tensor<4x8xf16> -> tensor<{to}>"
    )


@pytest.mark.parametrize("kind", sorted(SLICES))
def test_slices_are_reduced_along_the_axes_the_result_lacks(kind):
    for axis, scope, kept in ((1, "in_slice", "4"), (0, "across_slice", "8")):
        exact = half(SLICES[kind](WIDE, axis))
        ones = tuple(exact.shape)
        got = evaluate(reduction(kind, scope, f"{ones[0]}x{ones[1]}xf16"), (ones, "f16"), x=X)
        assert np.array_equal(got, exact)
        got = evaluate(reduction(kind, scope, f"{kept}xf16"), ((int(kept),), "f16"), x=X)
        assert np.array_equal(got, exact.reshape(-1))


def test_slices_that_do_not_fit_the_result_are_told():
    with pytest.raises(HeadraceError, match=r"a reduction in_slice of \[4, 8\] gives no \[8\]"):
        evaluate(reduction("max", "in_slice", "8xf16"), ((8,), "f16"), x=X)


@pytest.mark.parametrize("engine", ["reference", "machine"])
def test_what_no_text_gives_a_meaning_is_refused_with_what_to_write_instead(engine):
    def told(text):
        made = Kernel(text, "k.mlir")
        with pytest.raises(HeadraceError) as caught:
            interpret(made, x=X) if engine == "reference" else made.compile("spyre")
        return str(caught.value)

    body = pointwise("%w = spyreop.exx2_fused %in_x : f16\n      %v = spyreop.exp %in_x : f16", "x")
    fused = told(kernel(body, {"x": X}, ((4, 8), "f16")))
    assert "spyreop.exx2_fused" in fused and "no public text says what a fused value holds" in fused
    plain = kernel(pointwise("%v = spyreop.exp %in_x : f16", "x"), {"x": X}, ((4, 8), "f16"))
    narrow = told(plain.replace("xf16", "x!spyreop.df16").replace(": f16", ": !spyreop.df16"))
    assert "!spyreop.df16" in narrow and "public tools write f16 for it" in narrow
    assert "k.mlir:" in fused and "k.mlir:" in narrow
