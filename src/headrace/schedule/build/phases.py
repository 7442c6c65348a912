"""The builder of each kind of phase."""

from __future__ import annotations

from headrace.schedule.build.beside import Guest
from headrace.schedule.build.column import build_column
from headrace.schedule.build.contract import build_contract
from headrace.schedule.build.vector import Phase, build_vector
from headrace.schedule.phases.beside import beside


def build_phase(phase: Phase, guest: Phase | None = None) -> None:
    """Emit one phase by its kind, a contraction with the vector phase that runs beside it."""
    match phase.plan.kind:
        case "vector":
            build_vector(phase)
        case "column":
            build_column(phase)
        case "contract":
            build_contract(phase, _guest(phase, guest) if guest is not None else None)
        case _:
            raise AssertionError(phase.plan.kind)


def _guest(host: Phase, phase: Phase) -> Guest:
    plan = beside(host.plan, host.shape, phase.plan, phase.shape, phase.device)
    assert plan is not None  # checked before anything is built
    return Guest(phase, plan)
