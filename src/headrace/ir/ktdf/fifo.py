"""FIFO slots, tokens, opaque templates."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdf.types import FifoSlotType, TokenType


@irdl_op_definition
class FifoAllocateOp(IRDLOperation):
    """Slots between two unit kinds, filled and drained in the listed order, round and round."""

    name = "ktdf.fifo.allocate"
    dynamic_sizes = var_operand_def(IndexType)
    slots = var_result_def(FifoSlotType)
    assembly_format = "`(` $dynamic_sizes `)` attr-dict `->` type($slots)"

    def verify_(self) -> None:
        wanted = sum(s.type.num.data == DYNAMIC_INDEX for s in self.slots)
        if len(self.dynamic_sizes) != wanted:
            raise VerifyException(
                f"number of dynamic size operands ({len(self.dynamic_sizes)}) must match number of "
                f"dynamic sizes in result types ({wanted})"
            )


def _check_slot(slot: FifoSlotType, data: Any) -> None:
    if slot.element_type != data.element_type:
        raise VerifyException("fifo slot and data must have the same element type")
    shape = data.get_shape()
    is_dynamic = DYNAMIC_INDEX in shape
    if is_dynamic != (slot.num.data == DYNAMIC_INDEX):
        raise VerifyException("fifo slot and data must both be static or both be dynamic")
    if is_dynamic:
        return
    total = 1
    for n in shape:
        total *= n
    if total != slot.num.data:
        raise VerifyException(f"data total elements ({total}) must match FIFO slot size ({slot.num.data})")


@irdl_op_definition
class ReadFromFifoOp(IRDLOperation):
    """Waits for the elements of a slot and takes them."""

    name = "ktdf.read_from_fifo"
    fifo_slot = operand_def(FifoSlotType)
    result = result_def(TensorType | MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        slot = parser.resolve_operand(name, syntax.short_type(parser, FifoSlotType))
        parser.parse_punctuation("->")
        return cls.create(operands=[slot], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.fifo_slot], " ")
        syntax.print_attr_dict(printer, self)
        printer.print_string(" : ")
        syntax.print_short_type(printer, self.fifo_slot.type)
        syntax.print_types(printer, [self.result.type], " -> ")

    def verify_(self) -> None:
        _check_slot(self.fifo_slot.type, self.result.type)


@irdl_op_definition
class WriteToFifoOp(IRDLOperation):
    """Puts data into a slot."""

    name = "ktdf.write_to_fifo"
    data = operand_def(TensorType | MemRefType)
    fifo_slot = operand_def(FifoSlotType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        data = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        slot = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        data_value = parser.resolve_operand(data, parser.parse_type())
        parser.parse_punctuation(",")
        slot_value = parser.resolve_operand(slot, syntax.short_type(parser, FifoSlotType))
        return cls.create(operands=[data_value, slot_value], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.data.type])
        printer.print_string(", ")
        syntax.print_short_type(printer, self.fifo_slot.type)

    def verify_(self) -> None:
        _check_slot(self.fifo_slot.type, self.data.type)


@irdl_op_definition
class CreateTokenOp(IRDLOperation):
    name = "ktdf.create_token"
    unique_id = opt_prop_def(IntegerAttr[IndexType] | IntegerAttr[I64])
    result = result_def(TokenType)
    assembly_format = "attr-dict `:` type($result)"
    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """A template of the code generator, or one of ours (`headrace.gather`); writes its outs like linalg."""

    name = "ktdf.opaque"
    template_name = prop_def(StringAttr)
    inputs = var_operand_def(AnyAttr())
    outputs = var_operand_def(AnyAttr())
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        template = StringAttr(parser.parse_str_literal())
        properties, attributes = syntax.attr_dict(parser, cls)
        results = syntax.types(parser) if parser.parse_optional_punctuation("->") else []
        groups = [_group(parser, "ins"), _group(parser, "outs")]
        return cls.build(
            operands=groups,
            properties=properties | {"template_name": template},
            attributes=attributes,
            result_types=[results],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.template_name)
        syntax.print_attr_dict(printer, self, ("template_name",))
        if self.res:
            syntax.print_types(printer, self.res.types, " -> ")
        for keyword, values in (("ins", self.inputs), ("outs", self.outputs)):
            printer.print_string(f"\n  {keyword}(")
            if values:
                syntax.print_values(printer, values)
                syntax.print_types(printer, values.types, ": ")
            printer.print_string(")")

    def verify_(self) -> None:
        tensors = [v.type for v in self.outputs if isinstance(v.type, TensorType)]
        if not all(isinstance(v.type, TensorType | MemRefType) for v in self.outputs):
            raise VerifyException("outs must be tensors or memrefs")
        if list(self.res.types) != tensors:
            raise VerifyException("results must be the tensors among the outs")


def _group(parser: Parser, keyword: str) -> Any:
    parser.parse_keyword(keyword)
    with parser.in_parens():
        start = parser.pos
        found = syntax.optional_names(parser)
        if not found:
            return []
        parser.parse_punctuation(":")
        return parser.resolve_operands(found, syntax.types(parser), start)
