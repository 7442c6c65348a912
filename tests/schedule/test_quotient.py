"""The quotient of a softmax behind the product with its weights."""

from __future__ import annotations

import pytest
from benchmarks.kernels.attention import attention

from headrace.arch.presets import device
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from tests.schedule.test_strips import check

LATE = "late quotient"


def phases(program):
    return [tuple(p["computes"]) for part in program.plan["classes"] for p in part["phases"]]


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("length,depth", [(128, 64), (96, 96), (130, 32)])
def test_the_product_is_divided_where_it_has_fewer_elements(length, depth, name):
    text = attention(2, length, depth, 1)
    program = check(text, program=compile_kernel(Kernel(text), device(name), Options()))
    products = [computes for computes in phases(program) if "linalg.matmul" in computes]
    assert 2 * sum(LATE in computes for computes in products) == len(products) > 0


def test_weights_are_divided_where_they_have_fewer_elements():
    text = attention(1, 64, 128)
    program = check(text, program=compile_kernel(Kernel(text), device("spyre"), Options()))
    assert not any(LATE in computes for computes in phases(program))


def test_without_fusion_a_kernel_divides_where_it_says():
    text = attention(1, 128, 64)
    program = check(text, program=compile_kernel(Kernel(text), device("spyre"), Options(without=("fusion",))))
    assert not any(LATE in computes for computes in phases(program))


def test_a_row_that_is_wider_than_the_registers_is_rounded_before_it_is_summed():
    text = attention(1, 256, 64)
    chip = device("spyre", {"SFU_REG.size_bytes": 512})
    check(text, program=compile_kernel(Kernel(text), chip, Options()))
