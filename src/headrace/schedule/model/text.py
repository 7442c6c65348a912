"""The TileGraph as text, for plan reports and for people."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.schedule.graph import (
    Axis,
    Compute,
    CoreClass,
    Handover,
    Insert,
    Linear,
    Load,
    Loop,
    Number,
    Out,
    PerCore,
    Reshape,
    Scalar,
    Statement,
    Store,
    TileGraph,
    Value,
    View,
)
from headrace.schedule.model.statements import coordinate, input_number


def graph_text(graph: TileGraph) -> str:
    """One line per statement, loops indented; numbers that differ between cores stand in braces."""
    grid = "x".join(str(n) for n in graph.grid)
    lines = [f"graph {graph.name} grid {grid}"]
    lines += [f"  arg {a.name}: {_type(a.shape, a.dtype)} {a.role}" for a in graph.args]
    lines += [f"  work {key} = {value}" for key, value in graph.work.items()]
    for number, core_class in enumerate(graph.classes):
        lines.append(f"  class {number} cores {_ranges(core_class.cores)}")
        lines += [f"    {line}" for line in _block(core_class.body, core_class)]
    return "\n".join(lines)


def _block(body: Sequence[Statement], c: CoreClass) -> list[str]:
    lines: list[str] = []
    for s in body:
        lines.append(_statement(s, c.values))
        if isinstance(s, Loop):
            lines += [f"  {line}" for line in _block(s.body, c)]
    return lines


def _statement(s: Statement, values: dict[str, Value]) -> str:
    if isinstance(s, Load):
        return f"{_value(values, s.value)} = load {_access(s)}"
    if isinstance(s, Store):
        return f"store {s.value} -> {_access(s)}"
    if isinstance(s, Reshape):
        return f"{_value(values, s.value)} = reshape {s.source}"
    if isinstance(s, Insert):
        dest = s.dest if s.dest is not None else f"fill {s.fill}"
        return f"{_value(values, s.value)} = insert {s.source} into {dest} at {list(s.offsets)}"
    if isinstance(s, Compute):
        return _compute(s, values)
    if isinstance(s, Handover):
        pairs = ", ".join(f"{a} -> {b}" for a, b in s.pairs)
        return f"{s.kind} {', '.join(s.args)}: {pairs}"
    carried = "".join(f" {c.inner}=({c.init} -> {c.yielded}) => {c.result}" for c in s.carried)
    kind = "parallel for" if s.is_parallel else "for"
    return f"{kind} {s.name} = {_linear(s.start)} step {s.step} trip {_number(s.trip)}{carried}"


def _compute(c: Compute, values: dict[str, Value]) -> str:
    dims = ", ".join(f"{d.name}{'+' if d.kind == 'reduction' else ''}:{d.extent}" for d in c.dims)
    outs = ", ".join(f"{_value(values, o.value)}{_axes(o.axes)}" for o in c.outs)
    results = ", ".join(_out(o, c) for o in c.outs)
    kind = " contraction" if c.contraction else ""
    return f"[{dims}]{kind} {outs} = {results}"


def _out(o: Out, c: Compute) -> str:
    expression = _expression(c.body, o.result, c)
    return f"{o.init} {o.combiner} {expression}" if o.combiner else expression


def _expression(body: Sequence[Scalar], position: int, c: Compute) -> str:
    s = body[position]
    if s.op == "in":
        access = c.ins[input_number(s)]
        return f"{access.value}{_axes(access.axes)}"
    if s.op == "const":
        return f"{s.attr}"
    if s.op == "index":
        dim, offset = coordinate(s)
        return f"index({dim if dim is not None else ''}+{_linear(offset)})"
    name = s.op.split(".")[-1] + (f".{s.attr}" if isinstance(s.attr, str) else "")
    kind = (
        f":{s.dtype}"
        if s.op.split(".")[-1] in ("extf", "truncf", "sitofp", "fptosi", "extsi", "trunci")
        else ""
    )
    return f"{name}{kind}({', '.join(_expression(body, a, c) for a in s.args)})"


def _axes(axes: Sequence[Axis]) -> str:
    return "[" + ", ".join(_axis(a) for a in axes) + "]"


def _axis(a: Axis) -> str:
    if a.dim is None:
        return str(a.offset)
    return f"{a.dim}+{a.offset}" if a.offset else a.dim


def _access(s: Load | Store) -> str:
    indexed = {i.view_dim: i for i in s.indirect}
    parts = []
    for d, origin in enumerate(s.origin):
        if d in indexed:
            i = indexed[d]
            inner = ", ".join(_walk(o, a) for o, a in zip(i.origin, i.axes, strict=True))
            parts.append(f"ind({_view(i.index)}[{inner}])")
            continue
        walkers = [k for k, at in enumerate(s.axes) if at == d]
        parts.append(_walk(origin, walkers[0] if walkers else None))
    return f"{_view(s.view)}[{', '.join(parts)}]"


def _walk(origin: Linear, axis: int | None) -> str:
    return _linear(origin) + (f" + a{axis}" if axis is not None else "")


def _view(v: View) -> str:
    start = _linear(v.start)
    space = "lx " if v.space == "ct_local" else ""
    offset = "" if start == "0" else f"+{start}"
    return f"{space}{v.arg}{offset}<{_type(v.sizes, v.dtype)}, strides {list(v.strides)}>"


def _value(values: dict[str, Value], name: str) -> str:
    return f"{name}: {_type(values[name].shape, values[name].dtype)}"


def _type(shape: Sequence[int], dtype: str) -> str:
    return "x".join([*(str(n) for n in shape), dtype])


def _linear(value: Linear) -> str:
    terms = [f"{c}*{n}" if c != 1 else n for n, c in value.terms]
    const = _number(value.const)
    return " + ".join([*terms, const] if const != "0" or not terms else terms)


def _number(value: Number) -> str:
    if not isinstance(value, PerCore):
        return str(value)
    return "{" + (", ".join(str(v) for v in value.values)) + "}"


def _ranges(cores: Sequence[int]) -> str:
    """1,2,3,7 as "1-3,7"."""
    parts: list[list[int]] = []
    for core in cores:
        if parts and core == parts[-1][-1] + 1:
            parts[-1].append(core)
        else:
            parts.append([core])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
