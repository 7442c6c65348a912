"""Values nobody gave: scalar arguments of a kernel, and options from KEY=VALUE texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.runtime.kernel import Kernel

DEFAULT_FLOAT = 1e-5


def default_scalars(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, float | int]:
    """Every scalar argument's value: given, else the function's `headrace.example`, else 1e-5 for a float.

    HeadraceError for a scalar nobody knows (an integer without example), and for a value no argument takes.
    """
    if kernel.level != "ktir":
        numbers = {k: v.item() if getattr(v, "ndim", None) == 0 else v for k, v in given.items()}
        return {name: value for name, value in numbers.items() if isinstance(value, int | float)}
    _require_taken(kernel, given)
    scalars = [a for a in kernel.arguments if a.kind == "scalar"]
    values: dict[str, float | int] = {}
    for argument in scalars:
        if argument.name in given:
            value = given[argument.name]
            values[argument.name] = value.item() if hasattr(value, "item") else value
        elif argument.example is not None:
            values[argument.name] = argument.example
        elif argument.dtype.startswith(("f", "bf")):
            values[argument.name] = DEFAULT_FLOAT
        else:
            raise HeadraceError(
                f"scalar argument '{argument.name}' has no value", hint=f"pass --arg {argument.name}=VALUE"
            )
    return values


def _require_taken(kernel: Kernel, given: Mapping[str, Any]) -> None:
    """HeadraceError for a number whose name is no scalar argument's."""
    kinds = {a.name: a.kind for a in kernel.arguments}
    takers = ", ".join(name for name, kind in kinds.items() if kind == "scalar") or "none"
    wrong = [
        Diagnostic(f"value '{name}' names no scalar argument", hint=f"scalar arguments are {takers}")
        for name, value in given.items()
        if isinstance(value, int | float) and kinds.get(name) not in ("scalar", "unused")
    ]
    if wrong:
        raise HeadraceError(wrong)


def machine_settings(settings: list[str], level: str) -> dict[str, Any]:
    """The choices of what DFIR means that `--set` makes; HeadraceError for an unknown key or value."""
    from headrace.machine.options import Options

    known = {f.name: f for f in fields(Options)}
    found: dict[str, Any] = {}
    for item in settings:
        key, _, text = item.partition("=")
        if key not in known:
            hint = (
                f"settings of the machine are {', '.join(sorted(known))}; those of KTIR's meaning belong to "
            )
            raise HeadraceError(
                f"--set {item}: the machine has no such option", hint=hint + "--engine reference"
            )
        if key == "address_unit" and level != "dfir":
            hint = "an option of KTIR's meaning belongs to --engine reference"
            raise HeadraceError(
                f"--set {item}: the addresses of a {level} kernel are lowered already", hint=hint
            )
        current = getattr(Options(), key)
        try:
            found[key] = type(current)(text)
        except ValueError:
            raise HeadraceError(f"--set {item}: not a number", hint=f"the default is {current}") from None
    Options(**found)
    return found


def interpreter_options(settings: list[str], strict_lx: bool) -> Any:
    """The interpreter's options with `--set` applied; HeadraceError for an unknown key."""
    from headrace.semantics.plain import Options

    options = Options(strict_lx=strict_lx)
    known = {f.name: f for f in fields(Options)}
    for item in settings:
        key, _, text = item.partition("=")
        if key not in known:
            raise HeadraceError(f"unknown setting '{key}'", hint=f"settings are {', '.join(sorted(known))}")
        options = replace(options, **{key: _setting(key, text, getattr(options, key))})
    return options


def _setting(key: str, text: str, current: Any) -> Any:
    """The text of a setting in the type of its current value."""
    try:
        if isinstance(current, bool):
            return {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}[
                text.lower()
            ]
        value = type(current)(text)
        if isinstance(value, int) and value < 1:
            raise ValueError
        return value
    except (ValueError, KeyError):
        wanted = "true or false" if isinstance(current, bool) else "a positive integer"
        raise HeadraceError(f"--set {key}={text}: not {wanted}", hint=f"the default is {current}") from None
