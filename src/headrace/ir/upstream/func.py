"""func: declarations without results print no `-> ()`."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.dialects.utils import print_func_op_like
from xdsl.parser import Parser
from xdsl.printer import Printer

_SPELT = ("sym_name", "function_type", "sym_visibility", "arg_attrs")


class FuncOp(func.FuncOp):
    """`func.func private @f(index) attributes {…}`."""

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        found = super().parse(parser)
        found.__class__ = cls  # xDSL names its own class there; the layout is the same
        return found

    def print(self, printer: Printer) -> None:
        if self.sym_visibility:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            res_attrs=self.res_attrs,
            reserved_attr_names=_SPELT,
            print_empty_outputs=False,
        )


OPS: tuple[type[Any], ...] = (FuncOp,)
