"""Runs a TileGraph through search, build, lower, verify, decode and execute."""

from __future__ import annotations

import numpy as np

from headrace.arch.presets import device
from headrace.ir.text import parse, print_module
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.timing import time
from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.memory import Memory
from headrace.schedule.build import build
from headrace.schedule.lower import lower
from headrace.schedule.search import search
from headrace.schedule.verify import verify


def run(graph, arrays, name="spyre", options=None, plan=None):
    """Return the arrays after the run and the cycles."""
    chip = device(name)
    plan = plan or search(graph, chip, options)
    ktdf = build(graph, plan, chip)
    dfir = lower(parse(print_module(ktdf)), chip)
    assert [str(d) for d in verify(dfir, chip)] == []
    image = decode(dfir, chip)
    memory = Memory(1 << 30)
    scalars, places = {}, {}
    for entry in ktdf.attributes["headrace.args"].data:
        key, dtype = entry.data["name"].data, entry.data["dtype"].data
        kind = numpy_dtype(dtype)
        count = int(np.prod(entry.data["shape"].get_values()))
        source = arrays[key].reshape(-1) if key in arrays else np.zeros(count, kind)
        address = memory.allocate(max(source.nbytes, count * kind.itemsize))
        memory.view(address, dtype, source.size)[:] = source
        scalars[key] = address // kind.itemsize
        places[key] = (address, dtype)
    execute(image, memory, scalars)
    cycles = time(image, scalars, chip).cycles
    return {k: np.array(memory.view(*places[k], v.size)).reshape(v.shape) for k, v in arrays.items()}, cycles
