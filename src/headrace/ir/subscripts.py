"""Subscripts and lists of extents, which mix numbers with SSA values: `[%i + 3, 0]`, `[1, %n, 64]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from headrace.ir import affine
from headrace.ir.affine_syntax import AffineSyntax
from headrace.ir.syntax import value_name


def subscripts(
    parser: Parser, delimiter: Any = Parser.Delimiter.SQUARE, has_symbols: bool = True
) -> tuple[AffineMap, list[UnresolvedOperand]]:
    """`[%i + 3, 0, symbol(%s)]` as (map, operands): one dim per distinct name in order of first use, then
    symbols; without `has_symbols` a `symbol(%s)` is a dim like any other.
    """
    return _subscripts(parser, lambda read: parser.parse_comma_separated_list(delimiter, read), has_symbols)


def _subscripts(
    parser: Parser,
    gather: Callable[[Callable[[], AffineExpr]], list[AffineExpr]],
    has_symbols: bool,
) -> tuple[AffineMap, list[UnresolvedOperand]]:
    reader = AffineSyntax(parser._parser_state)
    dims: dict[tuple[str, int], int] = {}
    symbols: dict[tuple[str, int], int] = {}
    dim_operands: list[UnresolvedOperand] = []
    symbol_operands: list[UnresolvedOperand] = []

    def position(seen: dict[tuple[str, int], int], into: list[UnresolvedOperand]) -> int:
        u = parser.parse_unresolved_operand()
        key = (u.operand_name, u.index)
        if key not in seen:
            seen[key] = len(into)
            into.append(u)
        return seen[key]

    def leaf() -> AffineExpr | None:
        token = parser._current_token
        if token.kind is MLIRTokenKind.PERCENT_IDENT:
            return AffineDimExpr(position(dims, dim_operands))
        if token.kind is MLIRTokenKind.BARE_IDENT and token.text == "symbol":
            parser.parse_keyword("symbol")
            with parser.in_parens():
                if has_symbols:
                    return AffineSymExpr(position(symbols, symbol_operands))
                return AffineDimExpr(position(dims, dim_operands))
        return None

    results = gather(lambda: reader.expression(leaf))
    return AffineMap(len(dims), len(symbols), tuple(results)), [*dim_operands, *symbol_operands]


def subscripts_text(printer: Printer, amap: AffineMap, values: Sequence[SSAValue]) -> str:
    """The subscripts of `amap` applied to `values`, without brackets."""

    def leaf(e: AffineExpr) -> str:
        if isinstance(e, AffineSymExpr):
            return f"symbol({value_name(printer, values[amap.num_dims + e.position])})"
        assert isinstance(e, AffineDimExpr)
        return value_name(printer, values[e.position])

    return ", ".join(affine.expr_text(affine.canonical(e), leaf) for e in amap.results)


def print_subscripts(printer: Printer, amap: AffineMap, values: Sequence[SSAValue]) -> None:
    printer.print_string(f"[{subscripts_text(printer, amap, values)}]")


def one_subscript(parser: Parser) -> tuple[AffineMap, list[UnresolvedOperand]]:
    """One affine expression of SSA values without brackets."""
    return _subscripts(parser, lambda read: [read()], has_symbols=False)


def index_sizes(
    parser: Parser, delimiter: Any = Parser.Delimiter.SQUARE
) -> tuple[list[UnresolvedOperand], DenseArrayBase[Any]]:
    """`[1, %n, 64]` as (dynamic operands, static array with MLIR's sentinel where dynamic)."""
    dynamic: list[UnresolvedOperand] = []

    def entry() -> int:
        found = parser.parse_optional_unresolved_operand()
        if found is None:
            return int(parser.parse_integer(allow_boolean=False))
        dynamic.append(found)
        return int(DYNAMIC_INDEX)

    static = parser.parse_comma_separated_list(delimiter, entry)
    return dynamic, DenseArrayBase.from_list(i64, static)


def print_index_sizes(
    printer: Printer, dynamic: Sequence[SSAValue], static: DenseArrayBase[Any], brackets: str = "[]"
) -> None:
    values = iter(dynamic)
    texts = [value_name(printer, next(values)) if s == DYNAMIC_INDEX else str(s) for s in static.get_values()]
    printer.print_string(brackets[0] + ", ".join(texts) + brackets[1])
