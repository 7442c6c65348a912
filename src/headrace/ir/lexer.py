"""MLIR tokens by one master regular expression, with spans built only when somebody asks for them."""

from __future__ import annotations

import re
from typing import Any

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from headrace.ir.faults import Fault

_PUNCTUATION = {
    ":": Kind.COLON, ",": Kind.COMMA, "(": Kind.L_PAREN, ")": Kind.R_PAREN, "}": Kind.R_BRACE,
    "[": Kind.L_SQUARE, "]": Kind.R_SQUARE, "<": Kind.LESS, ">": Kind.GREATER, "=": Kind.EQUAL,
    "+": Kind.PLUS, "/": Kind.SLASH, "*": Kind.STAR, "?": Kind.QUESTION, "|": Kind.VERTICAL_BAR,
    "->": Kind.ARROW, "-": Kind.MINUS, "{": Kind.L_BRACE,
}  # fmt: skip
_PREFIX = {"#": Kind.HASH_IDENT, "!": Kind.EXCLAMATION_IDENT, "^": Kind.CARET_IDENT, "%": Kind.PERCENT_IDENT}

# Possessive quantifiers keep failing matches linear in the indentation.
_MASTER = re.compile(
    r"(?:\s++|//[^\n]*+)*+"
    r"(?:(?P<word>[a-zA-Z_][a-zA-Z0-9_$.]*+)"
    r"|(?P<mark>->|[:,()}\[\]<>=+/*?|-]|\{(?!-\#))"
    r"|(?P<name>(?!\#-\})[#!^%](?:[0-9]++|[a-zA-Z$._-][a-zA-Z0-9$._-]*+))"
    r"|(?P<digits>[0-9]++(?![.x0-9]|[eE][-+0-9]))"
    r'|(?P<string>"[^"\\\n]*+"))',
    re.ASCII,
)

_MARK = 2
# By the number of the group in `_MASTER`; marks and names are told apart by what they are.
_KINDS = (None, Kind.BARE_IDENT, None, None, Kind.INTEGER_LIT, Kind.STRING_LIT)

# A complete string with escapes; the stock lexer takes exponential time when the closing quote is missing.
_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+", re.ASCII)
_STRING = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"')


class FastToken(Token[Kind, str]):
    """A token that knows where it stands and makes its span on demand."""

    __slots__ = ("kind", "start", "end", "source", "text")

    def __init__(self, kind: Kind, start: int, end: int, source: Any, text: str) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.source = source
        self.text = text

    @property
    def span(self) -> Any:
        return Span(self.start, self.end, self.source)

    @property
    def content(self) -> str:
        return self.text


class FastLexer(MLIRLexer):
    """The stock lexer, with the common tokens taken by `_MASTER`."""

    def __init__(self, text: Input) -> None:
        super().__init__(text)
        self._content: str = text.content

    def lex(self) -> Any:
        position: int = self.pos  # type: ignore[has-type]
        match = _MASTER.match(self._content, position)
        if match is None:  # floats, hexadecimal, escapes, `@name`, `...`, the end of the text
            start = self._after_space(position)
            self._check_string(start)
            self._check_name(start)
            return super().lex()
        group: Any = match.lastindex
        text = match[group]
        self.pos = end = match.end()
        kind = _KINDS[group] or (_PUNCTUATION[text] if group == _MARK else _PREFIX[text[0]])
        return FastToken(kind, end - len(text), end, self.input, text)

    def _after_space(self, position: int) -> int:
        space = _SPACE.match(self.input.content, position)
        return space.end() if space else position

    def _check_string(self, start: int) -> None:
        """Raise ParseError when a string starts here (or `@"name"`) and does not end on its line."""
        content = self.input.content
        quote = start + 1 if content.startswith("@", start) else start
        if content.startswith('"', quote) and _STRING.match(content, quote) is None:
            raise ParseError(Span(quote, quote + 1, self.input), "string without closing quote")

    def _check_name(self, start: int) -> None:
        """Raise Fault for a mark of names without a name: `%a % 4`."""
        mark = self.input.content[start : start + 1]
        if mark in _PREFIX and not self.input.content.startswith("#-}", start):
            hint = "a remainder is written mod" if mark == "%" else ""
            raise Fault(Span(start, start + 1, self.input), f"expected a name after '{mark}'", hint)
