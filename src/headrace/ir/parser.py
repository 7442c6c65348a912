"""The parser behind `text.parse`: xDSL's, made faster and stricter.

Differences from xDSL 0.75: a source location on every op; unknown ops reported at their own name;
undefined SSA names and aliases reported where they are used; aliases may be defined below their use;
regions isolated from above start with no outer names; names kept as written (`%x_0` stays `x_0`); affine
attributes in MLIR's normal form; `dense<0x…>` read as the bits of floats; `sparse<…>`.
"""

from __future__ import annotations

import bisect
import re
from functools import lru_cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from headrace.ir.attribute_parser import AttributeParser
from headrace.ir.faults import Fault, UnknownName, close


class TextParser(AttributeParser):
    """Parses one text; use `headrace.ir.text.parse`."""

    def __init__(self, ctx: Context, text: str, file: str) -> None:
        super().__init__(ctx, text, file)
        self._file = StringAttr(file)
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._first_use: dict[str, tuple[Any, tuple[str, ...]]] = {}
        self._open: list[tuple[int, type[Operation]]] = []

    # -- operations ----------------------------------------------------------------------------------------

    def parse_operation(self) -> Operation:
        """One op with its results bound; the stack of open ops is left as it is when parsing fails."""
        start = self.pos
        bound = self._parse_op_result_list()
        token = self._current_token
        is_custom = token.kind is Kind.BARE_IDENT
        if not is_custom and token.kind is not Kind.STRING_LIT:
            is_infix = bool(bound) and token.kind is Kind.PERCENT_IDENT
            hint = "write an op, as in arith.muli %a, %b : index" if is_infix else ""
            self.refuse("expected the name of an operation", hint)
        self._consume_token()
        name = token.text if is_custom else token.text[1:-1]
        op_type = self._op_type(name, token)
        state = self._parser_state
        state.dialect_stack.append(op_type.dialect_name())
        self._open.append((start, op_type))
        op: Operation = op_type.parse(self) if is_custom else self._parse_generic_operation(op_type)
        self._open.pop()
        state.dialect_stack.pop()
        if self._current_token.text == "loc" and (found := self.parse_optional_location()) is not None:
            op.location = found
        elif isinstance(op.location, UnknownLoc):
            op.location = self._location(start)
        self._bind(op, bound, start)
        return op

    def _bind(self, op: Operation, bound: list[tuple[Any, int]], start: int) -> None:
        count = sum(size for _, size in bound)
        if bound and count != len(op.results):
            self.raise_error(f"'{op.name}' has {len(op.results)} results, but {count} names are given", start)
        first = 0
        for span, size in bound:
            self._register_ssa_definition(span.text[1:], op.results[first : first + size], span)
            first += size

    def _op_type(self, name: str, token: Any) -> type[Operation]:
        found: type[Operation] | None = self.ctx.get_optional_op(
            name, dialect_stack=self._parser_state.dialect_stack
        )
        if found is None:
            raise UnknownName(token.span, f"unknown operation '{name}'", name)
        return found

    def op_type_here(self) -> type[Operation]:
        """The class of the op whose name stands here (a payload written as one op)."""
        token = self._current_token
        return self._op_type(self.parse_identifier(), token)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        return self._op_type(name, self._current_token)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect.bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, _number(line), _number(column))

    def place(self) -> int:
        """Where the innermost op that is still open begins (for errors that carry no position)."""
        return self._open[-1][0] if self._open else self.pos

    def open_op(self) -> str:
        return str(self._open[-1][1].name) if self._open else ""

    # -- SSA names -----------------------------------------------------------------------------------------

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self._first_use:
            self._first_use[name] = (operand.span, tuple(self.ssa_values))
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Any, span: Any) -> None:
        super()._register_ssa_definition(name, values, span)
        self._first_use.pop(name, None)
        if not name[0].isdigit():
            for value in values:
                value._name = name  # the setter would drop a numeric suffix

    def parse_optional_region(self, arguments: Any = None) -> Any:
        if not self._open or not self._open[-1][1].has_trait(IsolatedFromAbove):
            return super().parse_optional_region(arguments)
        names: dict[str, Any] = self.ssa_values
        pending: dict[str, Any] = self.forward_ssa_references
        used = self._first_use
        self._scope({}, {}, {})
        region = super().parse_optional_region(arguments)
        self.check_defined()
        self._scope(names, pending, used)
        return region

    def _scope(self, names: dict[str, Any], pending: dict[str, Any], used: dict[str, Any]) -> None:
        self.ssa_values = names
        self.forward_ssa_references = pending
        self._first_use = used

    def check_defined(self) -> None:
        """Raise Fault for the first name that was used and never defined."""
        for name in self.forward_ssa_references:
            span, known = self._first_use.get(name, (self._current_token.span, ()))
            raise Fault(span, f"use of undefined value %{name}", close(name, known, "%"))

    # -- messages ------------------------------------------------------------------------------------------

    def _parse_block(self) -> Any:
        if self._current_token.kind is not Kind.CARET_IDENT:
            what = "end of text" if self._current_token.kind is Kind.EOF else f"'{self._current_token.text}'"
            self.raise_error(f"expected an operation or '}}', but found {what}")
        return super()._parse_block()

    def _raise_wrong_str_enum_value_error(self, enum_type: Any, span: Any) -> Any:
        words = [str(w.value) for w in enum_type]
        message = f"unknown word '{span.text}', expected {' or '.join(words)}"
        raise Fault(span, message, close(span.text, words))


@lru_cache(maxsize=4096)
def _number(value: int) -> IntAttr:
    return IntAttr(value)


def span_start(error: ParseError) -> int:
    """Offset in the text where a parse error points."""
    span: Span = error.span
    return int(span.start)
