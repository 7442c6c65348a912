"""Where a text defines `#name` and `!name`: a use may come first, as mlir-opt prints locations."""

from __future__ import annotations

import re

_DEFINITION = re.compile(r"^[ \t]*([#!][A-Za-z_$][\w$-]*)[ \t]*=(?!=)", re.ASCII | re.MULTILINE)


class Aliases:
    """The definitions of one text, looked for when a name is first asked for that was not defined above."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._places: dict[str, int] | None = None
        self._read: set[str] = set()

    def take(self, name: str) -> int | None:
        """Where the definition of `name` starts, once: it is read there ahead of its turn."""
        if name in self._read or name not in self.places:
            return None
        self._read.add(name)
        return self.places[name]

    def was_taken(self, name: str) -> bool:
        """Whether the definition that stands here was read ahead (and may therefore be read again)."""
        if name not in self._read:
            return False
        self._read.discard(name)
        return True

    @property
    def places(self) -> dict[str, int]:
        """Every name with the offset of its first definition."""
        if self._places is None:
            self._places = {}
            for match in _DEFINITION.finditer(self._content):
                self._places.setdefault(match.group(1), match.start(1))
        return self._places
