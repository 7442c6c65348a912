"""scf: result types without parentheses; unsigned loops; `scf.parallel`, `scf.forall`."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SingleBlockImplicitTerminator, ensure_terminator
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.syntax import INDEX
from headrace.ir.upstream.forall import ForallOp, InParallelOp

UNSIGNED = "unsignedCmp"


class ForOp(scf.ForOp):
    """Reads `iter_args(%a = %b) -> t` as well as `-> (t, …)`, and `scf.for unsigned`."""

    def verify_(self) -> None:
        """As xDSL's, which does not know the property of unsigned loops."""
        mark = self.properties.pop(UNSIGNED, None)
        try:
            super().verify_()
        finally:
            if mark is not None:
                self.properties[UNSIGNED] = mark
        if mark not in (None, UnitAttr()):
            raise VerifyException(f"'{UNSIGNED}' is a mark without a value")

    @classmethod
    def parse(cls, parser: Any) -> Any:
        is_unsigned = parser.parse_optional_keyword("unsigned") is not None
        variable = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        bounds = [parser.parse_unresolved_operand()]
        for keyword in ("to", "step"):
            parser.parse_keyword(keyword)
            bounds.append(parser.parse_unresolved_operand())
        start = parser.pos
        carried: list[tuple[Any, Any]] = []
        types: list[Any] = []
        if parser.parse_optional_keyword("iter_args"):
            carried = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: syntax.assignment(parser)
            )
            parser.parse_punctuation("->")
            types = syntax.arrow_types(parser)
        initial = parser.resolve_operands([value for _, value in carried], types, start)
        kind: Any = parser.parse_type() if parser.parse_optional_punctuation(":") else INDEX
        limits = [parser.resolve_operand(b, kind) for b in bounds]
        args = [variable.resolve(kind), *(a.resolve(t) for (a, _), t in zip(carried, types, strict=True))]
        body = parser.parse_region(args)
        op = cls.create(
            operands=[*limits, *initial],
            result_types=types,
            regions=[body],
            attributes=parser.parse_optional_attr_dict(),
            properties={UNSIGNED: UnitAttr()} if is_unsigned else {},
        )
        if not carried:
            for trait in op.get_traits_of_type(SingleBlockImplicitTerminator):
                ensure_terminator(op, trait)
        return op

    def print(self, printer: Printer) -> None:
        if UNSIGNED in self.properties:
            printer.print_string(" unsigned")
        super().print(printer)


class IfOp(scf.IfOp):
    """Reads `-> t` as well as `-> (t, …)`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        cond = parser.parse_operand(i1)
        types = syntax.arrow_types(parser) if parser.parse_optional_punctuation("->") else []
        then = cls.parse_region_with_yield(parser)
        has_else = parser.parse_optional_keyword("else") is not None
        other = cls.parse_region_with_yield(parser) if has_else else Region()
        return cls(cond, types, then, other, parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.cond], " ")
        if self.output:
            syntax.print_types(printer, self.output.types, " -> (")
            printer.print_string(")")
        printer.print_string(" ")
        has_results = bool(self.output)
        syntax.print_braced_region(printer, self, 0, terminator=has_results)
        if self.false_region.blocks:
            printer.print_string(" else ")
            syntax.print_braced_region(printer, self, 1, terminator=has_results)
        syntax.print_attr_dict(printer, self)


class ParallelOp(scf.ParallelOp):
    """`scf.parallel (%i) = (%a) to (%b) step (%c) init (%x) -> t { … scf.reduce(%y : t) {…} }`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        paren = parser.Delimiter.PAREN
        variables = parser.parse_comma_separated_list(
            paren, lambda: parser.parse_argument(expect_type=False).resolve(INDEX)
        )
        parser.parse_punctuation("=")
        limits = [syntax.index_list(parser)]
        for keyword in ("to", "step"):
            parser.parse_keyword(keyword)
            limits.append(syntax.index_list(parser))
        start = parser.pos
        initial = syntax.names(parser, paren) if parser.parse_optional_keyword("init") else []
        types = syntax.arrow_types(parser) if parser.parse_optional_punctuation("->") else []
        operands = [*limits, parser.resolve_operands(initial, types, start)]
        body = parser.parse_region(variables)
        op = cls.build(
            operands=operands,
            result_types=[types],
            regions=[body],
            attributes=parser.parse_optional_attr_dict(),
        )
        for trait in op.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(op, trait)
        return op

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.body.block.args, " (", ") = (")
        syntax.print_values(printer, self.lowerBound, "", ") to (")
        syntax.print_values(printer, self.upperBound, "", ") step (")
        syntax.print_values(printer, self.step, "", ")")
        if self.initVals:
            syntax.print_values(printer, self.initVals, " init (", ")")
            syntax.print_arrow_types(printer, self.res.types)
        printer.print_string(" ")
        syntax.print_braced_region(printer, self)
        syntax.print_attr_dict(printer, self)


OPS: tuple[type[Any], ...] = (ForOp, IfOp, ParallelOp, ForallOp, InParallelOp)
