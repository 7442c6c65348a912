"""From arrays and numbers to addresses: puts inputs into device memory and reads every bound array back.

Keys are argument names without "%", `argN` by position, or "@ADDR" for a constant start address (in
elements of the
kernel's view). bf16 travels as uint16, fp8 as uint8, i1 as bool.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.numbers.dtypes import is_float, itemsize, numpy_dtype
from headrace.numbers.memory import Memory, OutOfMemory

Array = np.ndarray[Any, Any]
_CARRIERS: dict[str, np.dtype[Any]] = {"bf16": np.dtype(np.uint16), "f8E4M3FN": np.dtype(np.uint8)}


@dataclass
class Binding:
    """Where each argument lives and what each scalar is; `held` are blocks to free when the run is over."""

    addresses: dict[str, int] = field(default_factory=dict)
    scalars: dict[str, float | int] = field(default_factory=dict)
    arrays: dict[str, tuple[int, str, tuple[int, ...]]] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)

    def values(self, arguments: Sequence[Argument]) -> dict[str, float | int]:
        """Every argument's value as the program takes it: the element index of its start, or the scalar."""
        starts = {
            a.name: self.addresses[a.name] // itemsize(a.dtype) for a in arguments if a.name in self.addresses
        }
        return {**self.scalars, **starts}

    def outputs(self, memory: Memory) -> dict[str, Array]:
        """A copy of every bound array as it is in memory now, under the key it came by."""
        return {
            key: memory.view(address, dtype, math.prod(shape)).copy().view(carrier(dtype)).reshape(shape)
            for key, (address, dtype, shape) in self.arrays.items()
        }

    def release(self, memory: Memory) -> None:
        """Frees what `bind` allocated."""
        for address in self.held:
            memory.free(address)
        self.held.clear()


def carrier(dtype: str) -> np.dtype[Any]:
    """The NumPy type in which arrays of an element type travel in .npz files."""
    return _CARRIERS[dtype] if dtype in _CARRIERS else numpy_dtype(dtype)


def bind(
    arguments: Sequence[Argument], inputs: Mapping[str, Any] | None, memory: Memory, seed: int = 0
) -> Binding:
    """Puts every memory argument into `memory`; `inputs` None means seeded values for what is read.

    HeadraceError, with nothing allocated, when an input is missing, unknown, of the wrong type or too small.
    """
    given = _by_argument(arguments, inputs or {})
    problems = _problems(arguments, given, has_inputs=inputs is not None)
    if problems:
        raise HeadraceError(problems)
    binding = Binding()
    try:
        for position, argument in enumerate(arguments):
            if argument.kind == "scalar":
                if argument.name in given:
                    binding.scalars[argument.name] = _number(given[argument.name][1])
                continue
            if argument.kind != "memory":
                continue
            key, array = given.get(argument.name, (argument.name, None))
            if array is None:
                _require_room(argument, memory)
                array = _initial(argument, seed + position, is_seeded=inputs is None)
            _place(binding, key, argument, np.ascontiguousarray(array), memory)
        _bind_constants(binding, inputs or {}, memory)
    except OutOfMemory as error:
        binding.release(memory)
        raise HeadraceError(str(error), hint="use smaller inputs or a device with more memory") from None
    except MemoryError as error:
        binding.release(memory)
        raise HeadraceError(f"out of memory of this computer: {error}", hint="use smaller inputs") from None
    except BaseException:
        binding.release(memory)
        raise
    return binding


