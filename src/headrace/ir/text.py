"""Text to module and back: the door through which every language of Headrace comes in and goes out."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import ParseError

from headrace.ir.collector import collector_paused
from headrace.ir.context import context
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.ir.faults import hint
from headrace.ir.files import read_text
from headrace.ir.parser import TextParser, span_start
from headrace.ir.printer import TextPrinter


def parse(text: str, file: str = "<text>") -> ModuleOp:
    """The module written in `text`, every op with its location; raises HeadraceError with one Diagnostic."""
    with collector_paused():
        parser = None
        try:
            parser = TextParser(context(), text, file)
            if not text.strip() or parser._current_token.kind.name == "EOF":
                return _placed(ModuleOp([]), file)
            module = parser.parse_module()
            parser.check_defined()
            return _placed(module, file)
        except ParseError as error:
            raise HeadraceError(_syntax(error, text, file)) from None
        except RecursionError:
            raise HeadraceError(Diagnostic("the text is nested too deeply", Location(file, 1, 1))) from None
        except Exception as error:  # whatever an op's parser trips over: a broken text shows no traceback
            raise HeadraceError(_stumble(error, parser, text, file)) from None


def _placed(module: ModuleOp, file: str) -> ModuleOp:
    """The module, at the beginning of its file if the text does not write it out."""
    if _first_place(module.location) is None:
        module.location = FileLineColLoc(StringAttr(file), IntAttr(1), IntAttr(1))
    return module


def print_module(module: Operation, generic: bool = False, has_older_spaces: bool = False) -> str:
    """Canonical text of `module` (custom syntax, or MLIR's generic form).

    `has_older_spaces`: memory spaces as `#ktdp.spyre_memory_space<HBM>`, for tools from before August 2026.
    """
    return TextPrinter(generic, has_older_spaces).text(module)


def load_file(path: str | Path) -> ModuleOp:
    """The module in a file; raises HeadraceError when it cannot be read or parsed."""
    return parse(read_text(Path(path)), str(path))


def location(op: Operation) -> Location:
    """Where `op` stands; for an op built by a program, where the nearest op around it stands."""
    at: Operation | None = op
    while at is not None:
        found = None if type(at.location) is UnknownLoc else _first_place(at.location)
        if found is not None:
            return Location(found.filename.data, found.line.data, found.column.data)
        at = at.parent_op()
    return Location()


def _first_place(loc: Attribute) -> FileLineColLoc | None:
    """The file, line and column in a location: of a call its callee, of a fusion the first that has one."""
    if isinstance(loc, FileLineColLoc):
        return loc
    if isinstance(loc, NameLoc):
        return _first_place(loc.location)
    if isinstance(loc, CallSiteLoc):
        return _first_place(loc.callee) or _first_place(loc.caller)
    if isinstance(loc, FusedLoc):
        return next((found for part in loc.locations if (found := _first_place(part))), None)
    return None


def _place(text: str, file: str, position: int) -> Location:
    line = text.count("\n", 0, position) + 1
    return Location(file, line, position - (text.rfind("\n", 0, position) + 1) + 1)


def _stumble(error: Exception, parser: TextParser | None, text: str, file: str) -> Diagnostic:
    """What to say when the parser of an op or attribute failed without a position: the op is the place."""
    message = str(error).split("\n")[0] or f"malformed operation ({type(error).__name__})"
    if parser is None:
        return Diagnostic(_lower(message), Location(file, 1, 1))
    return Diagnostic(_lower(message), _place(text, file, parser.place()), parser.open_op())


def _syntax(error: ParseError, text: str, file: str) -> Diagnostic:
    where = _place(text, file, span_start(error))
    return Diagnostic(_lower(error.msg), where, hint=hint(error))


def _lower(message: str) -> str:
    """Messages start in lower case and have no final stop."""
    message = message.strip().rstrip(".!")
    if len(message) > 1 and message[0].isupper() and not message[1].isupper():
        message = message[0].lower() + message[1:]
    return message
