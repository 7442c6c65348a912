"""Parts of normalisations."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import Float16Type, Float32Type
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.spyreop.types import FUSED, DF16Type


class KeywordOp(IRDLOperation, ABC):
    """`%a word %b word %c … : type`, all of one type; `WORDS` introduce the operands after the first."""

    WORDS: ClassVar[tuple[str, ...]] = ()
    OPTIONAL: ClassVar[bool] = False
    ALLOWED: ClassVar[tuple[type, ...]] = (Float16Type, DF16Type, Float32Type)
    inputs = var_operand_def(AnyAttr())
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = [parser.parse_unresolved_operand()]
        for word in cls.WORDS:
            if cls.OPTIONAL and not syntax.at(parser, word):
                break
            parser.parse_keyword(word)
            found.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = [parser.resolve_operand(u, kind) for u in found]
        return cls.create(operands=operands, result_types=cls.results_for(kind), attributes=attributes)

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        return [kind]

    def print(self, printer: Printer) -> None:
        for word, value in zip(("", *self.WORDS), self.inputs, strict=False):
            syntax.print_values(printer, [value], f" {word} " if word else " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.inputs[0].type])

    def verify_(self) -> None:
        if len(self.inputs) != len(self.WORDS) + 1 and not (self.OPTIONAL and len(self.inputs) == 1):
            raise VerifyException(f"takes {len(self.WORDS) + 1} operands, but has {len(self.inputs)}")
        if len({v.type for v in self.inputs}) != 1:
            raise VerifyException("operands must have one type")
        if not isinstance(self.inputs[0].type, self.ALLOWED):
            raise VerifyException(f"is not defined for {self.inputs[0].type}")
        if list(self.result_types) != list(self.results_for(self.inputs[0].type)):
            raise VerifyException(f"does not give {', '.join(map(str, self.result_types))}")


@irdl_op_definition
class LayerNormScaleOp(KeywordOp):
    """The scale of a normalised row, from its mean and mean of squares (or from one fused operand)."""

    name = "spyreop.layernormscale"
    WORDS: ClassVar[tuple[str, ...]] = ("squares",)
    OPTIONAL: ClassVar[bool] = True
    result = result_def(AnyAttr())


@irdl_op_definition
class LayerNormNormOp(KeywordOp):
    """Applies scale, weight and bias to a row."""

    name = "spyreop.layernormnorm"
    WORDS: ClassVar[tuple[str, ...]] = ("squares", "scale", "weight", "bias")
    result = result_def(AnyAttr())


@irdl_op_definition
class Exx2Op(KeywordOp):
    """(mean, mean of squares)."""

    name = "spyreop.exx2"
    mean = result_def(AnyAttr())
    squares = result_def(AnyAttr())

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        return [kind, kind]


class FusedOp(KeywordOp, ABC):
    """As the op of the same name without `_fused`; the result type follows from the operand's."""

    result = result_def(AnyAttr())

    @classmethod
    def results_for(cls, kind: Attribute) -> Sequence[Attribute]:
        fused = FUSED.get(type(kind))
        return [fused() if fused is not None else kind]


@irdl_op_definition
class Exx2FusedOp(FusedOp):
    name = "spyreop.exx2_fused"


@irdl_op_definition
class LayerNormScaleFusedOp(FusedOp):
    name = "spyreop.layernormscale_fused"
    ALLOWED: ClassVar[tuple[type, ...]] = tuple(FUSED.values())
