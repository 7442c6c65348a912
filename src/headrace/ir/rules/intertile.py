"""Communication between tiles: futures, groups, producers and consumers, and where it may stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir.affine import AffineSet

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.effects import Effect, effect, is_terminator
from headrace.ir.rules.neutral import not_neutral
from headrace.ir.rules.scope import Rule, Scope, dims_of, error, is_inside, tiles_of, warning
from headrace.ir.sets import box, contains

DELIVERY = ("ktdp.inter_tile_reduce", "ktdp.inter_tile_consume")
COMMUNICATION = ("ktdp.inter_tile_produce", *DELIVERY)


def _produce(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _placed(op)
    uses = len(list(op.future.uses))
    if uses != 1:
        yield error(
            op,
            f"future result must have exactly one use, but has {uses}",
            "deliver it once, with ktdp.inter_tile_reduce or ktdp.inter_tile_consume",
        )
    for use in op.future.uses:
        if use.operation.name not in DELIVERY:
            yield error(use.operation, "takes a future", f"only {' and '.join(DELIVERY)} do")
        elif use.operation.parent is not op.parent:
            hint = "let the two follow each other: a tile that skips one leaves the others waiting"
            yield warning(use.operation, "stands in another block than the ktdp.inter_tile_produce", hint)
    if dims_of(op) > 1:
        yield warning(
            op, "tiles are numbered along the first grid dim first", "--set linearise=last turns that round"
        )
    last = tiles_of(op) - 1
    for group in _groups(op, op.future.type):
        far = [t for t in _members(op.producer_tiles_per_group.data, 2 * last + 2, group) if t > last]
        if far:
            yield warning(op, f"group {group} names tile {far[0]}, the grid has {last + 1} tiles")


def _reduce(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _placed(op)
    partials = [t for future in op.futures for t in future.type.value_types]
    arguments = [a.type for a in op.region.block.args]
    if arguments != [*partials, *partials]:
        yield error(op, "the combiner's arguments must have the types of the partial values, twice")
    for value, wanted in zip(op.region.block.last_op.operands, partials, strict=False):
        if value.type != wanted:
            yield error(op, f"yield_reduced yields {value.type} where the future has {wanted}")
    for result, wanted in zip(op.reduced.types, partials, strict=True):
        if result != wanted:
            yield warning(
                op, f"the result {result} reshapes the partial {wanted}", "reshape it with a tensor op"
            )
    yield from _combiner(op)
    wrong = not_neutral(op)
    if wrong is not None:
        yield warning(
            op,
            f"the identity {wrong[0]:g} changes what '{wrong[1]}' combines it with",
            "give the number that combined with x is x: an implementation may start from it",
        )
    for producers, group in _producers(op, op.futures):
        consumers = set(_members(op.consumer_tiles_per_group.data, tiles_of(op), group))
        name = "consumer_tiles_per_group"
        if not consumers <= producers:
            yield error(op, f"{name} for group {group} is not a subset of producer_tiles_per_group")
        elif len(consumers) > 1 and consumers != producers:
            yield error(
                op, "reduce-to-subset is unsupported; only all-reduce and reduce-to-one are supported"
            )
        else:
            yield from _dependencies(op, group, producers, consumers)


def _combiner(op: Any) -> Iterator[Diagnostic]:
    """The combiner reads and writes no memory, and any order of the partial values gives the same."""
    hint = "do that before ktdp.inter_tile_produce"
    for inner in op.region.walk():
        if not inner.regions and not is_terminator(inner) and effect(inner) is not Effect.NONE:
            yield error(op, f"the combiner must be pure, but has {inner.name}", hint)
            return
    kinds = {inner.name.split(".")[1].rstrip("fi") for inner in op.region.block.ops}
    ordered = sorted(kinds & {"sub", "div", "divs", "divu", "rem", "rems", "remu", "pow"})
    if ordered:
        yield warning(
            op,
            f"the order of the partial values is open, but '{ordered[0]}' depends on it",
            "combine with sums, products, minima and maxima",
        )


def _consume(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _placed(op)
    for producers, group in _producers(op, [op.future]):
        consumers = set(_members(op.consumer_tiles_per_group.data, tiles_of(op), group))
        if op.producer_dependency_per_consumer is None:
            if len(producers) > 1:
                yield error(
                    op,
                    f"group {group} has {len(producers)} producers, so producer_dependency_per_consumer is "
                    "required to name each consumer tile's single source",
                )
            continue
        for tile in sorted(consumers):
            sources = _sources(op, tile, group)
            if len(sources) != 1:
                yield error(
                    op,
                    f"tile {tile} depends on {len(sources)} producers; inter_tile_consume delivers one "
                    "contribution per consumer tile, so exactly one is required",
                )
                break
        else:
            yield from _dependencies(op, group, producers, consumers)


def _dependencies(op: Any, group: int, producers: set[int], consumers: set[int]) -> Iterator[Diagnostic]:
    """Every tile depended on produces, and every producer is depended on."""
    if op.producer_dependency_per_consumer is None or not consumers:
        return
    name, covered = "producer_dependency_per_consumer", set[int]()
    for tile in sorted(consumers):
        sources = _sources(op, tile, group)
        covered |= sources
        if not sources <= producers:
            other = min(sources - producers)
            yield error(
                op, f"{name} of tile {tile} names tile {other}, which does not produce for group {group}"
            )
            return
    if covered != producers:
        missing = min(producers - covered)
        yield error(op, f"{name} does not cover producer tile {missing} (no consumer has it as a dependency)")


def _sources(op: Any, tile: int, group: int) -> set[int]:
    return set(_members(op.producer_dependency_per_consumer.data, tiles_of(op), tile, group))


def _placed(op: Any) -> Iterator[Diagnostic]:
    around = is_inside(op, ("linalg.", "tensor.", *COMMUNICATION))
    if around:
        yield error(
            op, f"communication inside {around}", "a tile waits in scf.for and scf.if only: move it out"
        )


def _producers(op: Any, futures: Any) -> Iterator[tuple[set[int], int]]:
    """The producing tiles of every group, where the futures come straight from a produce op."""
    for future in futures:
        if future.owner.__class__.__name__ != "Block" and future.owner.name == COMMUNICATION[0]:
            for group in _groups(op, future.type):
                members = _members(future.owner.producer_tiles_per_group.data, tiles_of(op), group)
                yield set(members), group


def _groups(op: Any, future: Any) -> list[int]:
    """The groups of a future; a set without an end has none that are looked at."""
    bounds = box(future.groups.data)
    if bounds is not None and bounds[0][1] is None:
        return []
    return _members(future.groups.data, max(tiles_of(op), (bounds[0][1] or 0) + 1 if bounds else 0))


def _members(tiles: AffineSet, count: int, *symbols: int) -> list[int]:
    """Which of `count` tiles are in a set `(tile)[symbols]`."""
    values = symbols[: tiles.num_symbols]
    bounds = box(tiles, values)
    if bounds is not None:
        low, high = bounds[0]
        return list(range(max(low or 0, 0), count if high is None else min(high + 1, count)))
    return [t for t in range(count) if contains(tiles, (t,), values)]


INTERTILE: dict[str, Rule] = {
    "ktdp.inter_tile_produce": _produce,
    "ktdp.inter_tile_reduce": _reduce,
    "ktdp.inter_tile_consume": _consume,
}
