"""Pipelines of passes as text: `canonicalize{max-iterations=3},cse,dce`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.passes.canonicalize import canonicalize
from headrace.ir.passes.cse import cse
from headrace.ir.passes.dce import dce
from headrace.ir.passes.fold import fold
from headrace.ir.verify import verify


@dataclass(frozen=True)
class Pass:
    """What a name stands for: the function, its options with their defaults, one line of explanation."""

    run: Callable[..., int]
    summary: str
    options: dict[str, bool | int] = field(default_factory=dict)


PASSES: dict[str, Pass] = {
    "canonicalize": Pass(
        canonicalize, "fold, drop identities, inline known control, remove dead ops", {"max-iterations": 10}
    ),
    "cse": Pass(cse, "compute equal ops once; loads too, without a write in between", {"with-loads": True}),
    "dce": Pass(dce, "remove ops that nobody uses and that write nothing"),
    "fold": Pass(fold, "fold arith and affine ops of constants", {"with-floats": True}),
}


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline with its options."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, module: ModuleOp) -> int:
        """Applies the pass; returns how many changes it made."""
        return PASSES[self.name].run(module, **{k.replace("-", "_"): v for k, v in self.options.items()})


_STEP = re.compile(r"\s*([\w-]+)\s*(?:\{([^{}]*)\})?\s*(,|$)")


def parse_pipeline(text: str) -> tuple[Step, ...]:
    """The steps of a pipeline's text; HeadraceError for an unknown pass, option or value."""
    steps, at = [], 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise HeadraceError(
                f"pipeline '{text}': cannot read '{text[at:].strip()}'",
                hint="write 'pass,pass{option=value option=value}'",
            )
        steps.append(_step(found[1], found[2] or ""))
        at = found.end()
    return tuple(steps)


def run_pipeline(module: ModuleOp, steps: Sequence[Step]) -> ModuleOp:
    """The module after all passes, changed in place; HeadraceError if it is not well-formed any more."""
    for step in steps:
        step.run(module)
    errors = [found for found in verify(module) if found.severity == "error"]
    if errors:
        raise HeadraceError(errors)
    return module


def _step(name: str, options: str) -> Step:
    if name not in PASSES:
        raise HeadraceError(f"no pass '{name}'", hint=_near(name, list(PASSES), "passes are "))
    known = PASSES[name].options
    values: dict[str, Any] = {}
    for item in options.replace(",", " ").split():
        key, equals, text = item.partition("=")
        if key not in known:
            hint = _near(key, list(known), "options are ") if known else "it takes none"
            raise HeadraceError(f"pass '{name}' has no option '{key}'", hint=hint)
        values[key] = _value(name, key, text if equals else "true", known[key])
    return Step(name, values)


def _value(name: str, key: str, text: str, default: bool | int) -> bool | int:
    if isinstance(default, bool):
        if text in ("true", "false"):
            return text == "true"
        raise HeadraceError(f"{name}{{{key}={text}}}: not true or false")
    if text.isdecimal():
        return int(text)
    raise HeadraceError(f"{name}{{{key}={text}}}: not a number", hint=f"the default is {default}")


def _near(name: str, known: list[str], before: str) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else before + ", ".join(sorted(known))
