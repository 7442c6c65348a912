"""What the names of a class of cores mean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headrace.schedule.graph import Load, Value


@dataclass
class Names:
    """What names of a class mean.

    `values` holds every tensor, those of copies included; `renamed` values are another value up to axes of
    extent 1; `aliases` are the bytes of another value in another shape (never of an alias); `computed` have a
    Compute; the Computes of those in `apart` join no phase; `strips` are loops over strips, `stripped` the
    values that hold one strip; `walks` says of aliases that are windows of a packed value where they begin
    and their strides.
    """

    values: dict[str, Value]
    renamed: dict[str, str]
    aliases: dict[str, str]
    computed: set[str]
    loads: dict[str, Load] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    strips: set[str] = field(default_factory=set)
    walks: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    stripped: set[str] = field(default_factory=set)
    count: int = 0

    def fresh(self, stem: str, like: Value) -> Value:
        """Return a new value of the same shape and type and remember it."""
        self.count += 1
        made = replace(like, name=f"{stem}.{self.count}")
        self.values[made.name] = made
        return made
