"""Columns that an affine mask hides from all rows of a strip: above the diagonal of causal attention.

Where the mask holds, a value is minus infinity, then its exponential is 0: maxima and sums along the columns
are what they are without these columns, and so is a product with the zeros as long as what they multiply is
finite. The columns need not be computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from headrace.schedule.graph import Compute, Store
from headrace.schedule.phases.bodyops import affine
from headrace.schedule.phases.chain import Walk, walk
from headrace.schedule.phases.linear import add, largest, scale
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block

State = Literal["low", "zero"]
SHIFTED = {("sge", 1): 0, ("sgt", 1): -1, ("slt", 2): 0, ("sle", 2): -1}
"""By predicate of (row, column) and the branch of the select that is not hidden from view: 1 where the
condition holds, 2 where not; what is added to the row to get the last column that is seen, for sge and sgt.
"""


@dataclass(frozen=True)
class Triangle:
    """Row r sees the columns up to r + `shift` at most; `columns` are these columns in the statements."""

    columns: Walk
    shift: int

    def limit(self, rows: int) -> int:
        """Return how many columns the first `rows` rows see, all of them together."""
        return min(self.columns.extent, max(1, rows + self.shift))


def triangle(block: Block, names: Names, rows: Walk) -> Triangle | None:
    """Return the columns that a mask hides along the statements of `rows`, None if there is no such mask or
    something else than maxima, sums and products with zeros depends on the hidden ones.
    """
    computes = {n: s for n, s in enumerate(block.statements) if isinstance(s, Compute) and n in rows.dims}
    for number, compute in computes.items():
        for position, entry in enumerate(compute.body):
            found = _hidden(compute, position, rows.dims[number]) if entry.op == "arith.select" else None
            if found is None:
                continue
            column, shift = found
            out = compute.outs[0]
            places = [k for k, a in enumerate(out.axes) if a.dim == column]
            if len(places) != 1:
                continue
            columns = walk(computes, (out.value, places[0]), set(rows.axes), names)
            if columns is not None and _is_neutral(block, computes, columns, (number, position)):
                return Triangle(columns, shift)
    return None


def _hidden(compute: Compute, position: int, row: str) -> tuple[str, int] | None:
    """The dim of columns and the shift of a select that gives minus infinity above a diagonal."""
    body = compute.body
    condition, *branches = body[position].args
    compare = body[condition]
    low = [k for k, b in enumerate(branches, 1) if body[b].op == "const" and body[b].attr == -inf]
    if compare.op != "arith.cmpi" or len(low) != 1:
        return None
    left, right = (affine(body, a) for a in compare.args)
    if left is None or right is None:
        return None
    predicate = str(compare.attr)
    if left[0].get(row) != 1:  # column against row: the same the other way round
        left, right = right, left
        predicate = {"sle": "sge", "slt": "sgt", "sge": "sle", "sgt": "slt"}.get(predicate, "")
    terms = {d: left[0].get(d, 0) - right[0].get(d, 0) for d in {*left[0], *right[0]}}
    column = next((d for d, n in terms.items() if n == -1), None)
    seen = 3 - low[0]
    if column is None or terms.get(row) != 1 or any(n for d, n in terms.items() if d not in (row, column)):
        return None
    offset = add(left[1], scale(right[1], -1))
    if (predicate, seen) not in SHIFTED or offset.terms:
        return None
    return column, largest(offset.const) + SHIFTED[predicate, seen]


def _is_neutral(block: Block, computes: Mapping[int, Compute], columns: Walk, mask: tuple[int, int]) -> bool:
    """Whether nothing that leaves the columns' dims changes without the hidden columns."""
    if any(isinstance(s, Store) and s.value in columns.axes for s in block.statements):
        return False
    known: dict[str, State] = {}
    for number, compute in computes.items():
        if number not in columns.dims:
            continue
        column = columns.dims[number]
        states = _states(compute, known, mask[1] if number == mask[0] else None)
        for out in compute.outs:
            state = states[out.result]
            if any(a.dim == column for a in out.axes):
                if out.combiner is not None and compute.contraction is None:
                    return False
                if out.combiner is None and state is not None:
                    known[out.value] = state
            elif (out.combiner, state) not in (("max", "low"), ("add", "zero")):
                return False
    return True


def _states(compute: Compute, known: Mapping[str, State], mask: int | None) -> list[State | None]:
    """What every entry of a body is in the hidden columns, as far as it is known."""
    found: list[State | None] = []
    for position, entry in enumerate(compute.body):
        args = [found[a] for a in entry.args]
        state: State | None = None
        if position == mask:
            state = "low"
        elif entry.op == "in":
            assert isinstance(entry.attr, int)
            state = known.get(compute.ins[entry.attr].value)
        elif entry.op in ("arith.extf", "arith.truncf"):
            state = args[0]
        elif entry.op in ("math.exp", "math.exp2") and args[0] == "low":
            state = "zero"
        elif entry.op in ("arith.subf", "arith.divf"):
            wanted: State = "low" if entry.op == "arith.subf" else "zero"
            state = wanted if args == [wanted, None] else None
        elif entry.op == "arith.mulf" and "zero" in args:
            state = "zero"
        found.append(state)
    return found
