"""What a batch finds out on its way through a function, kept for the next time it goes that way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Item = TypeVar("Item")
TAPED = 2**13
"""A launch that finds more items than this finds them anew each time."""


class Tape:
    """Items found in a fixed order while a batch runs: found and noted the first time, then read back."""

    def __init__(self, items: list[Any] | None = None) -> None:
        self.items: list[Any] = [] if items is None else items
        self._is_read, self._at = items is not None, 0

    @property
    def is_full(self) -> bool:
        """Whether more was found than is kept."""
        return self._at > TAPED

    def next(self, find: Callable[[], Item]) -> Item:
        """The next item; `find` has to depend on nothing but the launch."""
        at = self._at
        self._at = at + 1
        if self._is_read:
            return self.items[at]  # type: ignore[no-any-return]
        found = find()
        if at < TAPED:
            self.items.append(found)
        return found
