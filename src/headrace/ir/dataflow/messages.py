"""Signals and messages between units."""

from __future__ import annotations

from abc import ABC
from typing import Any

from xdsl.dialects.builtin import (
    BoolAttr,
    IndexType,
    MemRefType,
    StringAttr,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from headrace.ir import syntax
from headrace.ir.dataflow.types import VECTOR, DirectionAttr
from headrace.ir.syntax import INDEX


class _Signal(IRDLOperation, ABC):
    """`%unit attr-dict : index`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        unit = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        start = parser.pos
        if parser.parse_type() != INDEX:
            parser.raise_error("a unit handle has type index", start)
        return cls.create(operands=[unit], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [INDEX])


@irdl_op_definition
class SyncSendOp(_Signal):
    """Posts one signal to `to`; with the flag only after the sender's own transfers are complete."""

    name = "dataflow.sync_send"
    to = operand_def(IndexType)
    wait_immediately_for_async_transfers = opt_prop_def(BoolAttr)
    dbgName = opt_prop_def(StringAttr)


@irdl_op_definition
class SyncRecvOp(_Signal):
    """Waits for a signal from `from_` and takes it."""

    name = "dataflow.sync_recv"
    from_ = operand_def(IndexType)
    dbgName = opt_prop_def(StringAttr)


@irdl_op_definition
class ImplicitSyncOnStreamingBufferOp(IRDLOperation):
    """Send and receive at the granularity of a buffer."""

    name = "dataflow.implicit_sync_on_streaming_buffer"
    memory = operand_def(MemRefType)
    unit = operand_def(IndexType)
    size = operand_def(IndexType)
    dbgName = opt_prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$memory `,` $unit `,` $size attr-dict `:` type($memory) `,` type($unit) `,` type($size)"
    )


@irdl_op_definition
class SendOp(IRDLOperation):
    """Pushes a vector into the FIFO to `to`."""

    name = "dataflow.send"
    to = operand_def(IndexType)
    data = operand_def(VECTOR)
    dir = opt_prop_def(DirectionAttr)
    dbgName = opt_prop_def(StringAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        to = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        data = parser.parse_unresolved_operand()
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        value = parser.resolve_operand(data, parser.parse_type())
        return cls.create(operands=[to, value], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.data.type])


@irdl_op_definition
class ReceiveOp(IRDLOperation):
    """Waits for a vector from `from_`."""

    name = "dataflow.receive"
    from_ = operand_def(IndexType)
    dbgName = opt_prop_def(StringAttr)
    result = result_def(VECTOR)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        sender = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(
            operands=[sender],
            properties=properties,
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])
