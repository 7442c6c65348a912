"""Communication between tiles: produce a value per group, then reduce it or consume one producer's."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import AffineSetAttr, IndexType
from xdsl.ir import Attribute, Region
from xdsl.ir.affine import AffineConstraintKind
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    lazy_traits_def,
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
from xdsl.traits import HasParent, IsTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdp.types import TileFutureType
from headrace.ir.sets import box


class _Yield(IRDLOperation, ABC):
    """`%a, %b : t, t attr-dict`; the dictionary is read in front of the values too."""

    values = var_operand_def(AnyAttr())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        names = syntax.optional_names(parser)
        values: Sequence[Any] = []
        if names:
            parser.parse_punctuation(":", " and the types of the values")
            values = parser.resolve_operands(names, syntax.types(parser), start)
        attributes |= parser.parse_optional_attr_dict()
        return cls.create(operands=values, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.values:
            syntax.print_values(printer, self.values, " ")
            syntax.print_types(printer, self.values.types)
        syntax.print_attr_dict(printer, self)


@irdl_op_definition
class YieldPartialOp(_Yield):
    """What a tile gives to its group."""

    name = "ktdp.yield_partial"
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(InterTileProduceOp)))


@irdl_op_definition
class YieldReducedOp(_Yield):
    """Two partial values combined."""

    name = "ktdp.yield_reduced"
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(InterTileReduceOp)))


MOST_TILES = 1024


def _check_tiles(name: str, tiles: AffineSetAttr) -> None:
    if tiles.data.num_symbols != 1:
        raise VerifyException(f"`{name}` must have exactly one symbol (the group index g)")
    if tiles.data.num_dims != 1:
        raise VerifyException(f"`{name}` must have exactly one dimension (the tile id i)")


def _check_dependency(dependency: AffineSetAttr | None) -> None:
    if dependency is not None and dependency.data.num_symbols not in (1, 2):
        raise VerifyException(
            "`producer_dependency_per_consumer` must have one symbol (c) or two symbols (c, g)"
        )


def _check_yield(
    region: Region, kind: type[IRDLOperation], wanted: Sequence[Attribute], against: str
) -> None:
    last = region.block.last_op
    if not isinstance(last, kind):
        raise VerifyException(f"region must end with {kind.name}")
    if len(last.operands) != len(wanted):
        verb = kind.name.removeprefix("ktdp.")
        raise VerifyException(
            f"{verb} yields {len(last.operands)} values but the {against} carries {len(wanted)}"
        )
    for v, t in zip(last.operands, wanted, strict=True):
        if v.type != t:
            raise VerifyException(
                f"{kind.name.removeprefix('ktdp.')} yields {v.type} where the {against} has {t}"
            )


def _members(tiles: AffineSetAttr, symbols: tuple[int, ...]) -> set[int] | None:
    """The numbers in a one-dimensional set; None when it does not end below MOST_TILES."""
    bounds = box(tiles.data, symbols)
    if bounds is not None:
        low, high = bounds[0]
        return None if high is None or high >= MOST_TILES - 1 else set(range(max(low or 0, 0), high + 1))
    rows = [(c.kind, c.lhs) for c in tiles.data.constraints]

    def holds(i: int) -> bool:
        values = ((kind, lhs.eval((i,), symbols)) for kind, lhs in rows)
        return all(v == 0 if kind is AffineConstraintKind.eq else v >= 0 for kind, v in values)

    found = {i for i in range(MOST_TILES) if holds(i)}
    return None if MOST_TILES - 1 in found else found


def _check_disjoint(groups: AffineSetAttr, tiles: AffineSetAttr) -> None:
    """No tile produces for two groups; sets without an end are not looked at."""
    owner: dict[int, int] = {}
    for g in sorted(_members(groups, ()) or ()):
        for tile in _members(tiles, (g,)) or ():
            if tile in owner:
                raise VerifyException(
                    f"producer_tiles_per_group for groups {owner[tile]} and {g} are not disjoint"
                )
            owner[tile] = g


@irdl_op_definition
class InterTileProduceOp(IRDLOperation):
    """Runs its region on the producing tiles of each group; the future is for exactly one delivery op."""

    name = "ktdp.inter_tile_produce"
    producer_tiles_per_group = prop_def(AffineSetAttr)
    region = region_def("single_block")
    future = result_def(TileFutureType)
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        tiles = _keyword_set(parser, "producer_tiles_per_group")
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation(":"):  # an older form repeats the type of the partial
            parser.parse_type()
        parser.parse_punctuation("->")
        future = syntax.short_type(parser, TileFutureType)
        return cls.create(
            result_types=[future],
            properties={"producer_tiles_per_group": tiles},
            attributes=attributes,
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" producer_tiles_per_group = ")
        printer.print_attribute(self.producer_tiles_per_group)
        syntax.print_attr_dict(printer, self, ("producer_tiles_per_group",))
        printer.print_string(" -> ")
        syntax.print_short_type(printer, self.future.type)
        printer.print_string(" ")
        printer.print_region(self.region)

    def verify_(self) -> None:
        _check_tiles("producer_tiles_per_group", self.producer_tiles_per_group)
        args = self.region.block.args
        if len(args) != 1 or not isinstance(args[0].type, IndexType):
            raise VerifyException("producer region must take a single `index` group-id argument")
        _check_yield(self.region, YieldPartialOp, self.future.type.value_types.data, "future")
        _check_disjoint(self.future.type.groups, self.producer_tiles_per_group)


def _keyword_set(parser: Parser, keyword: str) -> Attribute:
    parser.parse_keyword(keyword)
    parser.parse_punctuation("=")
    return parser.parse_attribute()


_HIDDEN = ("consumer_tiles_per_group", "producer_dependency_per_consumer")


def _print_sets(printer: Printer, op: Any) -> None:
    printer.print_string(" consumer_tiles_per_group = ")
    printer.print_attribute(op.consumer_tiles_per_group)
    if op.producer_dependency_per_consumer is not None:
        printer.print_string(", producer_dependency_per_consumer = ")
        printer.print_attribute(op.producer_dependency_per_consumer)


@irdl_op_definition
class InterTileConsumeOp(IRDLOperation):
    """Each consuming tile receives what one producer of its group produced (broadcast or routing)."""

    name = "ktdp.inter_tile_consume"
    future = operand_def(TileFutureType)
    consumer_tiles_per_group = prop_def(AffineSetAttr)
    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)
    consumed = var_result_def(AnyAttr())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        with parser.in_parens():
            future = parser.parse_unresolved_operand()
        properties = {"consumer_tiles_per_group": _keyword_set(parser, "consumer_tiles_per_group")}
        if parser.parse_optional_punctuation(","):
            key = "producer_dependency_per_consumer"
            properties[key] = _keyword_set(parser, key)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(future, syntax.short_type(parser, TileFutureType))
        parser.parse_punctuation("->")
        results = syntax.types(parser)
        return cls.create(
            operands=[value], properties=properties, attributes=attributes, result_types=results
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.future], "(", ")")
        _print_sets(printer, self)
        syntax.print_attr_dict(printer, self, _HIDDEN)
        printer.print_string(" : ")
        syntax.print_short_type(printer, self.future.type)
        syntax.print_types(printer, self.consumed.types, " -> ")

    def verify_(self) -> None:
        _check_tiles("consumer_tiles_per_group", self.consumer_tiles_per_group)
        _check_dependency(self.producer_dependency_per_consumer)
        if tuple(self.consumed.types) != tuple(self.future.type.value_types.data):
            raise VerifyException("result types must match future partial types")


@irdl_op_definition
class InterTileReduceOp(IRDLOperation):
    """Combines what the producers of each group produced; every consuming tile receives the result."""

    name = "ktdp.inter_tile_reduce"
    futures = var_operand_def(TileFutureType)
    identities = var_operand_def(AnyAttr())
    consumer_tiles_per_group = prop_def(AffineSetAttr)
    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)
    region = region_def("single_block")
    reduced = var_result_def(AnyAttr())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        start = parser.pos
        futures = syntax.names(parser, parser.Delimiter.PAREN)
        properties = {"consumer_tiles_per_group": _keyword_set(parser, "consumer_tiles_per_group")}
        parser.parse_punctuation(",")
        key = "producer_dependency_per_consumer"
        if syntax.at(parser, key):
            properties[key] = _keyword_set(parser, key)
            parser.parse_punctuation(",")
        identities = _identities(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        future_types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: syntax.short_type(parser, TileFutureType)
        )
        parser.parse_punctuation("->")
        results = syntax.types(parser)
        region = parser.parse_region()
        return cls.build(
            operands=[parser.resolve_operands(futures, future_types, start), identities],
            result_types=[results],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.futures, "(", ")")
        _print_sets(printer, self)
        syntax.print_values(printer, self.identities, ", identity(")
        if self.identities:
            syntax.print_types(printer, self.identities.types)
        printer.print_string(")")
        syntax.print_attr_dict(printer, self, _HIDDEN)
        printer.print_string(" : ")
        printer.print_list(self.futures.types, lambda t: syntax.print_short_type(printer, t))
        syntax.print_types(printer, self.reduced.types, " -> ")
        printer.print_string(" ")
        printer.print_region(self.region)

    def verify_(self) -> None:
        _check_tiles("consumer_tiles_per_group", self.consumer_tiles_per_group)
        _check_dependency(self.producer_dependency_per_consumer)
        partials = [t for f in self.futures for t in f.type.value_types]
        if tuple(self.identities.types) != tuple(self.reduced.types):
            raise VerifyException("identity types must match result types")
        if not _same_elements(self.reduced.types, partials):
            raise VerifyException("result types must match future partial types")
        args = self.region.block.args
        if len(args) != 2 * len(partials):
            raise VerifyException(f"reducer region must take {2 * len(partials)} arguments, got {len(args)}")
        last = self.region.block.last_op
        if not isinstance(last, YieldReducedOp) or len(last.operands) != len(partials):
            raise VerifyException(
                f"reducer region must end with ktdp.yield_reduced of {len(partials)} values"
            )


def _same_elements(results: Sequence[Any], partials: Sequence[Any]) -> bool:
    """Equal types, or (as one public tool accepts) equal element type and count in another shape."""
    if len(results) != len(partials):
        return False
    return all(
        r == p or (r.element_type == p.element_type and r.element_count() == p.element_count())
        for r, p in zip(results, partials, strict=True)
    )


def _identities(parser: Parser) -> Sequence[Any]:
    parser.parse_keyword("identity")
    with parser.in_parens():
        start = parser.pos
        found = syntax.optional_names(parser)
        if not found:
            return []
        parser.parse_punctuation(":")
        return list(parser.resolve_operands(found, syntax.types(parser), start))
