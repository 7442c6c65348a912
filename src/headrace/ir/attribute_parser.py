"""Tokens, types, attributes and aliases of the parser behind `text.parse`."""

from __future__ import annotations

import re
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    NoneAttr,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING as _KIND
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from headrace.ir.affine_syntax import AffineSyntax
from headrace.ir.aliases import Aliases
from headrace.ir.faults import Fault, UnknownName, close
from headrace.ir.lexer import FastLexer, FastToken
from headrace.ir.upstream.sparse import SparseElementsAttr

# A type whose text has at most one level of inner angle brackets: the key of the type cache.
_TYPE = re.compile(
    r"(?:tensor|memref|vector|!\w[\w.]*+)<(?:[^<>=\-]++|-(?!>)|<(?:[^<>=\-]++|-(?!>))*+>)*+>", re.ASCII
)
_SCALARS = {"index": IndexType(), **{str(t): t for t in (f16, bf16, f32, i1, i8, i32, i64)}}
_AFFINE_END = re.compile(r"\)\s*>(?!=)")

_SHARED: dict[str, Any] = {}
"""Types and affine attributes by their text, kept from one text to the next; none of them names an alias."""
MOST_SHARED = 10_000


class AttributeParser(Parser):
    """Reads what stands around operations; `headrace.ir.parser` adds these."""

    def __init__(self, ctx: Context, text: str, file: str) -> None:
        super().__init__(ctx, "", file)
        self._parser_state = ParserState(FastLexer(Input(text, file)))
        self._types: dict[str, Any] = {}
        if len(_SHARED) > MOST_SHARED:
            _SHARED.clear()
        self._aliases = Aliases(text)

    def refuse(self, message: str, hint: str = "", start: int | None = None) -> Any:
        """Raise Fault at `start`, or at the next token."""
        span = self._current_token.span if start is None else Span(start, start + 1, self.lexer.input)
        raise Fault(span, message, hint)

    # -- tokens (the hot path: as in xDSL, with fewer calls) -----------------------------------------------

    @property
    def pos(self) -> Any:
        """Where the next token starts."""
        token = self._parser_state.current_token
        return token.start if type(token) is FastToken else token.span.start

    def _consume_token(self, expected_kind: Any = None) -> Any:
        state = self._parser_state
        token = state.current_token
        state.current_token = state.lexer.lex()
        return token

    def _parse_optional_token(self, expected_kind: Any) -> Any:
        state = self._parser_state
        token = state.current_token
        if token.kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def parse_optional_punctuation(self, punctuation: Any) -> Any:
        return punctuation if self._parse_optional_token(_KIND[punctuation]) is not None else None

    def parse_punctuation(self, punctuation: Any, context_msg: str = "") -> Any:
        if self._parse_optional_token(_KIND[punctuation]) is None:
            self.raise_error(f"expected '{punctuation}'{context_msg}")
        return punctuation

    def parse_optional_characters(self, text: str) -> Any:
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    # -- aliases and locations -----------------------------------------------------------------------------

    def _parse_extended_type_or_attribute(self, name: str, is_type: bool) -> Any:
        if "." in name or self._current_token.text == "<":
            return super()._parse_extended_type_or_attribute(name, is_type)
        alias = f"{'!' if is_type else '#'}{name}"
        if alias not in self.attribute_aliases:
            self._read_ahead(alias)
        return self.attribute_aliases[alias]

    def _read_ahead(self, alias: str) -> None:
        """Read the definition of an alias that stands further down."""
        place = self._aliases.take(alias)
        if place is None:
            at = self.lexer.input.content.rfind(alias, 0, self.pos)
            hint = close(alias, self._aliases.places)
            raise Fault(
                Span(at, at + len(alias), self.lexer.input), f"undefined symbol alias '{alias}'", hint
            )
        state = self._parser_state
        here = state.lexer.pos, state.current_token
        self._skip_to(place)
        self._define_alias()
        state.lexer.pos, state.current_token = here

    def _parse_alias_def(self) -> None:
        token = self._current_token
        if token.text in self.attribute_aliases and not self._aliases.was_taken(token.text):
            self.refuse(f"re-declaration of alias '{token.text}'")
        self._define_alias()

    def _define_alias(self) -> None:
        name = self._consume_token().text
        self.parse_punctuation("=", " after the name of an alias")
        self.attribute_aliases[name] = self.parse_attribute()

    def _parse_location(self) -> Any:
        if self._current_token.text == "fused":
            self._consume_token()
            metadata: Any = NoneAttr()
            if self.parse_optional_punctuation("<"):
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(parts), metadata)
        found = super()._parse_location()
        if isinstance(found, FileLineColLoc) and self.parse_optional_keyword("to"):
            self.parse_optional_integer()  # the end of a range is not kept: an error has one place
            self.parse_punctuation(":")
            self.parse_integer()
        return found

    def _parse_file_metadata_dictionary(self) -> None:
        """`{-# … #-}` holds the bytes of resources, which no op of ours reads."""
        content = self._parser_state.lexer.input.content
        end = content.find("#-}", self.pos)
        if end < 0:
            self.refuse("file metadata without an end", "it ends with #-}")
        self._skip_to(end + 3)

    # -- types and attributes ------------------------------------------------------------------------------

    def parse_optional_type(self) -> Any:
        state = self._parser_state
        token = state.current_token
        if token.kind is Kind.BARE_IDENT and (scalar := _SCALARS.get(token.text)) is not None:
            state.current_token = state.lexer.lex()
            return scalar
        if (token.kind is Kind.BARE_IDENT or token.kind is Kind.EXCLAMATION_IDENT) and type(
            token
        ) is FastToken:
            match = _TYPE.match(state.lexer.input.content, token.start)
            if match is not None:
                key = match.group()
                known = self._types if "#" in key or "!" in key[1:] else _SHARED
                found = known.get(key)
                if found is None:
                    found = super().parse_optional_type()
                    if self.pos >= match.end():
                        known[key] = found
                    return found
                self._skip_to(match.end())
                return found
        return super().parse_optional_type()

    def parse_optional_dictionary_attr_dict(self) -> Any:
        if self._parser_state.current_token.kind is not Kind.L_BRACE:
            return {}
        return super().parse_optional_dictionary_attr_dict()

    def _skip_to(self, position: int) -> None:
        state = self._parser_state
        state.lexer.pos = position
        state.current_token = state.lexer.lex()

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: Any
    ) -> Any:
        content = self.lexer.input.content
        if is_opaque:  # `#dialect<name ...>`: the name stands alone
            at = content.rfind(attr_name.partition(".")[2], 0, self.pos)
        else:
            at = content.rfind(attr_name, 0, self.pos) - 1
        if "." in attr_name:
            find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
            if find(attr_name) is None:
                what = "type !" if is_type else "attribute #"
                raise UnknownName(Span(at, at, self.lexer.input), f"unknown {what}{attr_name}", attr_name)
        try:
            found = super()._parse_dialect_type_or_attribute_body(
                attr_name, is_type, is_opaque, starting_opaque_pos
            )
        except VerifyException as error:  # the type or attribute is the place, not the op around it
            raise ParseError(Span(at, at, self.lexer.input), str(error)) from None
        normal_form = getattr(found, "normal_form", None)  # types with two spellings
        return found if normal_form is None else normal_form()

    def _parse_optional_builtin_parametrized_attr(self) -> Any:
        token = self._current_token
        if token.kind is Kind.BARE_IDENT:
            if token.text in ("affine_map", "affine_set"):
                return self._affine_attribute(token.text, token.span.start)
            if token.text == "dense_resource":
                self.refuse(
                    "the bytes of resources are not read", "write the numbers, as in dense<[1.0, 2.0]>"
                )
            if token.text == "sparse":
                self._consume_token()
                return SparseElementsAttr.parse_after_keyword(self)
        return super()._parse_optional_builtin_parametrized_attr()

    def _parse_builtin_dense_attr(self) -> Any:
        start = self.pos
        try:
            return super()._parse_builtin_dense_attr()
        except ParseError as error:
            if error.msg.startswith("Shape mismatch"):  # found after the type: point at the literal instead
                self.raise_error(error.msg, start)
            raise

    def _affine_attribute(self, kind: str, start: int) -> Any:
        content = self._parser_state.lexer.input.content
        end = _AFFINE_END.search(content, start)
        key = content[start : end.end()] if end else ""
        found = _SHARED.get(key)
        if found is not None and end is not None:
            self._skip_to(end.end())
            return found
        self._consume_token()
        self.parse_characters("<", f" in {kind}")
        reader = AffineSyntax(self._parser_state)
        found = AffineMapAttr(reader.map()) if kind == "affine_map" else AffineSetAttr(reader.set())
        self.parse_characters(">", f" in {kind}")
        if key:
            _SHARED[key] = found
        return found

    def parse_affine_map(self) -> Any:
        return AffineSyntax(self._parser_state).map()

    def parse_affine_set(self) -> Any:
        return AffineSyntax(self._parser_state).set()

    class _TensorLiteralElement(Parser._TensorLiteralElement):
        """A literal in `dense<…>`; a hexadecimal integer of a float type is its bit pattern, as in MLIR."""

        def to_type(self, parser: Any, type: Any) -> Any:
            text = self.span.text
            if isinstance(type, AnyFloat) and text[:2] in ("0x", "0X"):
                size = type.compile_time_size
                try:
                    raw = int(text, 16).to_bytes(size, "little")
                except OverflowError:
                    parser.raise_error(f"bit pattern {text} does not fit {type}", self.span)
                return type.unpack(raw, 1)[0]
            return super().to_type(parser, type)
