"""arith: conversions of tensors, flags, `remf`, `index_castui`, select by tensors, rounding modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    ShapedType,
    StringAttr,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.upstream.flags import NO_FASTMATH, FlaggedBinary, hidden, parse_flags, print_flags
from headrace.ir.upstream.patch import CastLike, check_same_shape, element, loosened

Check = Callable[[Attribute, Attribute], bool]


def _is_integer(kind: Attribute) -> bool:
    return isinstance(kind, IntegerType)


def _is_float(kind: Attribute) -> bool:
    return isinstance(kind, AnyFloat)


def _wider(source: Any, result: Any) -> bool:
    return _is_integer(source) and _is_integer(result) and source.width.data < result.width.data


def _narrower(source: Any, result: Any) -> bool:
    return _is_integer(source) and _is_integer(result) and source.width.data > result.width.data


def _int_to_float(source: Attribute, result: Attribute) -> bool:
    return _is_integer(source) and _is_float(result)


def _float_to_int(source: Attribute, result: Attribute) -> bool:
    return _is_float(source) and _is_integer(result)


def _index(source: Attribute, result: Attribute) -> bool:
    one, other = (source, result) if isinstance(source, IndexType) else (result, source)
    return isinstance(one, IndexType) and _is_integer(other)


def _conversion(stock: type[IRDLOperation], allows: Check, *flags: str) -> type[Any]:
    """`stock` for scalars, tensors and vectors whose element types `allows` accepts."""
    definition = loosened(stock, {"input": AnyAttr(), "result": AnyAttr()})

    def verify_(self: Any) -> None:
        definition.verify(self)
        source, result = self.operands[0].type, self.results[0].type
        check_same_shape(source, result)
        if not allows(element(source), element(result)):
            raise VerifyException(f"cannot convert {source} to {result}")

    body = {"verify_": verify_, "__doc__": stock.__doc__, "__module__": __name__, "FLAGS": flags}
    return type(stock.__name__, (CastLike, stock), body)


def _exact(stock: type[IRDLOperation]) -> type[Any]:
    """`stock` with the promise that nothing is left over."""
    body = {"FLAGS": ("exact",), "__doc__": stock.__doc__, "__module__": __name__}
    return type(stock.__name__, (FlaggedBinary, stock), body)


SIToFPOp = _conversion(arith.SIToFPOp, _int_to_float)
UIToFPOp = _conversion(arith.UIToFPOp, _int_to_float, "nneg")
FPToSIOp = _conversion(arith.FPToSIOp, _float_to_int)
FPToUIOp = _conversion(arith.FPToUIOp, _float_to_int)
ExtSIOp = _conversion(arith.ExtSIOp, _wider)
ExtUIOp = _conversion(arith.ExtUIOp, _wider, "nneg")
TruncIOp = _conversion(arith.TruncIOp, _narrower, "overflow")
IndexCastOp = _conversion(arith.IndexCastOp, _index)

ROUNDING = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")


class ExtFOp(CastLike, arith.ExtFOp):
    """Also `arith.extf %x fastmath<contract> : f16 to f32`."""

    FLAGS = ("fastmath",)


class TruncFOp(CastLike, arith.TruncFOp):
    """Also `arith.truncf %x to_nearest_even fastmath<contract> : f32 to f16`."""

    FLAGS = ("fastmath",)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        mode = parser.parse_optional_keyword_in(ROUNDING)
        attributes = parse_flags(parser, cls.FLAGS) | parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.resolve_operand(name, parser.parse_type())
        parser.parse_keyword("to")
        if mode is not None:
            attributes["roundingmode"] = StringAttr(mode)
        return cls.create(operands=[source], result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        mode = self.attributes.get("roundingmode")
        if isinstance(mode, StringAttr):
            printer.print_string(f" {mode.data}")
        print_flags(printer, self.attributes, self.FLAGS)
        syntax.print_attr_dict(printer, self, ("roundingmode", "fastmath"))
        syntax.print_types(printer, [self.input.type])
        syntax.print_types(printer, [self.result.type], " to ")


@irdl_op_definition
class IndexCastUIOp(CastLike, IRDLOperation):
    """Between index and integers, zero-extending."""

    name = "arith.index_castui"
    FLAGS: ClassVar[tuple[str, ...]] = ("nneg",)
    input = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def verify_(self) -> None:
        source, result = self.input.type, self.result.type
        check_same_shape(source, result)
        if not _index(element(source), element(result)):
            raise VerifyException(f"cannot convert {source} to {result}")


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division, with the sign of the dividend."""

    name = "arith.remf"
    traits = traits_def(Pure())


