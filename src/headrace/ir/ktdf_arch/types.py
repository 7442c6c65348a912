"""Types and attributes of ktdf_arch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class MemoryType(ParametrizedAttribute, TypeAttribute):
    name = "ktdf_arch.memory"


@irdl_attr_definition
class ExecUnitType(ParametrizedAttribute, TypeAttribute):
    name = "ktdf_arch.exec_unit"


@irdl_attr_definition
class PortType(ParametrizedAttribute, TypeAttribute):
    """One side of a switch."""

    name = "ktdf_arch.port"


SHORT: dict[str, type[Attribute]] = {"memory": MemoryType, "exec_unit": ExecUnitType, "port": PortType}


@irdl_attr_definition
class ArchMapAttr(ParametrizedAttribute):
    """`#ktdf_arch.map<"DDR" = 64, f16 = 2>`: ordered; keys and values are any attributes, types included."""

    name = "ktdf_arch.map"
    keys: ArrayAttr[Attribute]
    values: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        keys: list[Attribute] = []
        values: list[Attribute] = []

        def entry() -> None:
            start = parser.pos
            key = parser.parse_attribute()
            if key in keys:
                parser.raise_error(f"multiple entries for key {key}", start, parser.pos)
            keys.append(key)
            parser.parse_punctuation("=")
            values.append(parser.parse_attribute())

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return (ArrayAttr(keys), ArrayAttr(values))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for i, (k, v) in enumerate(self.items()):
                if i:
                    printer.print_string(", ")
                printer.print_attribute(k)
                printer.print_string(" = ")
                printer.print_attribute(v)

    def items(self) -> Iterator[tuple[Attribute, Attribute]]:
        return zip(self.keys, self.values, strict=True)

    def get(self, key: Attribute) -> Attribute | None:
        """The value of `key`, None when absent."""
        return next((v for k, v in self.items() if k == key), None)

    def verify(self) -> None:
        if len(self.keys) != len(self.values):
            raise VerifyException("a map needs one value for each key")
