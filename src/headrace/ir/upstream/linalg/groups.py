"""`ins(%a, … : t, …)` and `outs(…)`, and payloads written as one op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from headrace.ir import syntax


def group(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    """The values of `keyword(…)`; empty when it does not stand there."""
    if parser.parse_optional_keyword(keyword) is None:
        return []
    with parser.in_parens():
        start = parser.pos
        found = syntax.names(parser)
        parser.parse_punctuation(":")
        return list(parser.resolve_operands(found, syntax.types(parser), start))


def groups(parser: Parser) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    return group(parser, "ins"), group(parser, "outs")


def print_groups(printer: Printer, inputs: Any, outputs: Any) -> None:
    for keyword, values in (("ins", inputs), ("outs", outputs)):
        if values:
            syntax.print_values(printer, values, f" {keyword}(")
            syntax.print_types(printer, [v.type for v in values])
            printer.print_string(")")


def payload(parser: Any) -> tuple[type[Operation], dict[str, Attribute]] | None:
    """`{ arith.addf {…} }` as (op class, attributes), None when a body follows instead."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    kind = parser.op_type_here()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation("}")
    return kind, attributes


def payload_region(
    kind: Any, attributes: dict[str, Attribute], types: Sequence[Attribute], order: Sequence[int]
) -> Region:
    """A region of one `kind` op on the arguments in `order`, and its yield."""
    block = Block(arg_types=types)
    operands = [block.args[i] for i in order]
    definition = kind.get_irdl_definition()
    properties = {k: d.default_value for k, d in definition.properties.items() if d.default_value is not None}
    given = {k: v for k, v in attributes.items() if k in definition.properties}
    rest = {k: v for k, v in attributes.items() if k not in definition.properties}
    op = kind.create(
        operands=operands,
        result_types=[operands[0].type],
        properties=properties | given,
        attributes=rest,
    )
    block.add_ops([op, linalg.YieldOp(op.results[0])])
    return Region(block)


def as_payload(region: Region, order: Sequence[int]) -> Operation | None:
    """The op of a region that is one op on the arguments in `order` and its yield, else None."""
    ops = list(region.block.ops)
    if len(ops) != 2 or not isinstance(ops[1], linalg.YieldOp):
        return None
    op = ops[0]
    args = region.block.args
    is_plain = (
        len(op.results) == 1
        and not op.regions
        and list(op.operands) == [args[i] for i in order]
        and list(ops[1].operands) == list(op.results)
        and op.results[0].type == op.operands[0].type
    )
    return op if is_plain else None


def print_payload(printer: Printer, op: Any) -> None:
    definition = op.get_irdl_definition()
    defaults = {k: d.default_value for k, d in definition.properties.items()}
    shown = {k: v for k, v in op.properties.items() if v != defaults.get(k)} | op.attributes
    printer.print_string(f" {{ {op.name}")
    printer.print_op_attributes(shown)
    printer.print_string(" }")


def print_body(printer: Printer, region: Region) -> None:
    """`(%a: t, …) { … }`."""
    printer.print_string(" (")
    printer.print_list(region.block.args, printer.print_block_argument)
    printer.print_string(") ")
    printer.print_region(region, print_entry_block_args=False)
