"""How a vector op sees its operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from headrace.machine.image import Index, Value
from headrace.machine.options import Options

Lookup = Callable[[SSAValue], Value]
LookupIndex = Callable[[SSAValue], Index]


@dataclass(frozen=True)
class Operands:
    """How a vector op sees its operands: as registers, as integers, as whatever they stand for."""

    value: Lookup
    index: LookupIndex
    meaning: Callable[[SSAValue], Any]
    register: Callable[[tuple[int, ...], str], Value]
    options: Options
