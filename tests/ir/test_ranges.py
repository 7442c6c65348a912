from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.ranges import Ranges
from headrace.ir.text import parse

OPS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "minsi": min,
    "maxsi": max,
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "divsi": lambda a, b: abs(a) // b * (1 if a >= 0 else -1),
}
DIVIDING = ("divui", "remui", "floordivsi", "ceildivsi", "divsi")
LEAF = st.sampled_from(["t", "u", "i"]) | st.integers(-9, 9)
TREE = st.recursive(LEAF, lambda t: st.tuples(st.sampled_from(sorted(OPS)), t, t), max_leaves=6)


def _value(tree: Any, at: dict[str, int]) -> int | None:
    if not isinstance(tree, tuple):
        return at[tree] if isinstance(tree, str) else tree
    a, b = (_value(t, at) for t in tree[1:])
    if (
        a is None
        or b is None
        or (tree[0] in DIVIDING and (b <= 0 or (a < 0 and tree[0] in ("divui", "remui"))))
    ):
        return None
    return OPS[tree[0]](a, b)


def _lines(tree: Any, lines: list[str]) -> str:
    if isinstance(tree, str):
        return f"%{tree}"
    name = f"%v{len(lines)}"
    if isinstance(tree, int):
        lines.append(f"{name} = arith.constant {tree} : index")
        return name
    a, b = (_lines(t, lines) for t in tree[1:])
    name = f"%v{len(lines)}"
    lines.append(f"{name} = arith.{tree[0]} {a}, {b} : index")
    return name


@given(TREE)
@settings(max_examples=60, deadline=None)
def test_every_value_of_an_index_expression_is_in_its_range(tree):
    lines: list[str] = []
    result = _lines(tree, lines)
    inside = "\n".join(lines)
    module = parse(f"""func.func @f() attributes {{grid = [3, 4]}} {{
      %t, %u = ktdp.get_compute_tile_id : index, index
      %low = arith.constant 2 : index
      %high = arith.constant 11 : index
      %step = arith.constant 4 : index
      scf.for %i = %low to %high step %step {{
        {inside}
        %r = arith.addi {result}, {result} : index
      }}
      return
    }}""")
    target = [op for op in module.walk() if op.name == "arith.addi"][-1].operands[0]
    found = Ranges((3, 4), {}).of(target)
    if found is None:
        return
    values = [
        _value(tree, {"t": t, "u": u, "i": i}) for t in range(3) for u in range(4) for i in range(2, 11, 4)
    ]
    assert all(v is not None and found[0] <= v <= found[1] for v in values)


def test_ranges_of_plain_values_are_exact():
    module = parse("""func.func @f(%n: index) attributes {grid = [5]} {
      %t = ktdp.get_compute_tile_id : index
      %c3 = arith.constant 3 : index
      %0 = arith.muli %t, %c3 : index
      %1 = arith.addi %0, %n : index
      return
    }""")
    function = module.body.block.first_op
    argument = function.body.block.args[0]
    last = [op for op in module.walk() if op.name == "arith.addi"][0].results[0]
    assert Ranges((5,), {}).of(last) is None
    assert Ranges((5,), {argument: 7}).of(last) == (7, 19)
