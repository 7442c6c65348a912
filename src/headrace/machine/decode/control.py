"""Control of a unit program: loops, branches, regions per unit, maps asked with a unit or an integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.text import location
from headrace.machine.decode import lanes
from headrace.machine.decode.affine import apply_map, expression
from headrace.machine.decode.meanings import Mapping, MemoryHandle, PerInstance, UnitHandle, Words
from headrace.machine.decode.reading import (
    affine_map,
    affine_set,
    body_of,
    fault,
    integer,
    keyword,
    segments,
    text,
)
from headrace.machine.image import Carried, CarriedIndex, Choice, ChoiceIndex, If, Index, Loop, Node, Value
from headrace.machine.index import constant, of

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder


@dataclass(frozen=True)
class _Header:
    """Bounds and carried values of a loop, however it is spelled."""

    lower: Index
    upper: Index
    step: Index
    initial: list[Any]


def loop(decoder: ProgramDecoder, op: Operation) -> Loop:
    """`scf.for`."""
    lower, upper, step = (decoder.index(v) for v in op.operands[:3])
    return _loop(decoder, op, _Header(lower, upper, step, [decoder.meaning(v) for v in op.operands[3:]]))


def affine_loop(decoder: ProgramDecoder, op: Operation) -> Loop:
    """`affine.for`: from the greatest of the lower bounds to the least of the upper ones."""
    low, high, initial = (list(part) for part in segments(op))
    lower = _extreme(decoder, op, "lowerBoundMap", low, "max")
    upper = _extreme(decoder, op, "upperBoundMap", high, "min")
    header = _Header(lower, upper, Index(integer(op, "step")), [decoder.meaning(v) for v in initial])
    return _loop(decoder, op, header)


def _extreme(
    decoder: ProgramDecoder, op: Operation, key: str, operands: list[SSAValue], kind: Literal["max", "min"]
) -> Index:
    map_ = affine_map(op, key)
    if len(operands) != map_.num_dims + map_.num_symbols or not map_.results:
        fault(op, f"{key} takes {map_.num_dims + map_.num_symbols} operands, {len(operands)} are given")
    first, *rest = apply_map(map_, [decoder.index(v) for v in operands])
    for other in rest:
        first = first.apply(kind, other)
    return first


@dataclass(frozen=True)
class _Body:
    """A decoded body of a loop; `loaded` says which carried integers depend on what is loaded."""

    number: int
    nodes: tuple[Node, ...]
    arguments: list[Any]
    yielded: list[Any]
    loaded: list[bool]


def _loop(decoder: ProgramDecoder, op: Operation, header: _Header) -> Loop:
    lower, upper, step, initial = header.lower, header.upper, header.step, header.initial
    if step.low is None or step.low <= 0:
        fault(op, "the step of a loop must be a positive number")
    block = body_of(op.regions[0])
    if block is None or len(block.args) != len(initial) + 1 or len(op.results) != len(initial):
        fault(op, f"the body of a loop takes its variable and the {len(initial)} carried values")
    iv = decoder.builder.symbol("iv", _hint(block.args[0]), lower.low, _last(lower, upper, step))
    decoder.env[block.args[0]] = of(iv)
    body = _body(decoder, op, block, initial)
    results = [_carry(decoder, op, *each) for each in zip(op.results, initial, body.loaded, strict=True)]
    carried, indices = [], []
    for i, a, y, r in zip(initial, body.arguments, body.yielded, results, strict=True):
        if isinstance(a, Value):
            carried.append(Carried(i, a, _alike(op, y, a), r))
        else:
            indices.append(CarriedIndex(_as_index(decoder, op, i), a, _as_index(decoder, op, y), r))
    kind = keyword(op, "loop_type").removesuffix("_loop")
    if kind not in ("", "parallel", "reduction"):
        fault(op, f"unknown loop type {kind}")
    is_data_dependent = any(decoder.is_loaded(i) for i in (lower, upper, step))
    return Loop(
        body.number, iv, lower, upper, step, body.nodes, kind or None, tuple(carried), tuple(indices),  # type: ignore[arg-type]
        is_data_dependent, text(op, "headrace.phase"), location(op),
    )  # fmt: skip


def _body(decoder: ProgramDecoder, op: Operation, block: Block, initial: list[Any]) -> _Body:
    """The body, decoded again as long as a value that an iteration loads is found to steer the next one."""
    loaded = [isinstance(i, Index) and decoder.is_loaded(i) for i in initial]
    while True:
        carries = zip(block.args[1:], initial, loaded, strict=True)
        arguments = [_carry(decoder, op, *each) for each in carries]
        number = decoder.builder.loop()
        nodes = decoder.block(block)
        yielded = [decoder.meaning(v) for v in block.last_op.operands] if block.last_op else []
        if len(yielded) != len(initial):
            fault(op, f"{len(yielded)} values are yielded for {len(initial)} carried ones")
        now = [isinstance(y, Index) and decoder.is_loaded(y) for y in yielded]
        if not any(new and not known for new, known in zip(now, loaded, strict=True)):
            return _Body(number, nodes, arguments, yielded, loaded)
        loaded = [new or known for new, known in zip(now, loaded, strict=True)]


def _carry(decoder: ProgramDecoder, op: Operation, value: SSAValue, initial: Any, is_loaded: bool) -> Any:
    if isinstance(initial, Value):
        return decoder.define(value)
    _as_index(decoder, op, initial)
    symbol = decoder.builder.symbol("carried", "carried")
    if is_loaded:
        decoder.builder.loaded.add(symbol)
    decoder.env[value] = of(symbol)
    return symbol


def _alike(op: Operation, found: Any, wanted: Value) -> Value:
    if not isinstance(found, Value) or (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        fault(op, "a carried vector must keep its type")
    return found


def _as_index(decoder: ProgramDecoder, op: Operation, found: Any) -> Index:
    if isinstance(found, PerInstance) and all(isinstance(i, int | Index) for i in found.items):
        return decoder.per_instance_index([constant(i) for i in found.items])
    if not isinstance(found, Index):
        fault(op, "only integers and vectors can be carried and yielded", "ask a map inside the loop instead")
    return found


def branch(decoder: ProgramDecoder, op: Operation) -> If | list[Node]:
    """`scf.if`; a condition that is known is resolved."""
    return _branch(decoder, op, decoder.index(op.operands[0]))


def affine_branch(decoder: ProgramDecoder, op: Operation) -> If | list[Node]:
    """`affine.if`: its condition is an integer set."""
    set_ = affine_set(op, "condition")
    values = [decoder.index(v) for v in op.operands]
    if len(values) != set_.num_dims + set_.num_symbols:
        fault(op, f"the set takes {set_.num_dims + set_.num_symbols} operands, {len(values)} are given")
    condition = Index(1)
    for constraint in set_.constraints:
        left = expression(constraint.lhs, values[: set_.num_dims], values[set_.num_dims :])
        right = expression(constraint.rhs, values[: set_.num_dims], values[set_.num_dims :])
        word: Any = {">=": "ge", "<=": "le", "==": "eq"}[constraint.kind.value]
        condition = condition * left.apply(word, right)
    return _branch(decoder, op, condition)


def _branch(decoder: ProgramDecoder, op: Operation, condition: Index) -> If | list[Node]:
    blocks = [body_of(r) for r in op.regions]
    if condition.constant is not None:
        block = blocks[0] if condition.constant else (blocks[1] if len(blocks) > 1 else None)
        return _inline(decoder, op, block)
    number = decoder.builder.loop()
    bodies = [decoder.block(b) if b is not None else () for b in blocks] + [()]
    yields = [[decoder.meaning(v) for v in b.last_op.operands] for b in blocks if b is not None and b.last_op]
    if op.results and [len(y) for y in yields] != [len(op.results)] * 2:
        fault(op, f"both branches must yield {len(op.results)} values")
    choices, indices = [], []
    for k, result in enumerate(op.results):
        then, otherwise = yields[0][k], yields[1][k]
        if isinstance(then, Value):
            choices.append(Choice(decoder.define(result), then, _alike(op, otherwise, then)))
        else:
            a, b = _as_index(decoder, op, then), _as_index(decoder, op, otherwise)
            symbol = decoder.builder.symbol("carried", "carried")
            if any(decoder.is_loaded(i) for i in (condition, a, b)):
                decoder.builder.loaded.add(symbol)
            decoder.env[result] = of(symbol)
            indices.append(ChoiceIndex(symbol, a, b))
    return If(
        number,
        condition,
        bodies[0],
        bodies[1],
        tuple(choices),
        tuple(indices),
        decoder.is_loaded(condition),
        location(op),
    )


def _inline(decoder: ProgramDecoder, op: Operation, block: Any) -> list[Node]:
    if block is None:
        return []
    nodes = list(decoder.block(block))
    yielded = block.last_op.operands if block.last_op else ()
    if len(yielded) < len(op.results):
        fault(op, f"{len(yielded)} values are yielded for {len(op.results)} results")
    for result, value in zip(op.results, yielded, strict=False):
        decoder.env[result] = decoder.meaning(value)
    return nodes


def regions(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`uniform.uniformize_regions`: the region of these instances, inlined."""
    chosen = decoder.handles.region_of(op, decoder.env, decoder.builder.instances[0])
    if chosen is None:
        return []
    block = body_of(op.regions[chosen])
    if block.args:
        me = [UnitHandle(n) for n in decoder.builder.instances]
        decoder.env[block.args[0]] = me[0] if len(me) == 1 else PerInstance(tuple(me))
    return _inline(decoder, op, block)