def _by_argument(arguments: Sequence[Argument], inputs: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Inputs by argument name, each with the key it came by; HeadraceError for a key that names nothing."""
    names = {f"arg{i}": a for i, a in enumerate(arguments)} | {a.name: a for a in arguments}
    unknown = [key for key in inputs if not key.startswith("@") and key.removeprefix("%") not in names]
    if unknown:
        known = ", ".join(a.name for a in arguments if a.kind != "lx")
        raise HeadraceError(
            [Diagnostic(f"input '{key}' names no argument", hint=f"arguments are {known}") for key in unknown]
        )
    found: dict[str, tuple[str, Any]] = {}
    for key, value in inputs.items():
        if key.startswith("@"):
            continue
        name = names[key.removeprefix("%")].name
        if name in found:
            message = f"inputs '{found[name][0]}' and '{key}' are the same argument"
            raise HeadraceError(message, hint="give it once")
        found[name] = (key, value)
    return found


def _problems(
    arguments: Sequence[Argument], given: Mapping[str, tuple[str, Any]], has_inputs: bool
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for argument in arguments:
        if argument.kind != "memory":
            continue
        if argument.name in given:
            found += _misfit(argument, np.asarray(given[argument.name][1]))
        elif has_inputs and argument.role in ("in", "inout"):
            found.append(
                Diagnostic(
                    f"input '{argument.name}' is missing: the kernel reads it",
                    hint=f"give an array of shape {list(argument.shape)}, {carrier(argument.dtype)}",
                )
            )
    return found


def _misfit(argument: Argument, array: Array) -> list[Diagnostic]:
    wanted = carrier(argument.dtype)
    if array.dtype not in (wanted, numpy_dtype(argument.dtype)):
        return [
            Diagnostic(
                f"input '{argument.name}' is {array.dtype}, the kernel's view is {argument.dtype}",
                hint=f"pass {wanted}" + (" (the bits of each value)" if argument.dtype in _CARRIERS else ""),
            )
        ]
    need = math.prod(argument.shape) * itemsize(argument.dtype)
    if array.nbytes < need:
        return [
            Diagnostic(
                f"input '{argument.name}' of shape {list(array.shape)} has {array.nbytes} bytes, "
                f"the view needs {need}",
                hint=f"the view's shape is {list(argument.shape)}",
            )
        ]
    return []


def _number(value: Any) -> float | int:
    number = np.asarray(value)
    if number.ndim:
        raise HeadraceError(
            f"a scalar argument got an array of shape {list(number.shape)}", hint="pass a number"
        )
    return float(number) if number.dtype.kind == "f" else int(number)


def _place(binding: Binding, key: str, argument: Argument, array: Array, memory: Memory) -> None:
    address = memory.allocate(array.nbytes)
    binding.held.append(address)
    memory.bytes[address : address + array.nbytes] = array.reshape(-1).view(np.uint8)
    binding.addresses[argument.name] = address
    binding.arrays[key] = (address, argument.dtype, array.shape)


def _bind_constants(binding: Binding, inputs: Mapping[str, Any], memory: Memory) -> None:
    """Arrays for constant start addresses: key "@ADDR", the address in elements of the array."""
    for key, value in inputs.items():
        if not key.startswith("@"):
            continue
        array = np.ascontiguousarray(value)
        try:
            address = int(key[1:], 0) * array.dtype.itemsize
            memory.allocate_at(address, array.nbytes)
        except ValueError as error:
            raise HeadraceError(
                f"input '{key}': {error}", hint="write @ADDR with a free element address"
            ) from None
        binding.held.append(address)
        memory.bytes[address : address + array.nbytes] = array.reshape(-1).view(np.uint8)
        names = {np.dtype(np.uint16): "bf16", np.dtype(np.uint8): "f8E4M3FN"}
        from headrace.numbers.dtypes import dtype_name

        binding.arrays[key] = (address, names.get(array.dtype) or dtype_name(array.dtype), array.shape)


def _require_room(argument: Argument, memory: Memory) -> None:
    """OutOfMemory for an argument larger than all that is free, before an array of that size is made."""
    need = math.prod(argument.shape) * itemsize(argument.dtype)
    if need > memory.free_bytes:
        memory.allocate(need)


def _initial(argument: Argument, seed: int, is_seeded: bool) -> Array:
    """Seeded values for an argument that is read, zeros otherwise."""
    shape = argument.shape
    if not is_seeded or argument.role == "out":
        return np.zeros(shape, carrier(argument.dtype))
    random = np.random.default_rng(seed)
    if is_float(argument.dtype):
        return random.standard_normal(shape, np.float32).astype(numpy_dtype(argument.dtype))
    if argument.dtype == "i1":
        return random.integers(0, 2, shape).astype(np.bool_)
    high = argument.index_limit if argument.index_limit is not None else 8
    low = 0 if argument.index_limit is not None else -8
    return random.integers(low, max(high, low + 1), shape).astype(numpy_dtype(argument.dtype))
