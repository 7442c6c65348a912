"""Units, groups of units, and the program of each."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    I32,
    IndexType,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsTerminator,
    NoMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX


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
