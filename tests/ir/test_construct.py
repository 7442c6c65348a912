"""Ops made in bulk are those that xDSL makes."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, Operation, Region

from headrace.ir.construct import construct
from headrace.ir.context import context

OPS = (
    "agen.composite_load agen.composite_memory_interleave agen.composite_store arith.addi arith.constant "
    "dataflow.program_unit dataflow.receive dataflow.send dataflow.sync_recv func.func ktdf.data_transfer "
    "ktdf.pipeline ktdf.select_memref ktdf.stage linalg.generic linalg.matmul linalg.reduce memref.alloc "
    "memref.subview scf.for scf.yield tensor.empty uniform.query_map vectorchain.cast vectorchain.shuffle"
)


@pytest.mark.parametrize("name", OPS.split())
def test_an_op_is_the_one_that_xdsl_makes(name: str) -> None:
    kind, index = context().get_op(name), IndexType()
    block = Block(arg_types=[index, index])
    first, second = block.args
    marks = {"mark": StringAttr("here")}
    made, other = (
        make((first, second, first), (index, index), marks, marks, [Region(Block(arg_types=[index]))])
        for make in (
            lambda *given: construct(kind, *given),
            lambda operands, results, properties, attributes, regions: kind.create(
                operands=operands,
                result_types=results,
                properties=properties,
                attributes=attributes,
                regions=regions,
            ),
        )
    )
    assert isinstance(made, Operation) and type(made) is type(other)
    public = vars(made).keys() | vars(other).keys()
    same = {"location", "properties", "attributes", "parent", "_successors", "_next_op", "_prev_op"}
    assert public <= same | {"_operands", "_operand_uses", "results", "regions", "_successor_uses"}
    assert all(getattr(made, field) == getattr(other, field) for field in same)
    assert tuple(made.operands) == tuple(other.operands)
    assert [(r.type, r.index, r.op) for r in made.results] == [(index, 0, made), (index, 1, made)]
    assert [region.parent for region in made.regions] == [made]
    assert [(use.operation, use.index) for use in first.uses] == [
        (other, 2),
        (other, 0),
        (made, 2),
        (made, 0),
    ]
    for op in (made, other):
        block.add_op(op)
    assert made.next_op is other and other.prev_op is made
