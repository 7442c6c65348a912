"""The example texts of these tests, and what they share."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

TEXTS = Path(__file__).parents[1] / "text"


def matches(printed: str, checks: str) -> bool:
    """True when `printed` satisfies the CHECK comments in `checks`."""
    options = Options(match_filename="-")
    ops = tuple(Parser(options, StringIO(checks), *pattern_for_opts(options)))
    return Matcher(options, FInput("-", printed), ops).run() == 0
