"""Dynamic sizes: a loop program with its size symbols replaced by the numbers of one call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def with_sizes(program: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """The program for these values of its sizes; every extent and stride is a number afterwards."""
    values = {symbol: str(size) for symbol, size in zip(program["sizes"], sizes, strict=True)}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, values)) + r")\b") if values else None

    def text(expression: str) -> str:
        return pattern.sub(lambda found: values[found.group()], expression) if pattern else expression

    def number(expression: str) -> str:
        return str(int(eval(text(expression), {"__builtins__": {}, "min": min, "max": max})))

    return {
        **program,
        "name": "_".join([str(program["name"]), *values.values()]),
        "sizes": [],
        "temps": {name: (number(count), dtype) for name, (count, dtype) in program["temps"].items()},
        "layouts": {
            name: tuple(tuple(map(number, part)) for part in layout)
            for name, layout in program["layouts"].items()
        },
        "loops": [
            {
                "iter": [(symbol, number(extent)) for symbol, extent in loop["iter"]],
                "red": [(symbol, number(extent)) for symbol, extent in loop["red"]],
                "body": _replaced(loop["body"], text),
            }
            for loop in program["loops"]
        ],
    }


def _replaced(value: Any, text: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, text) for item in value)
    return value
