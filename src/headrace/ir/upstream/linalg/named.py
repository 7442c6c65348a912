"""Named linalg ops: `linalg.NAME {attrs} ins(…) outs(…) -> t`, the ones xDSL has and the ones it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, ArrayAttr, IndexType, IntegerType, ShapedType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.abstract_ops import ElementwiseOperation, NamedOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from headrace.ir import syntax
from headrace.ir.upstream.linalg import body
from headrace.ir.upstream.linalg.groups import groups, print_groups
from headrace.ir.upstream.patch import element, with_traits

EFFECTS = body.LinalgEffects()


class NamedForm:
    """Text of a named op, as mlir-opt reads and writes it."""

    @classmethod
    def parse(cls: Any, parser: Any) -> Any:
        properties: dict[str, Any] = {}
        if parser.parse_optional_keyword("indexing_maps"):
            parser.parse_punctuation("=")
            properties["indexing_maps"] = parser.parse_attribute()
        given, attributes = syntax.attr_dict(parser, cls)
        start = parser.pos
        inputs, outputs = groups(parser)
        for kind in cls.body_arg_types((*inputs, *outputs)):
            if not isinstance(kind, AnyFloat | IntegerType | IndexType):
                hint = "write linalg.generic with the ops of the type's own dialect"
                parser.refuse(f"{cls.name} computes with built-in numbers, not {kind}", hint, start)
        try:
            region = cls.get_hidden_region(inputs, outputs)
        except (TypeError, ValueError, IndexError):
            parser.raise_error(f"{cls.name} does not take {len(inputs)} ins and {len(outputs)} outs", start)
        if parser.parse_optional_keyword("attrs"):  # xDSL's own spelling
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        results = body.result_types(outputs)
        if parser.parse_optional_punctuation("->"):
            results = syntax.arrow_types(parser)
        return cls.build(
            operands=[inputs, outputs],
            result_types=[results],
            properties=given | properties,
            attributes=attributes,
            regions=[region],
        )

    @classmethod
    def body_arg_types(cls, operands: Sequence[SSAValue]) -> list[Attribute]:
        """The element types of the operands."""
        return [element(v.type) for v in operands]

    def print(self: Any, printer: Printer) -> None:
        maps = self.properties.get("indexing_maps")
        if maps is not None and list(maps) != [AffineMapAttr(m) for m in self.standard_maps()]:
            printer.print_string(" indexing_maps = ")
            printer.print_attribute(maps)
        syntax.print_attr_dict(printer, self, ("indexing_maps",))
        print_groups(printer, self.inputs, self.outputs)
        if self.res:
            syntax.print_arrow_types(printer, self.res.types)

    def standard_maps(self: Any) -> Sequence[AffineMap]:
        """The maps that need not be written."""
        return ()


def _stock(op: type[Any]) -> type[Any]:
    """A named op of xDSL with our text and effects."""
    return type(op.__name__, (NamedForm, op), {"traits": with_traits(op, EFFECTS), "__module__": __name__})


_STOCK_NAMES = (
    "AddOp",
    "SubOp",
    "MulOp",
    "MaxOp",
    "MinOp",
    "ExpOp",
    "LogOp",
    "SqrtOp",
    "SelectOp",
    "FillOp",
    "CopyOp",
)
AddOp, SubOp, MulOp, MaxOp, MinOp, ExpOp, LogOp, SqrtOp, SelectOp, FillOp, CopyOp = (
    _stock(getattr(linalg, name)) for name in _STOCK_NAMES
)


def _elementwise(name: str, compute: body.Element) -> type[Any]:
    """A new element-wise op; the last argument of `compute` is the old output element."""

    class Op(NamedForm, ElementwiseOperation):
        traits = traits_def(EFFECTS)

        def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue] = (), res: Any = None):
            results = body.result_types(outputs) if res is None else res
            region = self.get_hidden_region(inputs, outputs)
            super().__init__(ins=inputs, outs=outputs, result_types=[results], hidden_region=region)

        @classmethod
        def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
            return body.region(inputs, outputs, compute)

    Op.name = name
    Op.__name__ = Op.__qualname__ = "".join(p.capitalize() for p in name.split(".")[1].split("_")) + "Op"
    made: type[Any] = irdl_op_definition(Op)
    return made


def _square(x: SSAValue, out: SSAValue) -> SSAValue:
    multiply = arith.MulfOp if isinstance(out.type, AnyFloat) else arith.MuliOp
    wide = body.cast(x, out.type)
    found: SSAValue = multiply(wide, wide).results[0]
    return found


def _reciprocal(x: SSAValue, out: SSAValue) -> SSAValue:
    from xdsl.dialects.builtin import FloatAttr

    one = arith.ConstantOp(FloatAttr(1.0, out.type)).results[0]
    found: SSAValue = arith.DivfOp(one, body.cast(x, out.type)).results[0]
    return found


def _unary(op: type[Any]) -> body.Element:
    return body.either(op, op)


AbsOp = _elementwise("linalg.abs", body.either(math.AbsFOp, math.AbsIOp))
CeilOp = _elementwise("linalg.ceil", _unary(math.CeilOp))
FloorOp = _elementwise("linalg.floor", _unary(math.FloorOp))
NegfOp = _elementwise("linalg.negf", _unary(arith.NegfOp))
RoundOp = _elementwise("linalg.round", _unary(math.RoundOp))
RsqrtOp = _elementwise("linalg.rsqrt", _unary(math.RsqrtOp))
TanhOp = _elementwise("linalg.tanh", _unary(math.TanhOp))
ErfOp = _elementwise("linalg.erf", _unary(math.ErfOp))
SquareOp = _elementwise("linalg.square", _square)
ReciprocalOp = _elementwise("linalg.reciprocal", _reciprocal)
DivOp = _elementwise("linalg.div", body.either(arith.DivfOp, arith.DivSIOp))
DivUnsignedOp = _elementwise("linalg.div_unsigned", body.either(arith.DivfOp, arith.DivUIOp))
PowfOp = _elementwise("linalg.powf", _unary(math.PowFOp))

# -- contractions -------------------------------------------------------------------------------------------


def _maps(loops: str, *operands: str) -> tuple[AffineMap, ...]:
    """Maps written as letters: `_maps("mnk", "mk", "kn", "mn")`."""
    return tuple(AffineMap(len(loops), 0, tuple(AffineDimExpr(loops.index(c)) for c in o)) for o in operands)


def _iterators(loops: str, result: str) -> ArrayAttr[Any]:
    kinds = (IteratorTypeAttr.parallel() if c in result else IteratorTypeAttr.reduction() for c in loops)
    return ArrayAttr(kinds)


class ContractionForm(NamedForm):
    """acc + a * b over the indexing maps, which may be given to transpose or broadcast operands."""

    STANDARD: ClassVar[tuple[AffineMap, ...]]
    ITERATORS: ClassVar[ArrayAttr[Any]]

    @classmethod
    def get_hidden_region(cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        return body.region(inputs, outputs, body.multiply_add)

    def standard_maps(self) -> Sequence[AffineMap]:
        return self.STANDARD

    def get_default_indexing_maps(self: Any) -> Sequence[AffineMap]:
        given = self.properties.get("indexing_maps")
        return self.STANDARD if given is None else tuple(m.data for m in given)

    def get_indexing_maps(self: Any) -> ArrayAttr[AffineMapAttr]:
        return ArrayAttr(AffineMapAttr(m) for m in self.get_default_indexing_maps())

    def get_iterator_types(self) -> ArrayAttr[Any]:
        return self.ITERATORS


def _contraction(name: str, loops: str, a: str, b: str, c: str) -> type[Any]:
    class Op(ContractionForm, NamedOperation):
        STANDARD: ClassVar[tuple[AffineMap, ...]] = _maps(loops, a, b, c)
        ITERATORS: ClassVar[ArrayAttr[Any]] = _iterators(loops, c)
        indexing_maps = opt_prop_def(ArrayAttr[AffineMapAttr])
        traits = traits_def(EFFECTS)

        def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue] = (), res: Any = None):
            results = body.result_types(outputs) if res is None else res
            region = self.get_hidden_region(inputs, outputs)
            super().__init__(ins=inputs, outs=outputs, result_types=[results], hidden_region=region)

        def verify_(self) -> None:
            if len(self.inputs) != 2 or len(self.outputs) != 1:
                raise VerifyException(
                    f"takes 2 ins and 1 outs, but has {len(self.inputs)} and {len(self.outputs)}"
                )
            super().verify_()

    Op.name = name
    Op.__name__ = Op.__qualname__ = "".join(p.capitalize() for p in name.split(".")[1].split("_")) + "Op"
    made: type[Any] = irdl_op_definition(Op)
    return made


BatchMatmulOp = _contraction("linalg.batch_matmul", "bmnk", "bmk", "bkn", "bmn")
BatchMatmulTransposeAOp = _contraction("linalg.batch_matmul_transpose_a", "bmnk", "bkm", "bkn", "bmn")
BatchMatmulTransposeBOp = _contraction("linalg.batch_matmul_transpose_b", "bmnk", "bmk", "bnk", "bmn")
MatmulTransposeAOp = _contraction("linalg.matmul_transpose_a", "mnk", "km", "kn", "mn")
MatmulTransposeBOp = _contraction("linalg.matmul_transpose_b", "mnk", "mk", "nk", "mn")
BatchReduceMatmulOp = _contraction("linalg.batch_reduce_matmul", "bmnk", "bmk", "bkn", "mn")
MatvecOp = _contraction("linalg.matvec", "mk", "mk", "k", "m")
VecmatOp = _contraction("linalg.vecmat", "nk", "k", "kn", "n")
BatchMatvecOp = _contraction("linalg.batch_matvec", "bmk", "bmk", "bk", "bm")
BatchVecmatOp = _contraction("linalg.batch_vecmat", "bnk", "bk", "bkn", "bn")
DotOp = _contraction("linalg.dot", "k", "k", "k", "")


class MatmulOp(ContractionForm, linalg.MatmulOp):
    """`linalg.matmul`, transposed and broadcast forms by `indexing_maps`, mixed types by casts in the
    body.
    """

    STANDARD: ClassVar[tuple[AffineMap, ...]] = _maps("mnk", "mk", "kn", "mn")
    ITERATORS: ClassVar[ArrayAttr[Any]] = _iterators("mnk", "mn")
    traits = with_traits(linalg.MatmulOp, EFFECTS)


def _convolution(op: type[Any]) -> type[Any]:
    """A convolution of xDSL with our text and effects, narrow floats summed in wider ones as well."""

    def get_hidden_region(_: Any, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
        return body.region(inputs, outputs, body.multiply_add)

    members = {
        "traits": with_traits(op, EFFECTS),
        "get_hidden_region": classmethod(get_hidden_region),
        "__module__": __name__,
    }
    return type(op.__name__, (NamedForm, op), members)


_CONVOLUTIONS = (
    *("Conv2DNchwFchwOp", "Conv2DNgchwFgchwOp", "Conv2DNgchwGfchwOp"),
    *("Conv2DNhwc_FhwcOp", "Conv2DNhwc_HwcfOp", "Conv2DNhwgcGfhwcOp"),
)
(
    Conv2DNchwFchwOp, Conv2DNgchwFgchwOp, Conv2DNgchwGfchwOp,
    Conv2DNhwc_FhwcOp, Conv2DNhwc_HwcfOp, Conv2DNhwgcGfhwcOp,
) = (_convolution(getattr(linalg, name)) for name in _CONVOLUTIONS)  # fmt: skip


@irdl_op_definition
class ContractOp(ContractionForm, NamedOperation):
    """`linalg.contract`: acc + a * b over the maps it is given; dims the result lacks are summed over."""

    name = "linalg.contract"
    STANDARD: ClassVar[tuple[AffineMap, ...]] = ()
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    traits = traits_def(EFFECTS)

    def __init__(self, maps: ArrayAttr[Any], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue] = ()):
        region = self.get_hidden_region(inputs, outputs)
        results = body.result_types(outputs)
        super().__init__(ins=inputs, outs=outputs, result_types=[results], hidden_region=region)
        self.properties["indexing_maps"] = maps

    def get_iterator_types(self) -> ArrayAttr[Any]:
        """Parallel where the result has the dim."""
        result = self.get_default_indexing_maps()[-1]
        kept = {e.position for e in result.results if isinstance(e, AffineDimExpr)}
        kinds = (IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction())
        return ArrayAttr(kinds[dim not in kept] for dim in range(result.num_dims))

    def verify_(self) -> None:
        maps = self.get_default_indexing_maps()
        if (len(self.inputs), len(self.outputs), len(maps)) != (2, 1, 3):
            raise VerifyException("takes 2 ins, 1 outs and a map for each")
        for amap, value in zip(maps, self.operands, strict=True):
            if amap.num_symbols or not all(isinstance(e, AffineDimExpr) for e in amap.results):
                raise VerifyException(f"{amap} does more than choose dims")
            rank = value.type.get_num_dims() if isinstance(value.type, ShapedType) else 0
            if len(amap.results) != rank:
                raise VerifyException(f"{amap} has {len(amap.results)} results for an operand of rank {rank}")
        super().verify_()


OPS: tuple[type[Any], ...] = (
    *(AddOp, SubOp, MulOp, MaxOp, MinOp, ExpOp, LogOp, SqrtOp, SelectOp, FillOp, CopyOp),
    *(AbsOp, CeilOp, FloorOp, NegfOp, RoundOp, RsqrtOp, TanhOp, ErfOp, SquareOp, ReciprocalOp),
    *(DivOp, DivUnsignedOp, PowfOp),
    *(MatmulOp, MatmulTransposeAOp, MatmulTransposeBOp, BatchMatmulOp, BatchMatmulTransposeAOp),
    *(BatchMatmulTransposeBOp, BatchReduceMatmulOp, MatvecOp, VecmatOp, BatchMatvecOp, BatchVecmatOp, DotOp),
    *(Conv2DNchwFchwOp, Conv2DNgchwFgchwOp, Conv2DNgchwGfchwOp),
    *(Conv2DNhwc_FhwcOp, Conv2DNhwc_HwcfOp, Conv2DNhwgcGfhwcOp),
    ContractOp,
)

__all__ = [op.__name__ for op in OPS]
