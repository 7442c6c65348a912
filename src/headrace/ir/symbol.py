"""The `symbol` dialect: stand-ins for values known at launch only."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, Signedness
from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax


@irdl_op_definition
class CreateSymbolOp(IRDLOperation):
    """The value whose id is the discardable attribute `SymbolId`."""

    name = "symbol.create_symbol"
    result = result_def(IndexType)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "attr-dict `:` type($result)"

    @property
    def symbol_id(self) -> int | None:
        """The id, None when the attribute is absent."""
        found = self.attributes.get("SymbolId")
        return int(found.value.data) if isinstance(found, IntegerAttr) else None


@irdl_op_definition
class CreateIdOp(IRDLOperation):
    """States that `value` is the symbol `symbol_id`."""

    name = "symbol.create_id"
    value = operand_def(AnyAttr())
    symbol_id = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value attr-dict `:` type($value)"

    def verify_(self) -> None:
        kind = self.symbol_id.type
        if getattr(kind, "signedness", None) is None or kind.signedness.data != Signedness.SIGNED:
            raise VerifyException(f"symbol_id must have type si64, but has {kind}")


@irdl_op_definition
class SymbolImmutableMappingOp(IRDLOperation):
    """A constant map from constants to symbols."""

    name = "symbol.symbol_immutable_mapping"
    keys = var_operand_def(IndexType)
    values_ = var_operand_def(IndexType)
    result = result_def(IndexType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        keys, values = syntax.mapping(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operands = [syntax.index_values(parser, keys), syntax.index_values(parser, values)]
        return cls.build(operands=operands, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_mapping(printer, self.keys, self.values_, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        for v in self.values_:
            if not (isinstance(v.owner, Operation) and isinstance(v.owner, CreateSymbolOp)):
                raise VerifyException("values must be results of symbol.create_symbol")


@irdl_op_definition
class QueryMapOp(IRDLOperation):
    """The symbol a map holds for a key."""

    name = "symbol.query_map"
    map = operand_def(IndexType)
    key = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operands = syntax.query(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(operands=operands, attributes=attributes, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        syntax.print_query(printer, self.map, self.key)
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if not isinstance(self.map.owner, SymbolImmutableMappingOp):
            raise VerifyException("map must be a result of symbol.symbol_immutable_mapping")


Symbol = Dialect("symbol", [CreateSymbolOp, CreateIdOp, SymbolImmutableMappingOp, QueryMapOp], [])
