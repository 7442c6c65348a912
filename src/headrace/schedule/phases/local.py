"""Views of the scratchpad in KTIR: the scheduler decides what stays in the scratchpad, so each core gets
scratch for them.

A scratchpad address is private to its core: the view becomes one of a scratch argument with a part for
every core.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.schedule.graph import Arg, CoreClass, Linear, Load, Loop, Statement, Store, TileGraph, View
from headrace.schedule.phases.linear import add, number, upper


def without_local_views(graph: TileGraph) -> TileGraph:
    """Return the graph with every scratchpad view moved to a scratch argument (the graph itself if it has
    none).
    """
    views = [v for part in graph.classes for v in _views(part.body) if v.space == "ct_local"]
    if not views:
        return graph
    spans: dict[str, tuple[int, str]] = {}
    for view in views:
        name = _name(view)
        length = (
            upper(view.start, {})
            + 1
            + sum((e - 1) * s for e, s in zip(view.sizes, view.strides, strict=True))
        )
        spans[name] = (max(length, spans.get(name, (0, ""))[0]), view.dtype)
    cores = 1 + max(max(part.cores) for part in graph.classes)
    known = {a.name: a for a in graph.args}
    args = [
        replace(a, shape=(cores, spans[a.name][0]), role="scratch") if a.name in spans else a
        for a in graph.args
    ]
    args += [Arg(n, dtype, (cores, size), "scratch") for n, (size, dtype) in spans.items() if n not in known]
    sizes = {name: size for name, (size, _) in spans.items()}
    classes = tuple(replace(part, body=_body(part.body, part, sizes)) for part in graph.classes)
    return replace(graph, args=tuple(args), classes=classes)


def _name(view: View) -> str:
    return view.arg or f"lx_{view.dtype}"


def _views(body: Iterable[Statement]) -> Iterable[View]:
    for statement in body:
        if isinstance(statement, Load | Store):
            yield statement.view
            yield from (i.index for i in statement.indirect)
        elif isinstance(statement, Loop):
            yield from _views(statement.body)


def _body(body: tuple[Statement, ...], part: CoreClass, sizes: dict[str, int]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for statement in body:
        if isinstance(statement, Load | Store):
            indirect = tuple(replace(i, index=_moved(i.index, part, sizes)) for i in statement.indirect)
            statement = replace(statement, view=_moved(statement.view, part, sizes), indirect=indirect)
        elif isinstance(statement, Loop):
            statement = replace(statement, body=_body(statement.body, part, sizes))
        made.append(statement)
    return tuple(made)


def _moved(view: View, part: CoreClass, sizes: dict[str, int]) -> View:
    if view.space != "ct_local":
        return view
    name = _name(view)
    region = Linear(number([core * sizes[name] for core in part.cores]))
    return replace(view, arg=name, start=add(view.start, region), space="global")
