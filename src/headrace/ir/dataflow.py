"""The `dataflow` dialect: units, the program of each unit, messages, signals, views of memory."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    I32,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    NoMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from headrace.ir import syntax
from headrace.ir.syntax import INDEX
from headrace.ir.words import WordAttr

# -- types and attributes -----------------------------------------------------------------------------------


class Direction(StrEnum):
    PseudoRandom = "PseudoRandom"
    CounterClockwise = "CounterClockwise"
    Clockwise = "Clockwise"
    BothWays = "BothWays"


@irdl_attr_definition
class DirectionAttr(WordAttr):
    """`#dataflow<direction Clockwise>`: the way round a ring."""

    name = "dataflow.direction"
    WORDS: ClassVar = Direction


@irdl_attr_definition
class CustomVectorType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.custom_vector<64xf16>`: a vector whose elements need not be builtin."""

    name = "dataflow.custom_vector"
    num: IntAttr
    element_type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
            if len(dims) != 1:
                parser.raise_error("a custom vector has one extent")
        return (IntAttr(dims[0]), element)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.num.data}x")
        printer.print_attribute(self.element_type)
        printer.print_string(">")


@irdl_attr_definition
class MxFloatType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.mxfp<16>`: micro-scaling float of a width in bits."""

    name = "dataflow.mxfp"
    width: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.width.data}>")


@irdl_attr_definition
class MxIntType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.mxint<4>`: micro-scaling integer of a width in bits."""

    name = "dataflow.mxint"
    width: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.width.data}>")


class CustomName(StrEnum):
    mxfp4 = "mxfp4"
    mxfp8 = "mxfp8"
    mxint4 = "mxint4"


@irdl_attr_definition
class CustomType(ParametrizedAttribute, TypeAttribute):
    """`!dataflow.custom<mxfp4>`: the common widths under their names."""

    name = "dataflow.custom"
    kind: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_str_enum(CustomName).value),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.kind.data}>")


VECTOR = VectorType | CustomVectorType

# -- units --------------------------------------------------------------------------------------------------


@irdl_op_definition
class GetUnitOp(IRDLOperation):
    """Handles of a unit or memory; `core` and `corelet` are discardable attributes."""

    name = "dataflow.get_unit"
    unit_name = prop_def(StringAttr, prop_name="name")
    unit_type = prop_def(StringAttr, prop_name="type")
    units = var_result_def(IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(result_types=syntax.types(parser), properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, self.units.types)

    @property
    def core(self) -> int | None:
        """The core number, None when the attribute is absent."""
        return _number(self.attributes.get("core"))

    @property
    def corelet(self) -> int | None:
        """The corelet number, None when the attribute is absent."""
        return _number(self.attributes.get("corelet"))

    def verify_(self) -> None:
        if not self.units:
            raise VerifyException("must have at least one result")
        for key in ("core", "corelet"):
            found = self.attributes.get(key)
            if found is not None and not isinstance(found, IntegerAttr):
                raise VerifyException(f"'{key}' must be an integer")


def _number(found: Attribute | None) -> int | None:
    return int(found.value.data) if isinstance(found, IntegerAttr) else None


@irdl_op_definition
class GetLocalUnitOp(IRDLOperation):
    """A resource inside a unit, such as its register file."""

    name = "dataflow.get_local_unit"
    unit = operand_def(IndexType)
    unit_name = prop_def(StringAttr, prop_name="name")
    result = result_def(IndexType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$unit attr-dict `:` type($result)"


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a unit program; normally invisible."""

    name = "dataflow.return"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class ProgramUnitOp(IRDLOperation):
    """The program of `units`; its block argument, if any, is the handle of the unit that executes this
    copy.
    """

    name = "dataflow.program_unit"
    units = var_operand_def(IndexType)
    precision = opt_prop_def(StringAttr)
    region = region_def("single_block")
    traits = traits_def(SingleBlockImplicitTerminator(ReturnOp))

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        args = []
        if parser.parse_optional_keyword("iter_arg"):
            parser.parse_punctuation(":")
            args = [parser.parse_argument(expect_type=False).resolve(INDEX)]
            parser.parse_punctuation("->")
            units = syntax.index_list(parser)
        else:
            units = syntax.index_values(parser, syntax.optional_names(parser))
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        region = syntax.braced_region(parser, args)
        op = cls.create(operands=units, properties=properties, attributes=attributes, regions=[region])
        for trait in op.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(op, trait)
        return op

    def print(self, printer: Printer) -> None:
        args = self.region.block.args
        if args:
            syntax.print_values(printer, args, " iter_arg : ", " -> ")
            syntax.print_values(printer, self.units, "(", ")")
        else:
            syntax.print_values(printer, self.units, " ")
        syntax.print_attr_dict(printer, self)
        printer.print_string(" : ")
        syntax.print_braced_region(printer, self, terminator=False)

    def verify_(self) -> None:
        args = self.region.block.args
        if len(args) > 1 or any(not isinstance(a.type, IndexType) for a in args):
            raise VerifyException("the program takes at most one argument, of type index")


@irdl_op_definition
class CreateGroupOp(IRDLOperation):
    name = "dataflow.create_group"
    units = var_operand_def(IndexType)
    result = result_def(IndexType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        with parser.in_parens():
            found = syntax.optional_names(parser)
            units = syntax.index_values(parser, found)
            if found:
                parser.parse_punctuation(":")
                syntax.types(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(operands=units, attributes=attributes, result_types=[parser.parse_type()])

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        if self.units:
            syntax.print_values(printer, self.units)
            syntax.print_types(printer, self.units.types)
        printer.print_string(")")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])