class SelectOp(arith.SelectOp):
    """Also by a tensor or vector of i1: `arith.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        cond, *values = syntax.names(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        cond_type: Attribute = i1
        if parser.parse_optional_punctuation(","):
            cond_type, kind = kind, parser.parse_type()
        operands = [
            parser.resolve_operand(cond, cond_type),
            *(parser.resolve_operand(v, kind) for v in values),
        ]
        return cls.create(operands=operands, result_types=[kind], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        shown = [] if self.cond.type == i1 else [self.cond.type]
        syntax.print_types(printer, [*shown, self.result.type])

    def verify_(self) -> None:
        _SELECT.verify(self)
        kind = self.cond.type
        if element(kind) != i1:
            raise VerifyException(f"condition must be i1 or a tensor of i1, but is {kind}")
        if isinstance(kind, ShapedType):
            check_same_shape(kind, self.result.type)


_SELECT = loosened(arith.SelectOp, {"cond": AnyAttr()})


def _comparison(stock: type[Any], predicates: Sequence[str], *flags: str) -> type[Any]:
    """`stock` whose result has the operands' shape: tensors and vectors give tensors and vectors of i1."""
    definition = loosened(stock, {"result": AnyAttr()})
    default = {"fastmath": NO_FASTMATH} if flags else {}

    words = list(predicates)

    @classmethod  # type: ignore[misc]
    def parse(cls: Any, parser: Any) -> Any:
        start = parser.pos
        word = parser.parse_identifier()
        if word not in words:
            parser.refuse(f"unknown comparison '{word}'", f"comparisons are {', '.join(words)}", start)
        parser.parse_punctuation(",")
        start = parser.pos
        names = syntax.names(parser)
        properties: dict[str, Attribute] = dict(default)
        properties |= parse_flags(parser, flags)
        given, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        return cls.create(
            operands=parser.resolve_operands(names, [kind] * 2, start),
            properties=properties | given | {"predicate": syntax.integer(words.index(word))},
            attributes=attributes,
            result_types=[_truth(kind)],
        )

    def print(self: Any, printer: Printer) -> None:
        number = self.predicate.value.data
        syntax.print_values(printer, self.operands, f" {words[number] if number < len(words) else number}, ")
        print_flags(printer, self.properties, flags)
        syntax.print_attr_dict(printer, self, ("predicate", *hidden(flags)))
        syntax.print_types(printer, [self.lhs.type])

    def verify_(self: Any) -> None:
        definition.verify(self)
        source, result = self.operands[0].type, self.results[0].type
        check_same_shape(source, result)
        if element(result) != i1:
            raise VerifyException(f"the result must be i1 or a tensor of i1, but is {result}")
        if not 0 <= self.predicate.value.data < len(words):
            raise VerifyException(f"predicate must be below {len(words)}, but is {self.predicate.value.data}")

    body = {
        "parse": parse,
        "print": print,
        "verify_": verify_,
        "__doc__": stock.__doc__,
        "__module__": __name__,
    }
    return type(stock.__name__, (stock,), body)


def _truth(kind: Any) -> Any:
    return type(kind)(i1, kind.get_shape()) if isinstance(kind, TensorType | VectorType) else i1


CmpiOp = _comparison(arith.CmpiOp, arith.CMPI_COMPARISON_OPERATIONS)
CmpfOp = _comparison(arith.CmpfOp, arith.CMPF_COMPARISON_OPERATIONS, "fastmath")
DivSIOp, DivUIOp, ShRSIOp, ShRUIOp = (
    _exact(op) for op in (arith.DivSIOp, arith.DivUIOp, arith.ShRSIOp, arith.ShRUIOp)
)

OPS: tuple[type[Any], ...] = (
    CmpiOp,
    CmpfOp,
    SIToFPOp,
    UIToFPOp,
    FPToSIOp,
    FPToUIOp,
    ExtSIOp,
    ExtUIOp,
    TruncIOp,
    IndexCastOp,
    ExtFOp,
    TruncFOp,
    DivSIOp,
    DivUIOp,
    ShRSIOp,
    ShRUIOp,
    IndexCastUIOp,
    RemFOp,
    SelectOp,
)
