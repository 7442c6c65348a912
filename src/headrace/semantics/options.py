"""How KTIR is read where its tools disagree; the defaults are what Headrace means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from headrace.ir.diagnostics import HeadraceError


@dataclass(frozen=True)
class Options:
    """One field per choice; every other value than the default is for texts of other producers.

    address_unit: start addresses count elements of the view's type ("element") or bytes ("byte").
    linearise: which grid dim of a tile's linear number runs fastest, the "first" or the "last".
    order: `access_tile_order` maps a displacement to its place in the tile ("dialect") or a place in the tile
      to a displacement ("cpu"); alike for identities and swaps.
    bounds: an access outside its view is an error ("strict"), or reads 0 and writes nothing ("mask").
    empty: a `tensor.empty` read before it is written is an error, but an accumulator starts at its combiner's
      identity, with a warning ("identity"); or it holds zeros ("zero").
    default_grid: tiles of a function without a `grid` attribute.
    strict_lx: more than `lx_bytes` of live tensors in a tile is an error instead of a number in the report.
    """

    address_unit: Literal["element", "byte"] = "element"
    linearise: Literal["first", "last"] = "first"
    order: Literal["dialect", "cpu"] = "dialect"
    bounds: Literal["strict", "mask"] = "strict"
    empty: Literal["identity", "zero"] = "identity"
    default_grid: int = 1
    strict_lx: bool = False
    lx_bytes: int = 2 * 2**20

    def __post_init__(self) -> None:
        """HeadraceError for a value that is none of a field's choices."""
        for name, choices in _choices().items():
            value = getattr(self, name)
            if value not in choices:
                raise HeadraceError(f"{name} cannot be '{value}'", hint=f"it is {' or '.join(choices)}")


@cache
def _choices() -> dict[str, tuple[Any, ...]]:
    """The values of the fields that have a few."""
    return {name: get_args(hint) for name, hint in get_type_hints(Options).items() if get_args(hint)}
