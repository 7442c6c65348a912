"""Devices and their resources: memories, execution units, switches, datapaths, groups."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdf_arch.checks import check_identifiers, check_intrinsics, check_memory_kind, check_parent
from headrace.ir.ktdf_arch.types import SHORT, ExecUnitType, MemoryType, PortType
from headrace.ir.upstream.sparse import SparseElementsAttr

PREFIX = "ktdf_arch."
MOST_PORTS = 1024
ENDPOINT = MemoryType | ExecUnitType | PortType


def _header(parser: Parser, cls: type[IRDLOperation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """`(@id)? ({…} | #ALIAS)?` as (properties, attributes)."""
    name = parser.parse_optional_symbol_name()
    start = parser.pos
    if syntax.at_alias(parser):
        found = parser.parse_attribute()
        if not isinstance(found, DictionaryAttr):
            parser.raise_error("expected an attribute dictionary or an alias of one", start, parser.pos)
        given = dict(found.data)
    else:
        given = parser.parse_optional_attr_dict()
    properties, attributes = syntax.split_attributes(cls, given)
    if name is not None:
        if properties.get("id", name) != name:
            parser.raise_error(
                f"id is given twice, as @{name.data} and {properties['id']}", start, parser.pos
            )
        properties["id"] = name
    return properties, attributes


def _print_header(printer: Printer, op: Any) -> None:
    if op.id is not None:
        printer.print_string(" ")
        printer.print_symbol_name(op.id)
    syntax.print_attr_dict(printer, op, ("id",))


def _endpoint_type(parser: Parser) -> Attribute:
    word = parser.parse_optional_keyword_in(tuple(SHORT))
    return SHORT[word]() if word is not None else parser.parse_type()


def _short(kind: Attribute) -> str:
    return str(kind.name.removeprefix(PREFIX))


@irdl_op_definition
class MemoryOp(IRDLOperation):
    """A memory of `size` bytes; `kind` is the memory space it implements."""

    name = "ktdf_arch.memory"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    size = opt_prop_def(IntegerAttr)
    result = result_def(MemoryType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = _header(parser, cls)
        return cls.create(properties=properties, attributes=attributes, result_types=[MemoryType()])

    def print(self, printer: Printer) -> None:
        _print_header(printer, self)

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        check_memory_kind(self.kind)
        if self.size is not None and self.size.value.data < 1:
            raise VerifyException(f"size must be at least 1 byte, but is {self.size.value.data}")


@irdl_op_definition
class ExecUnitOp(IRDLOperation):
    """A unit that runs a program."""

    name = "ktdf_arch.exec_unit"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    result = result_def(ExecUnitType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = _header(parser, cls)
        return cls.create(properties=properties, attributes=attributes, result_types=[ExecUnitType()])

    def print(self, printer: Printer) -> None:
        _print_header(printer, self)

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """`n` ports; entry (i, j) of `connectivity`: data entering at port i can leave at j (absent: all)."""

    name = "ktdf_arch.switch"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    connectivity = opt_prop_def(Attribute)
    ports = var_result_def(PortType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_optional_symbol_name()
        with parser.in_square_brackets():
            start = parser.pos
            count = parser.parse_integer(allow_negative=False)
            if count > MOST_PORTS:
                parser.raise_error(f"a switch has at most {MOST_PORTS} ports, not {count}", start)
        properties, attributes = _header(parser, cls)
        if name is not None:
            properties["id"] = name
        if count:
            properties.setdefault("connectivity", _complete(count))
        return cls.create(
            properties=properties, attributes=attributes, result_types=[PortType() for _ in range(count)]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" [{len(self.ports)}]")
        hide = ("connectivity",) if self._is_complete() else ()
        syntax.print_attr_dict(printer, self, hide)

    def _is_complete(self) -> bool:
        c = self.connectivity
        return isinstance(c, DenseIntOrFPElementsAttr) and all(bool(v) for v in c.get_values())

    def connects(self, source: int, target: int) -> bool:
        """True when data entering at port `source` can leave at port `target`."""
        c = self.connectivity
        if c is None:
            return True
        if isinstance(c, SparseElementsAttr):
            return (source, target) in c.positions()
        values = list(c.get_values())
        return bool(values[0] if len(values) == 1 else values[source * len(self.ports) + target])

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        if self.connectivity is None:
            return
        if not isinstance(self.connectivity, DenseIntOrFPElementsAttr | SparseElementsAttr):
            raise VerifyException("connectivity must be a dense or sparse tensor of i1")
        n, kind = len(self.ports), self.connectivity.type
        if not isinstance(kind, TensorType) or kind.get_shape() != (n, n) or kind.element_type != i1:
            raise VerifyException(f"expected connectivity of type tensor<{n}x{n}xi1>, but got {kind}")


def _complete(count: int) -> Attribute:
    """Every port reaches every port."""
    return DenseIntOrFPElementsAttr.from_list(TensorType(i1, (count, count)), [1] * count * count)


@irdl_op_definition
class DatapathOp(IRDLOperation):
    """A link in one direction."""

    name = "ktdf_arch.datapath"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    source = operand_def(ENDPOINT)
    target = operand_def(ENDPOINT)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = _header(parser, cls)
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        target = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source, _endpoint_type(parser))
        parser.parse_punctuation(",")
        target_value = parser.resolve_operand(target, _endpoint_type(parser))
        return cls.create(operands=[source_value, target_value], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        _print_header(printer, self)
        syntax.print_values(printer, [self.source], " ", " to ")
        syntax.print_values(printer, [self.target])
        printer.print_string(f" : {_short(self.source.type)}, {_short(self.target.type)}")

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        if self.source is self.target:
            raise VerifyException("can't link resource to itself")


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
        properties, attributes = _header(parser, cls)
        parser.parse_keyword("share")
        names = syntax.names(parser, parser.Delimiter.PAREN)
        shared = [parser.resolve_operand(u, MemoryType()) for u in names]
        region = syntax.braced_region(parser, [parser.Argument(u.span, MemoryType()) for u in names])
        if not isinstance(region.block.last_op, YieldOp):
            region.block.add_op(YieldOp.create())
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _endpoint_type(parser))
        return cls.create(
            operands=shared,
            properties=properties,
            attributes=attributes,
            regions=[region],
            result_types=results,
        )

    def print(self, printer: Printer) -> None:
        _print_header(printer, self)
        syntax.print_values(printer, self.shared, " share(", ") ")
        for arg, outer in zip(self.region.block.args, self.shared, strict=True):
            syntax.name_like(printer, arg, outer)
        last = self.region.block.last_op
        syntax.print_braced_region(
            printer, self, terminator=bool(last and (last.operands or last.attributes))
        )
        if self.units:
            printer.print_string(" -> " + ", ".join(_short(u.type) for u in self.units))

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
