"""Single resources: memories, execution units, switches, datapaths."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, StringAttr, TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, result_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.ktdf_arch.checks import check_intrinsics, check_memory_kind, check_parent
from headrace.ir.ktdf_arch.header import endpoint_type, print_header, read_header, short
from headrace.ir.ktdf_arch.types import ExecUnitType, MemoryType, PortType
from headrace.ir.upstream.sparse import SparseElementsAttr

MOST_PORTS = 1024
ENDPOINT = MemoryType | ExecUnitType | PortType


class _Leaf(IRDLOperation, ABC):
    """A resource that is one value: its header is all its text."""

    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    RESULT: ClassVar[type[Any]]

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = read_header(parser, cls)
        return cls.create(properties=properties, attributes=attributes, result_types=[cls.RESULT()])

    def print(self, printer: Printer) -> None:
        print_header(printer, self)

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)


@irdl_op_definition
class MemoryOp(_Leaf):
    """A memory of `size` bytes; `kind` is the memory space it implements."""

    name = "ktdf_arch.memory"
    size = opt_prop_def(IntegerAttr)
    result = result_def(MemoryType)
    RESULT: ClassVar[type[Any]] = MemoryType

    def verify_(self) -> None:
        super().verify_()
        check_memory_kind(self.kind)
        if self.size is not None and self.size.value.data < 1:
            raise VerifyException(f"size must be at least 1 byte, but is {self.size.value.data}")


@irdl_op_definition
class ExecUnitOp(_Leaf):
    """A unit that runs a program."""

    name = "ktdf_arch.exec_unit"
    result = result_def(ExecUnitType)
    RESULT: ClassVar[type[Any]] = ExecUnitType


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """`n` ports; entry (i, j) of `connectivity`: data entering at port i can leave at j (absent: all)."""

    name = "ktdf_arch.switch"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    connectivity = opt_prop_def(Attribute)
    ports = var_result_def(PortType)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_optional_symbol_name()
        with parser.in_square_brackets():
            start = parser.pos
            count = parser.parse_integer(allow_negative=False)
            if count > MOST_PORTS:
                parser.raise_error(f"a switch has at most {MOST_PORTS} ports, not {count}", start)
        properties, attributes = read_header(parser, cls)
        if name is not None:
            properties["id"] = name
        if count:
            properties.setdefault("connectivity", _complete(count))
        return cls.create(
            properties=properties, attributes=attributes, result_types=[PortType() for _ in range(count)]
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" [{len(self.ports)}]")
        hide = ("connectivity",) if self._is_complete() else ()
        syntax.print_attr_dict(printer, self, hide)

    def _is_complete(self) -> bool:
        c = self.connectivity
        return isinstance(c, DenseIntOrFPElementsAttr) and all(bool(v) for v in c.get_values())

    def connects(self, source: int, target: int) -> bool:
        """True when data entering at port `source` can leave at port `target`."""
        c = self.connectivity
        if c is None:
            return True
        if isinstance(c, SparseElementsAttr):
            return (source, target) in c.positions()
        values = list(c.get_values())
        return bool(values[0] if len(values) == 1 else values[source * len(self.ports) + target])

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        if self.connectivity is None:
            return
        if not isinstance(self.connectivity, DenseIntOrFPElementsAttr | SparseElementsAttr):
            raise VerifyException("connectivity must be a dense or sparse tensor of i1")
        n, kind = len(self.ports), self.connectivity.type
        if not isinstance(kind, TensorType) or kind.get_shape() != (n, n) or kind.element_type != i1:
            raise VerifyException(f"expected connectivity of type tensor<{n}x{n}xi1>, but got {kind}")


def _complete(count: int) -> Attribute:
    """Every port reaches every port."""
    return DenseIntOrFPElementsAttr.from_list(TensorType(i1, (count, count)), [1] * count * count)


@irdl_op_definition
class DatapathOp(IRDLOperation):
    """A link in one direction."""

    name = "ktdf_arch.datapath"
    id = opt_prop_def(StringAttr)
    kind = opt_prop_def(Attribute)
    source = operand_def(ENDPOINT)
    target = operand_def(ENDPOINT)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        properties, attributes = read_header(parser, cls)
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        target = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source, endpoint_type(parser))
        parser.parse_punctuation(",")
        target_value = parser.resolve_operand(target, endpoint_type(parser))
        return cls.create(operands=[source_value, target_value], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_header(printer, self)
        syntax.print_values(printer, [self.source], " ", " to ")
        syntax.print_values(printer, [self.target])
        printer.print_string(f" : {short(self.source.type)}, {short(self.target.type)}")

    def verify_(self) -> None:
        check_parent(self)
        check_intrinsics(self)
        if self.source is self.target:
            raise VerifyException("can't link resource to itself")
