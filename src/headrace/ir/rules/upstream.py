"""Rules of upstream ops that xDSL does not check: widths of casts, shapes of slices, what branches yield."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.rules.scope import Rule, Scope, error
from headrace.ir.upstream.linalg import named
from headrace.ir.upstream.patch import bit_width, element


def _extf(_: Scope, op: Any) -> Iterator[Diagnostic]:
    source, result = bit_width(op.operands[0].type), bit_width(op.results[0].type)
    if source is not None and result is not None and result <= source:
        yield error(
            op,
            f"cannot widen {op.operands[0].type} to {op.results[0].type}",
            "arith.truncf makes it narrower",
        )


def _truncf(_: Scope, op: Any) -> Iterator[Diagnostic]:
    source, result = bit_width(op.operands[0].type), bit_width(op.results[0].type)
    if source is not None and result is not None and result >= source:
        yield error(
            op, f"cannot narrow {op.operands[0].type} to {op.results[0].type}", "arith.extf makes it wider"
        )
    mode = op.attributes.get("roundingmode")
    if mode is not None and getattr(mode, "data", "") != "to_nearest_even":
        yield error(op, f"no engine rounds {getattr(mode, 'data', mode)}", "leave the rounding mode out")


def _collapse(_: Scope, op: Any) -> Iterator[Diagnostic]:
    shape, result = op.src.type.get_shape(), op.result.type.get_shape()
    groups = [[int(n.value.data) for n in group] for group in op.reassociation]
    if not groups and all(n == 1 for n in shape):
        return
    if [d for group in groups for d in group] != list(range(len(shape))):
        yield error(op, f"the groups {groups} are not the dims of {op.src.type} in order")
        return
    wanted = [_product([shape[d] for d in group]) for group in groups]
    if len(wanted) != len(result) or not _fit(wanted, result):
        yield error(op, f"collapsing {op.src.type} gives {_text(wanted)}, not {op.result.type}")


def _product(extents: Sequence[int]) -> int:
    return DYNAMIC_INDEX if DYNAMIC_INDEX in extents else math.prod(extents)


def _fit(wanted: Sequence[int], given: Sequence[int]) -> bool:
    return all(DYNAMIC_INDEX in (a, b) or a == b for a, b in zip(wanted, given, strict=True))


def _text(extents: Sequence[int]) -> str:
    return "x".join("?" if n == DYNAMIC_INDEX else str(n) for n in extents)


def _extract_slice(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _slice(op, op.source.type, op.result.type)


def _insert_slice(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _slice(op, op.dest.type, op.source.type)
    if op.result.type != op.dest.type:
        yield error(op, f"the result {op.result.type} is not the destination's type {op.dest.type}")


def _parallel_insert_slice(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _slice(op, op.dest.type, op.source.type)


def _slice(op: Any, whole: Any, part: Any) -> Iterator[Diagnostic]:
    """Offsets, sizes and strides name a slice of `whole` of type `part`, which may lack dims of 1."""
    named = (op.static_offsets, op.static_sizes, op.static_strides)
    offsets, sizes, strides = (list(x.get_values()) for x in named)
    rank = whole.get_num_dims()
    for what, given in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
        if len(given) != rank:
            yield error(op, f"{len(given)} {what} for a tensor of rank {rank}", f"give {rank} {what}")
            return
    if whole.element_type != part.element_type:
        yield error(op, f"the slice is of {part.element_type}, the tensor of {whole.element_type}")
    if not _drops_ones(sizes, part.get_shape()):
        yield error(op, f"the sizes are {_text(sizes)}, the type of the slice is {part}")
    for dim, (at, size, stride, extent) in enumerate(
        zip(offsets, sizes, strides, whole.get_shape(), strict=True)
    ):
        last = at + (size - 1) * stride
        if DYNAMIC_INDEX not in (at, size, stride, extent) and size > 0 and not 0 <= at <= last < extent:
            yield error(op, f"elements {at} to {last} of dim {dim} are outside its extent {extent}")


def _drops_ones(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether `shape` is `sizes` without some of its ones."""
    left = list(shape)
    for n in sizes:
        if left and (DYNAMIC_INDEX in (n, left[0]) or n == left[0]):
            left.pop(0)
        elif n != 1:
            return False
    return not left


