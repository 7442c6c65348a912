"""Control of a unit program: loops, branches, regions per unit, maps asked with a unit or an integer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from headrace.ir.text import location
from headrace.machine.decode.meanings import Mapping, PerInstance, UnitHandle
from headrace.machine.decode.reading import body_of, fault, keyword, text
from headrace.machine.image import Carried, CarriedIndex, Choice, ChoiceIndex, If, Index, Loop, Node, Value
from headrace.machine.index import constant, of

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder


def loop(decoder: ProgramDecoder, op: Operation) -> Loop:
    """`scf.for`."""
    lower, upper, step = (decoder.index(v) for v in op.operands[:3])
    if step.low is None or step.low <= 0:
        fault(op, "the step of a loop must be a positive number")
    block = body_of(op.regions[0])
    iv = decoder.builder.symbol("iv", _hint(block.args[0]), lower.low, _last(lower, upper, step))
    decoder.env[block.args[0]] = of(iv)
    initial = [decoder.meaning(v) for v in op.operands[3:]]
    arguments = [_carry(decoder, a, i) for a, i in zip(block.args[1:], initial, strict=True)]
    number = decoder.builder.loop()
    body = decoder.block(block)
    yielded = [decoder.meaning(v) for v in block.last_op.operands]  # type: ignore[union-attr]
    results = [_carry(decoder, r, i) for r, i in zip(op.results, initial, strict=True)]
    carried, indices = [], []
    for i, a, y, r in zip(initial, arguments, yielded, results, strict=True):
        if isinstance(a, Value):
            carried.append(Carried(i, a, y, r))
        else:
            indices.append(CarriedIndex(_as_index(decoder, i), a, _as_index(decoder, y), r))
    kind = keyword(op, "loop_type").removesuffix("_loop")
    if kind not in ("", "parallel", "reduction"):
        fault(op, f"unknown loop type {kind}")
    return Loop(
        number, iv, lower, upper, step, body, kind or None, tuple(carried), tuple(indices),  # type: ignore[arg-type]
        _is_loaded(lower, upper, step), text(op, "headrace.phase"), location(op),
    )  # fmt: skip


def _carry(decoder: ProgramDecoder, value: SSAValue, initial: Any) -> Any:
    if isinstance(initial, Value):
        return decoder.define(value)
    symbol = decoder.builder.symbol("carried", "carried")
    decoder.env[value] = of(symbol)
    return symbol


def _as_index(decoder: ProgramDecoder, found: Any) -> Index:
    if isinstance(found, PerInstance):
        return decoder.per_instance_index([constant(i) for i in found.items])
    assert isinstance(found, Index)
    return found


def branch(decoder: ProgramDecoder, op: Operation) -> If | list[Node]:
    """`scf.if`; a condition that is known is resolved."""
    condition = decoder.index(op.operands[0])
    blocks = [body_of(r) for r in op.regions]
    if condition.constant is not None:
        block = blocks[0] if condition.constant else (blocks[1] if len(blocks) > 1 else None)
        return _inline(decoder, op, block)
    number = decoder.builder.loop()
    bodies = [decoder.block(b) if b is not None else () for b in blocks] + [()]
    yields = [[decoder.meaning(v) for v in b.last_op.operands] for b in blocks if b is not None]
    choices, indices = [], []
    for k, result in enumerate(op.results):
        then, otherwise = yields[0][k], yields[1][k]
        if isinstance(then, Value):
            choices.append(Choice(decoder.define(result), then, otherwise))
        else:
            symbol = decoder.builder.symbol("carried", "carried")
            decoder.env[result] = of(symbol)
            indices.append(ChoiceIndex(symbol, _as_index(decoder, then), _as_index(decoder, otherwise)))
    return If(
        number,
        condition,
        bodies[0],
        bodies[1],
        tuple(choices),
        tuple(indices),
        _is_loaded(condition),
        location(op),
    )


def _inline(decoder: ProgramDecoder, op: Operation, block: Any) -> list[Node]:
    if block is None:
        return []
    nodes = list(decoder.block(block))
    for result, value in zip(op.results, block.last_op.operands, strict=True):
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


def query(decoder: ProgramDecoder, op: Operation) -> None:
    """`uniform.query_map`."""
    mapping, key = decoder.meaning(op.operands[0]), decoder.meaning(op.operands[1])
    if not isinstance(mapping, Mapping):
        fault(op, "a map is expected here")
    if isinstance(key, Index) and key.constant is None:
        decoder.env[op.results[0]] = _query_index(decoder, op, mapping, key)
        return
    keys = key.items if isinstance(key, PerInstance) else (key,)
    keys = tuple(k.constant if isinstance(k, Index) else k for k in keys)
    missing = [k for k in keys if k not in mapping.items]
    if missing:
        fault(op, f"the map has no entry for {decoder.handles.describe(missing[0])}")
    decoder.env[op.results[0]] = _merge([mapping.items[k] for k in keys])


def _query_index(decoder: ProgramDecoder, op: Operation, mapping: Mapping, key: Index) -> Index:
    """A map from integers, asked with an expression: the sum of value x (key == k)."""
    out = Index()
    for k, v in mapping.items.items():
        if not isinstance(k, int) or not isinstance(v, (int, Index)):
            fault(op, "a map asked with a run-time key must go from integers to integers")
        out = out + key.apply("eq", k) * v
    return out


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


def _is_loaded(*indices: Index) -> bool:
    return any(s.role == "loaded" for i in indices for s in i.symbols)
