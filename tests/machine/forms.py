"""Small programs around one piece of DFIR: what the machine makes of it, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.image import Image
from headrace.machine.options import Options
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]
OUT = 4096
"""Element address of the result."""

HEAD = """
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_set<(d0) : (d0 == 0)>
#v4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#v8 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#r8 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 7 >= 0)>
#row = affine_map<(d0, d1) -> (d0 * 8 + d1)>
module {
  func.func @local_schedule_0() attributes {grid = [2]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c1024 = arith.constant 1024 : index
    %c2048 = arith.constant 2048 : index
    %cout = arith.constant 4096 : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %lx1 = dataflow.get_unit {core = 1 : i32, name = "C1-lx", type = "lx"} : index
    %m0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %m1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnilu", type = "mnilu"} : index
    %l0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %l1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1lu-CL0", type = "l1lu"} : index
    %s0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %s1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-sfu-CL0", type = "sfu"} : index
    %w0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %w1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1su-CL0", type = "l1su"} : index
"""
TAIL = """
    return
  }
}
"""


def view(name: str, start: str, type_: str, layout: str = "#i1", memory: str = "%hbm") -> str:
    """The text of a view."""
    return (
        f"%{name} = dataflow.get_logical_memory_view {memory}, {start} {{layout_map = {layout}}} "
        f": index, index, memref<{type_}>\n"
    )


def load(name: str, memref: str, at: str, lanes: int, dtype: str, size: int) -> str:
    """The text of a load of a whole vector from a view of rank 1."""
    set_ = f"affine_set<(d0) : (d0 >= 0, -d0 + {lanes - 1} >= 0)>"
    return (
        f"%{name} = agen.vector_load %{memref}[{at}] {{load_order = #i1, load_set = {set_}}} "
        f": memref<{size}x{dtype}>, vector<{lanes}x{dtype}>\n"
    )


def store(value: str, memref: str, at: str, lanes: int, dtype: str, size: int) -> str:
    """The text of a store of a whole vector to a view of rank 1."""
    set_ = f"affine_set<(d0) : (d0 >= 0, -d0 + {lanes - 1} >= 0)>"
    return (
        f"agen.vector_store %{value}, %{memref}[{at}] {{store_order = #i1, store_set = {set_}}} "
        f": memref<{size}x{dtype}>, vector<{lanes}x{dtype}>\n"
    )


def image(body: str, options: Options | None = None, preset: str = "spyre") -> Image:
    """The image of unit programs (`body` stands in the function, after the handles)."""
    module = parse(HEAD + body + TAIL)
    errors = [d for d in verify(module) if d.severity == "error"]
    if errors:
        raise HeadraceError(errors)
    return decode(module, device(preset), options=options)


def run(
    body: str,
    inputs: Mapping[int, Array],
    dtype: Any = np.float32,
    shape: tuple[int, ...] = (8,),
    options: Options | None = None,
) -> Array:
    """What is at element address OUT after a run; `inputs` are placed at element addresses."""
    memory = Memory(1 << 16)
    for address, array in inputs.items():
        start = address * array.itemsize
        memory.bytes[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    execute(image(body, options), memory, {})
    start = OUT * np.dtype(dtype).itemsize
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return memory.bytes[start : start + size].view(dtype).reshape(shape).copy()


def on_sfu(body: str) -> str:
    """A program of the first vector unit."""
    return f"dataflow.program_unit iter_arg : %me -> (%s0) : {{\n{body}\n}}\n"
