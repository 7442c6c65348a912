"""Whether what programs touch lies inside views, memories and arguments, and what units must hold fits
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from math import prod
from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.schedule.verify.programs.events import Touch
from headrace.schedule.verify.programs.values import ARGUMENT_SHIFT
from headrace.schedule.verify.spans import byte_range


def outside(
    touched: Iterable[tuple[Any, Touch]], device: Device, sizes: dict[int, tuple[str, int]]
) -> Iterator[Diagnostic]:
    """Yield a finding for every op that touches bytes outside its view, its memory or its argument, or
    through a view that starts amid a granule.

    `sizes` gives (name, bytes) of the argument with each number.
    """
    reported: set[int] = set()
    for op, touch in touched:
        if id(op) in reported:
            continue
        problem = _outside_view(touch) or _outside_memory(touch, device, sizes) or _misaligned(touch, device)
        if problem:
            reported.add(id(op))
            yield Diagnostic(problem, location(op), op.name)


def _outside_view(touch: Touch) -> str:
    first, end = touch.hull()
    for d, (low, high, extent) in enumerate(zip(first, end, touch.view.shape, strict=True)):
        if extent is not None and (low < 0 or high > extent):
            return f"elements {low}..{high} of dim {d}, which has {extent}"
    return ""


def _outside_memory(touch: Touch, device: Device, sizes: dict[int, tuple[str, int]]) -> str:
    memory = touch.view.memory
    low, high = byte_range(touch)
    if memory.kind == "hbm":
        number = (touch.view.start * touch.view.itemsize >> ARGUMENT_SHIFT) - 1
        if number not in sizes:
            return ""
        name, size = sizes[number]
        base = (number + 1) << ARGUMENT_SHIFT
        if low < base or high > base + size:
            return f"bytes {low - base}..{high - base} of argument {name}, which has {size}"
        return ""
    kind = "ct_local" if memory.kind == "lx" else memory.kind.rpartition(".")[2]
    found = device.find_memory(kind)
    if found is None:
        return ""
    if memory.kind != "lx":
        return (
            ""
            if 0 <= low and high <= found.size_bytes
            else (f"bytes {low}..{high} of a register file of {found.size_bytes}")
        )
    if low < 0 or high > found.size_bytes:
        return f"bytes {low}..{high} of a scratchpad of {found.size_bytes}"
    for start, stop in found.reserved:
        if low < stop and start < high:
            return f"bytes {low}..{high} of the scratchpad, where {start}..{stop} is reserved"
    return ""


def _misaligned(touch: Touch, device: Device) -> str:
    """Buffers of a scratchpad start at granules of it."""
    found = device.find_memory("ct_local") if touch.view.memory.kind == "lx" else None
    start = touch.view.start * touch.view.itemsize
    if found is None or start % found.align_bytes == 0:
        return ""
    return f"a view of the scratchpad starts at byte {start}, not a multiple of {found.align_bytes}"


def resident(program: Any, kind: str, device: Device) -> Iterator[Diagnostic]:
    """Yield a finding for every weight block, accumulator or set of live vectors larger than the unit
    holds.
    """
    unit = device.find_unit(kind)
    if unit is None:
        return
    if unit.matrix is not None:
        yield from _blocks(program, unit.matrix.resident_bytes, unit.matrix.accumulator_bytes)
    elif unit.registers_bytes is not None:
        yield from _registers(program, unit.registers_bytes)


def _bytes(value: Any) -> int:
    """Bytes of a vector; one lane is a scalar and counts nothing."""
    return _type_bytes(value.type)


@cache
def _type_bytes(kind: Any) -> int:
    if not hasattr(kind, "element_type") or not hasattr(kind, "get_shape"):
        return 0
    count = prod(map(int, kind.get_shape()))
    return count * itemsize(str(kind.element_type)) if count > 1 else 0


def _blocks(program: Any, block_bytes: int | None, accumulator_bytes: int) -> Iterator[Diagnostic]:
    for op in program.walk():
        if op.name == "dataflow.receive" and block_bytes is not None and _bytes(op.results[0]) > block_bytes:
            message = f"a block of {_bytes(op.results[0])} bytes, but the unit holds {block_bytes}"
            yield Diagnostic(message, location(op), op.name, "split k or n of the block")
        if op.name == "scf.for" and op.results and sum(map(_bytes, op.results)) > max(accumulator_bytes, 0):
            message = (
                f"accumulators of {sum(map(_bytes, op.results))} bytes, but the unit has {accumulator_bytes}"
            )
            yield Diagnostic(message, location(op), op.name)


STREAMING = ("vectorchain.shuffle", "arith.constant", "vectorchain.constant_bitstream")
BARRIERS = ("vectorchain.scan_with_gap", "dataflow.receive", "scf.for")


def _registers(program: Any, register_bytes: int) -> Iterator[Diagnostic]:
    """Values alive across a row reduction, a receive or a loop boundary must fit the registers together."""
    worst, where = 0, None
    for op in program.walk():
        if op.name in BARRIERS and not _counts(op):
            held = sum(_bytes(v) for v in _alive_across(op))
            if held > worst:
                worst, where = held, op
    if worst > register_bytes and where is not None:
        message = f"{worst} bytes of vectors stay alive, but the register file has {register_bytes}"
        hint = "use shorter rows or send the row once for each pass"
        yield Diagnostic(message, location(where), where.name, hint)


def _counts(op: Any) -> bool:
    """True for the running sum of a constant: lane numbers, which come one vector after the other."""
    return op.name == "vectorchain.scan_with_gap" and getattr(op.operands[0].owner, "name", "") in STREAMING


def _alive_across(barrier: Any) -> list[Any]:
    """Vectors defined before an op and used after it in its block, or inside it; splats and constants
    stream.
    """
    block = barrier.parent
    found: dict[Any, Any] = {}
    is_before = True
    for op in block.ops:
        if op is barrier:
            is_before = False
            continue
        if is_before:
            for result in op.results:
                root = _source(result)
                if root is not None and _is_used_from(result, barrier, block):
                    found[root] = root
    for arg in block.args:
        if _bytes(arg) and _is_used_from(arg, barrier, block):
            found[arg] = arg
    return list(found)


def _source(value: Any) -> Any | None:
    """The vector to hold so that `value` can be made again element by element: a cast streams from its
    operand.
    """
    op = value.owner
    if not hasattr(op, "name"):
        return value
    if op.name in STREAMING or not _bytes(value):
        return None
    if op.name == "vectorchain.cast" and _bytes(op.operands[0]) <= _bytes(value):
        return _source(op.operands[0])
    return value


def _is_used_from(value: Any, barrier: Any, block: Any) -> bool:
    """True if an op of the block after the barrier, or in the barrier's own regions, uses the value."""
    for use in value.uses:
        op = use.operation
        while op is not None and op.parent is not block:
            op = op.parent_op()
        if op is None:
            continue
        if (op is barrier and use.operation is not barrier) or (
            op is not barrier and barrier.is_before_in_block(op)
        ):
            return True
    return False
