"""What the parser raises where it knows what to do: names nobody knows, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from xdsl.utils.exceptions import ParseError


class Fault(ParseError):
    """A place, a message, and what to do instead."""

    def __init__(self, span: Any, message: str, hint: str = "") -> None:
        super().__init__(span, message)
        self.hint = hint


class UnknownName(ParseError):
    """An op, type or attribute nobody registered; `name` is what was asked for."""

    def __init__(self, span: Any, message: str, name: str) -> None:
        super().__init__(span, message)
        self.name = name


def close(name: str, known: Iterable[str], sigil: str = "") -> str:
    """A hint that names what is spelt much like `name`, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return "did you mean " + " or ".join(sigil + n for n in near) + "?" if near else ""


_INTER_TILE = "it is a design no tool reads: build it of ktdp.inter_tile_consume and ktdp.inter_tile_reduce"
# Spellings of older drafts and of other tools, and what to write instead.
_FORMER = {
    "fp16": "write f16",
    "fp32": "write f32",
    "float16": "write f16",
    "float32": "write f32",
    "/": "write floordiv",
    "ktdp.coreid": "write ktdp.get_compute_tile_id",
    "ktdp.reduce": "write ktdp.inter_tile_produce and ktdp.inter_tile_reduce",
    "ktdp.transfer": "write ktdp.inter_tile_produce and ktdp.inter_tile_consume",
    "ktdp.inter_tile_reduce_scatter": _INTER_TILE,
    "ktdp.inter_tile_gather": _INTER_TILE,
    "ktdp.inter_tile_all_to_all": _INTER_TILE,
    "ktdp.inter_tile_scatter": _INTER_TILE,
    "arith.maxf": "write arith.maximumf (NaN wins) or arith.maxnumf (the number wins)",
    "arith.minf": "write arith.minimumf (NaN wins) or arith.minnumf (the number wins)",
    "arith.convertf": "write arith.extf or arith.truncf",
    "linalg.elementwise": "write the named op, as linalg.exp, or linalg.map",
    "linalg.softmax": "write linalg.reduce, linalg.broadcast and elementwise ops",
    "affine.delinearize_index": "write affine.apply with floordiv and mod",
    "affine.linearize_index": "write affine.apply",
}
_FORMER_DIALECTS = {
    "ktir": "the dialect is called ktdp now",
    "kt": "the draft dialect kt became ktdp",
    "tt": "Triton's ops are lowered to ktdp before they come here",
    "ttg": "Triton's ops are lowered to ktdp before they come here",
    "index": "write arith on values of type index",
    "bufferization": "KTIR computes on tensors; memory is read by ktdp.load and written by ktdp.store",
}


def hint(error: ParseError) -> str:
    """What to do about a parse error, or nothing."""
    if isinstance(error, Fault):
        return error.hint
    if isinstance(error, UnknownName):
        return _FORMER.get(error.name) or _unknown(error.name)
    return _FORMER.get(error.span.text, "")


def _unknown(name: str) -> str:
    from headrace.ir.context import context, known_names

    dialect, _, rest = name.partition(".")
    if not rest:
        return close(name, known_names())
    if dialect in _FORMER_DIALECTS:
        same = f"ktdp.{rest}"
        return f"{_FORMER_DIALECTS[dialect]}{f': {same}' if same in known_names() else ''}"
    names = sorted(context().registered_dialect_names)
    if dialect not in names:
        return close(name, known_names()) or f"dialects are {', '.join(names)}"
    return close(name, [n for n in known_names() if n.startswith(f"{dialect}.")])
