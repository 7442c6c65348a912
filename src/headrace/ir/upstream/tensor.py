"""tensor: generate, rank, bitcast, gather, parallel_insert_slice; expansion of rank 0."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, TensorType, UnitAttr, i64
from xdsl.dialects.utils.dynamic_index_list import verify_dynamic_index_list
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from headrace.ir import subscripts, syntax
from headrace.ir.syntax import INDEX
from headrace.ir.upstream.patch import CastLike, bit_width, check_same_shape


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements the body computes from their coordinates."""

    name = "tensor.generate"
    dynamicExtents = var_operand_def(IndexType)
    body = region_def("single_block")
    result = result_def(TensorType)
    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(tensor.YieldOp))

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        extents = syntax.index_values(parser, syntax.optional_names(parser))
        region = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            operands=extents, regions=[region], attributes=attributes, result_types=[parser.parse_type()]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.dynamicExtents, " ", " " if self.dynamicExtents else "")
        printer.print_region(self.body)
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.result.type])

    def verify_(self) -> None:
        shape = self.result.type.get_shape()
        if shape.count(DYNAMIC_INDEX) != len(self.dynamicExtents):
            raise VerifyException(
                f"{len(self.dynamicExtents)} extents for {shape.count(DYNAMIC_INDEX)} dynamic dimensions"
            )
        if [a.type for a in self.body.block.args] != [INDEX] * len(shape):
            raise VerifyException(f"body must take {len(shape)} arguments of type index")
        last = self.body.block.last_op
        yields = [v.type for v in last.operands] if isinstance(last, tensor.YieldOp) else []
        if yields != [self.result.type.element_type]:
            raise VerifyException("body must yield one value of the element type")


class ExpandShapeOp(tensor.ExpandShapeOp):
    """Also from rank 0: `tensor.expand_shape %x [] output_shape [1] : tensor<f32> into tensor<1xf32>`, and
    without `output_shape`, as older texts have it, where the result is static.
    """

    @classmethod
    def parse(cls, parser: Any) -> Any:
        source = parser.parse_unresolved_operand()
        groups = parser.parse_attribute()
        shape = None
        if parser.parse_optional_keyword("output_shape"):
            shape = subscripts.index_sizes(parser)
        place = parser.pos
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("into")
        result = parser.parse_type()
        if shape is None:
            extents = result.get_shape() if isinstance(result, TensorType) else ()
            if DYNAMIC_INDEX in extents:
                parser.refuse("a dynamic result needs output_shape [...]", "name every extent", place)
            shape = [], DenseArrayBase.from_list(i64, extents)
        return cls.build(
            operands=[value, syntax.index_values(parser, shape[0])],
            properties={"reassociation": groups, "static_output_shape": shape[1]},
            attributes=attributes,
            result_types=[result],
        )

    def verify_(self) -> None:
        shape = self.result.type.get_shape()
        if self.src.type.get_num_dims() == 0 and not self.reassociation.data:
            if any(n != 1 for n in shape):
                raise VerifyException(
                    f"a tensor of rank 0 expands to dimensions of 1 only, not {self.result.type}"
                )
            return
        super().verify_()


@irdl_op_definition
class RankOp(IRDLOperation):
    name = "tensor.rank"
    tensor = operand_def(TensorType)
    result = result_def(IndexType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, parser.parse_type())
        return cls.create(operands=[value], result_types=[INDEX], attributes=attributes)

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, self.operands, " ")
        syntax.print_attr_dict(printer, self)
        syntax.print_types(printer, [self.operands[0].type])


@irdl_op_definition
class BitcastOp(CastLike, IRDLOperation):
    """The same bits under another element type of the same width."""

    name = "tensor.bitcast"
    source = operand_def(TensorType)
    dest = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_same_shape(self.source.type, self.dest.type)
        widths = [bit_width(t.element_type) for t in (self.source.type, self.dest.type)]
        if None in widths or widths[0] != widths[1]:
            raise VerifyException(f"{self.source.type} and {self.dest.type} must have elements of one width")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Slices of `source` at the coordinates that `indices` holds along `gather_dims`."""

    name = "tensor.gather"
    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    gather_dims = prop_def(DenseArrayBase.constr(i64))
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        source = parser.parse_unresolved_operand()
        (indices,) = syntax.names(parser, parser.Delimiter.SQUARE)
        parser.parse_keyword("gather_dims")
        with parser.in_parens():
            dims = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        properties: dict[str, Any] = {"gather_dims": DenseArrayBase.from_list(i64, dims)}
        if parser.parse_optional_keyword("unique"):
            properties["unique"] = UnitAttr()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        kind = parser.parse_function_type()
        operands = parser.resolve_operands([source, indices], kind.inputs.data, start)
        return cls.create(
            operands=operands, properties=properties, attributes=attributes, result_types=kind.outputs.data
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.source], " ")
        syntax.print_values(printer, [self.indices], "[", "]")
        printer.print_string(f" gather_dims({list(self.gather_dims.get_values())})")
        if self.unique is not None:
            printer.print_string(" unique")
        syntax.print_attr_dict(printer, self, ("gather_dims", "unique"))
        printer.print_string(" : ")
        printer.print_function_type([self.source.type, self.indices.type], [self.result.type])

    def verify_(self) -> None:
        dims, rank = self.gather_dims.get_values(), self.source.type.get_num_dims()
        if list(dims) != sorted(set(dims)) or any(not 0 <= d < rank for d in dims):
            raise VerifyException(
                f"gather_dims must be ascending dimensions of the source, but are {list(dims)}"
            )
        if self.indices.type.get_shape()[-1:] != (len(dims),):
            raise VerifyException(f"the last dimension of the indices must be {len(dims)}")


@irdl_op_definition
class ParallelInsertSliceOp(IRDLOperation):
    """What a point of an scf.forall inserts into a shared out: tensor.insert_slice without a result."""

    name = "tensor.parallel_insert_slice"
    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = tensor.InsertSliceOp.assembly_format
    custom_directives = tensor.InsertSliceOp.custom_directives

    def verify_(self) -> None:
        for what in ("offsets", "sizes", "strides"):
            static = getattr(self, f"static_{what}").get_values()
            verify_dynamic_index_list(static, getattr(self, what), DYNAMIC_INDEX, f" in the {what}")
        around = self.parent_op()
        if around is None or around.name != "scf.forall.in_parallel":
            raise VerifyException("stands in the scf.forall.in_parallel of an scf.forall")


OPS: tuple[type[Any], ...] = (
    GenerateOp,
    ExpandShapeOp,
    RankOp,
    BitcastOp,
    GatherOp,
    ParallelInsertSliceOp,
)
