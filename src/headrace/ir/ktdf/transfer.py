"""Moving boxes of elements between memories and FIFO slots."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    MemRefType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.ktdf.types import FifoSlotType


@irdl_op_definition
class DataTransferOp(IRDLOperation):
    """Copies a box, in row-major order of each side's own box; a FIFO side pushes or pops that many
    elements.
    """

    name = "ktdf.data_transfer"
    source = operand_def(MemRefType | FifoSlotType)
    source_indices = var_operand_def(IndexType)
    source_sizes = var_operand_def(IndexType)
    destination = operand_def(MemRefType | FifoSlotType)
    dest_indices = var_operand_def(IndexType)
    dest_sizes = var_operand_def(IndexType)
    static_source_sizes = opt_prop_def(DenseArrayBase.constr(i64))
    static_dest_sizes = opt_prop_def(DenseArrayBase.constr(i64))
    source_map = opt_prop_def(AffineMapAttr)
    dest_map = opt_prop_def(AffineMapAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        parser.parse_keyword("from")
        source = _side(parser)
        parser.parse_keyword("to")
        dest = _side(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source[0], parser.parse_type())
        parser.parse_punctuation(",")
        dest_value = parser.resolve_operand(dest[0], parser.parse_type())
        for name, (_, amap, _, _, static) in (("source", source), ("dest", dest)):
            if amap is not None:
                properties[f"{name}_map"] = amap
            if static is not None:
                properties[f"static_{name}_sizes"] = static
        return cls.build(
            operands=[
                source_value,
                syntax.index_values(parser, source[2]),
                syntax.index_values(parser, source[3]),
                dest_value,
                syntax.index_values(parser, dest[2]),
                syntax.index_values(parser, dest[3]),
            ],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" from ")
        self._print_side(
            printer,
            self.source,
            self.source_map,
            self.source_indices,
            self.source_sizes,
            self.static_source_sizes,
        )
        printer.print_string(" to ")
        self._print_side(
            printer,
            self.destination,
            self.dest_map,
            self.dest_indices,
            self.dest_sizes,
            self.static_dest_sizes,
        )
        syntax.print_attr_dict(
            printer, self, ("source_map", "dest_map", "static_source_sizes", "static_dest_sizes")
        )
        syntax.print_types(printer, [self.source.type, self.destination.type])

    def _print_side(
        self, printer: Printer, value: Any, amap: Any, indices: Any, sizes: Any, static: Any
    ) -> None:
        syntax.print_values(printer, [value])
        if amap is not None:
            subscripts.print_subscripts(printer, amap.data, indices)
        if static is not None:
            printer.print_string(" size ")
            subscripts.print_index_sizes(printer, sizes, static)

    def verify_(self) -> None:
        if self.source.type.element_type != self.destination.type.element_type:
            raise VerifyException("source and destination must have the same element type")
        _check_side(
            "source",
            self.source.type,
            self.source_map,
            self.source_indices,
            self.source_sizes,
            self.static_source_sizes,
        )
        _check_side(
            "dest",
            self.destination.type,
            self.dest_map,
            self.dest_indices,
            self.dest_sizes,
            self.static_dest_sizes,
        )


def _side(parser: Parser) -> tuple[Any, Attribute | None, list[Any], list[Any], Any]:
    """(value, map, index names, size names, static sizes) of `%m[…] size […]`."""
    value = parser.parse_unresolved_operand()
    amap: Attribute | None = None
    indices: list[Any] = []
    sizes: list[Any] = []
    static: Any = None
    if syntax.at(parser, "["):
        found, indices = subscripts.subscripts(parser)
        amap = AffineMapAttr(found)
    if parser.parse_optional_keyword("size"):
        sizes, static = subscripts.index_sizes(parser)
    return value, amap, indices, sizes, static


def _check_side(name: str, kind: Any, amap: Any, indices: Any, sizes: Any, static: Any) -> None:
    if static is not None and static.get_values().count(DYNAMIC_INDEX) != len(sizes):
        raise VerifyException(f"number of dynamic {name} sizes does not match static_{name}_sizes")
    if isinstance(kind, FifoSlotType):
        if amap is not None or indices:
            raise VerifyException(f"{name}_map must be absent for fifo {name}")
        return
    rank = kind.get_num_dims()
    if amap is None:
        raise VerifyException(f"{name}_map must be present for memref {name}")
    if amap.data.num_symbols or amap.data.num_dims != len(indices) or len(amap.data.results) != rank:
        raise VerifyException(
            f"{name}_map must have {len(indices)} dims, no symbols and {rank} results (the rank), "
            f"but has {amap.data.num_dims}, {amap.data.num_symbols} and {len(amap.data.results)}"
        )
    if static is None or len(static) != rank:
        raise VerifyException(f"{name} sizes must be given, one for each of the {rank} dimensions")
