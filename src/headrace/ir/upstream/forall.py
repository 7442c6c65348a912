"""scf.forall: points in any order, whose slices make up the shared results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.syntax import INDEX
from headrace.ir.upstream.tensor import ParallelInsertSliceOp

_WORDS = ("lower bounds", "upper bounds", "steps")


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """Ends the body of an scf.forall; holds what the point inserts into the shared results."""

    name = "scf.forall.in_parallel"
    region = region_def("single_block")
    traits = traits_def(IsTerminator(), NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        return cls.create(
            regions=[syntax.braced_region(parser)], attributes=parser.parse_optional_attr_dict()
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self)

    def verify_(self) -> None:
        around = self.parent_op()
        if not isinstance(around, ForallOp):
            raise VerifyException("ends the body of an scf.forall")
        for op in self.region.block.ops:
            if not isinstance(op, ParallelInsertSliceOp):
                raise VerifyException(f"holds tensor.parallel_insert_slice only, not {op.name}")
            if op.dest not in around.shared:
                raise VerifyException("inserts into something else than the shared outs of its scf.forall")


@irdl_op_definition
class ForallOp(IRDLOperation):
    """`scf.forall (%i) = (0) to (%n) step (4) shared_outs(%o = %x) -> (t) { … }`, or `(%i) in (%n)`."""

    name = "scf.forall"
    dynamicLowerBound = var_operand_def(IndexType)
    dynamicUpperBound = var_operand_def(IndexType)
    dynamicStep = var_operand_def(IndexType)
    outputs = var_operand_def(TensorType)
    staticLowerBound = prop_def(DenseArrayBase.constr(i64))
    staticUpperBound = prop_def(DenseArrayBase.constr(i64))
    staticStep = prop_def(DenseArrayBase.constr(i64))
    mapping = opt_prop_def(ArrayAttr)
    region = region_def("single_block")
    results_ = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def rank(self) -> int:
        """How many counters there are."""
        return len(self.staticUpperBound.get_values())

    @property
    def shared(self) -> tuple[SSAValue, ...]:
        """The block arguments that stand for the shared outs."""
        return tuple(self.region.block.args[self.rank :])

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        paren = parser.Delimiter.PAREN
        counters = parser.parse_comma_separated_list(
            paren, lambda: parser.parse_argument(expect_type=False).resolve(INDEX)
        )
        if parser.parse_optional_keyword("in"):
            bounds = [_all(0, counters), subscripts.index_sizes(parser, paren), _all(1, counters)]
        else:
            parser.parse_punctuation("=")
            bounds = [subscripts.index_sizes(parser, paren)]
            for keyword in ("to", "step"):
                parser.parse_keyword(keyword)
                bounds.append(subscripts.index_sizes(parser, paren))
        for what, (_, static) in zip(_WORDS, bounds, strict=True):
            if len(static) != len(counters):
                parser.raise_error(f"{len(static)} {what} for {len(counters)} counters")
        start = parser.pos
        outs: list[tuple[Any, Any]] = []
        types: list[Attribute] = []
        if parser.parse_optional_keyword("shared_outs"):
            outs = parser.parse_comma_separated_list(paren, lambda: syntax.assignment(parser))
            parser.parse_punctuation("->")
            types = syntax.arrow_types(parser)
        initial = parser.resolve_operands([value for _, value in outs], types, start)
        body = parser.parse_region(
            [*counters, *(a.resolve(t) for (a, _), t in zip(outs, types, strict=True))]
        )
        block = body.block
        if block.last_op is None or not isinstance(block.last_op, InParallelOp):
            block.add_op(InParallelOp.create(regions=[Region(Block())]))
        properties, attributes = syntax.attr_dict(parser, cls)
        names = ("staticLowerBound", "staticUpperBound", "staticStep")
        properties |= {name: static for name, (_, static) in zip(names, bounds, strict=True)}
        dynamic = [syntax.index_values(parser, values) for values, _ in bounds]
        return cls.build(
            operands=[*dynamic, initial],
            result_types=[types],
            properties=properties,
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        lower, upper, step = self.bounds()
        syntax.print_values(printer, self.region.block.args[: self.rank], " (", ")")
        is_normal = set(lower[1].get_values()) <= {0} and set(step[1].get_values()) <= {1}
        for word, (dynamic, static) in (
            (("in", upper),)
            if is_normal
            else (
                ("=", lower),
                ("to", upper),
                ("step", step),
            )
        ):
            printer.print_string(f" {word} ")
            subscripts.print_index_sizes(printer, dynamic, static, "()")
        if self.outputs:
            pairs = zip(self.shared, self.outputs, strict=True)
            texts = [f"{syntax.value_name(printer, a)} = {syntax.value_name(printer, b)}" for a, b in pairs]
            printer.print_string(f" shared_outs({', '.join(texts)})")
            syntax.print_types(printer, self.results_.types, " -> (")
            printer.print_string(")")
        printer.print_string(" ")
        syntax.print_braced_region(printer, self, terminator=bool(self.outputs))
        syntax.print_attr_dict(printer, self, ("staticLowerBound", "staticUpperBound", "staticStep"))

    def bounds(self) -> list[tuple[Any, DenseArrayBase[Any]]]:
        """Lower bounds, upper bounds and steps, each as (dynamic operands, static numbers)."""
        return [
            (self.dynamicLowerBound, self.staticLowerBound),
            (self.dynamicUpperBound, self.staticUpperBound),
            (self.dynamicStep, self.staticStep),
        ]

    def verify_(self) -> None:
        for problem in self._problems():
            raise VerifyException(problem)

    def _problems(self) -> Iterator[str]:
        for what, (dynamic, static) in zip(_WORDS, self.bounds(), strict=True):
            if len(static) != self.rank:
                yield f"{len(static)} {what} for {self.rank} counters"
            if list(static.get_values()).count(DYNAMIC_INDEX) != len(dynamic):
                yield f"{len(dynamic)} values for the dynamic {what}"
        types = [v.type for v in self.outputs]
        if [a.type for a in self.region.block.args] != [INDEX] * self.rank + types:
            yield "the body must take one index per counter and then the shared outs"
        if list(self.results_.types) != types:
            yield "the results must have the types of the shared outs"
        last: Operation | None = self.region.block.last_op
        if not isinstance(last, InParallelOp):
            yield "the body must end in scf.forall.in_parallel"


def _all(number: int, counters: Any) -> tuple[list[Any], DenseArrayBase[Any]]:
    return [], DenseArrayBase.from_list(i64, [number] * len(counters))
