"""Splitting loop variables until indices are affine, and naming dims alike across the nests of a kernel."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.frontend.lower.program import LoopProgram
from headrace.frontend.lower.quasi import Quasi, Range, cut_points, substitute, variable
from headrace.frontend.lower.scan import Access, Scan, scan

ROUNDS = 12
Cuts = list[dict[str, set[int]]]


@dataclass(frozen=True)
class Group:
    """The nests of a kernel over common dims: `extents` by dim name, scans whose expressions use those
    names.
    """

    extents: Mapping[str, int]
    scans: tuple[Scan, ...]


def group(program: LoopProgram) -> Group:
    """The kernel over refined dims that are named alike wherever two nests walk a buffer alike."""
    return unify(refine(program))


def refine(program: LoopProgram) -> tuple[Scan, ...]:
    """The scans of all nests with every loop split where an index, or another nest's walk of a written
    buffer, asks.
    """
    cuts: Cuts = [{name: {1} for name in nest.extents} for nest in program.nests]
    for _ in range(ROUNDS):
        scans = tuple(scan(k, nest, _sorted(cuts[k])) for k, nest in enumerate(program.nests))
        written = {a.buffer for s in scans for a in s.accesses if not a.is_load}
        strides = _walked_strides(scans, written)
        wanted = [_wanted(s, strides, written) for s in scans]
        if not any([_apply(s, wish, cuts[s.number]) for s, wish in zip(scans, wanted, strict=True)]):
            return scans
    return scans


def unify(scans: Sequence[Scan]) -> Group:
    """One name for dims of different nests that walk a buffer with the same stride and extent; never two
    of one nest.
    """
    classes = _Classes()
    accesses = [(s, a) for s in scans for a in s.accesses]
    for level in (0, 1, 2):
        for (s1, a), (s2, b) in itertools.combinations(accesses, 2):
            if s1 is s2 or a.buffer != b.buffer:
                continue
            if level == 0 and a.is_load and b.is_load:
                continue
            if level == 1 and _signature(s1, a) != _signature(s2, b):
                continue
            walk1, walk2 = _walk(s1, a), _walk(s2, b)
            if len(walk1) < len(a.index.terms) or len(walk2) < len(b.index.terms):
                continue
            for key in walk1:
                if key in walk2:
                    classes.join(walk1[key], walk2[key])
    names: dict[str, str] = {}
    extents: dict[str, int] = {}
    for s in scans:
        for dim in s.dims:
            root = classes.root(dim)
            if root not in names:
                names[root] = f"g{len(names)}"
                extents[names[root]] = s.extents[dim]
    renamed = {dim: names[classes.root(dim)] for s in scans for dim in s.dims}
    return Group(extents, tuple(_rename(s, renamed) for s in scans))


def _walked_strides(scans: Sequence[Scan], written: set[str]) -> dict[str, set[int]]:
    """Per buffer, the strides and stride x extent of every walk; masked reads of inputs do not count."""
    strides: dict[str, set[int]] = {}
    for s in scans:
        for a in s.accesses:
            if (a.box or a.left) and a.buffer not in written:
                continue
            for atom, factor in a.index.terms:
                if isinstance(atom, str) and factor > 0 and atom in s.extents:
                    strides.setdefault(a.buffer, set()).update({factor, factor * s.extents[atom]})
    return strides


def _wanted(s: Scan, strides: Mapping[str, set[int]], written: set[str]) -> dict[str, set[int]]:
    """Per dim of a nest, the factors at which to split it."""
    found: dict[str, set[int]] = {}
    for expression in (*(a.index for a in s.accesses), *s.values.values()):
        cut_points(expression, s.extents, found)
    for a in s.accesses:
        if a.buffer not in written and (a.box or a.left):
            continue
        for atom, factor in a.index.terms:
            if not isinstance(atom, str) or atom not in s.extents or factor <= 0:
                continue
            for stride in strides.get(a.buffer, ()):
                step = stride // factor
                if stride % factor == 0 and 1 < step < s.extents[atom] and s.extents[atom] % step == 0:
                    found.setdefault(atom, set()).add(step)
    return found


def _apply(s: Scan, wanted: Mapping[str, set[int]], cuts: dict[str, set[int]]) -> bool:
    """Adds the wanted factors that keep each variable's factors a divisibility chain; True if any was new."""
    changed = False
    for digit, steps in wanted.items():
        name, base = s.origin[digit]
        for step in sorted(steps):
            chain = sorted(cuts[name] | {step * base})
            if step * base not in cuts[name] and all(
                b % a == 0 for a, b in zip(chain, chain[1:], strict=False)
            ):
                cuts[name].add(step * base)
                changed = True
    return changed


def _sorted(cuts: Mapping[str, set[int]]) -> dict[str, list[int]]:
    return {name: sorted(factors) for name, factors in cuts.items()}


def _walk(s: Scan, a: Access) -> dict[tuple[int, int], str]:
    """(stride, extent) -> dim of the plain variables of an access."""
    return {(k, s.extents[v]): v for v, k in a.index.terms if isinstance(v, str) and v in s.extents}


def _signature(s: Scan, a: Access) -> list[tuple[int, int]]:
    return sorted((k, s.extents.get(v, 0)) for v, k in a.index.terms if isinstance(v, str))


def _rename(s: Scan, names: Mapping[str, str]) -> Scan:
    ranges: dict[str, Range] = {names[d]: (0, n - 1) for d, n in s.extents.items()}
    values = {old: variable(new) for old, new in names.items()}

    def new(e: Quasi) -> Quasi:
        return substitute(e, values, ranges)

    accesses = [
        replace(
            a,
            index=new(a.index),
            box={names[d]: r for d, r in a.box.items()},
            left=tuple(None if e is None else new(e) for e in a.left),
        )
        for a in s.accesses
    ]
    return Scan(
        s.number,
        tuple(names[d] for d in s.dims),
        frozenset(names[d] for d in s.reduced),
        {names[d]: n for d, n in s.extents.items()},
        {},
        accesses,
        {name: new(e) for name, e in s.values.items()},
        {name: None if c is None else tuple(map(new, c)) for name, c in s.conditions.items()},
        s.sources,
        s.opaque,
        {name: new(e) for name, e in s.loops.items()},
        new(s.number_of_reduced),
    )


class _Classes:
    """Union-find over digit dims; a class never holds two dims of one nest."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._nests: dict[str, set[str]] = {}

    def root(self, dim: str) -> str:
        while self._parent.get(dim, dim) != dim:
            dim = self._parent[dim]
        return dim

    def join(self, one: str, other: str) -> None:
        a, b = self.root(one), self.root(other)
        nests_a = self._nests.setdefault(a, {a.split(".")[0]})
        nests_b = self._nests.setdefault(b, {b.split(".")[0]})
        if a == b or nests_a & nests_b:
            return
        self._parent[b] = a
        nests_a |= nests_b
