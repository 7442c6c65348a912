"""affine: max, which xDSL lacks."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import affine
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX


def _parse(cls: Any, parser: Parser) -> Any:
    """`map(dims)[symbols] attr-dict`."""
    start = parser.pos
    amap = parser.parse_attribute()
    if not isinstance(amap, AffineMapAttr):
        parser.raise_error("expected an affine map", start, parser.pos)
    dims = syntax.index_list(parser)
    symbols = syntax.index_list(parser, parser.Delimiter.SQUARE) if syntax.at(parser, "[") else []
    if len(dims) != amap.data.num_dims or len(symbols) != amap.data.num_symbols:
        parser.raise_error(
            f"the map takes {amap.data.num_dims} dims and {amap.data.num_symbols} symbols, "
            f"but {len(dims)} and {len(symbols)} are given",
            start,
            parser.pos,
        )
    attributes = parser.parse_optional_attr_dict()
    return cls.create(
        operands=[*dims, *symbols], properties={"map": amap}, attributes=attributes, result_types=[INDEX]
    )


def _print(op: Any, printer: Printer) -> None:
    printer.print_string(" ")
    amap = op.properties["map"]
    printer.print_attribute(amap)
    n = amap.data.num_dims
    syntax.print_values(printer, op.operands[:n], "(", ")")
    if amap.data.num_symbols:
        syntax.print_values(printer, op.operands[n:], "[", "]")
    syntax.print_attr_dict(printer, op, ("map",))


class ApplyOp(affine.ApplyOp):
    parse = classmethod(_parse)
    print = _print


class MinOp(affine.MinOp):
    parse = classmethod(_parse)
    print = _print


@irdl_op_definition
class MaxOp(IRDLOperation):
    """The largest result of the map."""

    name = "affine.max"
    arguments = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found: MaxOp = _parse(cls, parser)
        return found

    def print(self, printer: Printer) -> None:
        _print(self, printer)

    def verify_(self) -> None:
        if len(self.arguments) != self.map.data.num_dims + self.map.data.num_symbols:
            raise VerifyException("number of operands must match the dims and symbols of the map")


OPS: tuple[type[Any], ...] = (ApplyOp, MinOp, MaxOp)
