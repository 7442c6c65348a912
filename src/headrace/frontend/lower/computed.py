"""Loads no box expresses: the index is computed into a scratch buffer, and the access tile gathers through
it.

That serves every index (divisions that stay, steps backwards, several indices read from memory) and every
mask: under one, the index is clamped into the buffer, and the body selects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.frontend.lower.quasi import Quasi, Range, interval, quasi
from headrace.frontend.lower.scan import Access
from headrace.frontend.lower.tiles import Tile, gather, store_index
from headrace.frontend.lower.values import Body, write_generic
from headrace.frontend.lower.writer import memref

ONE = "one"
"""A dim of extent 1 that no nest has."""


@dataclass(frozen=True)
class Split:
    """index = stride x computed + the sum over `direct` dims of coefficient x dim; `computed` is in [0,
    rows).
    """

    computed: Quasi
    stride: int
    rows: int
    direct: tuple[tuple[str, int], ...]
    is_clamped: bool


def is_computed(access: Access, extents: Mapping[str, int], span: int) -> bool:
    """Whether a load of a buffer of `span` elements needs its index computed."""
    index = access.index
    indirect = [v for v in index.variables if v not in extents]
    if not index.is_affine or any(k < 0 for _, k in index.terms):
        return True
    if indirect:
        is_masked = bool(access.left) or any(d in access.box for d in index.variables)
        return is_masked or len(indirect) > 1 or index.const < 0
    low, high = interval(index, _ranges(access, extents))
    return low < 0 or high >= span


def split(access: Access, extents: Mapping[str, int], span: int) -> Split:
    """The parts of the index: dims stay direct when their step is forward, the same everywhere and
    unmasked.
    """
    index = access.index
    masked = set(access.box) | {v for e in access.left if e is not None for v in e.variables}
    quasi_affine = quasi({atom: k for atom, k in index.terms if not isinstance(atom, str)})
    awkward = quasi_affine.variables | masked
    is_clamped = bool(access.left or access.box)
    direct: list[tuple[str, int]] = []
    room = span - 1
    candidates = [
        (v, k) for v, k in index.terms if isinstance(v, str) and v in extents and v not in awkward and k > 0
    ]
    for dim, k in sorted(candidates, key=lambda term: term[1]):
        reach = (extents[dim] - 1) * k
        if None not in access.left and reach <= room:
            direct.append((dim, k))
            room -= reach
    kept = {dim for dim, _ in direct}
    rest = quasi({v: k for v, k in index.terms if v not in kept}, index.const)
    stride = math.gcd(rest.const, *(k for _, k in rest.terms)) or 1
    scaled = quasi({v: k // stride for v, k in rest.terms}, rest.const // stride)
    return Split(scaled, stride, room // stride + 1, tuple(direct), is_clamped)


def computed_tile(kernel: Any, nest: Any, access: Access) -> Tile:
    """The access tile of a load whose index is computed first."""
    extents = kernel.group.extents
    parts = split(access, extents, kernel.program.layouts[access.buffer].span)
    needed: frozenset[str] = frozenset()
    for name in parts.computed.variables:
        needed |= {name} if name in extents else nest.dependences(nest.scan.sources[name][0])
    dims = tuple(d for d in nest.scan.dims if d in needed)
    local = nest.scan.number if not parts.computed.variables <= set(extents) else None
    name = kernel.scratches.name((parts, dims, local), [extents[d] for d in dims])
    if name not in kernel.indices:
        kernel.indices[name] = _stored(kernel, nest, parts, dims, name)
    view = kernel.indices[name]
    columns = [(parts.stride, parts.rows, (view, memref([extents[d] for d in dims] or [1], "i64"), dims))]
    return gather(kernel, nest, access.buffer, 0, columns, parts.direct)


def _stored(kernel: Any, nest: Any, parts: Split, dims: tuple[str, ...], scratch: str) -> str:
    body = Body(nest, dims or (ONE,))
    value = body.coordinate(parts.computed, "i64")
    if parts.is_clamped:
        value = body.code.binary("arith.maxsi", value, body.code.constant(0, "i64"))
        value = body.code.binary("arith.minsi", value, body.code.constant(parts.rows - 1, "i64"))
    tensor = write_generic(kernel.writer, body, [value], body.dims, (), nest.size)[0]
    return store_index(kernel, scratch, dims, tensor)


def _ranges(access: Access, extents: Mapping[str, int]) -> dict[str, Range]:
    return {dim: access.box.get(dim, (0, n - 1)) for dim, n in extents.items()}
