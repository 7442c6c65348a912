"""What holds resources: groups, devices, and the patterns of a device."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import I64, ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdf_arch.checks import PREFIX, check_identifiers, check_intrinsics, check_parent
from headrace.ir.ktdf_arch.header import endpoint_type, print_header, read_header, short
from headrace.ir.ktdf_arch.types import ExecUnitType, MemoryType


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The units a group shows to the outside."""

    name = "ktdf_arch.yield"
    units = var_operand_def(ExecUnitType)
    traits = traits_def(IsTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = syntax.optional_names(parser)
        units = [parser.resolve_operand(u, ExecUnitType()) for u in found]
        return cls.create(operands=units, attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        if self.units:
            syntax.print_values(printer, self.units, " ")
        syntax.print_attr_dict(printer, self)


@irdl_op_definition
class GroupOp(IRDLOperation):
    """Resources that belong together; memories come in through `share`, execution units go out as results."""

    name = "ktdf_arch.group"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    shared = var_operand_def(MemoryType)
    units = var_result_def(ExecUnitType)
    region = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = read_header(parser, cls)
        parser.parse_keyword("share")
        names = syntax.names(parser, parser.Delimiter.PAREN)
        shared = [parser.resolve_operand(u, MemoryType()) for u in names]
        region = syntax.braced_region(parser, [parser.Argument(u.span, MemoryType()) for u in names])
        if not isinstance(region.block.last_op, YieldOp):
            region.block.add_op(YieldOp.create())
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: endpoint_type(parser))
        return cls.create(
            operands=shared,
            properties=properties,
            attributes=attributes,
            regions=[region],
            result_types=results,
        )

    def print(self, printer: Printer) -> None:
        print_header(printer, self)
        syntax.print_values(printer, self.shared, " share(", ") ")
        for arg, outer in zip(self.region.block.args, self.shared, strict=True):
            syntax.name_like(printer, arg, outer)
        last = self.region.block.last_op
        syntax.print_braced_region(
            printer, self, terminator=bool(last and (last.operands or last.attributes))
        )
        if self.units:
            printer.print_string(" -> " + ", ".join(short(u.type) for u in self.units))

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        inner = [a.type for a in self.region.block.args]
        if inner != [v.type for v in self.shared]:
            raise VerifyException(f"shares {len(self.shared)} memories, but its region takes {len(inner)}")
        last = self.region.block.last_op
        if not isinstance(last, YieldOp) or len(last.operands) != len(self.units):
            count = len(last.operands) if isinstance(last, YieldOp) else 0
            raise VerifyException(f"yields {count} units for {len(self.units)} results")


@irdl_op_definition
class PatternsOp(IRDLOperation):
    """Rewrite patterns of the device, applied when one of `groups` is enabled (no groups: always)."""

    name = "ktdf_arch.patterns"
    groups = opt_prop_def(ArrayAttr[StringAttr])
    region = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        names = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
        properties = {"groups": ArrayAttr(StringAttr(n) for n in names or ())}
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties,
            attributes=dict(attributes.data) if attributes else {},
            regions=[syntax.braced_region(parser)],
        )

    def print(self, printer: Printer) -> None:
        if self.groups is not None and self.groups.data:
            printer.print_string(" ")
            printer.print_attribute(self.groups)
        syntax.print_attr_dict(printer, self, ("groups",), keyword=True)
        printer.print_string(" ")
        syntax.print_braced_region(printer, self)

    def verify_(self) -> None:
        if not isinstance(self.parent_op(), DeviceOp):
            raise VerifyException("expects parent op to be 'ktdf_arch.device'")
        if any(child.name != "pdl.pattern" for child in self.region.block.ops):
            raise VerifyException("expects child ops to be 'pdl.pattern'")


@irdl_op_definition
class DeviceOp(IRDLOperation):
    """A device, described here or in the file of `import_path`."""

    name = "ktdf_arch.device"
    sym_name = prop_def(StringAttr)
    import_path = opt_prop_def(StringAttr)
    version = opt_prop_def(IntegerAttr[I64])
    region = opt_region_def()
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_symbol_name()
        found = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = syntax.split_attributes(cls, dict(found.data) if found else {})
        properties["sym_name"] = name
        region = Region()
        if parser.parse_optional_keyword("import"):
            with parser.in_parens():
                properties["import_path"] = StringAttr(parser.parse_str_literal())
        else:
            region = parser.parse_region()
        return cls.create(properties=properties, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        syntax.print_attr_dict(printer, self, ("sym_name", "import_path"), keyword=True)
        if self.import_path is not None:
            printer.print_string(" import(")
            printer.print_attribute(self.import_path)
            printer.print_string(")")
        else:
            printer.print_string(" ")
            syntax.print_braced_region(printer, self)

    def verify_(self) -> None:
        children = self.resources()
        if not children and self.import_path is None:
            raise VerifyException("empty device requires 'import_path' attribute")
        if children and self.import_path is not None:
            raise VerifyException("a device with a body must not have an 'import_path' attribute")
        check_intrinsics(self)
        if not all(child.name.startswith(PREFIX) and child.name != DeviceOp.name for child in children):
            raise VerifyException("expects child ops to be resources")
        check_identifiers(self)

    def resources(self) -> list[Operation]:
        """The ops directly in the body; empty for an import."""
        return [op for block in self.region.blocks for op in block.ops] if self.region is not None else []