@irdl_op_definition
class CreateMulticastGroupOp(IRDLOperation):
    """One producer, many consumers; `count` requests are outstanding at the start."""

    name = "dataflow.create_multicast_group"
    producer = operand_def(IndexType)
    consumers = var_operand_def(IndexType)
    count = prop_def(IntegerAttr[I32])
    group_id = prop_def(IntegerAttr[I32])
    num_consumers = prop_def(IntegerAttr[I32])
    result = result_def(IndexType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        with parser.in_parens():
            producer = parser.parse_operand(INDEX)
            parser.parse_punctuation("->")
            consumers = syntax.index_list(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(
            operands=[producer, *consumers],
            properties=properties,
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.producer], "(", " -> ")
        syntax.print_values(printer, self.consumers, "(", "))")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])


# -- signals and messages ----------------------------------------------------------------------------------


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


# -- views -------------------------------------------------------------------------------------------------


@irdl_op_definition
class GetLogicalMemoryViewOp(IRDLOperation):
    """Element (i, j, …) of the result lives at element address `start + layout_map(i, j, …)` of the
    memory.
    """

    name = "dataflow.get_logical_memory_view"
    unit = operand_def(IndexType)
    start = operand_def(IndexType)
    layout_map = prop_def(AffineMapAttr)
    result = result_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        unit = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        start = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        return cls.create(
            operands=[unit, start],
            properties=properties,
            attributes=attributes,
            result_types=[_view_type(parser)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [INDEX, INDEX, self.result.type])

    def verify_(self) -> None:
        layout, rank = self.layout_map.data, self.result.type.get_num_dims()
        if layout.num_dims != rank:
            raise VerifyException(f"layout_map has {layout.num_dims} dims, but the view has rank {rank}")
        if len(layout.results) != 1:
            raise VerifyException(
                f"layout_map must have one result (an address), but has {len(layout.results)}"
            )


def _view_type(parser: Parser) -> Attribute:
    parser.parse_punctuation(":")
    start = parser.pos
    found = syntax.types(parser)
    if len(found) != 3:
        parser.raise_error("expected the types index, index, memref", start, parser.pos)
    return found[2]


@irdl_op_definition
class GetPagedLogicalMemoryViewOp(IRDLOperation):
    """A view in pages: each index set has its own start address."""

    name = "dataflow.get_paged_logical_memory_view"
    unit = operand_def(IndexType)
    start = operand_def(IndexType)
    page_starts = var_operand_def(IndexType)
    layout_map = prop_def(AffineMapAttr)
    idx_sets = prop_def(ArrayAttr[AffineSetAttr])
    result = result_def(MemRefType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        unit = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        start = parser.parse_operand(INDEX)
        properties, attributes = syntax.attr_dict(parser, cls)
        sets, starts = _pages(parser)
        properties["idx_sets"] = ArrayAttr(sets)
        return cls.create(
            operands=[unit, start, *starts],
            properties=properties,
            attributes=attributes,
            result_types=[_view_type(parser)],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.unit, self.start], " ")
        syntax.print_attr_dict(printer, self, ("idx_sets",))
        printer.print_string("\n  {segments =")
        for i, (s, start) in enumerate(zip(self.idx_sets, self.page_starts, strict=True)):
            printer.print_string(f"{',' if i else ''}\n    page{i}: (idx_set = ")
            printer.print_attribute(s)
            syntax.print_values(printer, [start], ", start_addr = ", ")")
        printer.print_string("}")
        syntax.print_types(printer, [INDEX, INDEX, self.result.type])

    def verify_(self) -> None:
        if len(self.idx_sets) != len(self.page_starts):
            raise VerifyException(f"{len(self.idx_sets)} pages, but {len(self.page_starts)} start addresses")


def _pages(parser: Parser) -> tuple[list[Attribute], list[Any]]:
    sets: list[Attribute] = []
    starts: list[Any] = []
    with parser.in_braces():
        parser.parse_keyword("segments")
        parser.parse_punctuation("=")
        while not syntax.at(parser, "}"):
            parser.parse_keyword(f"page{len(sets)}")
            parser.parse_punctuation(":")
            with parser.in_parens():
                parser.parse_keyword("idx_set")
                parser.parse_punctuation("=")
                sets.append(parser.parse_attribute())
                parser.parse_punctuation(",")
                parser.parse_keyword("start_addr")
                parser.parse_punctuation("=")
                starts.append(parser.parse_operand(INDEX))
            parser.parse_optional_punctuation(",")
    return sets, starts


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """Call of a template of the code generator; registers are strings such as "R0"."""

    name = "dataflow.opaque"
    func_name = prop_def(StringAttr)
    read_write_register_dictionary = prop_def(DictionaryAttr)
    read_only_register_dictionary = prop_def(DictionaryAttr)
    parameter_dictionary = prop_def(DictionaryAttr)
    dbgName = opt_prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"


Dataflow = Dialect(
    "dataflow",
    [
        GetUnitOp,
        GetLocalUnitOp,
        ReturnOp,
        ProgramUnitOp,
        CreateGroupOp,
        CreateMulticastGroupOp,
        SyncSendOp,
        SyncRecvOp,
        ImplicitSyncOnStreamingBufferOp,
        SendOp,
        ReceiveOp,
        GetLogicalMemoryViewOp,
        GetPagedLogicalMemoryViewOp,
        OpaqueOp,
    ],
    [DirectionAttr, CustomVectorType, MxFloatType, MxIntType, CustomType],
)
