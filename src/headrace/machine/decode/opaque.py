"""`dataflow.opaque`: a named function on 128-byte registers of a vector unit (read, never written by us)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.machine.decode.reading import attribute, fault, text
from headrace.machine.image import Box, Dim, Index, Load, Node, Place, Store, VectorOp
from headrace.numbers.dtypes import is_known, itemsize

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder

REGISTER_BYTES = 128
FUNCTIONS = {
    "reciprocal": "reciprocal",
    "exp": "exp",
    "ln": "log",
    "rsqrt": "rsqrt",
    "sqrt": "sqrt",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "gelu": "gelu",
    "softplus": "softplus",
    "headrace.div": "divf",
}


def opaque(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """Loads of the registers named a (and b), the function, a store to the register named d."""
    name = text(op, "func_name")
    if name not in FUNCTIONS:
        fault(op, f"unknown function {name}", "known are " + ", ".join(FUNCTIONS))
    read, written = (
        _strings(op, "read_only_register_dictionary"),
        _strings(op, "read_write_register_dictionary"),
    )
    parameters = _strings(op, "parameter_dictionary")
    dtype, lanes = parameters.get("type", ""), parameters.get("elements", "")
    if not is_known(dtype) or not lanes.isdigit():
        fault(op, "parameters elements and type must name a number of lanes and an element type")
    wanted = ("a", "b") if FUNCTIONS[name] == "divf" else ("a",)
    if not all(key in read for key in wanted) or "d" not in written:
        fault(op, f"{name} reads {' and '.join(wanted)} and writes d")
    where = location(op)
    nodes: list[Node] = []
    for key in wanted:
        value = decoder.builder.value((int(lanes),), dtype)
        nodes.append(Load(_register(decoder, op, read[key], dtype, int(lanes)), value, where))
    result = decoder.builder.value((int(lanes),), dtype)
    operands = tuple(n.result for n in nodes if isinstance(n, Load))
    nodes.append(VectorOp("dataflow.opaque", FUNCTIONS[name], operands, result, where=where))
    nodes.append(Store(result, _register(decoder, op, written["d"], dtype, int(lanes)), where))
    return nodes


def _register(decoder: ProgramDecoder, op: Operation, name: str, dtype: str, lanes: int) -> Box:
    """The bytes from register "R<n>" on, as many as the lanes need."""
    if not (name.startswith("R") and name[1:].isdigit()):
        fault(op, f"{name} is not a register")
    instances = decoder.builder.instances
    unit = decoder.handles.device.unit(decoder.handles.instances[instances[0]].kind)
    memory = None if unit.registers is None else decoder.handles.device.find_memory(unit.registers)
    if memory is None:
        fault(op, f"{unit.kind} has no register file")
    start = int(name[1:]) * REGISTER_BYTES
    if start + lanes * itemsize(dtype) > memory.size_bytes:
        fault(op, f"{name} is beyond the register file of {memory.size_bytes} bytes")
    place = Place("register", memory.name, decoder.builder.table(instances))
    return Box(place, Index(start), (), (Dim(Index(lanes), itemsize(dtype)),), dtype)


def _strings(op: Operation, key: str) -> dict[str, str]:
    found: Any = attribute(op, key)
    return {} if found is None else {k: str(getattr(v, "data", v)) for k, v in found.data.items()}
