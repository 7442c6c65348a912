"""Tile sizes still to be chosen, sizes and indices derived from them, rotating buffers."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX


@irdl_op_definition
class ReserveSizeOp(IRDLOperation):
    """A tile size the scheduler picks later: at least `min_value`, a multiple of `divisibility`."""

    name = "ktdf.tiling.reserve_size"
    min_value = prop_def(IntegerAttr[IndexType])
    divisibility = prop_def(IntegerAttr[IndexType])
    unique_id = opt_prop_def(IntegerAttr[IndexType] | IntegerAttr[I64])
    result = result_def(IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"


def _pairs(parser: Parser) -> tuple[list[SSAValue], list[SSAValue]]:
    """`[%iv : %size], …`; the commas are optional."""
    first, second = [], []
    while parser.parse_optional_punctuation("["):
        first.append(parser.parse_operand(INDEX))
        parser.parse_punctuation(":")
        second.append(parser.parse_operand(INDEX))
        parser.parse_punctuation("]")
        parser.parse_optional_punctuation(",")
    return first, second


def _print_pairs(printer: Printer, first: list[SSAValue], second: list[SSAValue]) -> None:
    name = syntax.value_name
    pairs = zip(first, second, strict=True)
    printer.print_string(" " + ", ".join(f"[{name(printer, a)} : {name(printer, b)}]" for a, b in pairs))


@irdl_op_definition
class DeriveSizeOp(IRDLOperation):
    """What is left of `total_size` inside the listed tile loops (outermost first): the full tile, the
    rest, or 0.
    """

    name = "ktdf.tiling.derive_size"
    ivs = var_operand_def(IndexType)
    tile_sizes = var_operand_def(IndexType)
    total_size = operand_def(IndexType)
    result = result_def(IndexType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        ivs, sizes = _pairs(parser)
        parser.parse_keyword("total_size")
        parser.parse_punctuation("=")
        total = parser.parse_operand(INDEX)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.build(
            operands=[ivs, sizes, total], result_types=[parser.parse_type()], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        _print_pairs(printer, list(self.ivs), list(self.tile_sizes))
        syntax.print_values(printer, [self.total_size], ", total_size = ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if not self.ivs:
            raise VerifyException("must have at least one [iv : tile_size] pair")


@irdl_op_definition
class LinearizeIndexOp(IRDLOperation):
    """The sum of iv times stride."""

    name = "ktdf.tiling.linearize_index"
    ivs = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    result = result_def(IndexType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        ivs, strides = _pairs(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.build(operands=[ivs, strides], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_pairs(printer, list(self.ivs), list(self.strides))
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if not self.ivs:
            raise VerifyException("must have at least one [iv : stride] pair")


@irdl_op_definition
class BufferPhaseOp(IRDLOperation):
    """Completed iterations of the loops of `ivs` (row-major) modulo `num_phases`."""

    name = "ktdf.buffer_phase"
    ivs = var_operand_def(IndexType)
    num_phases = prop_def(IntegerAttr[I64])
    result = result_def(IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "`(` $ivs `)` attr-dict `:` type($result)"

    def verify_(self) -> None:
        if not self.ivs:
            raise VerifyException("must have at least one induction variable")
        if self.num_phases.value.data < 2:
            raise VerifyException(f"num_phases must be at least 2, but is {self.num_phases.value.data}")


@irdl_op_definition
class SelectMemrefOp(IRDLOperation):
    """The candidate number `phase`; all candidates have the type of the result."""

    name = "ktdf.select_memref"
    phase = operand_def(IndexType)
    candidates = var_operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        phase = parser.parse_operand(INDEX)
        found = syntax.names(parser, parser.Delimiter.SQUARE)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        memref = parser.parse_type()
        return cls.build(
            operands=[phase, [parser.resolve_operand(u, memref) for u in found]],
            result_types=[memref],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.phase], " ")
        syntax.print_values(printer, self.candidates, "[", "]")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        if len(self.candidates) < 2:
            raise VerifyException("must have at least two candidates")
        if any(c.type != self.result.type for c in self.candidates):
            raise VerifyException("all candidates must have the type of the result")
        owner = self.phase.owner
        if isinstance(owner, BufferPhaseOp) and owner.num_phases.value.data != len(self.candidates):
            raise VerifyException(
                f"{len(self.candidates)} candidates for a phase of {owner.num_phases.value.data} values"
            )
