"""A recorded loop program to KTIR: refine dims, divide over the cores, write the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.arch.device import Device
from headrace.frontend.decide.chains import divide_chain
from headrace.frontend.decide.division import divide
from headrace.frontend.lower.dims import group
from headrace.frontend.lower.kernel import KernelText, write_kernel
from headrace.frontend.lower.program import read_program


def loop_program_to_ktir(
    literal: Mapping[str, Any], device: Device, wraps_negative: bool = True
) -> KernelText:
    """The KTIR of a loop program for a device; Unsupported (a HeadraceError) when it has no native form.

    `wraps_negative`: indices may be negative and then count from the end (an embedding's never are). The hint
    "cores" limits how many cores share the work; with "division" left out, no two of them share a result.
    """
    program = read_program(literal)
    shared = group(program)
    hints = literal.get("hints", {})
    cores = min(hints.get("cores", device.cores), device.cores)
    is_sharing = not {"division", "decide.division"} & {*hints.get("without", ())}
    used = replace(device, cores=cores)
    division = divide_chain(program, shared, used) or divide(program, shared, used, is_sharing)
    return write_kernel(program, shared, division, wraps_negative)