def _for(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    step = scope.range_of(op, op.operands[2])
    is_unsigned = "unsignedCmp" in op.properties
    if step is not None and step[1] <= 0 and not (is_unsigned and step[0] < 0):
        yield error(op, f"the step is {step[1]}", "a loop counts upwards: use a positive step")


def _if(_: Scope, op: Any) -> Iterator[Diagnostic]:
    wanted = [r.type for r in op.results]
    if wanted and not op.regions[1].blocks:
        yield error(op, "yields values but has no else", "both sides yield")
        return
    for region in op.regions:
        last = region.block.last_op if region.blocks else None
        given = [v.type for v in last.operands] if last is not None and last.name == "scf.yield" else []
        if region.blocks and given != wanted:
            yield error(op, f"a side yields {_types(given)}, the results are {_types(wanted)}")


def _types(types: Sequence[Any]) -> str:
    return ", ".join(str(t) for t in types) or "nothing"


def _empty(_: Scope, op: Any) -> Iterator[Diagnostic]:
    wanted = op.results[0].type.get_shape().count(DYNAMIC_INDEX)
    if wanted != len(op.operands):
        yield error(op, f"{len(op.operands)} sizes for {wanted} dynamic dims of {op.results[0].type}")


def _extract(_: Scope, op: Any) -> Iterator[Diagnostic]:
    source = op.operands[0].type
    if len(op.operands) - 1 != source.get_num_dims():
        yield error(op, f"{len(op.operands) - 1} indices for {source}", "give one index per dim")
    elif op.results[0].type != source.element_type:
        yield error(op, f"an element of {source} is no {op.results[0].type}")


def _insert(_: Scope, op: Any) -> Iterator[Diagnostic]:
    value, dest, *indices = (v.type for v in op.operands)
    if len(indices) != dest.get_num_dims():
        yield error(op, f"{len(indices)} indices for {dest}", "give one index per dim")
    if value != dest.element_type or op.results[0].type != dest:
        yield error(op, f"an element of {dest} is no {value}")


def _from_elements(_: Scope, op: Any) -> Iterator[Diagnostic]:
    result = op.results[0].type
    if len(op.operands) != result.element_count():
        yield error(
            op, f"{len(op.operands)} elements for {result}", "give every element, the last dim fastest"
        )
    elif any(v.type != result.element_type for v in op.operands):
        yield error(op, f"an element of {result} is no {_types([v.type for v in op.operands])}")


def _while(_: Scope, op: Any) -> Iterator[Diagnostic]:
    """init -> (before) -> condition -> (after) -> yield, and the condition's values are the results."""
    before, after = (region.block for region in op.regions)
    carried, passed = [v.type for v in op.operands], [r.type for r in op.results]
    links = (
        ("the first region takes", [a.type for a in before.args], carried),
        ("scf.condition passes", [v.type for v in list(before.last_op.operands)[1:]], passed),
        ("the second region takes", [a.type for a in after.args], passed),
        ("scf.yield gives", [v.type for v in after.last_op.operands], carried),
    )
    for what, given, wanted in links:
        if given != wanted:
            yield error(op, f"{what} {_types(given)} where the loop has {_types(wanted)}")


def _region(_: Scope, op: Any) -> Iterator[Diagnostic]:
    """What the blocks of `scf.execute_region` yield are its results."""
    wanted = [r.type for r in op.results]
    for block in op.regions[0].blocks:
        given = [v.type for v in block.last_op.operands] if block.last_op is not None else []
        if given != wanted and (block.last_op is None or block.last_op.name == "scf.yield"):
            yield error(op, f"yields {_types(given)} where the region has {_types(wanted)}")


def _destination(_: Scope, op: Any) -> Iterator[Diagnostic]:
    """A linalg op on tensors gives its outs, changed."""
    wanted = [v.type for v in op.outputs if isinstance(v.type, TensorType)]
    given = [r.type for r in op.results]
    if given != wanted:
        yield error(
            op,
            f"gives {_types(given)} for outs of {_types(wanted)}",
            "the results have the types of the outs",
        )


def _linalg_index(_: Scope, op: Any) -> Iterator[Diagnostic]:
    nest = op.parent_op()
    loops = len(nest.iterator_types) if nest is not None and nest.name == "linalg.generic" else None
    if loops is not None and not 0 <= op.dim.value.data < loops:
        yield error(op, f"dim {op.dim.value.data} of {loops} loops")


def _fill(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _destination(scope, op)
    for value, target in zip(op.inputs, op.outputs, strict=False):
        if value.type != element(target.type):
            yield error(
                op, f"fills {target.type} with a value of type {value.type}", "convert the value first"
            )


def _generic(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _destination(scope, op)
    yields, wanted = [v.type for v in op.body.block.last_op.operands], [element(v.type) for v in op.outputs]
    if yields != wanted:
        yield error(op, f"the body yields {_types(yields)}, the outs hold {_types(wanted)}")


UPSTREAM: dict[str, Rule] = {
    **{op.name: _destination for op in named.OPS},
    "arith.extf": _extf,
    "arith.truncf": _truncf,
    "linalg.fill": _fill,
    "linalg.generic": _generic,
    "linalg.index": _linalg_index,
    "scf.execute_region": _region,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "tensor.collapse_shape": _collapse,
    "tensor.empty": _empty,
    "tensor.extract": _extract,
    "tensor.extract_slice": _extract_slice,
    "tensor.from_elements": _from_elements,
    "tensor.insert": _insert,
    "tensor.insert_slice": _insert_slice,
    "tensor.parallel_insert_slice": _parallel_insert_slice,
}
