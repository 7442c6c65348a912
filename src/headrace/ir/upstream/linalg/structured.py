"""linalg.generic, reduce, map, broadcast, transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.upstream.linalg import body
from headrace.ir.upstream.linalg import groups as text
from headrace.ir.upstream.patch import element, with_traits

EFFECTS = body.LinalgEffects()
SHAPED = TensorType | MemRefType


class GenericOp(linalg.GenericOp):
    """Also several results: `-> (t, t)`."""

    traits = with_traits(linalg.GenericOp, EFFECTS)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        start = parser.pos
        properties, attributes = syntax.attr_dict(parser, cls)
        maps: Any
        kinds: Any
        maps, kinds = properties.get("indexing_maps"), properties.get("iterator_types")
        if not isinstance(maps, ArrayAttr) or not all(isinstance(m, AffineMapAttr) for m in maps):
            parser.raise_error("linalg.generic needs indexing_maps, an array of affine maps", start)
        if not isinstance(kinds, ArrayAttr):
            parser.raise_error("linalg.generic needs iterator_types, an array of strings", start)
        properties["iterator_types"] = ArrayAttr(_iterator(parser, k, start) for k in kinds)
        inputs, outputs = text.groups(parser)
        if parser.parse_optional_keyword("attrs"):
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        region = parser.parse_region()
        results = syntax.arrow_types(parser) if parser.parse_optional_punctuation("->") else []
        return cls.build(
            operands=[inputs, outputs],
            result_types=[results],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" {indexing_maps = ")
        printer.print_attribute(self.indexing_maps)
        words = ", ".join(f'"{k.data.value}"' for k in self.iterator_types)
        printer.print_string(f", iterator_types = [{words}]")
        for key, value in (("doc", self.doc), ("library_call", self.library_call)):
            if value is not None:
                printer.print_string(f", {key} = ")
                printer.print_attribute(value)
        printer.print_string("}")
        text.print_groups(printer, self.inputs, self.outputs)
        if self.attributes:
            printer.print_string(" attrs =")
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body)
        if self.res:
            syntax.print_arrow_types(printer, self.res.types)


def _iterator(parser: Parser, kind: Any, start: int) -> IteratorTypeAttr:
    if isinstance(kind, IteratorTypeAttr):
        return kind
    words = [k.value for k in IteratorType]
    if not isinstance(kind, StringAttr) or kind.data not in words:
        parser.raise_error(f"unknown iterator type {kind}, known are: {', '.join(words)}", start)
    return IteratorTypeAttr(IteratorType(kind.data))


# -- reduce ------------------------------------------------------------------------------------------------


class _ReduceText:
    """`linalg.reduce (`{` payload `}`)? ins(…) outs(…) dimensions = […] (body)?`, for one or several
    operands.
    """

    def print(self: Any, printer: Printer) -> None:
        n = len(self.inputs)
        # MLIR builds the payload as op(init, in); it matters for ops that do not commute
        payload = text.as_payload(self.region, (1, 0)) if n == 1 else None
        if payload is not None:
            text.print_payload(printer, payload)
        text.print_groups(printer, self.inputs, self.inits)
        printer.print_string(f" dimensions = {list(self.dimensions.get_values())}")
        syntax.print_attr_dict(printer, self, ("dimensions",))
        if payload is None:
            text.print_body(printer, self.region)

    def check(self: Any) -> None:
        dims = self.dimensions.get_values()
        args = [a.type for a in self.region.block.args]
        wanted = [element(v.type) for v in (*self.inputs, *self.inits)]
        if args != wanted:
            raise VerifyException("body arguments must be the element types of ins and outs")
        for source, init in zip(self.inputs, self.inits, strict=True):
            shape = source.type.get_shape()
            if any(not 0 <= d < len(shape) for d in dims) or len(set(dims)) != len(dims):
                raise VerifyException(f"dimensions {list(dims)} do not fit a tensor of rank {len(shape)}")
            left = tuple(s for d, s in enumerate(shape) if d not in dims)
            if left != init.type.get_shape():
                raise VerifyException(
                    f"reducing {list(dims)} of {source.type} leaves {left}, not {init.type}"
                )
        last = self.region.block.last_op
        yields = [v.type for v in last.operands] if last is not None else []
        if yields != [element(v.type) for v in self.inits]:
            raise VerifyException("body must yield one element for each of the outs")


@irdl_op_definition
class MultiReduceOp(_ReduceText, IRDLOperation):
    """`linalg.reduce` over several tensors at once (an argmax carries value and index)."""

    name = "linalg.reduce"
    inputs = var_operand_def(SHAPED)
    inits = var_operand_def(SHAPED)
    dimensions = prop_def(DenseArrayBase.constr(i64))
    region = region_def("single_block")
    res = var_result_def(TensorType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(EFFECTS)

    def verify_(self) -> None:
        if len(self.inputs) < 1:
            raise VerifyException("needs at least one operand")
        self.check()


class ReduceOp(_ReduceText, linalg.ReduceOp):
    """Also the short form `{ arith.addf }`; with several operands the op made is a MultiReduceOp."""

    traits = with_traits(linalg.ReduceOp, EFFECTS)

    @property
    def inputs(self) -> Any:
        return self.operands[:1]

    @property
    def inits(self) -> Any:
        return self.operands[1:]

    @classmethod
    def create(cls, *, operands: Sequence[SSAValue] = (), **fields: Any) -> Any:
        if len(operands) > 2:
            return MultiReduceOp.create(operands=operands, **fields)
        return super().create(operands=operands, **fields)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        payload = text.payload(parser)
        inputs, inits = text.groups(parser)
        dimensions = syntax.dense_list(parser, "dimensions")
        attributes = parser.parse_optional_attr_dict()
        if payload is not None:
            types = [element(v.type) for v in (*inputs, *inits)]
            region = text.payload_region(*payload, types, (1, 0))
        else:
            args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            region = parser.parse_region(args)
        return cls.create(
            operands=[*inputs, *inits],
            result_types=body.result_types(inits),
            properties={"dimensions": dimensions},
            attributes=attributes,
            regions=[region],
        )

    def verify_(self) -> None:
        linalg.ReduceOp.get_irdl_definition().verify(self)
        self.check()


# -- map ---------------------------------------------------------------------------------------------------


@irdl_op_definition
class MapOp(IRDLOperation):
    """One body for every element; its arguments are the elements of ins, optionally followed by the old
    one of outs.
    """

    name = "linalg.map"
    inputs = var_operand_def(SHAPED)
    init = operand_def(SHAPED)
    mapper = region_def("single_block")
    res = var_result_def(TensorType)
    traits = traits_def(EFFECTS)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        payload = text.payload(parser)
        inputs, inits = text.groups(parser)
        start = parser.pos
        if len(inits) != 1:
            parser.raise_error(f"linalg.map has one outs, not {len(inits)}", start)
        attributes = parser.parse_optional_attr_dict()
        if payload is not None:
            types = [element(v.type) for v in inputs]
            region = text.payload_region(*payload, types, range(len(types)))
        else:
            args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            region = parser.parse_region(args)
        return cls.create(
            operands=[*inputs, *inits],
            result_types=body.result_types(inits),
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        count = len(self.inputs)
        has_init = len(self.mapper.block.args) > count
        payload = None if has_init or not count else text.as_payload(self.mapper, range(count))
        if payload is not None:
            text.print_payload(printer, payload)
        text.print_groups(printer, self.inputs, [self.init])
        syntax.print_attr_dict(printer, self)
        if payload is None:
            text.print_body(printer, self.mapper)

    def verify_(self) -> None:
        if any(v.type.get_shape() != self.init.type.get_shape() for v in self.inputs):
            raise VerifyException("ins and outs must have one shape")
        args = [a.type for a in self.mapper.block.args]
        wanted = [element(v.type) for v in self.inputs]
        if args not in (wanted, [*wanted, element(self.init.type)]):
            raise VerifyException("body arguments must be the element types of ins (and of outs)")
        last = self.mapper.block.last_op
        if last is None or [v.type for v in last.operands] != [element(self.init.type)]:
            raise VerifyException("body must yield one element of the type of outs")


# -- broadcast, transpose ----------------------------------------------------------------------------------


def _copy_region(source: SSAValue, init: SSAValue) -> Region:
    block = Block(arg_types=[element(source.type), element(init.type)])
    block.add_op(linalg.YieldOp(block.args[0]))
    return Region(block)


class _ShapeText:
    """`ins(%x : t) outs(%y : t) KEY = […]`."""

    KEY: str

    @classmethod
    def parse(cls: Any, parser: Parser) -> Any:
        start = parser.pos
        inputs, inits = text.groups(parser)
        if len(inputs) != 1 or len(inits) != 1:
            parser.raise_error(f"{cls.name} takes one ins and one outs", start)
        values = syntax.dense_list(parser, cls.KEY)
        return cls.create(
            operands=[*inputs, *inits],
            result_types=body.result_types(inits),
            properties={cls.KEY: values},
            attributes=parser.parse_optional_attr_dict(),
            regions=[_copy_region(inputs[0], inits[0])],
        )

    def print(self: Any, printer: Printer) -> None:
        text.print_groups(printer, self.operands[:1], self.operands[1:])
        values = self.properties[self.KEY].get_values()
        printer.print_string(f" {self.KEY} = {list(values)}")
        syntax.print_attr_dict(printer, self, (self.KEY,))


class BroadcastOp(_ShapeText, linalg.BroadcastOp):
    KEY = "dimensions"
    traits = with_traits(linalg.BroadcastOp, EFFECTS)


class TransposeOp(_ShapeText, linalg.TransposeOp):
    KEY = "permutation"
    traits = with_traits(linalg.TransposeOp, EFFECTS)


OPS: tuple[type[Any], ...] = (GenericOp, ReduceOp, MapOp, BroadcastOp, TransposeOp)
