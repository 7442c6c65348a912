"""`sparse<[[0, 1], [1, 2]], true> : tensor<3x3xi1>`, which xDSL lacks: the connectivity of switches."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BuiltinAttribute, IntAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class SparseElementsAttr(ParametrizedAttribute, BuiltinAttribute):
    """Constant tensor given by its non-zero points; `values` has one entry per point or one for all."""

    name = "builtin.sparse_elements"
    points: ArrayAttr[ArrayAttr[IntAttr]]
    values: ArrayAttr[IntAttr]
    type: Attribute

    @classmethod
    def parse_after_keyword(cls, parser: Any) -> Any:
        def point() -> ArrayAttr[IntAttr]:
            if parser.parse_optional_punctuation("["):
                row = [parser.parse_integer()]
                while parser.parse_optional_punctuation(","):
                    row.append(parser.parse_integer())
                parser.parse_punctuation("]")
                return ArrayAttr(IntAttr(i) for i in row)
            return ArrayAttr([IntAttr(parser.parse_integer())])

        points: list[Any] = []
        values: list[int] = []
        with parser.in_angle_brackets():
            if parser._current_token.text != ">":
                points = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, point)
                parser.parse_punctuation(",")
                found = parser.parse_optional_comma_separated_list(
                    parser.Delimiter.SQUARE, parser.parse_integer
                )
                values = [parser.parse_integer()] if found is None else found
        parser.parse_punctuation(":")
        return cls.new([ArrayAttr(points), ArrayAttr(IntAttr(v) for v in values), parser.parse_type()])

    def positions(self) -> list[tuple[int, ...]]:
        """The points with a non-zero value."""
        values = [v.data for v in self.values]
        if len(values) == 1:
            values *= len(self.points)
        return [tuple(i.data for i in p) for p, v in zip(self.points, values, strict=True) if v]

    def print_builtin(self, printer: Any) -> None:
        is_bool = str(getattr(self.type, "element_type", "")) == "i1"
        words = [("true" if v.data else "false") if is_bool else str(v.data) for v in self.values]
        rows = ", ".join("[" + ", ".join(str(i.data) for i in p) + "]" for p in self.points)
        inside = ""
        if self.points:
            inside = f"[{rows}], " + (words[0] if len(words) == 1 else "[" + ", ".join(words) + "]")
        printer.print_string(f"sparse<{inside}> : ")
        printer.print_attribute(self.type)

    def verify(self) -> None:
        if not isinstance(self.type, TensorType):
            raise VerifyException("sparse elements need a tensor type")
        shape = self.type.get_shape()
        if len(self.values) not in (1, len(self.points)) and (self.points or self.values):
            raise VerifyException(
                f"sparse elements give {len(self.points)} points and {len(self.values)} values"
            )
        for p in self.points:
            if len(p) != len(shape) or any(not 0 <= i.data < n for i, n in zip(p, shape, strict=False)):
                raise VerifyException(f"sparse point {[i.data for i in p]} lies outside {self.type}")
