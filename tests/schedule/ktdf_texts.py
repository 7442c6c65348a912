# ruff: noqa: E501
"""KTDF texts for one core and one corelet: rows in, a step, rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

G, S = "#ktdp.memory_space<global>", "#ktdp.memory_space<ct_local>"


@dataclass(frozen=True)
class Rows:
    """A [rows, columns] argument."""

    name: str
    dtype: str
    columns: int

    def shape(self, rows: int) -> str:
        return f"{rows}x{self.columns}x{self.dtype}"

    @property
    def tensor(self) -> str:
        return f"tensor<{self.columns}x{self.dtype}>"


def _view(x: Rows, rows: int) -> str:
    box = f"(d0, d1) : (d0 >= 0, -d0 + {rows - 1} >= 0, d1 >= 0, -d1 + {x.columns - 1} >= 0)"
    return (
        f"%{x.name}_view = ktdp.construct_memory_view %{x.name}, sizes: [{rows}, {x.columns}], strides: "
        f"[{x.columns}, 1] {{coordinate_set = affine_set<{box}>, memory_space = {G}}} : memref<{x.shape(rows)}>"
    )


def _args(tensors: Sequence[Rows], rows: int, outs: Sequence[Rows]) -> str:
    entries = [
        f'{{name = "{x.name}", dtype = "{x.dtype}", shape = [{rows}, {x.columns}], '
        f'role = "{"out" if x in outs else "in"}"}}'
        for x in tensors
    ]
    return "headrace.args = [" + ", ".join(entries) + "]"


def _slots(slots: Sequence[tuple[str, str]]) -> list[str]:
    """The private op that owns the slots: (name, type)."""
    names = ", ".join(f"%{name}" for name, _ in slots)
    types = ", ".join(kind for _, kind in slots)
    inner = [f"  %{name}_own = ktdf.fifo.allocate() -> {kind}" for name, kind in slots]
    owned = ", ".join(f"%{name}_own" for name, _ in slots)
    return [f"{names} = ktdf.private -> ({types}) {{", *inner, f"  ktdf.private_yield {owned} : {types}", "}"]


def program(
    rows: int, ins: Sequence[Rows], outs: Sequence[Rows], step: str, aliases: str = "", sums: bool = False
) -> str:
    """A module that runs `step` once a row: it reads %a, %b, ... (the inputs' names) and defines %<output>_row.

    With `sums` the step is a whole SFU stage written by hand around slots %<input>_in and %<output>_out.
    """
    every = [*ins, *outs]
    slot_in = {x: f'!ktdf.fifo.slot<"L1LU" -> "SFU", {x.columns}x{x.dtype}>' for x in ins}
    slot_out = {x: f'!ktdf.fifo.slot<"SFU" -> "L1SU", {x.columns}x{x.dtype}>' for x in outs}
    count = {x: (1 if sums and x in outs else rows) for x in every}
    lines = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
    lines.append(f"%rows = arith.constant {rows} : index")
    for x in every:
        lines.append(_view(x, count[x]))
        lines.append(f"%{x.name}_tile = memref.alloc() : memref<{x.shape(count[x])}, {S}>")
    lines += ["ktdf.pipeline {"]
    lines += _slots(
        [(f"{x.name}_in", slot_in[x]) for x in ins] + [(f"{x.name}_out", slot_out[x]) for x in outs]
    )
    lines += _stage("MNILU", [_copy(x, count[x], True) for x in ins])
    loads = [
        f"ktdf.data_transfer from %{x.name}_tile[%r, 0] size [1, {x.columns}] to %{x.name}_in size [{x.columns}] "
        f": memref<{x.shape(rows)}, {S}>, {slot_in[x]}"
        for x in ins
    ]
    lines += _stage("L1LU", _loop(loads))
    lines += _stage("SFU", step.strip().split("\n") if sums else _loop(_body(ins, outs, step)))
    stores = [
        f"ktdf.data_transfer from %{x.name}_out size [{x.columns}] to %{x.name}_tile[{'0' if sums else '%r'}, 0] "
        f"size [1, {x.columns}] : {slot_out[x]}, memref<{x.shape(count[x])}, {S}>"
        for x in outs
    ]
    lines += _stage("L1SU", stores if sums else _loop(stores))
    lines += _stage("MNISU", [_copy(x, count[x], False) for x in outs])
    lines += ["}", "return"]
    names = ", ".join(f"%{x.name}: index" for x in every)
    shapes = ", ".join(
        f'{{name = "{x.name}", dtype = "{x.dtype}", shape = [{count[x]}, {x.columns}], '
        f'role = "{"out" if x in outs else "in"}"}}'
        for x in every
    )
    body = "\n".join("    " + line for line in lines)
    head = f"module attributes {{headrace.args = [{shapes}]}} {{"
    function = f"  func.func @rows({names}) attributes {{grid = [1], headrace.cores = array<i64: 0>}} {{"
    return "\n".join([aliases, head, function, body, "  }", "}"]) + "\n"


def _copy(x: Rows, rows: int, is_load: bool) -> str:
    ends = [
        f"%{x.name}_view[0, 0] size [{rows}, {x.columns}]",
        f"%{x.name}_tile[0, 0] size [{rows}, {x.columns}]",
    ]
    types = [f"memref<{x.shape(rows)}>", f"memref<{x.shape(rows)}, {S}>"]
    if not is_load:
        ends, types = ends[::-1], types[::-1]
    return f"ktdf.data_transfer from {ends[0]} to {ends[1]} : {types[0]}, {types[1]}"


def _stage(unit: str, body: Sequence[str]) -> list[str]:
    return [
        "ktdf.stage depends_in(none) depends_out(none) {",
        *("  " + b for b in body),
        f'}} {{applicable_units = ["{unit}"]}}',
    ]


def _loop(body: Sequence[str]) -> list[str]:
    return [
        "scf.for %r = %c0 to %rows step %c1 {",
        *("  " + b for b in body),
        "} {loop_type = #ktdf.loop_type<parallel_loop>}",
    ]


def _body(ins: Sequence[Rows], outs: Sequence[Rows], step: str) -> list[str]:
    lines = [
        f'%{x.name}_row = ktdf.read_from_fifo %{x.name}_in : <"L1LU" -> "SFU", {x.columns}x{x.dtype}> -> {x.tensor}'
        for x in ins
    ]
    lines += step.strip().split("\n")
    lines += [
        f'ktdf.write_to_fifo %{x.name}_row, %{x.name}_out : {x.tensor}, <"SFU" -> "L1SU", {x.columns}x{x.dtype}>'
        for x in outs
    ]
    return lines


def generic(result: str, ins: Sequence[tuple[str, str]], out: str, body: str, yielded: str) -> str:
    """A pointwise linalg.generic: operands (value, tensor type), result type, body over %x0, %x1, ... ."""
    size, dtype = out.removeprefix("tensor<").removesuffix(">").split("x")
    kinds = [t.removeprefix("tensor<").removesuffix(">").split("x") for _, t in ins]
    maps = ["affine_map<(d0) -> (d0)>" if k[0] == size else "affine_map<(d0) -> (0)>" for k in kinds]
    maps.append("affine_map<(d0) -> (d0)>")
    arguments = ", ".join(f"%x{i}: {k[-1]}" for i, k in enumerate(kinds))
    names, types = ", ".join(n for n, _ in ins), ", ".join(t for _, t in ins)
    given = f"ins({names} : {types}) " if ins else ""
    head = arguments + (", " if arguments else "") + f"%o: {dtype}"
    return f"""
%{result}_empty = tensor.empty() : {out}
%{result} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = ["parallel"]}} {given}outs(%{result}_empty : {out}) {{
^bb0({head}):
{body}
linalg.yield {yielded} : {dtype}
}} -> {out}"""
