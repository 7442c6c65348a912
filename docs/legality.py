"""The rules R1 to R14 of communication between tiles, and what becomes of a text that breaks one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Legality:
    """A rule of the public dialect: what it asks for, "error", "warning" or "unread" (the ops it is about are
    a design that no tool reads), and a part of what is said.
    """

    rule: str
    asks: str
    verdict: str
    message: str


_UNREAD = "unknown operation 'ktdp.inter_tile_"
LEGALITY = (
    Legality("R1", "no tile produces for two groups", "error", "are not disjoint"),
    Legality("R2", "a future is delivered once", "error", "future result must have exactly one use"),
    Legality("R3", "a tile depends on producers only", "error", "which does not produce for group"),
    Legality("R4", "some tile depends on every producer", "error", "does not cover producer tile"),
    Legality("R5", "assembled parts do not overlap", "unread", f"{_UNREAD}gather'"),
    Legality("R6", "consumers depend on equally many", "unread", f"{_UNREAD}all_to_all'"),
    Legality("R7", "groups have equally many producers", "unread", f"{_UNREAD}gather'"),
    Legality("R8", "a consumer has one source", "error", "exactly one is required"),
    Legality("R9", "what is split divides evenly", "unread", f"{_UNREAD}scatter'"),
    Legality("R10", "the combiner touches no memory", "error", "the combiner must be pure"),
    Legality("R11", "the identity has the result's type", "error", "identity types must match result types"),
    Legality("R11", "the identity changes nothing", "warning", "changes what"),
    Legality("R12", "extents of joined parts agree", "unread", f"{_UNREAD}reduce_scatter'"),
    Legality("R13", "who receives a sum gives to it", "error", "is not a subset of producer_tiles_per_group"),
    Legality("R14", "all receive a sum, or one does", "error", "reduce-to-subset is unsupported"),
)


def legality_table() -> str:
    """The rules, and what becomes of a text that breaks one."""
    verdicts = {"error": "an error", "warning": "a warning", "unread": "the op is unknown"}
    lines = ["| rule | asks that | else | which says |", "|---|---|---|---|"]
    lines += [f"| {r.rule} | {r.asks} | {verdicts[r.verdict]} | {r.message} |" for r in LEGALITY]
    return "\n".join(lines)


def settings_table() -> str:
    """The options of KTIR's meaning: values, default first, and what they say."""
    from dataclasses import fields
    from inspect import cleandoc
    from re import MULTILINE, findall
    from typing import get_args, get_type_hints

    from headrace.semantics.options import Options

    hints = get_type_hints(Options)
    told = dict(findall(r"^(\w+): ((?:.|\n  )*)", cleandoc(Options.__doc__ or ""), MULTILINE))
    lines = ["| `--set` | values | means |", "|---|---|---|"]
    for f in fields(Options):
        values = [f.default, *(v for v in get_args(hints[f.name]) if v != f.default)]
        shown = ", ".join(f"`{str(v).lower()}`" for v in values) + ("" if len(values) > 1 else ", …")
        lines.append(f"| `{f.name}` | {shown} | {' '.join(told.get(f.name, 'see strict_lx').split())} |")
    return "\n".join(lines)
