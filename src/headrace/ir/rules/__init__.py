"""Rules of KTIR that look further than one op: definitions of operands, the grid, the tiles of a group."""

from headrace.ir.rules.functions import FUNCTIONS
from headrace.ir.rules.intertile import INTERTILE
from headrace.ir.rules.scope import Rule, Scope
from headrace.ir.rules.tiles import TILES
from headrace.ir.rules.upstream import UPSTREAM
from headrace.ir.rules.views import VIEWS

RULES: dict[str, Rule] = {**FUNCTIONS, **INTERTILE, **TILES, **UPSTREAM, **VIEWS}
"""The rule of each op, by name; an op that is malformed itself is not looked at."""

__all__ = ["RULES", "Rule", "Scope"]
