"""The grammar of affine expressions, maps and sets, building normal forms (see affine.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)
from xdsl.parser.base_parser import BaseParser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRTokenKind

from headrace.ir import affine

LeafParser = Callable[[], AffineExpr | None]
_PRECEDENCE = {"+": 10, "-": 10, "*": 20, "ceildiv": 20, "floordiv": 20, "mod": 20}
_COMPARE = {
    (">", "="): AffineConstraintKind.ge,
    ("<", "="): AffineConstraintKind.le,
    ("=", "="): AffineConstraintKind.eq,
}


class AffineSyntax(BaseParser):
    """Reads from the token stream of another parser (`state`); `leaf` reads a dim, a symbol or returns
    None.
    """

    def __init__(self, state: Any) -> None:
        self._resume_from(state)

    def expression(self, leaf: LeafParser) -> AffineExpr:
        return self._operators(self._primary(leaf), 0, leaf)

    def _primary(self, leaf: LeafParser) -> AffineExpr:
        found = leaf()
        if found is not None:
            return found
        token = self._consume_token()
        if token.kind is MLIRTokenKind.L_PAREN:
            inner = self.expression(leaf)
            self._parse_token(MLIRTokenKind.R_PAREN, "expected `)` in an affine expression")
            return inner
        if token.kind is MLIRTokenKind.INTEGER_LIT:
            return AffineConstantExpr(token.kind.get_int_value(token.span))
        if token.kind is MLIRTokenKind.MINUS:
            return affine.neg(self._primary(leaf))
        raise ParseError(token.span, "expected an affine expression")

    def _operators(self, lhs: AffineExpr, lowest: int, leaf: LeafParser) -> AffineExpr:
        while (level := _PRECEDENCE.get(self._current_token.text, -1)) >= lowest:
            token = self._consume_token()
            rhs = self._primary(leaf)
            if level < _PRECEDENCE.get(self._current_token.text, -1):
                rhs = self._operators(rhs, level + 1, leaf)
            try:
                lhs = affine.BY_NAME[token.text](lhs, rhs)
            except affine.NotAffine as problem:
                raise ParseError(token.span, str(problem)) from None
        return lhs

    def _space(self) -> tuple[int, int, LeafParser]:
        """(number of dims, number of symbols, reader of their names) of `(d0, d1)[s0]`."""

        def name() -> str:
            token = self._parse_token(MLIRTokenKind.BARE_IDENT, "expected a name of a dimension or symbol")
            if token.text in taken:
                raise ParseError(token.span, f"name {token.text} stands twice in the affine space")
            taken.add(token.text)
            return str(token.text)

        taken: set[str] = set()
        dims = self.parse_comma_separated_list(self.Delimiter.PAREN, name)
        symbols = self.parse_optional_comma_separated_list(self.Delimiter.SQUARE, name) or []
        known: dict[str, AffineExpr] = {n: AffineDimExpr(i) for i, n in enumerate(dims)}
        known |= {n: AffineSymExpr(i) for i, n in enumerate(symbols)}

        def leaf() -> AffineExpr | None:
            token = self._parse_optional_token(MLIRTokenKind.BARE_IDENT)
            if token is None:
                return None
            if token.text not in known:
                raise ParseError(token.span, f"unknown name {token.text} in an affine expression")
            return known[token.text]

        return len(dims), len(symbols), leaf

    def map(self) -> AffineMap:
        """`(d0)[s0] -> (d0 + s0)`."""
        dims, symbols, leaf = self._space()
        self._parse_token(MLIRTokenKind.ARROW, "expected `->` in an affine map")
        results = self.parse_comma_separated_list(self.Delimiter.PAREN, lambda: self.expression(leaf))
        return AffineMap(dims, symbols, tuple(results))

    def set(self) -> AffineSet:
        """`(d0)[s0] : (d0 >= 0, s0 - d0 >= 1)`."""
        dims, symbols, leaf = self._space()
        self._parse_token(MLIRTokenKind.COLON, "expected `:` in an affine set")
        rows = self.parse_comma_separated_list(self.Delimiter.PAREN, lambda: self._constraint(leaf))
        return affine.canonical_set(AffineSet(dims, symbols, tuple(rows)))

    def _constraint(self, leaf: LeafParser) -> AffineConstraintExpr:
        lhs = self.expression(leaf)
        first, second = self._consume_token(), self._consume_token()
        kind = _COMPARE.get((first.text, second.text))
        if kind is None:
            raise ParseError(first.span, "expected `>=`, `<=` or `==` in an affine set")
        return affine.constraint(kind, lhs, self.expression(leaf))
