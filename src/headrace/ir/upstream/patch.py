"""Ways to change an op of xDSL without touching it: plain subclasses, so that `isinstance` against xDSL's
class holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ShapedType, TensorType, VectorType
from xdsl.ir import Attribute, OpTraits
from xdsl.irdl import AttrConstraint, IRDLOperation, OperandDef, ResultDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.upstream.flags import Flagged, hidden, parse_flags, print_flags


def with_traits(op: type[IRDLOperation], *more: OpTrait) -> OpTraits:
    """The traits of `op` and `more` (the value of `traits` in a subclass)."""
    return OpTraits(lambda: (*op.traits, *more))


def loosened(op: type[IRDLOperation], fields: Mapping[str, AttrConstraint]) -> Any:
    """The definition of `op` with other constraints on the named operands and results (for
    `definition.verify`).
    """
    stock = op.get_irdl_definition()
    operands = [(n, OperandDef(fields[n]) if n in fields else d) for n, d in stock.operands]
    results = [(n, ResultDef(fields[n]) if n in fields else d) for n, d in stock.results]
    return replace(stock, operands=operands, results=results)


class CastLike(Flagged):
    """`%x flags attr-dict : source type to result type`."""

    @classmethod
    def parse(cls: Any, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        flags = parse_flags(parser, cls.FLAGS)
        properties, attributes = syntax.attr_dict(parser, cls)
        attributes |= flags
        parser.parse_punctuation(":")
        source = parser.resolve_operand(name, parser.parse_type())
        parser.parse_keyword("to")
        result = parser.parse_type()
        return cls.create(
            operands=[source], result_types=[result], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        op: Any = self
        syntax.print_values(printer, op.operands, " ")
        print_flags(printer, op.attributes, op.FLAGS)
        syntax.print_attr_dict(printer, op, hidden(op.FLAGS))
        syntax.print_types(printer, [op.operands[0].type])
        syntax.print_types(printer, [op.results[0].type], " to ")


def element(kind: Attribute) -> Attribute:
    """The element type of a tensor, vector or memref; a scalar type itself."""
    return kind.get_element_type() if isinstance(kind, ShapedType) else kind


def bit_width(kind: Attribute) -> int | None:
    """Bits of an element, None for what has no fixed width (index)."""
    found: int | None = getattr(element(kind), "bitwidth", None)
    return found


def check_same_shape(source: Attribute, result: Attribute) -> None:
    """Both scalars, or tensors (vectors) of one shape."""
    for container in (TensorType, VectorType):
        if isinstance(source, container) != isinstance(result, container):
            raise VerifyException(f"{source} and {result} must both be scalars, tensors or vectors")
    if isinstance(source, ShapedType) and source.get_shape() != result.get_shape():
        raise VerifyException(f"{source} and {result} must have the same shape")
