"""What all agen ops share: sides with subscripts, optional multicast handles, time symbols, loaded
vectors.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.dataflow import CustomVectorType, Direction
from headrace.ir.syntax import INDEX
from headrace.ir.words import WordAttr

VECTOR = VectorType | CustomVectorType


@irdl_attr_definition
class DirectionAttr(WordAttr):
    """`#agen<direction Clockwise>`: the way round a ring."""

    name = "agen.direction"
    WORDS: ClassVar = Direction


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a body; the vector to be written, or nothing where the loaded one is."""

    name = "agen.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


class Side:
    """`%memref[subscripts]` while it is read."""

    def __init__(self, parser: Parser) -> None:
        self.memref = parser.parse_unresolved_operand()
        found, self.names = subscripts.subscripts(parser)
        self.map = AffineMapAttr(found)

    def indices(self, parser: Parser) -> list[SSAValue]:
        return syntax.index_values(parser, self.names)


def labelled(parser: Parser, label: str) -> Side:
    """`label:%memref[…]`."""
    parser.parse_keyword(label)
    parser.parse_punctuation(":")
    return Side(parser)


def print_side(
    printer: Printer, memref: SSAValue, amap: AffineMapAttr, indices: Any, label: str = ""
) -> None:
    syntax.print_values(printer, [memref], f" {label}")
    subscripts.print_subscripts(printer, amap.data, indices)


def multicast(parser: Parser) -> list[SSAValue]:
    """`multicast_info = %g` if present."""
    if parser.parse_optional_keyword("multicast_info") is None:
        return []
    parser.parse_punctuation("=")
    return [parser.parse_operand(INDEX)]


def print_multicast(printer: Printer, handle: SSAValue | None, before: str = " ") -> None:
    if handle is not None:
        syntax.print_values(printer, [handle], f"{before}multicast_info = ")


def time_symbols(parser: Parser) -> list[SSAValue]:
    parser.parse_keyword("time_symbols")
    return syntax.index_list(parser)


def vector_argument(parser: Parser) -> Any:
    """`(%v:vector<…>)`, the argument of the body."""
    with parser.in_parens():
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation(":")
        return name.resolve(parser.parse_type())


def load_iv(parser: Parser) -> Any:
    parser.parse_punctuation(",")
    parser.parse_keyword("load_iv")
    return vector_argument(parser)


def print_vector_argument(printer: Printer, op: IRDLOperation, before: str) -> None:
    arg = op.regions[0].block.args[0]
    syntax.print_values(printer, [arg], f"{before}(", ":")
    printer.print_attribute(arg.type)
    printer.print_string(")")


def print_time_symbols(printer: Printer, values: Any, before: str) -> None:
    syntax.print_values(printer, values, f"{before}time_symbols(", ")")


def print_body(printer: Printer, op: IRDLOperation, hide: tuple[str, ...]) -> None:
    """The attribute dictionary on its own line, then the body on the next, as the public tools print."""
    printer.print_string("\n")
    syntax.print_attr_dict(printer, op, hide)
    printer.print_string("\n")
    syntax.print_braced_region(printer, op)


def resolve(parser: Parser, names: list[UnresolvedOperand], before: str = ":") -> list[SSAValue]:
    """The types after the colon, one for each name."""
    parser.parse_punctuation(before)
    start = parser.pos
    return list(parser.resolve_operands(names, syntax.types(parser), start))


# -- rules -------------------------------------------------------------------------------------------------


def check_operands(what: str, amap: AffineMapAttr, operands: Any) -> None:
    wanted = amap.data.num_dims + amap.data.num_symbols
    if wanted != len(operands):
        raise VerifyException(f"expected {wanted} {what} operands, but got {len(operands)}")


def check_subscripts(what: str, amap: AffineMapAttr, memref: SSAValue) -> None:
    rank = memref.type.get_num_dims()
    if len(amap.data.results) != rank:
        raise VerifyException(
            f"{what} has {len(amap.data.results)} subscripts, but the memref has rank {rank}"
        )


def check_set(what: str, elements: AffineSetAttr, order: AffineMapAttr, amap: AffineMapAttr) -> None:
    dims = elements.data.num_dims
    if dims < len(amap.data.results):
        raise VerifyException(
            f"{what}_set has {dims} dims, fewer than the {len(amap.data.results)} subscripts"
        )
    if dims != order.data.num_dims:
        raise VerifyException(f"{what}_set has {dims} dims, but {what}_order has {order.data.num_dims}")


def check_yield(op: IRDLOperation, is_store: bool) -> None:
    last = op.regions[0].block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("body must end with agen.yield")
    if is_store and len(last.operands) != 1:
        raise VerifyException(
            f"body must yield the vector to be stored, but yields {len(last.operands)} values"
        )


Properties = dict[str, Attribute]
