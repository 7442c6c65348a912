"""Loads and stores of one vector, and the mask of a transfer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.machine.decode import transfers
from headrace.machine.decode.reading import affine_map, fault, integer, integers, text
from headrace.machine.image import Box, Constant, Index, Load, Node, Store, Value, VectorOp
from headrace.numbers.dtypes import numpy_dtype

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder

_SLICE = re.compile(r"\(([^()]*)\)")


def load(decoder: ProgramDecoder, op: Operation) -> Load:
    """`agen.vector_load`."""
    count = affine_map(op, "affine_map").num_dims + affine_map(op, "affine_map").num_symbols
    at = transfers.subscripts(op, decoder.scope, "affine_map", op.operands[1 : 1 + count])
    found = transfers.vector_box(op, decoder.scope, decoder.view(op.operands[0]), at, "load")
    return _load(decoder, op, found)


def store(decoder: ProgramDecoder, op: Operation) -> Store:
    """`agen.vector_store`."""
    view, vector = decoder.view(op.operands[1]), decoder.value(op.operands[0])
    at = transfers.subscripts(op, decoder.scope, "affine_map", op.operands[2:])
    return _store(op, vector, transfers.vector_box(op, decoder.scope, view, at, "store"))


def symbolic_load(decoder: ProgramDecoder, op: Operation) -> Load:
    """`agen.symbolic_vector_load`: the position is the sum of index x stride."""
    at = [_symbolic(decoder, op, 1)]
    return _load(
        decoder, op, transfers.vector_box(op, decoder.scope, decoder.view(op.operands[0]), at, "load")
    )


def symbolic_store(decoder: ProgramDecoder, op: Operation) -> Store:
    """`agen.symbolic_vector_store`."""
    view, vector = decoder.view(op.operands[1]), decoder.value(op.operands[0])
    return _store(
        op, vector, transfers.vector_box(op, decoder.scope, view, [_symbolic(decoder, op, 2)], "store")
    )


def _symbolic(decoder: ProgramDecoder, op: Operation, first: int) -> Index:
    indices, strides = integer(op, "num_indices"), integer(op, "num_strides")
    numbers = op.operands[first : first + indices + strides]
    if indices != strides or indices < 1 or len(numbers) != indices + strides:
        fault(op, f"{indices} indices and {strides} strides among {len(op.operands) - first} operands")
    out = Index()
    for index, stride in zip(numbers[:indices], numbers[indices:], strict=True):
        out = out + decoder.index(index) * decoder.index(stride)
    return out


def _load(decoder: ProgramDecoder, op: Operation, box: Box) -> Load:
    result = decoder.define(op.results[0])
    _check(op, box, result)
    return Load(box, result, location(op))


def _store(op: Operation, vector: Value, box: Box) -> Store:
    _check(op, box, vector)
    return Store(vector, box, location(op))


def _check(op: Operation, box: Box, vector: Value) -> None:
    """The element types agree and the set fits the vector."""
    transfers.expect_one_type(op, box.dtype, vector.dtype)
    size = transfers.product(d.extent for d in box.run).low
    if size is not None and size > vector.lanes:
        fault(op, f"a set of {size} elements does not fit a vector of {vector.lanes} lanes")


# ---- masks -------------------------------------------------------------------------------------------------
def mask_state(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.set_transfer_mask_state`: 1 in lanes that are not masked, the mask value in the others."""
    result = decoder.define(op.results[0])
    where, value = location(op), decoder.index(op.operands[0])
    kept = _kept(op, result.lanes)
    mask = decoder.builder.value(result.shape, "i1")
    ones = decoder.builder.value(result.shape, result.dtype)
    other = decoder.builder.value(result.shape, result.dtype)
    one = np.ones(1, np.int64).astype(numpy_dtype(result.dtype)).tobytes()
    name = "vectorchain.element_wise_selection"
    return [
        Constant(mask, kept.tobytes(), where),
        Constant(ones, one, where),
        VectorOp("vector.broadcast", "index", (), other, (), (value,), where),
        VectorOp(name, "selection", (mask, ones, other), result, where=where),
    ]


def _kept(op: Operation, lanes: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which lanes the slices of the mask map leave alone."""
    slices = [s.strip() for s in _SLICE.findall(text(op, "slice_mask_map"))]
    count = integer(op, "num_slices")
    if count < 1 or len(slices) != count or lanes % count:
        fault(op, f"slice_mask_map has {len(slices)} slices, num_slices says {count}, for {lanes} lanes")
    patterns = list(
        zip(integers(op, "num_unmasked_elements"), integers(op, "num_masked_elements"), strict=False)
    )
    size = lanes // count
    out = np.ones(lanes, np.bool_)
    for k, entry in enumerate(slices):
        for word in entry.split("|"):
            out[k * size : (k + 1) * size] &= _pattern(op, word.strip(), patterns, size)
    return out


def _pattern(
    op: Operation, word: str, patterns: list[tuple[int, int]], size: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """One slice: 0 masks nothing, 1 everything, a letter alternates unmasked and masked elements."""
    if word in ("0", "1"):
        return np.full(size, word == "0")
    at = ord(word) - ord("A") if len(word) == 1 else -1
    if not 0 <= at < len(patterns) or min(patterns[at]) < 0 or sum(patterns[at]) < 1:
        fault(op, f"slice_mask_map names the pattern {word or 'nothing'}, which is not given")
    unmasked, masked = patterns[at]
    return np.resize(np.array([True] * unmasked + [False] * masked), size)
