"""Memory spaces: the current spelling, and the older one, which is read as the current one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class SpaceKind(StrEnum):
    unspecified = "unspecified"
    LX = "LX"
    HBM = "HBM"
    L0 = "L0"


@irdl_attr_definition
class SpyreMemorySpaceAttr(ParametrizedAttribute):
    """`#ktdp.spyre_memory_space<LX, core = 3>`, the older spelling; core -1 = bound to no core.

    A parsed one becomes its current form: LX is ct_local, HBM and unspecified are global; L0 has none.
    """

    name = "ktdp.spyre_memory_space"
    kind: IntAttr
    core: IntAttr

    _ORDER: ClassVar[tuple[SpaceKind, ...]] = tuple(SpaceKind)

    def __init__(self, kind: SpaceKind, core: int = -1):
        super().__init__(IntAttr(self._ORDER.index(kind)), IntAttr(core))

    @property
    def space(self) -> SpaceKind:
        found: SpaceKind = self._ORDER[self.kind.data]
        return found

    @property
    def is_local(self) -> bool:
        return self.space in (SpaceKind.LX, SpaceKind.L0)

    @property
    def tile(self) -> int | None:
        """The tile whose scratchpad is meant, None for the executing one."""
        return None if self.core.data == -1 else self.core.data

    def normal_form(self) -> Attribute:
        """The same space in the current spelling, itself when there is none."""
        if self.space is SpaceKind.L0:
            return self
        return memory_space("ct_local" if self.is_local else "global", self.tile)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_str_enum(SpaceKind)
            core = _optional_number(parser, "core")
        return (IntAttr(cls._ORDER.index(kind)), IntAttr(-1 if core is None else core))

    def print_parameters(self, printer: Printer) -> None:
        core = "" if self.core.data == -1 else f", core = {self.core.data}"
        printer.print_string(f"<{self.space.value}{core}>")

    def verify(self) -> None:
        core = self.core.data
        if core == -1:
            return
        if core < 0:
            raise VerifyException(f"core affinity must be non-negative, but got: {core}")
        if not self.is_local:
            raise VerifyException(
                "core affinity is only valid for LX or L0 memory spaces, but got memory "
                f"space '{self.space.value}' with core = {core}"
            )


class Space(StrEnum):
    global_ = "global"
    ct_local = "ct_local"


@irdl_attr_definition
class MemorySpaceAttr(ParametrizedAttribute):
    """`#ktdp.memory_space<global>` / `<ct_local, ct_id = 1>`."""

    name = "ktdp.memory_space"
    kind: StringAttr
    ct_id: IntAttr | NoneAttr

    @property
    def is_local(self) -> bool:
        return str(self.kind.data) == "ct_local"

    @property
    def tile(self) -> int | None:
        """The tile whose scratchpad is meant, None for the executing one."""
        return self.ct_id.data if isinstance(self.ct_id, IntAttr) else None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_str_enum(Space)
            tile = _optional_number(parser, "ct_id")
        return (StringAttr(kind.value), NoneAttr() if tile is None or tile == -1 else IntAttr(tile))

    def older_form(self) -> SpyreMemorySpaceAttr:
        """The same space in the older spelling."""
        kind = SpaceKind("LX" if self.is_local else "HBM")
        return SpyreMemorySpaceAttr(kind, -1 if self.tile is None else self.tile)

    def print_parameters(self, printer: Printer) -> None:
        tile = "" if self.tile is None else f", ct_id = {self.tile}"
        printer.print_string(f"<{self.kind.data}{tile}>")

    def verify(self) -> None:
        if self.tile is None:
            return
        if self.tile < 0:
            raise VerifyException(f"ct_id must be non-negative, but got: {self.tile}")
        if not self.is_local:
            raise VerifyException(
                "ct_id is only valid for the ct_local memory space, but got memory "
                f"space '{self.kind.data}' with ct_id = {self.tile}"
            )


def memory_space(kind: str, tile: int | None = None) -> MemorySpaceAttr:
    """The attribute for `global` or `ct_local` (of tile `tile`)."""
    number = NoneAttr() if tile is None else IntAttr(tile)
    return MemorySpaceAttr(StringAttr(Space(kind).value), number)


def _optional_number(parser: AttrParser, keyword: str) -> int | None:
    if parser.parse_optional_punctuation(",") is None:
        return None
    parser.parse_keyword(keyword)
    parser.parse_punctuation("=")
    return int(parser.parse_integer())
