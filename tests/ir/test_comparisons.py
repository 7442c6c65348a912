import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify

TEXT = """func.func @f(%a: tensor<3xi32>, %b: vector<4xf16>, %c: i64) {
  %0 = arith.cmpi slt, %a, %a : tensor<3xi32>
  %1 = arith.cmpf ogt, %b, %b : vector<4xf16>
  %2 = arith.cmpi eq, %c, %c : i64
  %3 = arith.select %0, %a, %a : tensor<3xi1>, tensor<3xi32>
  return
}"""


@pytest.mark.parametrize("generic", [False, True])
def test_comparisons_of_tensors_and_vectors_give_tensors_and_vectors_of_bits(generic):
    module = parse(TEXT)
    assert verify(module) == []
    types = [str(op.results[0].type) for op in module.walk() if op.name.startswith("arith.cmp")]
    assert types == ["tensor<3xi1>", "vector<4xi1>", "i1"]
    assert print_module(parse(print_module(module, generic))) == print_module(module)


def test_a_comparison_of_a_tensor_is_not_a_scalar():
    with pytest.raises(HeadraceError):
        parse(TEXT.replace("%0, %a, %a : tensor<3xi1>, tensor<3xi32>", "%0, %a, %a : tensor<3xi32>"))
