"""Pipelines, their stages and private resources, distribution over instances of hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import I64, ArrayAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
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
from xdsl.traits import HasParent, IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdf.fifo import CreateTokenOp
from headrace.ir.ktdf.types import TokenType
from headrace.ir.syntax import INDEX


@irdl_op_definition
class PipelineOp(IRDLOperation):
    """Stages in the order of their tokens; stages of different iterations of the loops around may overlap."""

    name = "ktdf.pipeline"
    modulo = opt_prop_def(IntegerAttr[I64])
    region = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties = {}
        if parser.parse_optional_keyword("modulo"):
            with parser.in_parens():
                parser.parse_keyword("size")
                parser.parse_punctuation(":")
                properties["modulo"] = syntax.integer(parser.parse_integer())
        region = syntax.braced_region(parser)
        return cls.create(
            properties=properties, regions=[region], attributes=parser.parse_optional_attr_dict()
        )

    def print(self, printer: Printer) -> None:
        if self.modulo is not None:
            printer.print_string(f" modulo(size : {self.modulo.value.data})")
        printer.print_string(" ")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self, ("modulo",))

    def verify_(self) -> None:
        if self.modulo is not None and self.modulo.value.data < 1:
            raise VerifyException(f"modulo size must be at least 1, but is {self.modulo.value.data}")
        children = list(self.region.block.ops)
        if not all(isinstance(c, StageOp | PrivateOp) for c in children):
            raise VerifyException("immediate children must be 'ktdf.stage' or 'ktdf.private' ops")
        if sum(isinstance(c, PrivateOp) for c in children) > 1:
            raise VerifyException("at most one immediate 'ktdf.private' child is allowed")


@irdl_op_definition
class StageOp(IRDLOperation):
    """What the units of `applicable_units` do; runs after the tokens of `depends_in`, produces those of
    `depends_out`.
    """

    name = "ktdf.stage"
    depends_in = var_operand_def(TokenType)
    depends_out = var_operand_def(TokenType)
    applicable_units = opt_prop_def(ArrayAttr)
    region = region_def("single_block")
    traits = traits_def(NoTerminator(), HasParent(PipelineOp))
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        operands = [_tokens(parser, "depends_in"), _tokens(parser, "depends_out")]
        region = syntax.braced_region(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        return cls.build(operands=operands, regions=[region], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        for keyword, values in (("depends_in", self.depends_in), ("depends_out", self.depends_out)):
            printer.print_string(f" {keyword}(")
            if values:
                syntax.print_values(printer, values)
            else:
                printer.print_string("none")
            printer.print_string(")")
        printer.print_string(" ")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self)

    def verify_(self) -> None:
        for token in (*self.depends_in, *self.depends_out):
            if not _is_created(token):
                raise VerifyException(
                    "every token must come from ktdf.create_token, directly or through ktdf.private"
                )


def _tokens(parser: Parser, keyword: str) -> list[SSAValue]:
    parser.parse_keyword(keyword)
    with parser.in_parens():
        if parser.parse_optional_keyword("none"):
            return []
        found = syntax.names(parser)
    return [parser.resolve_operand(u, TokenType()) for u in found]


def _is_created(token: SSAValue) -> bool:
    owner = token.owner
    if isinstance(owner, PrivateOp):
        last = owner.region.block.last_op
        if not isinstance(last, PrivateYieldOp) or token.index >= len(last.operands):
            return False
        return _is_created(last.operands[token.index])
    return isinstance(owner, CreateTokenOp)


@irdl_op_definition
class PrivateYieldOp(IRDLOperation):
    name = "ktdf.private_yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class PrivateOp(IRDLOperation):
    """Resources of one pipeline: FIFO slots, tokens, buffers."""

    name = "ktdf.private"
    res = var_result_def(AnyAttr())
    region = region_def("single_block")
    traits = traits_def(HasParent(PipelineOp))

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        results = []
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        region = syntax.braced_region(parser)
        last = region.block.last_op
        if last is None or not last.has_trait(IsTerminator):
            region.block.add_op(PrivateYieldOp.create())
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            result_types=results, regions=[region], attributes=dict(attributes.data) if attributes else {}
        )

    def print(self, printer: Printer) -> None:
        if self.res:
            syntax.print_types(printer, self.res.types, " -> (")
            printer.print_string(")")
        printer.print_string(" ")
        last = self.region.block.last_op
        syntax.print_braced_region(
            printer, self, terminator=bool(last and (last.operands or last.attributes))
        )
        syntax.print_attr_dict(printer, self, keyword=True)

    def verify_(self) -> None:
        last = self.region.block.last_op
        if not isinstance(last, PrivateYieldOp):
            raise VerifyException("region must end with ktdf.private_yield")
        _same_types(last, self.res.types)


def _same_types(last: Operation, wanted: Sequence[object]) -> None:
    got = [v.type for v in last.operands]
    if len(got) != len(wanted):
        raise VerifyException(f"yields {len(got)} values for {len(wanted)} results")
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a != b:
            raise VerifyException(f"yields {a} for result {i} of type {b}")


@irdl_op_definition
class ParallelYieldOp(IRDLOperation):
    name = "ktdf.parallel_yield"
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict"


@irdl_op_definition
class ParallelOp(IRDLOperation):
    """All points of the box, in lexicographic order, cut into `num_instances` contiguous blocks."""

    name = "ktdf.parallel"
    lower_bounds = var_operand_def(IndexType)
    upper_bounds = var_operand_def(IndexType)
    steps = var_operand_def(IndexType)
    num_instances = prop_def(IntegerAttr[I64])
    region = region_def("single_block")
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        args = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower = syntax.index_list(parser)
        parser.parse_keyword("to")
        upper = syntax.index_list(parser)
        parser.parse_keyword("step")
        steps = syntax.index_list(parser)
        parser.parse_keyword("distribute")
        with parser.in_parens():
            parser.parse_keyword("num_instances")
            parser.parse_punctuation("=")
            instances = syntax.integer(parser.parse_integer())
        region = parser.parse_region([a.resolve(INDEX) for a in args])
        return cls.build(
            operands=[lower, upper, steps],
            properties={"num_instances": instances},
            regions=[region],
            attributes=parser.parse_optional_attr_dict(),
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.region.block.args, " (", ")")
        for keyword, values in (("=", self.lower_bounds), ("to", self.upper_bounds), ("step", self.steps)):
            syntax.print_values(printer, values, f" {keyword} (", ")")
        printer.print_string(f" distribute(num_instances = {self.num_instances.value.data}) ")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self, ("num_instances",))

    def verify_(self) -> None:
        if self.num_instances.value.data < 1:
            raise VerifyException(f"num_instances must be at least 1, but is {self.num_instances.value.data}")
        args = self.region.block.args
        if len(args) != len(self.lower_bounds) + 1 or len(args) < 2:
            raise VerifyException(
                f"{len(self.lower_bounds)} dimensions need {len(self.lower_bounds) + 1} names "
                f"(the last is the instance), but there are {len(args)}"
            )
        if not isinstance(self.region.block.last_op, ParallelYieldOp):
            raise VerifyException("region must end with ktdf.parallel_yield")
