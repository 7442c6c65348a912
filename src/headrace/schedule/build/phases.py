"""The builder of each kind of phase."""

from __future__ import annotations

from headrace.schedule.build.column import build_column
from headrace.schedule.build.contract import build_contract
from headrace.schedule.build.vector import Phase, build_vector


def build_phase(phase: Phase) -> None:
    """Emit one phase by its kind."""
    match phase.plan.kind:
        case "vector":
            build_vector(phase)
        case "column":
            build_column(phase)
        case "contract":
            build_contract(phase)
        case _:
            raise AssertionError(phase.plan.kind)
