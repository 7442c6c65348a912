"""Lowers KTDF texts and runs the DFIR on the machine: text round trip, verifier and all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.ir.plain import plain
from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.memory import Memory
from headrace.schedule.lower import lower

Array = np.ndarray[Any, Any]
KTDF = Path(__file__).parent / "ktdf"


def lowered(text: str, machine: Device | str = "spyre") -> Any:
    """Return the DFIR of a KTDF text, printed and parsed again, without verifier errors."""
    chosen = device(machine) if isinstance(machine, str) else machine
    module = lower(parse(text), chosen)
    printed = print_module(module)
    again = parse(printed)
    assert print_module(again) == printed
    assert verify(again) == []
    return again


def run(
    text: str, inputs: dict[str, Array], machine: Device | str = "spyre", **scalars: int
) -> dict[str, Array]:
    """Return every memory argument after running a KTDF text on the machine."""
    chosen = device(machine) if isinstance(machine, str) else machine
    module = lowered(text, chosen)
    memory = Memory(1 << 26)
    addresses: dict[str, int | float] = dict(scalars)
    places = {}
    for arg in plain(module.attributes["headrace.args"]):
        name, dtype = arg["name"], numpy_dtype(arg["dtype"])
        count = int(np.prod(arg["shape"], dtype=np.int64))
        address = memory.allocate(max(count, 1) * dtype.itemsize)
        view = memory.view(address, arg["dtype"], count)
        if name in inputs:
            view[:] = np.ascontiguousarray(inputs[name], dtype=dtype).reshape(-1)
        addresses[name] = address // dtype.itemsize
        places[name] = (view, arg["shape"])
    execute(decode(module, chosen), memory, addresses)
    return {name: view.reshape(shape).copy() for name, (view, shape) in places.items()}


def source(name: str) -> str:
    """Return the text of a KTDF file beside the tests."""
    return (KTDF / f"{name}.mlir").read_text()
