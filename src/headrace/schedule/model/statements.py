"""What a statement reads and makes, and the same statement over other names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from headrace.schedule.graph import (
    Access,
    Axis,
    Carried,
    Compute,
    Handover,
    Indirect,
    Insert,
    Linear,
    Load,
    Loop,
    Number,
    Out,
    Reshape,
    Scalar,
    Statement,
    Store,
    View,
)


def coordinate(s: Scalar) -> tuple[str | None, Linear]:
    """The dim and the offset of an "index" entry."""
    assert s.op == "index" and isinstance(s.attr, tuple)
    dim, offset = s.attr
    return dim, offset


def input_number(s: Scalar) -> int:
    """Which input an "in" entry reads."""
    assert s.op == "in" and isinstance(s.attr, int)
    return s.attr


def reads(statement: Statement) -> set[str]:
    """Names of the values a statement reads from outside of it."""
    if isinstance(statement, Load | Handover):
        return set()
    if isinstance(statement, Store):
        return {statement.value}
    if isinstance(statement, Reshape):
        return {statement.source}
    if isinstance(statement, Insert):
        return {statement.source} | ({statement.dest} if statement.dest is not None else set())
    if isinstance(statement, Compute):
        return {a.value for a in statement.ins} | {o.init for o in statement.outs if isinstance(o.init, str)}
    inside = {n for s in statement.body for n in reads(s)} | {c.yielded for c in statement.carried}
    made = defined(statement.body) | {c.inner for c in statement.carried}
    return (inside - made) | {c.init for c in statement.carried}


def makes(statement: Statement) -> set[str]:
    """Names of the values a statement makes for those after it."""
    if isinstance(statement, Store | Handover):
        return set()
    if isinstance(statement, Load | Reshape | Insert):
        return {statement.value}
    if isinstance(statement, Compute):
        return {o.value for o in statement.outs}
    return {c.result for c in statement.carried}


def defined(body: Iterable[Statement]) -> set[str]:
    """Names of the values made directly by the statements of a block."""
    return {name for s in body for name in makes(s)}


def everything(body: Iterable[Statement]) -> list[Statement]:
    """All statements of a block and of the loops in it, in textual order."""
    found: list[Statement] = []
    for s in body:
        found.append(s)
        if isinstance(s, Loop):
            found.extend(everything(s.body))
    return found


def same_view(a: View, b: View) -> bool:
    """Whether two views are equal, wherever they were written down."""
    return a == replace(b, where=a.where)


def has_stores(body: Iterable[Statement]) -> bool:
    """Whether a block writes memory or meets other cores."""
    return any(isinstance(s, Store | Handover) for s in everything(body))


def has_handovers(body: Iterable[Statement]) -> bool:
    """Whether a block meets other cores."""
    return any(isinstance(s, Handover) for s in everything(body))


def changed(body: Iterable[Statement]) -> set[tuple[str, str]]:
    """The memories (space, argument) that may hold something else after a block, by this core or others."""
    found: set[tuple[str, str]] = set()
    for s in everything(body):
        if isinstance(s, Store):
            found.add((s.view.space, s.view.arg))
        elif isinstance(s, Handover):
            found |= {("global", arg) for arg in s.args}
    return found


def renamed(
    statement: Statement, name: Callable[[str], str], dim: Callable[[str], str] = lambda d: d
) -> Statement:
    """The statement with every value name, dim name and name of a loop in it replaced."""
    own = loop_names(statement)
    if own:
        rename = {n: dim(n) for n in own}
        statement = with_numbers(statement, lambda v: _renamed_terms(v, rename), lambda n: n)
    return _renamed(statement, name, dim)


def aliased(statement: Statement, names: Mapping[str, str]) -> Statement:
    """The statement with values called by their other name, where `names` gives one."""
    return renamed(statement, lambda n: names.get(n, n)) if names else statement


def loop_names(statement: Statement) -> list[str]:
    """The names of a loop and of those inside it."""
    if not isinstance(statement, Loop):
        return []
    return [statement.name, *(n for s in statement.body for n in loop_names(s))]


def _renamed_terms(form: Linear, names: Mapping[str, str]) -> Linear:
    return Linear(form.const, tuple((names.get(n, n), k) for n, k in form.terms))


def _renamed(statement: Statement, name: Callable[[str], str], dim: Callable[[str], str]) -> Statement:
    if isinstance(statement, Load | Store):
        return replace(statement, value=name(statement.value))
    if isinstance(statement, Reshape):
        return replace(statement, value=name(statement.value), source=name(statement.source))
    if isinstance(statement, Insert):
        dest = None if statement.dest is None else name(statement.dest)
        return replace(statement, value=name(statement.value), source=name(statement.source), dest=dest)
    if isinstance(statement, Compute):
        return _renamed_compute(statement, name, dim)
    if isinstance(statement, Handover):
        return statement
    carried = tuple(
        Carried(name(c.inner), name(c.init), name(c.yielded), name(c.result)) for c in statement.carried
    )
    body = tuple(_renamed(s, name, dim) for s in statement.body)
    return replace(statement, name=dim(statement.name), body=body, carried=carried)


def _renamed_compute(c: Compute, name: Callable[[str], str], dim: Callable[[str], str]) -> Compute:
    def axes(walk: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(a if a.dim is None or (d := dim(a.dim)) == a.dim else replace(a, dim=d) for a in walk)

    def init(out: Out) -> str | float | int | None:
        return name(out.init) if isinstance(out.init, str) else out.init

    roles = c.contraction and replace(
        c.contraction,
        **{r: tuple(dim(d) for d in getattr(c.contraction, r)) for r in ("batch", "m", "n", "k")},
    )
    return replace(
        c,
        dims=tuple(d if (n := dim(d.name)) == d.name else replace(d, name=n) for d in c.dims),
        ins=tuple(Access(name(a.value), axes(a.axes)) for a in c.ins),
        outs=tuple(replace(o, value=name(o.value), axes=axes(o.axes), init=init(o)) for o in c.outs),
        body=tuple(_renamed_scalar(s, dim) for s in c.body),
        contraction=roles,
    )


def _renamed_scalar(s: Scalar, dim: Callable[[str], str]) -> Scalar:
    if s.op != "index":
        return s
    axis, offset = coordinate(s)
    return replace(s, attr=(None if axis is None else dim(axis), offset))


def with_numbers(
    statement: Statement, linear: Callable[[Linear], Linear], number: Callable[[Number], Number]
) -> Statement:
    """The statement with every linear form and every trip count replaced."""

    def view(v: View) -> View:
        return replace(v, start=linear(v.start))

    def indirect(i: Indirect) -> Indirect:
        return replace(i, index=view(i.index), origin=tuple(linear(o) for o in i.origin))

    if isinstance(statement, Load | Store):
        return replace(
            statement,
            view=view(statement.view),
            origin=tuple(linear(o) for o in statement.origin),
            indirect=tuple(indirect(i) for i in statement.indirect),
        )
    if isinstance(statement, Compute):
        body = tuple(
            replace(s, attr=(coordinate(s)[0], linear(coordinate(s)[1]))) if s.op == "index" else s
            for s in statement.body
        )
        return replace(statement, body=body)
    if isinstance(statement, Loop):
        inner = tuple(with_numbers(s, linear, number) for s in statement.body)
        return replace(statement, trip=number(statement.trip), start=linear(statement.start), body=inner)
    return statement


def linears(statement: Statement) -> list[Linear]:
    """Every linear form of a statement, loops included."""
    found: list[Linear] = []

    def note(value: Linear) -> Linear:
        found.append(value)
        return value

    with_numbers(statement, note, lambda n: n)
    return found


def names(body: Iterable[Statement]) -> set[str]:
    """Every value a block and its loops name."""
    found: set[str] = set()
    for s in everything(body):
        found |= reads(s) | makes(s)
        if isinstance(s, Loop):
            found |= {n for c in s.carried for n in (c.inner, c.init, c.yielded, c.result)}
    return found
