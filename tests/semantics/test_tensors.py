"""tensor ops."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError

from .tiles import evaluate

X = np.arange(24, dtype=np.int32).reshape(4, 6)


def test_slices_are_cut_with_steps_and_put_back():
    body = """%s = tensor.extract_slice %x[1, 0] [2, 3] [2, 2] : tensor<4x6xi32> to tensor<2x3xi32>
    %result = tensor.insert_slice %s into %x[0, 1] [2, 3] [1, 1] : tensor<2x3xi32> into tensor<4x6xi32>"""
    expected = X.copy()
    expected[0:2, 1:4] = X[1::2, 0::2]
    assert np.array_equal(evaluate(body, ((4, 6), "i32"), x=X), expected)


def test_a_slice_may_drop_unit_dims_and_take_its_offset_from_a_value():
    body = """%c2 = arith.constant 2 : index
    %result = tensor.extract_slice %x[%c2, 1] [1, 4] [1, 1] : tensor<4x6xi32> to tensor<4xi32>"""
    assert np.array_equal(evaluate(body, ((4,), "i32"), x=X), X[2, 1:5])


def test_a_slice_outside_the_tensor_is_an_error():
    body = """%c3 = arith.constant 3 : index
    %result = tensor.extract_slice %x[%c3, 0] [2, 6] [1, 1] : tensor<4x6xi32> to tensor<2x6xi32>"""
    with pytest.raises(HeadraceError, match=r"tensor.extract_slice: elements 3..4 of axis 0 are outside 4"):
        evaluate(body, ((2, 6), "i32"), x=X)


def test_shapes_expand_and_collapse():
    body = """%e = tensor.expand_shape %x [[0], [1, 2]] output_shape [4, 2, 3]
      : tensor<4x6xi32> into tensor<4x2x3xi32>
    %result = tensor.collapse_shape %e [[0, 1], [2]] : tensor<4x2x3xi32> into tensor<8x3xi32>"""
    assert np.array_equal(evaluate(body, ((8, 3), "i32"), x=X), X.reshape(8, 3))


def test_generate_evaluates_its_body_for_all_elements_at_once():
    body = """%result = tensor.generate {
    ^bb0(%i: index, %j: index):
      %v = tensor.extract %x[%j, %i] : tensor<4x6xi32>
      tensor.yield %v : i32
    } : tensor<6x4xi32>"""
    assert np.array_equal(evaluate(body, ((6, 4), "i32"), x=X), X.T)


def test_pad_surrounds_a_tensor():
    body = """%z = arith.constant -1 : i32
    %result = tensor.pad %x low[1, 0] high[0, 2] {
    ^bb0(%i: index, %j: index):
      tensor.yield %z : i32
    } : tensor<4x6xi32> to tensor<5x8xi32>"""
    expected = np.pad(X, ((1, 0), (0, 2)), constant_values=-1)
    assert np.array_equal(evaluate(body, ((5, 8), "i32"), x=X), expected)


def test_splat_from_elements_insert_concat_and_constants():
    body = """%c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %v = tensor.extract %c[%i1, %i0] : tensor<2x2xi32>
    %s = tensor.splat %v : tensor<2x2xi32>
    %w = arith.constant 9 : i32
    %f = tensor.from_elements %v, %w, %v, %w : tensor<2x2xi32>
    %g = tensor.insert %w into %f[%i0, %i0] : tensor<2x2xi32>
    %result = tensor.concat dim(0) %c, %s, %g
      : (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<6x2xi32>"""
    got = evaluate(body, ((6, 2), "i32"), x=X)
    assert got.tolist() == [[1, 2], [3, 4], [3, 3], [3, 3], [9, 9], [3, 9]]


def test_inserting_into_an_unwritten_tensor_is_a_write():
    body = """%e = tensor.empty() : tensor<4x8xi32>
    %a = tensor.insert_slice %x into %e[0, 0] [4, 6] [1, 1] : tensor<4x6xi32> into tensor<4x8xi32>
    %t = tensor.extract_slice %x[0, 0] [4, 2] [1, 1] : tensor<4x6xi32> to tensor<4x2xi32>
    %result = tensor.insert_slice %t into %a[0, 6] [4, 2] [1, 1] : tensor<4x2xi32> into tensor<4x8xi32>"""
    assert np.array_equal(evaluate(body, ((4, 8), "i32"), x=X), np.hstack([X, X[:, :2]]))
