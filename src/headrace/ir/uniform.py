"""The `uniform` dialect: one program for many units, with constants and regions that differ per unit."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX


@irdl_op_definition
class YieldOp(IRDLOperation):
    name = "uniform.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class DefImmutableMappingOp(IRDLOperation):
    """A constant map from keys (unit handles, core numbers) to values of one type."""

    name = "uniform.def_immutable_mapping"
    keys = var_operand_def(IndexType)
    values_ = var_operand_def(AnyAttr())
    result = result_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        start = parser.pos
        keys, values = syntax.mapping(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        kind: Attribute = INDEX
        if parser.parse_optional_punctuation(","):
            kind = parser.parse_type()
        found = parser.resolve_operands(values, [kind] * len(values), start)
        return cls.build(
            operands=[syntax.index_values(parser, keys), found], result_types=[result], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        syntax.print_mapping(printer, self.keys, self.values_)
        syntax.print_attr_dict(printer, self)
        printer.print_string(":")
        printer.print_attribute(self.result.type)
        if self.values_ and self.values_[0].type != INDEX:
            syntax.print_types(printer, [self.values_[0].type], ", ")

    def verify_(self) -> None:
        if len(self.keys) != len(self.values_):
            raise VerifyException(f"{len(self.keys)} keys, but {len(self.values_)} values")
        if not self.keys:
            raise VerifyException("a mapping needs at least one entry")
        if len(set(self.values_.types)) > 1:
            raise VerifyException("all values must have one type")
        _same_origin("keys", self.keys, ("dataflow.get_unit",))
        _same_origin("values", self.values_, ("dataflow.get_unit", "symbol.create_symbol"))
        if len(set(self.keys)) != len(self.keys):
            raise VerifyException("a key stands twice in the mapping")


def _same_origin(what: str, values: Any, names: tuple[str, ...]) -> None:
    """Handles mix with nothing else: if the first comes from an op of `names`, all come from that op."""
    origins = [v.owner.name if isinstance(v.owner, Operation) else "" for v in values]
    for name in names:
        if (origins[0] == name) != all(o == name for o in origins) or (
            origins[0] != name and name in origins
        ):
            raise VerifyException(f"{what} must either all be results of {name} or none of them")


@irdl_op_definition
class QueryMapOp(IRDLOperation):
    """The value a map holds for a key, usually the handle of the executing unit."""

    name = "uniform.query_map"
    map = operand_def(IndexType)
    key = operand_def(IndexType)
    result = result_def(AnyAttr())
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


# -- regions per set of units ------------------------------------------------------------------------------


def _unit_regions(parser: Parser) -> tuple[list[SSAValue], list[Region], ArrayAttr[Any]]:
    """`{ (%x -> %u, …){ … } … }` as (all units, regions, units per region)."""
    units: list[SSAValue] = []
    regions: list[Region] = []
    sizes: list[int] = []
    with parser.in_braces():
        while syntax.at(parser, "("):
            with parser.in_parens():
                arg = parser.parse_argument(expect_type=False)
                parser.parse_punctuation("->")
                found = syntax.index_list(parser, parser.Delimiter.NONE)
            region = syntax.braced_region(parser, [arg.resolve(INDEX)])
            if not isinstance(region.block.last_op, YieldOp):
                region.block.add_op(YieldOp.create())
            units += found
            sizes.append(len(found))
            regions.append(region)
    return units, regions, ArrayAttr(IntegerAttr(n, i32) for n in sizes)


def _print_unit_regions(printer: Printer, op: Any) -> None:
    with printer.in_braces():
        with printer.indented():
            for i, (region, units) in enumerate(zip(op.bodies, op.unit_sets(), strict=True)):
                printer.print_string("\n")
                mark = syntax.open_names(printer)
                syntax.print_values(printer, region.block.args, "(", " -> ")
                syntax.print_values(printer, units, "", ") ")
                syntax.print_braced_region(printer, op, i)
                syntax.close_names(printer, mark)
        printer.print_string("\n")


def _sets(op: Any) -> list[list[SSAValue]]:
    found, first = [], 0
    for size in op.list_sizes:
        found.append(list(op.units[first : first + size.value.data]))
        first += size.value.data
    return found


def _check_regions(op: Any, least: int) -> None:
    if sum(n.value.data for n in op.list_sizes) != len(op.units) or len(op.list_sizes) != len(op.bodies):
        raise VerifyException("list_sizes does not match the units and regions")
    if len(op.bodies) < least:
        raise VerifyException(f"must have at least {least} regions, but has {len(op.bodies)}")
    if len(set(op.units)) != len(op.units):
        raise VerifyException("a unit stands in two sets")
    for region in op.bodies:
        args = region.block.args
        if len(args) != 1 or args[0].type != INDEX:
            raise VerifyException("every region takes one argument of type index, the executing unit")
        last = region.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("every region must end with uniform.yield")
        got, wanted = [v.type for v in last.operands], [r.type for r in op.results]
        if got != wanted:
            raise VerifyException(
                f"yields {len(got)} values for {len(wanted)} results, or values of other types"
            )


@irdl_op_definition
class UniformizeRegionsOp(IRDLOperation):
    """Runs the region of the set that contains the executing unit."""

    name = "uniform.uniformize_regions"
    units = var_operand_def(IndexType)
    list_sizes = prop_def(ArrayAttr[IntegerAttr])
    regIndices = opt_prop_def(ArrayAttr)
    regLocales = opt_prop_def(AnyAttr())
    bodies = var_region_def("single_block")
    res = var_result_def(AnyAttr())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        results = syntax.arrow_types(parser) if parser.parse_optional_punctuation("->") else []
        units, regions, sizes = _unit_regions(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        return cls.create(
            operands=units,
            properties=properties | {"list_sizes": sizes},
            attributes=attributes,
            regions=regions,
            result_types=results,
        )

    def print(self, printer: Printer) -> None:
        syntax.print_types(printer, self.res.types, " -> (")
        printer.print_string(") ")
        _print_unit_regions(printer, self)
        syntax.print_attr_dict(printer, self, ("list_sizes",))

    def unit_sets(self) -> list[list[SSAValue]]:
        """The units of each region."""
        return _sets(self)

    def verify_(self) -> None:
        _check_regions(self, least=1)


@irdl_op_definition
class EqualizePatternOp(IRDLOperation):
    """As `uniformize_regions`; all regions hold the same sequence of op names."""

    name = "uniform.equalize_pattern"
    units = var_operand_def(IndexType)
    list_sizes = prop_def(ArrayAttr[IntegerAttr])
    bodies = var_region_def("single_block")

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        units, regions, sizes = _unit_regions(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        return cls.create(
            operands=units,
            properties=properties | {"list_sizes": sizes},
            attributes=attributes,
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_unit_regions(printer, self)
        syntax.print_attr_dict(printer, self, ("list_sizes",))

    def unit_sets(self) -> list[list[SSAValue]]:
        """The units of each region."""
        return _sets(self)

    def verify_(self) -> None:
        _check_regions(self, least=2)
        patterns = [[op.name for op in region.block.walk()] for region in self.bodies]
        if any(p != patterns[0] for p in patterns):
            raise VerifyException("all regions must hold the same sequence of ops")


Uniform = Dialect(
    "uniform",
    [YieldOp, DefImmutableMappingOp, QueryMapOp, UniformizeRegionsOp, EqualizePatternOp],
    [],
)
