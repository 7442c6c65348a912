"""How an affine access looks as a box of a memory view: the buffer's canonical view where it fits, else
its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.frontend.lower.dims import Group
from headrace.frontend.lower.program import LoopProgram, Unsupported
from headrace.frontend.lower.quasi import Range
from headrace.frontend.lower.scan import Access

Chain = tuple[tuple[int, int], ...]
"""(size, stride) of every view dim, outermost first."""


@dataclass(frozen=True)
class Box:
    """An access as a box: view dims (size, stride) at `offset`; per view dim the group dim that walks it
    and its start.

    `dims[k]` None: view dim k stands at `starts[k]`. `ranges` bounds each walking dim (smaller than its
    extent under a
    mask).
    """

    chain: Chain
    offset: int
    dims: tuple[str | None, ...]
    starts: tuple[int, ...]
    ranges: Mapping[str, Range]


class Views:
    """The canonical views of a kernel's buffers, and every access as a box."""

    def __init__(self, program: LoopProgram, group: Group) -> None:
        self._program, self._group = program, group
        self._chains: dict[str, list[Chain]] = {}

    def box(self, access: Access) -> Box:
        """The box of an affine access without indirect symbols; Unsupported for negative strides or a
        start below 0.
        """
        index = access.index
        ranges = {dim: self.range(access, dim) for dim in sorted(index.variables)}
        start = index.const + sum(k * ranges[_name(v)][0] for v, k in index.terms)
        if start < 0 or any(k < 0 for _, k in index.terms):
            raise Unsupported(
                f"an access of {access.buffer} that walks backwards or starts before the buffer"
            )
        for chain in self.chains(access.buffer):
            found = self._fit(access, chain, start, ranges)
            if found:
                return found
        dims = sorted(ranges, key=lambda dim: -index.coefficient(dim))
        chain = tuple((ranges[dim][1] - ranges[dim][0] + 1, index.coefficient(dim)) for dim in dims)
        return Box(chain, start, tuple(dims), (0,) * len(dims), ranges)

    def range(self, access: Access, dim: str) -> Range:
        """The range of a dim under the access's mask."""
        return access.box.get(dim, (0, self._group.extents[dim] - 1))

    def chains(self, buffer: str) -> list[Chain]:
        """Candidate views of a buffer: strides of its accesses, with those of its layout, those of its
        layout.
        """
        if buffer not in self._chains:
            self._chains[buffer] = self._find(buffer)
        return self._chains[buffer]

    def _find(self, buffer: str) -> list[Chain]:
        layout = self._program.layouts[buffer]
        span = layout.span
        declared = {s for n, s in zip(layout.sizes, layout.strides, strict=True) if n > 1}
        walked = {
            k
            for s in self._group.scans
            for a in s.accesses
            if a.buffer == buffer
            for v, k in a.index.terms
            if isinstance(v, str) and 0 < k <= span
        }
        candidates = (chain_of(strides, span) for strides in (walked, walked | declared, declared))
        return list(dict.fromkeys(chain for chain in candidates if chain))

    def _fit(self, access: Access, chain: Chain, start: int, ranges: Mapping[str, Range]) -> Box | None:
        position = {stride: k for k, (_, stride) in enumerate(chain)}
        factors = [k for _, k in access.index.terms]
        if len(set(factors)) != len(factors) or any(k not in position for k in factors):
            return None
        dims: list[str | None] = [None] * len(chain)
        for v, k in access.index.terms:
            dims[position[k]] = _name(v)
        starts: list[int] = []
        for _, stride in chain:
            starts.append(start // stride)
            start %= stride
        if start:
            return None
        for dim, first, (size, _) in zip(dims, starts, chain, strict=True):
            low, high = ranges[dim] if dim else (0, 0)
            if first - low < 0 or first + high - low >= size:
                return None
        return Box(chain, 0, tuple(dims), tuple(starts), ranges)


def chain_of(strides: Sequence[int] | set[int], span: int) -> Chain | None:
    """The view with these strides that covers `span` elements and no more; None when they do not nest."""
    ordered = sorted(strides)
    if not ordered or any(b % a for a, b in zip(ordered, ordered[1:], strict=False)):
        return None
    sizes = [b // a for a, b in zip(ordered, ordered[1:], strict=False)]
    sizes.append(max(1, -(-span // ordered[-1])))
    covered = math.prod(sizes) * ordered[0]
    if covered < span or covered - ordered[0] >= span + ordered[0]:
        return None
    return tuple(zip(reversed(sizes), reversed(ordered), strict=True))


def _name(atom: object) -> str:
    assert isinstance(atom, str)
    return atom
