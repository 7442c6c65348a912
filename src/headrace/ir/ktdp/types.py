"""Types of ktdp: access tiles, run-time arguments, futures of inter-tile communication."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineSetAttr,
    AnyFloat,
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerType,
    NoneAttr,
    ShapedType,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from headrace.ir.syntax import INDEX


@irdl_attr_definition
class AccessTileType(ParametrizedAttribute, TypeAttribute, ShapedType):
    """`!ktdp.access_tile<4x?xindex>`: one tuple of coordinates per position."""

    name = "ktdp.access_tile"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    def __init__(self, shape: Iterable[int], element_type: Attribute = INDEX):
        super().__init__(ArrayAttr(IntAttr(d) for d in shape), element_type)

    def get_num_dims(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(d.data for d in self.shape.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = parser.parse_ranked_shape()
        return (ArrayAttr(IntAttr(d) for d in dims), element)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.shape.data:
                printer.print_dimension_list(self.get_shape())
                printer.print_string("x")
            printer.print_attribute(self.element_type)

    def verify(self) -> None:
        if not isinstance(self.element_type, IndexType):
            raise VerifyException(f"tile element type must be 'index', but got: {self.element_type}")
        if any(d < 0 and d != DYNAMIC_INDEX for d in self.get_shape()):
            raise VerifyException("tile dimension size must be dynamic or >= 0")


class ExtractKind(StrEnum):
    value = "value"
    granularity = "granularity"
    upperbound = "upperbound"


@irdl_attr_definition
class RuntimeArgType(ParametrizedAttribute, TypeAttribute):
    """`!ktdp.runtime_arg<index, granularity=3, upperbound=300>`: a value of the launch and what is known
    of it.
    """

    name = "ktdp.runtime_arg"
    underlying: Attribute
    granularity: IntAttr | NoneAttr
    upperbound: IntAttr | NoneAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        given: dict[str, Attribute] = {}
        with parser.in_angle_brackets():
            underlying = parser.parse_type()
            while parser.parse_optional_punctuation(","):
                key = parser.parse_optional_keyword_in(("granularity", "upperbound"))
                if key is None:
                    parser.raise_error("expected 'granularity' or 'upperbound' keyword")
                if key in given:
                    parser.raise_error(f"duplicate '{key}' keyword")
                parser.parse_punctuation("=")
                given[key] = IntAttr(parser.parse_integer())
        none = NoneAttr()
        return (underlying, given.get("granularity", none), given.get("upperbound", none))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.underlying)
            for key in ("granularity", "upperbound"):
                if isinstance(v := getattr(self, key), IntAttr):
                    printer.print_string(f", {key}={v.data}")

    def verify(self) -> None:
        if not isinstance(self.underlying, IndexType | IntegerType | AnyFloat):
            raise VerifyException(
                "runtime_arg underlying type must be a builtin type (index, integer, or "
                f"float), but got: {self.underlying}"
            )
        for key in ("granularity", "upperbound"):
            v = getattr(self, key)
            if isinstance(v, IntAttr) and v.data <= 0:
                raise VerifyException(f"runtime_arg {key} must be positive, but got: {v.data}")


@irdl_attr_definition
class TileFutureType(ParametrizedAttribute, TypeAttribute):
    """`!ktdp.tile_future<(tensor<…>), groups = affine_set<(g) : …>>`: what a group of tiles has produced."""

    name = "ktdp.tile_future"
    value_types: ArrayAttr[Attribute]
    groups: AffineSetAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            found = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            if found is None:  # one bare type, an older spelling
                found = [parser.parse_type()]
            parser.parse_punctuation(",")
            parser.parse_keyword("groups")
            parser.parse_punctuation("=")
            groups = parser.parse_attribute()
        return (ArrayAttr(found), groups)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            with printer.in_parens():
                printer.print_list(self.value_types, printer.print_attribute)
            printer.print_string(", groups = ")
            printer.print_attribute(self.groups)

    def verify(self) -> None:
        if not self.value_types.data:
            raise VerifyException("tile_future must carry at least one partial type")
        if not all(isinstance(t, TensorType) for t in self.value_types):
            raise VerifyException("tile_future carries ranked tensors only")
        if not isinstance(self.groups, AffineSetAttr):
            raise VerifyException("tile_future `groups` must be an integer set")
        if self.groups.data.num_dims != 1:
            raise VerifyException("tile_future `groups` must have exactly one dimension (g)")
        if self.groups.data.num_symbols:
            raise VerifyException("tile_future `groups` must have no symbols")
