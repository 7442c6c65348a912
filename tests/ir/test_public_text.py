"""Our text against what the public C++ tools print for the same input (tests/text/public).

Equal word for word. What may differ: blanks and line breaks, SSA names, which attributes are aliases, the
id of a resource (the tools print it twice).
"""

from __future__ import annotations

import re

import pytest

from headrace.ir.text import load_file, print_module
from tests.ir.texts import TEXTS

PAIRS = sorted((TEXTS / "public").glob("*.mlir"))
_ALIAS = re.compile(r"^(#[\w.]+) = (.*)$", re.M)
_WORD = re.compile(r'"[^"]*"|%[\w.$-]+(?:#\d+)?|#?[\w.]+|->|\S')


def _words(text: str) -> list[str]:
    """The words of a module: aliases expanded, values without their names."""
    aliases = dict(_ALIAS.findall(text))
    body = _ALIAS.sub("", text)
    for name in sorted(aliases, key=len, reverse=True):
        body = re.sub(re.escape(name) + r"(?![\w.])", lambda _, n=name: aliases[n], body)
    body = re.sub(r'id = "\w+"(, )?', "", body)
    body = re.sub(r"(@\w+) \{\}", r"\1", body)
    return [re.sub(r"^%[^#]*", "%", word) for word in _WORD.findall(body)]


@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.name)
def test_our_text_is_the_text_of_the_public_tools(path):
    ours = _words(print_module(load_file(TEXTS / "roundtrip" / path.name)))
    theirs = _words(path.read_text())
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    assert at is None, f"{' '.join(ours[at - 25 : at + 12])}\n!=\n{' '.join(theirs[at - 25 : at + 12])}"
    assert len(ours) == len(theirs)