def query(decoder: ProgramDecoder, op: Operation) -> list[Node] | None:
    """`uniform.query_map` and `symbol.query_map`."""
    mapping, key = decoder.meaning(op.operands[0]), decoder.meaning(op.operands[1])
    if not isinstance(mapping, Mapping):
        fault(op, "a map is expected here")
    if isinstance(key, Index) and key.constant is None:
        decoder.env[op.results[0]] = _query_index(decoder, op, mapping, key)
        return None
    keys = key.items if isinstance(key, PerInstance) else (key,)
    keys = tuple(k.constant if isinstance(k, Index) else k for k in keys)
    if not all(isinstance(k, int | UnitHandle | MemoryHandle) for k in keys):
        fault(op, "a map is asked with a unit, a memory or an integer")
    missing = [k for k in keys if k not in mapping.items]
    if missing:
        fault(op, f"the map has no entry for {decoder.handles.describe(missing[0])}")
    items = [mapping.items[k] for k in keys]
    if any(isinstance(i, Value) for i in items) and any(i != items[0] for i in items):
        return lanes.chosen(decoder, op, items)
    decoder.env[op.results[0]] = _merge(items)
    return None


def _query_index(decoder: ProgramDecoder, op: Operation, mapping: Mapping, key: Index) -> Index | Words:
    """A map from integers, asked with an expression: the sum of value x (key == k)."""
    out = Index()
    is_symbolic = any(isinstance(v, Words) for v in mapping.items.values())
    for k, v in mapping.items.items():
        value = v.index if isinstance(v, Words) else v
        if not isinstance(k, int) or not isinstance(value, (int, Index)):
            fault(op, "a map asked with a run-time key must go from integers to integers")
        if is_symbolic != isinstance(v, Words):
            fault(op, "a map mixes symbols and numbers")
        out = out + key.apply("eq", k) * value
    return Words(out) if is_symbolic else out


def local_unit(decoder: ProgramDecoder, op: Operation) -> None:
    """`dataflow.get_local_unit`: a memory inside the unit or its core."""
    found = decoder.meaning(op.operands[0])
    items = found.items if isinstance(found, PerInstance) else (found,)
    decoder.env[op.results[0]] = _merge([decoder.handles.local(op, i, text(op, "name")) for i in items])


def _merge(items: Sequence[Any]) -> Any:
    """One meaning for the values of all instances."""
    if all(i == items[0] for i in items):
        return Index(items[0]) if isinstance(items[0], int) else items[0]
    return PerInstance(tuple(i.constant if isinstance(i, Index) and not i.terms else i for i in items))


def _hint(value: SSAValue) -> str:
    return value.name_hint or ""


def _last(lower: Index, upper: Index, step: Index) -> int | None:
    """The greatest value of a loop variable."""
    a, b, s = lower.constant, upper.constant, step.constant
    if a is not None and b is not None and s is not None and b > a:
        return a + (b - 1 - a) // s * s
    return None if upper.high is None else upper.high - 1
