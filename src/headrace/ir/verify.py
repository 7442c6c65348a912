"""Is a module well-formed? All findings at once, each with its place."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.dominance import undominated
from headrace.ir.rules import RULES, Scope
from headrace.ir.text import location


def verify(module: Operation, is_masked: bool = False) -> list[Diagnostic]:
    """Every violated rule of every op and what is likely not meant (severity "warning"), then every use its
    definition does not dominate; empty when well-formed.

    `is_masked`: what lies outside of a view reads 0 and writes nothing (option bounds=mask), so an access
    tile outside of its view is a warning, not an error.
    """
    found: list[Diagnostic] = []
    broken: set[Operation] = set()
    scope = Scope(is_masked)
    for op in module.walk():
        wrong = [d for d in (_repeated(op) or _check(op), _check_numbers(op)) if d is not None]
        if wrong:
            found += wrong
            broken.add(op)
        elif op.name in RULES and not any(v.owner in broken for v in op.operands):
            found += RULES[op.name](scope, op)
    for op, i in undominated(module):
        name = _name(op.operands[i])
        found.append(
            Diagnostic(
                f"operand {i} ({name}) is used where its definition does not reach", location(op), op.name
            )
        )
    return found


def _check_numbers(op: Operation) -> Diagnostic | None:
    """An index is a 64-bit number; nobody else looks at the size of a literal of that type."""
    for number in op.properties.values():
        if isinstance(number, IntegerAttr) and isinstance(number.type, IndexType):
            if not -(1 << 63) <= number.value.data < 1 << 63:
                return Diagnostic(f"{number.value.data} does not fit 64 bits", location(op), op.name)
    return None


def _repeated(op: Operation) -> Diagnostic | None:
    """The first op that takes a name which another one before it has; xDSL says it without a place."""
    if not isinstance(op, ModuleOp):
        return None
    seen: set[str] = set()
    for inner in op.body.block.ops:
        name = inner.properties.get("sym_name")
        if isinstance(name, StringAttr):
            if name.data in seen:
                return Diagnostic(f"the name @{name.data} is taken", location(inner), inner.name)
            seen.add(name.data)
    return None


def _check(op: Operation) -> Diagnostic | None:
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        return Diagnostic(_message(_first(op, error)), location(op), op.name)
    except (AssertionError, AttributeError, ValueError, TypeError, LookupError, NotImplementedError) as error:
        return Diagnostic(f"malformed: {_message(error)}", location(op), op.name)
    return None


def _first(op: Operation, error: VerifyException) -> VerifyException:
    """The error of the first trait by name that is hurt: xDSL keeps traits in a set, in no fixed order."""
    for trait in sorted(op.traits, key=lambda trait: type(trait).__name__):
        try:
            trait.verify(op)
        except VerifyException as found:
            return found
    return error


def _message(error: Exception) -> str:
    text = str(error).strip()
    if "\n\n" in text:  # xDSL puts the reason last, after the text of the op
        text = text.split("\n\n")[-1]
    text = " ".join(line.strip() for line in text.splitlines()) or type(error).__name__
    return text[0].lower() + text[1:] if len(text) > 1 and text[0].isupper() and text[1].islower() else text


def _name(value: SSAValue) -> str:
    if value.name_hint:
        return f"%{value.name_hint}"
    if isinstance(value, OpResult):
        return f"result of {value.op.name}"
    return "a block argument" if isinstance(value, BlockArgument) else "a value nobody defines"
