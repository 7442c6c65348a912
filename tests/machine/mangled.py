"""DFIR texts with one thing changed that somebody might get wrong: a number, a set, a map, a name, a line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NUMBER = re.compile(r"(?<![\w#%.])-?\d+(?![\w.])")
VALUE = re.compile(r"%[\w#]+")
SHAPE = re.compile(r"(vector|memref)<(\d+)x")
WORD = re.compile(r"#vectorchain<(\w+) (\w+)>")
MAP = re.compile(r"affine_map<[^>]*-> \([^>]*\)>")
SET = re.compile(r"affine_set<.*?\)>")
ALIAS = re.compile(r"#\w+(?=[,}\s])")
DTYPE = re.compile(r"(?<=x)(f16|f32|bf16|i1|i8|i32|i64|f8E4M3FN)(?=>)")
TYPE = re.compile(r'(?<=type = ")\w+(?=")')
NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 65, 1000, -5, 1 << 20, 1 << 40)
MAPS = (
    "affine_map<(d0) -> (d0)>",
    "affine_map<(d0) -> (0)>",
    "affine_map<(d0) -> (-d0)>",
    "affine_map<(d0, d1) -> (d1, d0)>",
    "affine_map<(d0) -> (d0 floordiv 2)>",
    "affine_map<(d0)[s0] -> (d0 + s0)>",
    "affine_map<(d0, d1) -> (d0 + d1)>",
    "affine_map<(d0, d1) -> (d0 mod 3, d1)>",
    "affine_map<() -> (0)>",
    "affine_map<(d0) -> (d0 floordiv 0)>",
)
SETS = (
    "affine_set<(d0) : (d0 >= 0)>",
    "affine_set<(d0) : (d0 == 0)>",
    "affine_set<(d0, d1) : (d0 - d1 >= 0, d1 >= 0)>",
    "affine_set<(d0) : (d0 - 5 >= 0, -d0 + 3 >= 0)>",
    "affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 >= 0)>",
    "affine_set<(d0) : (d0 * 2 - 1 >= 0, -d0 * 3 + 100 >= 0)>",
    "affine_set<() : (0 == 0)>",
    "affine_set<(d0) : (d0 floordiv 2 >= 0, -d0 + 7 >= 0)>",
)
DTYPES = ("f16", "f32", "bf16", "i1", "i8", "i32", "i64", "f8E4M3FN", "f64", "i7")


def _swap(
    text: str, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], pick: random.Random
) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = pick.choice(found)
    return text[: match.start()] + new(match) + text[match.end() :]


def _number(text: str, pick: random.Random) -> str:
    def other(match: re.Match[str]) -> str:
        now = int(match.group())
        return str(pick.choice((*NUMBERS, now + 1, -now)))

    return _swap(text, NUMBER, other, pick)


def _value(text: str, pick: random.Random) -> str:
    values = VALUE.findall(text)
    return _swap(text, VALUE, lambda m: pick.choice(values), pick)


def _shape(text: str, pick: random.Random) -> str:
    sizes = (0, 1, 2, 32, 63, 128, 100000)
    return _swap(text, SHAPE, lambda m: f"{m.group(1)}<{pick.choice(sizes)}x", pick)


def _word(text: str, pick: random.Random) -> str:
    words = ("add", "mul", "max", "xnor", "compare_lt", "right_to_left", "slope", "sum")
    return _swap(text, WORD, lambda m: f"#vectorchain<{m.group(1)} {pick.choice(words)}>", pick)


def _map(text: str, pick: random.Random) -> str:
    return _swap(text, MAP, lambda m: pick.choice(MAPS), pick)


def _set(text: str, pick: random.Random) -> str:
    return _swap(text, SET, lambda m: pick.choice(SETS), pick)


def _alias(text: str, pick: random.Random) -> str:
    aliases = re.findall(r"^#\w+", text, re.M) or ["#none"]
    return _swap(text, ALIAS, lambda m: pick.choice(aliases), pick)


def _dtype(text: str, pick: random.Random) -> str:
    return _swap(text, DTYPE, lambda m: pick.choice(DTYPES), pick)


def _every_dtype(text: str, pick: random.Random) -> str:
    """A type changed wherever it stands, so that the program stays well-typed."""
    found = DTYPE.findall(text) or ["f16"]
    old, new = pick.choice(found), pick.choice(DTYPES)
    return re.sub(rf"(?<=x){old}(?=>)", new, text)


def _type(text: str, pick: random.Random) -> str:
    kinds = ("sfu", "mnilu", "mnisu", "l1lu", "l1su", "pt", "lx", "hbm", "sfu_reg", "nothing")
    return _swap(text, TYPE, lambda m: pick.choice(kinds), pick)


def _lines(text: str, pick: random.Random) -> str:
    """A line left out, twice, or swapped with its neighbour."""
    lines = text.split("\n")
    k = pick.randrange(len(lines) - 1)
    match pick.choice(("drop", "twice", "swap")):
        case "drop":
            del lines[k]
        case "twice":
            lines.insert(k, lines[k])
        case _:
            lines[k : k + 2] = lines[k + 1], lines[k]
    return "\n".join(lines)


def _attribute(text: str, pick: random.Random) -> str:
    """An attribute left out."""
    return _swap(text, re.compile(r"\b\w+ = [^,{}<>]+(<[^{}]*?>)?, "), lambda m: "", pick)


WAYS = (
    *(_number, _number, _value, _value, _shape, _word, _map, _set, _alias, _alias),
    *(_dtype, _every_dtype, _type, _lines, _lines, _attribute),
)


def mangled(text: str, seed: int) -> str:
    """The text with one to three things changed."""
    pick = random.Random(seed)
    for _ in range(pick.choice((1, 1, 1, 2, 3))):
        text = pick.choice(WAYS)(text, pick)
    return text
