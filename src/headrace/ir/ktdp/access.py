"""Access tiles: which elements of a view, in which order."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.ktdp.types import AccessTileType


def symbols(parser: Parser) -> list[UnresolvedOperand]:
    if parser.parse_optional_keyword("symbols") is None:
        return []
    return syntax.names(parser, parser.Delimiter.PAREN)


def print_symbols(printer: Printer, op: IRDLOperation) -> None:
    if op.symbol_operands:
        syntax.print_values(printer, op.symbol_operands, " symbols(", ")")


def required(
    parser: Parser, found: dict[str, Attribute], key: str, kind: type[Attribute], message: str
) -> None:
    if not isinstance(found.get(key), kind):
        parser.raise_error(message, parser.place())


def check_order(what: str, order: AffineMap, dims: int, set_name: str) -> None:
    if order.num_dims != len(order.results):
        raise VerifyException(
            f"{what} must have equal number of inputs ({order.num_dims}) and outputs ({len(order.results)})"
        )
    if len(order.results) != dims:
        raise VerifyException(
            f"{what} dimensions ({len(order.results)}) must match {set_name} dimensions ({dims})"
        )


def check_symbols(set_name: str, wanted: int, given: int) -> None:
    if wanted != given:
        raise VerifyException(f"{set_name} has {wanted} symbols but got {given} symbol operands")


@irdl_op_definition
class ConstructAccessTileOp(IRDLOperation):
    """The elements `base_map(indices) + a` for a in `access_tile_set`, enumerated by `access_tile_order`."""

    name = "ktdp.construct_access_tile"
    base = operand_def(MemRefType | TensorType)
    indices = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    base_map = prop_def(AffineMapAttr)
    access_tile_set = prop_def(AffineSetAttr)
    access_tile_order = prop_def(AffineMapAttr)
    result = result_def(AccessTileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        base = parser.parse_unresolved_operand()
        base_map, indices = subscripts.subscripts(parser, has_symbols=False)
        found = symbols(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        for key, kind in (("set", AffineSetAttr), ("order", AffineMapAttr)):
            message = f"access tile {key} is missing in the operation"
            required(parser, properties, f"access_tile_{key}", kind, message)
        properties["base_map"] = AffineMapAttr(base_map)
        parser.parse_punctuation(":")
        base_value = parser.resolve_operand(base, parser.parse_type())
        parser.parse_punctuation("->")
        return cls.build(
            operands=[base_value, syntax.index_values(parser, indices), syntax.index_values(parser, found)],
            properties=properties,
            attributes=attributes,
            result_types=[syntax.short_type(parser, AccessTileType)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.base], " ")
        subscripts.print_subscripts(printer, self.base_map.data, self.indices)
        print_symbols(printer, self)
        syntax.print_attr_dict(printer, self, ("base_map",))
        syntax.print_types(printer, [self.base.type])
        syntax.print_types(printer, [self.result.type], " -> ")

    def verify_(self) -> None:
        tile_set, base_map = self.access_tile_set.data, self.base_map.data
        if tile_set.num_dims != len(base_map.results):
            raise VerifyException(
                f"access_tile_set dimensions ({tile_set.num_dims}) must match "
                f"base_map dims ({len(base_map.results)})"
            )
        if base_map.num_symbols:
            raise VerifyException("base_map takes dims only, but has symbols")
        if base_map.num_dims != len(self.indices):
            raise VerifyException(
                f"base_map expects {base_map.num_dims} operands but got {len(self.indices)}"
            )
        check_symbols("access_tile_set", tile_set.num_symbols, len(self.symbol_operands))
        check_order("access_tile_order", self.access_tile_order.data, tile_set.num_dims, "access_tile_set")
        if (rank := self.result.type.get_num_dims()) != tile_set.num_dims:
            raise VerifyException(
                f"result type rank ({rank}) must match access_tile_set dimensions ({tile_set.num_dims})"
            )
