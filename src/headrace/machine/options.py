"""What DFIR means where its public description leaves a choice; `docs/dfir.md` explains every one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from headrace.ir.diagnostics import HeadraceError


@dataclass(frozen=True)
class Options:
    """One field per choice; every other value than the default is for texts of other producers.

    address_unit: start addresses that are no symbols count elements of the view ("element") or "byte"s; ""
      asks the module (`headrace.address_unit`), which without an answer means elements.
    indirect_vector: an indirect vector access reads one integer, which moves the whole vector ("step", as the
      composite forms do), or one per lane ("lane").
    page_start: the start address of a page is where its first element lies ("page"), or is added to what the
      layout map gives ("offset").
    pack: the indices of `pack` number the lanes of both operands, one after the other ("lane"), or choose the
      operand that gives its next lane ("operand").
    estimate_bits: significant bits of what the estimates and `fast_exp` give; 0 is the exact function,
      rounded once.
    """

    address_unit: Literal["", "element", "byte"] = ""
    indirect_vector: Literal["step", "lane"] = "step"
    page_start: Literal["page", "offset"] = "page"
    pack: Literal["lane", "operand"] = "lane"
    estimate_bits: int = 0

    def __post_init__(self) -> None:
        """HeadraceError for a value that is none of a field's choices."""
        for name, hint in get_type_hints(Options).items():
            choices = [c for c in get_args(hint) if c]
            value = getattr(self, name)
            if choices and value and value not in choices:
                raise HeadraceError(f"{name} cannot be '{value}'", hint=f"it is {' or '.join(choices)}")
        if not 0 <= self.estimate_bits <= 52:
            raise HeadraceError(f"estimate_bits cannot be {self.estimate_bits}", hint="it is 0 (exact) to 52")
