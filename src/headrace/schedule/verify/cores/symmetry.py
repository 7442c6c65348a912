"""Parties of cores in which each is as good as any other: one core runs for all of them.

A party is symmetric if every core can be moved to the place of every other such that all partners that
programs name move along. Then the run of one core is the run of all: what it sends to a partner, another core
sends to it at the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.schedule.verify.cores.parties import Core
from headrace.schedule.verify.programs.values import Handle


@dataclass(frozen=True)
class Symmetry:
    """`cores` of a party, the first of which runs, in the order in which it and its partners name them;
    `images` say where every core lies when the first one is moved to a place: images[place][core].
    """

    cores: tuple[int, ...]
    images: Mapping[int, Mapping[int, int]]
    origins: Mapping[int, Mapping[int, int]] = field(init=False)
    """Where every core lies when the core at a place is moved to the first one."""

    def __post_init__(self) -> None:
        inverse = {place: {b: a for a, b in image.items()} for place, image in self.images.items()}
        object.__setattr__(self, "origins", inverse)

    @property
    def home(self) -> int:
        return self.cores[0]

    def at_home(self, sender: Handle, receiver: Handle) -> tuple[Handle, Handle]:
        """Both ends of a message from a unit at home, moved such that the receiver is at home."""
        if receiver.core not in self.origins:
            return sender, receiver
        core = self.origins[receiver.core][sender.core]
        return Handle(sender.kind, core, sender.corelet), Handle(receiver.kind, self.home, receiver.corelet)

    def distance(self, core: int, other: int) -> int:
        """The number of the place of a core as seen from another."""
        return self.cores.index(self.origins[core][other])

    def kind(self, cores: Mapping[int, Core]) -> Any:
        """What is equal for parties that are alike: that of their cores and who names whom."""
        numbers = {core: k for k, core in enumerate(self.cores)}
        return cores[self.home].shape, tuple(tuple(numbers[p] for p in cores[c].peers) for c in self.cores)


def alike(
    joined: Sequence[Sequence[int]], cores: Mapping[int, Core]
) -> list[list[tuple[Sequence[int], Symmetry | None]]]:
    """Return the parties, with their symmetries, in lists of alike ones; a party without symmetry is alike
    none.
    """
    found: dict[Any, list[tuple[Sequence[int], Symmetry | None]]] = {}
    for party in joined:
        one = symmetry(party, cores)
        key = one.kind(cores) if one is not None else tuple(party)
        found.setdefault(key, []).append((party, one))
    return list(found.values())


def symmetry(party: Sequence[int], cores: Mapping[int, Core]) -> Symmetry | None:
    """Return the symmetry of a party; None if its cores differ in more than their places."""
    home = min(party)
    if any(cores[c].shape != cores[home].shape for c in party):
        return None
    own = {core: cores[core] for core in party}
    images = {place: _image(home, place, own) for place in sorted(party)}
    order = images[home]
    if order is None or len(order) != len(party):
        return None
    found = {place: image for place, image in images.items() if image is not None}
    return Symmetry(tuple(order), found) if len(found) == len(party) else None


def _image(home: int, place: int, cores: Mapping[int, Core]) -> dict[int, int] | None:
    """Where every core lies when one is moved to a place and all partners move along; None if they cannot."""
    image, waiting = {home: place}, [home]
    while waiting:
        core = waiting.pop(0)
        for peer, moved in zip(cores[core].peers, cores[image[core]].peers, strict=True):
            if peer not in cores or moved not in cores:
                return None
            if peer not in image:
                image[peer] = moved
                waiting.append(peer)
            elif image[peer] != moved:
                return None
    return image if len(set(image.values())) == len(image) else None
