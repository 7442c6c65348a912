"""Indirect access tiles: coordinates affine in variables of the op, or read from index views there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BoolAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
)
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.affine import canonical
from headrace.ir.ktdp.access import check_order, check_symbols, print_symbols, required, symbols
from headrace.ir.ktdp.types import AccessTileType
from headrace.ir.ktdp.views import RegionTerminatorOp
from headrace.ir.syntax import INDEX

Key = tuple[str, int]


@dataclass
class _Subscripts:
    """Subscripts of an indirect tile as they are read: kind, map and names of each base dimension."""

    kinds: list[bool] = field(default_factory=list)
    maps: list[AffineMap] = field(default_factory=list)
    names: list[list[UnresolvedOperand]] = field(default_factory=list)
    memrefs: list[UnresolvedOperand] = field(default_factory=list)

    def read(self, parser: Any) -> None:
        is_indirect = parser.parse_optional_keyword("ind") is not None
        if is_indirect:
            amap, used = self._read_indirect(parser)
        elif syntax.at(parser, "("):
            amap, used = subscripts.subscripts(parser, parser.Delimiter.PAREN, has_symbols=False)
        elif syntax.at_word(parser) and not syntax.at(parser, "symbol"):
            parser.refuse("expected a subscript", "a coordinate read from memory is written ind(%view[...])")
        else:  # a bare expression, written by older producers; printed in parentheses
            amap, used = subscripts.one_subscript(parser)
        self.kinds.append(is_indirect)
        self.maps.append(amap)
        self.names.append(used)

    def _read_indirect(self, parser: Any) -> tuple[AffineMap, list[UnresolvedOperand]]:
        if not syntax.at(parser, "("):
            parser.refuse("expected '('", "write ind(%view[...])")
        with parser.in_parens():
            self.memrefs.append(parser.parse_unresolved_operand())
            found = subscripts.subscripts(parser, has_symbols=False)
        if not (syntax.at(parser, ",") or syntax.at(parser, "]")):
            parser.refuse(
                "expected ',' or ']'", "an index read from memory is used as it is: store it scaled"
            )
        return found

    def over(self, variables: list[UnresolvedOperand]) -> tuple[list[AffineMap], list[UnresolvedOperand]]:
        """The maps over (captured…, variables…), and the captured names in order of first use."""
        own = {_key(u) for u in variables}
        captured = {_key(u): u for used in reversed(self.names) for u in reversed(used) if _key(u) not in own}
        ordered: dict[Key, UnresolvedOperand] = {}
        for used in self.names:
            for u in used:
                if _key(u) in captured:
                    ordered.setdefault(_key(u), u)
        position = {key: i for i, key in enumerate([*ordered, *(_key(u) for u in variables)])}
        maps = []
        for amap, used in zip(self.maps, self.names, strict=True):
            dims = [AffineDimExpr(position[_key(u)]) for u in used]
            results = tuple(canonical(_replaced(e, dims)) for e in amap.results)
            maps.append(AffineMap(len(position), 0, results))
        return maps, list(ordered.values())


def _key(u: UnresolvedOperand) -> Key:
    return u.operand_name, u.index


def _replaced(e: AffineExpr, dims: list[AffineDimExpr]) -> AffineExpr:
    """`e` with dim i replaced by dims[i]; structure kept, so that nothing is simplified twice."""
    if isinstance(e, AffineBinaryOpExpr):
        return AffineBinaryOpExpr(e.kind, _replaced(e.lhs, dims), _replaced(e.rhs, dims))
    return dims[e.position] if isinstance(e, AffineDimExpr) else e


@irdl_op_definition
class ConstructIndirectAccessTileOp(IRDLOperation):
    """Elements whose coordinates are affine in the intermediate variables, or read from index views there."""

    name = "ktdp.construct_indirect_access_tile"
    base = operand_def(MemRefType | TensorType)
    indirect_memrefs = var_operand_def(MemRefType)
    captured_variables = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    per_dim_subscript_kinds = prop_def(ArrayAttr[IntegerAttr])
    per_dim_subscript_maps = prop_def(ArrayAttr[AffineMapAttr])
    variables_space_set = prop_def(AffineSetAttr)
    variables_space_order = prop_def(AffineMapAttr)
    region = region_def("single_block")
    result = result_def(AccessTileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(MemoryReadEffect(), SingleBlockImplicitTerminator(RegionTerminatorOp))

    @property
    def intermediate_variables(self):  # type: ignore[no-untyped-def]
        return self.region.block.args

    @classmethod
    def parse(cls, parser: Any) -> Any:
        parser.parse_keyword("intermediate_variables")
        variables = syntax.names(parser, parser.Delimiter.PAREN)
        if syntax.at_word(parser):
            hint = "the base follows; outer values are used in the subscripts without being listed"
            parser.refuse("expected the base", hint)
        base = parser.parse_unresolved_operand()
        found = _Subscripts()
        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: found.read(parser))
        found_symbols = symbols(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        for key, kind in (("variables_space_set", AffineSetAttr), ("variables_space_order", AffineMapAttr)):
            required(parser, properties, key, kind, f"expected attribute '{key}'")
        maps, captured = found.over(variables)
        properties["per_dim_subscript_kinds"] = ArrayAttr(BoolAttr.from_bool(k) for k in found.kinds)
        properties["per_dim_subscript_maps"] = ArrayAttr(AffineMapAttr(m) for m in maps)
        parser.parse_punctuation(":")
        start = parser.pos
        types = syntax.types(parser)
        if len(types) != len(found.memrefs) + 1:
            parser.raise_error(
                f"expected {len(found.memrefs) + 1} types (base + {len(found.memrefs)} indirect memrefs), "
                f"but got {len(types)}",
                start,
                parser.pos,
            )
        parser.parse_punctuation("->")
        result = syntax.short_type(parser, AccessTileType)
        base_value, *index_views = parser.resolve_operands([base, *found.memrefs], types, start)
        return cls.build(
            operands=[
                base_value,
                index_views,
                syntax.index_values(parser, captured),
                syntax.index_values(parser, found_symbols),
            ],
            properties=properties,
            attributes=attributes,
            regions=[Region(_variables_block(variables))],
            result_types=[result],
        )

    def print(self, printer: Printer) -> None:
        mark = syntax.open_names(printer)
        syntax.print_values(printer, self.intermediate_variables, " intermediate_variables(", ") ")
        syntax.print_values(printer, [self.base])
        values = [*self.captured_variables, *self.intermediate_variables]
        views = iter(self.indirect_memrefs)
        texts = []
        for kind, amap in zip(self.per_dim_subscript_kinds, self.per_dim_subscript_maps, strict=True):
            text = subscripts.subscripts_text(printer, amap.data, values)
            is_indirect = kind.value.data != 0
            texts.append(
                f"ind({syntax.value_name(printer, next(views))}[{text}])" if is_indirect else f"({text})"
            )
        printer.print_string("[" + ", ".join(texts) + "]")
        print_symbols(printer, self)
        syntax.print_attr_dict(printer, self, ("per_dim_subscript_kinds", "per_dim_subscript_maps"))
        syntax.print_types(printer, [self.base.type, *self.indirect_memrefs.types])
        syntax.print_types(printer, [self.result.type], " -> ")
        syntax.close_names(printer, mark)

    def verify_(self) -> None:
        space, order = self.variables_space_set.data, self.variables_space_order.data
        kinds = [k.value.data != 0 for k in self.per_dim_subscript_kinds]
        maps = [m.data for m in self.per_dim_subscript_maps]
        variables = len(self.intermediate_variables)
        check_order("variables_space_order", order, space.num_dims, "variables_space_set")
        check_symbols("variables_space_set", space.num_symbols, len(self.symbol_operands))
        _check_counts(
            (
                variables,
                space.num_dims,
                "number of intermediate variables ({}) must match variables_space_set dimensions ({})",
            ),
            (
                len(kinds),
                len(maps),
                "per_dim_subscript_kinds size ({}) must match per_dim_subscript_maps size ({})",
            ),
            (
                len(kinds),
                self.base.type.get_num_dims(),
                "number of subscripts ({}) must match base rank ({})",
            ),
            (
                sum(kinds),
                len(self.indirect_memrefs),
                "number of indirect dimensions ({}) must match number of indirect memrefs ({})",
            ),
        )
        self._verify_maps(kinds, maps, len(self.captured_variables) + variables)
        _check_counts(
            (
                self.result.type.get_num_dims(),
                space.num_dims,
                "result type rank ({}) must match variables_space_set dimensions ({})",
            )
        )

    def _verify_maps(self, kinds: list[bool], maps: list[AffineMap], expected: int) -> None:
        ranks = iter([m.type.get_num_dims() for m in self.indirect_memrefs])
        for i, (is_indirect, amap) in enumerate(zip(kinds, maps, strict=True)):
            if amap.num_dims != expected:
                raise VerifyException(
                    f"subscript map for dimension {i} has {amap.num_dims} dimensions, but "
                    f"expected {expected} (captured_variables + intermediate_variables)"
                )
            wanted, got = (next(ranks) if is_indirect else 1), len(amap.results)
            if got == wanted:
                continue
            if is_indirect:
                raise VerifyException(
                    f"indirect subscript map for dimension {i} produces {got} results, "
                    f"but indirect memref has rank {wanted}"
                )
            raise VerifyException(
                f"direct subscript map for dimension {i} must produce exactly 1 result, but produces {got}"
            )


def _check_counts(*rules: tuple[int, int, str]) -> None:
    for left, right, message in rules:
        if left != right:
            raise VerifyException(message.format(left, right))


def _variables_block(variables: list[UnresolvedOperand]) -> Block:
    block = Block(arg_types=[INDEX] * len(variables))
    for arg, u in zip(block.args, variables, strict=True):
        syntax.set_name(arg, u.operand_name)
    block.add_op(RegionTerminatorOp())
    return block
