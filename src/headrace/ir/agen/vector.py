"""Loads and stores of one vector."""

from __future__ import annotations

import re
from abc import ABC
from typing import Any

from xdsl.dialects.builtin import (
    I32,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.agen import base
from headrace.ir.agen.base import VECTOR
from headrace.ir.syntax import INDEX


@irdl_op_definition
class VectorLoadOp(IRDLOperation):
    """The elements `subscripts + s` for s in `load_set`, in the order of `load_order`."""

    name = "agen.vector_load"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    multicast_info = opt_operand_def(IndexType)
    affine_map = prop_def(AffineMapAttr)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    result = result_def(VECTOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        side = base.Side(parser)
        multicast = base.multicast(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        properties["affine_map"] = side.map
        parser.parse_punctuation(":")
        memref = parser.resolve_operand(side.memref, parser.parse_type())
        parser.parse_punctuation(",")
        return cls.build(
            operands=[memref, side.indices(parser), multicast],
            properties=properties,
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        base.print_side(printer, self.memref, self.affine_map, self.indices)
        base.print_multicast(printer, self.multicast_info)
        syntax.print_attr_dict(printer, self, ("affine_map",))
        syntax.print_types(printer, [self.memref.type, self.result.type])

    def verify_(self) -> None:
        base.check_operands("map", self.affine_map, self.indices)
        base.check_subscripts("load", self.affine_map, self.memref)


@irdl_op_definition
class VectorStoreOp(IRDLOperation):
    """Writes a vector to the elements `subscripts + s` for s in `store_set`, in the order of
    `store_order`.
    """

    name = "agen.vector_store"
    value = operand_def(VECTOR)
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    affine_map = prop_def(AffineMapAttr)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    dbgName = opt_prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        side = base.Side(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        properties["affine_map"] = side.map
        memref, vector = base.resolve(parser, [side.memref, value])
        return cls.create(
            operands=[vector, memref, *side.indices(parser)], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.value], " ", ",")
        base.print_side(printer, self.memref, self.affine_map, self.indices)
        syntax.print_attr_dict(printer, self, ("affine_map",))
        syntax.print_types(printer, [self.memref.type, self.value.type])

    def verify_(self) -> None:
        base.check_operands("map", self.affine_map, self.indices)
        base.check_subscripts("store", self.affine_map, self.memref)


def _symbolic(parser: Parser) -> tuple[list, list]:  # type: ignore[type-arg]
    """`[indices:(%i, …), strides:(%s, …)]`."""
    with parser.in_square_brackets():
        parser.parse_keyword("indices")
        parser.parse_punctuation(":")
        indices = syntax.index_list(parser)
        parser.parse_punctuation(",")
        parser.parse_keyword("strides")
        parser.parse_punctuation(":")
        return indices, syntax.index_list(parser)


def _counts(indices: list, strides: list) -> base.Properties:  # type: ignore[type-arg]
    return {"num_indices": IntegerAttr(len(indices), i32), "num_strides": IntegerAttr(len(strides), i32)}


class _Symbolic(IRDLOperation, ABC):
    """Operands after the memref: indices, strides, multicast handle; the counts are properties, not
    segments.
    """

    num_indices = prop_def(IntegerAttr[I32])
    num_strides = prop_def(IntegerAttr[I32])
    dbgName = opt_prop_def(StringAttr)

    @property
    def indices(self) -> Any:
        return self.numbers[: self.num_indices.value.data]

    @property
    def strides(self) -> Any:
        n = self.num_indices.value.data
        return self.numbers[n : n + self.num_strides.value.data]

    def print_addresses(self, printer: Printer) -> None:
        syntax.print_values(printer, self.indices, "[indices:(")
        syntax.print_values(printer, self.strides, "), strides:(", ")]")

    def check(self, vector: VectorType, extra: int) -> None:
        n, m = self.num_indices.value.data, self.num_strides.value.data
        if n < 1 or n != m or not n + m <= len(self.numbers) <= n + m + extra:
            raise VerifyException(f"needs at least one index and as many strides, but has {n} and {m}")
        if self.memref.type.get_num_dims() != 1:
            raise VerifyException("memref must have rank 1")
        if vector.element_type != self.memref.type.element_type:
            raise VerifyException("memref and vector must have the same element type")


@irdl_op_definition
class SymbolicVectorLoadOp(_Symbolic):
    """As `vector_load`, at the address that is the sum of index times stride."""

    name = "agen.symbolic_vector_load"
    memref = operand_def(MemRefType)
    numbers = var_operand_def(IndexType)
    load_set = prop_def(AffineSetAttr)
    load_order = prop_def(AffineMapAttr)
    result = result_def(VECTOR)
    traits = traits_def(MemoryReadEffect())

    @property
    def multicast_info(self) -> SSAValue | None:
        rest = self.numbers[self.num_indices.value.data + self.num_strides.value.data :]
        return rest[0] if rest else None

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        memref = parser.parse_unresolved_operand()
        indices, strides = _symbolic(parser)
        multicast = []
        if parser.parse_optional_punctuation(","):
            parser.parse_keyword("multicast_info")
            with parser.in_parens():
                multicast = [parser.parse_operand(INDEX)]
        properties, attributes = syntax.attr_dict(parser, cls)
        parser.parse_punctuation(":")
        value = parser.resolve_operand(memref, parser.parse_type())
        parser.parse_punctuation(",")
        return cls.create(
            operands=[value, *indices, *strides, *multicast],
            properties=properties | _counts(indices, strides),
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.memref], " ")
        self.print_addresses(printer)
        if self.multicast_info is not None:
            syntax.print_values(printer, [self.multicast_info], ", multicast_info(", ")")
        syntax.print_attr_dict(printer, self, ("num_indices", "num_strides"))
        syntax.print_types(printer, [self.memref.type, self.result.type])

    def verify_(self) -> None:
        self.check(self.result.type, extra=1)


@irdl_op_definition
class SymbolicVectorStoreOp(_Symbolic):
    """As `vector_store`, at the address that is the sum of index times stride."""

    name = "agen.symbolic_vector_store"
    value = operand_def(VECTOR)
    memref = operand_def(MemRefType)
    numbers = var_operand_def(IndexType)
    store_set = prop_def(AffineSetAttr)
    store_order = prop_def(AffineMapAttr)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memref = parser.parse_unresolved_operand()
        indices, strides = _symbolic(parser)
        properties, attributes = syntax.attr_dict(parser, cls)
        memref_value, vector = base.resolve(parser, [memref, value])
        return cls.create(
            operands=[vector, memref_value, *indices, *strides],
            properties=properties | _counts(indices, strides),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.value, self.memref], " ")
        self.print_addresses(printer)
        syntax.print_attr_dict(printer, self, ("num_indices", "num_strides"))
        syntax.print_types(printer, [self.memref.type, self.value.type])

    def verify_(self) -> None:
        self.check(self.value.type, extra=0)


_MASK = re.compile(r"\(\s*unmasked\s*=\s*(\d+)\s*:\s*i32\s*,\s*masked\s*=\s*(\d+)\s*:\s*i32\s*\)")


@irdl_op_definition
class SetTransferMaskStateOp(IRDLOperation):
    """Masks of the slices of a transfer: per slice `0` none, `1` all, a letter a pattern, `A|B` a union."""

    name = "agen.set_transfer_mask_state"
    mask_value = operand_def(IndexType)
    num_slices = prop_def(IntegerAttr[I32])
    slice_mask_map = prop_def(StringAttr)
    num_unmasked_elements = opt_prop_def(ArrayAttr)
    num_masked_elements = opt_prop_def(ArrayAttr)
    dbgName = opt_prop_def(StringAttr)
    result = result_def(VECTOR)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        parser.parse_keyword("mask_value")
        with parser.in_parens():
            mask = parser.parse_operand(INDEX)
        start = parser.pos
        properties, attributes = syntax.attr_dict(parser, cls)
        found = []
        for key in sorted(k for k in attributes if re.fullmatch(r"mask[A-Z]", k)):
            text = attributes[key]
            counts = _MASK.findall(text.data) if isinstance(text, StringAttr) else []
            if len(counts) != 1:
                parser.raise_error(f"{key} must read (unmasked = N : i32, masked = M : i32)", start)
            found.append((int(counts[0][0]), int(counts[0][1])))
        if found:
            properties["num_unmasked_elements"] = ArrayAttr(IntegerAttr(u, i32) for u, _ in found)
            properties["num_masked_elements"] = ArrayAttr(IntegerAttr(m, i32) for _, m in found)
        parser.parse_punctuation(":")
        parser.parse_type()
        parser.parse_punctuation(",")
        return cls.create(
            operands=[mask], properties=properties, attributes=attributes, result_types=[parser.parse_type()]
        )

    def print(self, printer: Printer) -> None:
        syntax.print_values(printer, [self.mask_value], " mask_value(", ")")
        shown = syntax.merged(self, ("num_unmasked_elements", "num_masked_elements"))
        printer.print_string(" {")
        for i, key in enumerate(
            sorted(shown, key=lambda k: (k.startswith("mask"), k))
        ):  # as the public tools print
            printer.print_string(f"{', ' if i else ''}{key} = ")
            printer.print_attribute(shown[key])
        printer.print_string("}")
        syntax.print_types(printer, [self.mask_value.type, self.result.type])

    def verify_(self) -> None:
        unmasked, masked = self.num_unmasked_elements, self.num_masked_elements
        if (unmasked is None) != (masked is None) or (unmasked and masked and len(unmasked) != len(masked)):
            raise VerifyException("masked and unmasked element counts must be given in pairs")
