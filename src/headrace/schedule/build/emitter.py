"""Where KTDF ops are made: an insertion point, constants of the function, loops, corelets, pipelines and
transfers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from headrace.ir import ktdf
from headrace.schedule.build import mlir
from headrace.schedule.build.indices import Index, of, subscripts

INDEX = builtin.IndexType()
TOKEN = ktdf.TokenType()
_MARKS = ("parallel_loop", "reduction_loop")
_LOOP_TYPES = {mark: {"loop_type": ktdf.LoopTypeAttr(ktdf.LoopKind(mark))} for mark in _MARKS}


@dataclass(frozen=True)
class Slot:
    """A typed window on the channel from one unit kind to another, of the same core or of another one: `ring`
    lists for every corelet the pairs (core that sends, core that receives).
    """

    source: str
    target: str
    count: int
    dtype: str
    ring: tuple[tuple[tuple[int, int], ...], ...] = ()


@dataclass(frozen=True)
class Box:
    """A box of a memref: corner, extents, and (for readers) the order in which its dims are walked."""

    memory: SSAValue
    corner: tuple[Index, ...]
    sizes: tuple[int, ...]
    order: tuple[int, ...] | None = None


@dataclass
class Reduction:
    """An open reduction loop: its variable, the accumulators inside, what they become, what they are after
    it.
    """

    number: Index
    carried: list[SSAValue]
    yielded: list[SSAValue]
    results: list[SSAValue]


class Emitter:
    """Appends ops at an insertion point of one function."""

    def __init__(self) -> None:
        self.head_constants, self.head, self.body = Block(), Block(), Block()
        self.block = self.body
        self._constants: dict[int, SSAValue] = {}

    def finish(self, entry: Block) -> None:
        """Move everything into the entry block of the function: constants, head, body."""
        for block in (self.head_constants, self.head, self.body):
            for op in list(block.ops):
                op.detach()
                entry.add_op(op)

    def at_head(self) -> AbstractContextManager[None]:
        """Append to the head of the function for a while: views, buffers and numbers per core stand there."""
        return self.inside(self.head)

    def add(self, op: Operation, name: str = "") -> Any:
        """Append an op; return its only result, or the op if it has none or several."""
        self.block.add_op(op)
        if len(op.results) == 1:
            if name:
                op.results[0].name_hint = name
            return op.results[0]
        return op

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def constant(self, value: int) -> SSAValue:
        """Return an index constant at the head of the function."""
        if value not in self._constants:
            op = mlir.make("arith.constant", (), (INDEX,), {"value": builtin.IntegerAttr(value, INDEX)})
            (made,) = op.results
            made.name_hint = f"c{value}" if value >= 0 else f"m{-value}"
            self.head_constants.add_op(op)
            self._constants[value] = made
        return self._constants[value]

    def value(self, index: Index, name: str = "") -> SSAValue:
        """Return an index as one SSA value, by affine.apply if it is more than one."""
        if not index.terms:
            return self.constant(index.const)
        if index.const == 0 and len(index.terms) == 1 and index.terms[0][1] == 1:
            return index.terms[0][0]
        operands, amap = subscripts([index])
        return self._apply(operands, amap, name)

    def _apply(self, operands: list[SSAValue], amap: Any, name: str) -> SSAValue:
        return self.add(mlir.make("affine.apply", operands, (INDEX,), {"map": amap}), name)

    def quotient(self, index: Index, divisor: int, name: str = "") -> Index:
        """Return index floordiv divisor."""
        return self._divided(index, AffineDimExpr(0) // divisor, lambda v: v // divisor, divisor == 1, name)

    def remainder(self, index: Index, divisor: int, name: str = "") -> Index:
        """Return index mod divisor."""
        if divisor == 1:
            return Index(0)
        return self._divided(index, AffineDimExpr(0) % divisor, lambda v: v % divisor, False, name)

    def _divided(self, index: Index, expr: AffineExpr, fold: Any, is_same: bool, name: str) -> Index:
        if is_same:
            return index
        if not index.terms:
            return Index(fold(index.const))
        return of(self._apply([self.value(index)], mlir.affine_map(1, expr), name))

    @contextmanager
    def loop(self, count: int | Index, name: str, mark: str = "", start: int = 0) -> Iterator[Index]:
        """Open `for name = start to count`; mark "parallel_loop" makes it a point loop."""
        upper = self.constant(count) if isinstance(count, int) else self.value(count)
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = name
        bounds = (self.constant(start), upper, self.constant(1))
        op = mlir.make("scf.for", bounds, body=block, attributes=_LOOP_TYPES.get(mark))
        with self.inside(block):
            yield of(block.args[0])
            block.add_op(mlir.make("scf.yield"))
        self.block.add_op(op)

    @contextmanager
    def reduction_loop(self, count: int | Index, inits: Sequence[SSAValue]) -> Iterator[Reduction]:
        """Open a marked reduction loop; the caller puts what it carries on into `yielded`."""
        upper = self.constant(count) if isinstance(count, int) else self.value(count)
        block = Block(arg_types=[INDEX, *(v.type for v in inits)])
        block.args[0].name_hint = "r"
        made = Reduction(of(block.args[0]), list(block.args[1:]), [], [])
        with self.inside(block):
            yield made
            block.add_op(mlir.make("scf.yield", made.yielded))
        operands = (self.constant(0), upper, self.constant(1), *inits)
        kinds = [v.type for v in inits]
        op = mlir.make("scf.for", operands, kinds, body=block, attributes=_LOOP_TYPES["reduction_loop"])
        self.block.add_op(op)
        made.results += list(op.results)

    @contextmanager
    def corelets(self, count: int) -> Iterator[Index]:
        """Open a parallel over the corelets of the core; yields the corelet number."""
        if count == 1:
            yield Index(0)
            return
        block = Block(arg_types=[INDEX, INDEX])
        block.args[0].name_hint, block.args[1].name_hint = "i", "cl"
        with self.inside(block):
            yield of(block.args[1])
            block.add_op(mlir.make("ktdf.parallel_yield"))
        bounds = [self.constant(v) for v in (0, count, 1)]
        number = builtin.IntegerAttr(count, builtin.i64)
        self.block.add_op(mlir.make("ktdf.parallel", bounds, (), {"num_instances": number}, body=block))

    @contextmanager
    def pipeline(self, slots: Sequence[Slot] = (), copies: int = 1) -> Iterator[Pipeline]:
        """Open a pipeline whose private part allocates one FIFO slot for each entry of `slots`."""
        block = Block()
        with self.inside(block):
            pipeline = Pipeline(self, block, tuple(dict.fromkeys(slots)))
            yield pipeline
            pipeline.close()
        properties = {"modulo": builtin.IntegerAttr(copies, builtin.i64)} if copies > 1 else {}
        self.block.add_op(mlir.make("ktdf.pipeline", (), (), properties, body=block))

    def alloc(self, shape: Sequence[int], dtype: str, name: str) -> SSAValue:
        """Return a new scratchpad buffer."""
        op = mlir.make("memref.alloc", (), (mlir.buffer(tuple(shape), dtype),), segments=(0, 0))
        return self.add(op, name)

    def transfer(
        self, source: Box | tuple[SSAValue, int], target: Box | tuple[SSAValue, int], **attributes: Any
    ) -> None:
        """Append a data_transfer between boxes and slots (a slot with its element count)."""
        operands: list[SSAValue] = []
        segments: tuple[int, ...] = ()
        properties: dict[str, Any] = {}
        for side, end in (("source", source), ("dest", target)):
            if isinstance(end, Box):
                indices, amap = subscripts(end.corner)
                operands += [end.memory, *indices]
                segments += (1, len(indices), 0)
                properties[f"{side}_map"] = amap
                properties[f"static_{side}_sizes"] = mlir.dense(end.sizes)
                if end.order is not None and end.order != tuple(range(len(end.order))):
                    attributes["headrace.order"] = permutation(end.order)
            else:
                operands.append(end[0])
                segments += (1, 0, 0)
                properties[f"static_{side}_sizes"] = mlir.dense([end[1]])
        made = mlir.make(
            "ktdf.data_transfer", operands, (), properties, segments=segments, attributes=attributes
        )
        self.block.add_op(made)

    def subview(self, box: Box) -> SSAValue:
        """Return a box of a memref as a memref; the memref itself if the box is all of it."""
        shape = box.memory.type.get_shape()  # type: ignore[attr-defined]
        if all(not i.terms and i.const == 0 for i in box.corner) and tuple(shape) == tuple(box.sizes):
            return box.memory
        offsets = [DYNAMIC_INDEX if i.terms else i.const for i in box.corner]
        properties = {
            "static_offsets": mlir.dense(offsets),
            "static_sizes": mlir.dense(box.sizes),
            "static_strides": mlir.dense([1] * len(box.sizes)),
        }
        dynamic = [self.value(i) for i in box.corner if i.terms]
        kind = mlir.subview(box.memory.type, tuple(box.sizes))
        segments = (1, len(dynamic), 0, 0)
        op = mlir.make("memref.subview", [box.memory, *dynamic], [kind], properties, segments=segments)
        return self.add(op)

    def indirect(self, template: str, index: SSAValue, table: SSAValue, tile: SSAValue) -> None:
        """Append a gather (table to tile) or a scatter (tile to table) along the first dim of the table."""
        first, last = (table, tile) if template.endswith("gather") else (tile, table)
        op = mlir.make(
            "ktdf.opaque",
            [index, first, last],
            properties={"template_name": builtin.StringAttr(template)},
            segments=(2, 1),
            attributes={"headrace.dim": builtin.IntegerAttr(0, builtin.i64)},
        )
        self.block.add_op(op)


class Pipeline:
    """An open pipeline: stages in text order, each depending on the one before through a token."""

    def __init__(self, emitter: Emitter, block: Block, slots: tuple[Slot, ...]) -> None:
        self.emitter, self.block, self.slots = emitter, block, slots
        self.stages: list[tuple[str, Block]] = []
        slot_types = [mlir.slot(s.source, s.target, s.count, s.dtype) for s in slots]
        self.private = Block()
        self._values: dict[Slot, SSAValue] = {}
        self._slot_types = slot_types
        self._holder = Block(arg_types=slot_types)
        for slot, arg in zip(slots, self._holder.args, strict=True):
            self._values[slot] = arg

    def slot(self, slot: Slot) -> SSAValue:
        """Return the slot value inside the pipeline."""
        return self._values[slot]

    @contextmanager
    def stage(self, unit: str) -> Iterator[None]:
        """Open the stage of a unit kind."""
        block = Block()
        with self.emitter.inside(block):
            yield
        self.stages.append((unit, block))

    def close(self) -> None:
        """Emit the private part and the stages."""
        tokens = len(self.stages) - 1
        emit = self.emitter
        results: list[SSAValue] = []
        if self.slots or tokens > 0:
            results = self._private(tokens)
        for slot, made in zip(self.slots, results, strict=False):
            self._values[slot].replace_all_uses_with(made)
            made.name_hint = f"{slot.source}_{slot.target}".lower()
        found = results[len(self.slots) :]
        for k, (unit, block) in enumerate(self.stages):
            before, after = found[k - 1 : k] if k else [], found[k : k + 1]
            units = builtin.ArrayAttr([builtin.StringAttr(unit)])
            made = mlir.make(
                "ktdf.stage",
                [*before, *after],
                properties={"applicable_units": units},
                segments=(len(before), len(after)),
                body=block,
            )
            emit.block.add_op(made)

    def _private(self, tokens: int) -> list[SSAValue]:
        emit = self.emitter
        with emit.inside(self.private):
            made: list[SSAValue] = [
                emit.add(mlir.make("ktdf.fifo.allocate", (), (t,), attributes=_ring(s.ring)))
                for s, t in zip(self.slots, self._slot_types, strict=True)
            ]
            made += [emit.add(mlir.make("ktdf.create_token", (), (TOKEN,))) for _ in range(tokens)]
            self.private.add_op(mlir.make("ktdf.private_yield", made))
        op = mlir.make("ktdf.private", (), [v.type for v in made], body=self.private)
        self.block.add_op(op)
        return list(op.results)


def _ring(corelets: Sequence[Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """The attribute that says which cores a slot joins, corelet by corelet, if it leads to other cores."""
    if not corelets:
        return {}
    listed = [core for pairs in corelets for pair in pairs for core in pair]
    return {"headrace.ring_pairs": mlir.dense(listed)}


def permutation(order: Sequence[int]) -> Any:
    """Return the map that lists a box's dims from the slowest to the fastest walked."""
    return mlir.affine_map(len(order), *map(AffineDimExpr, order))


def identity_map(rank: int = 1) -> Any:
    """Return the identity map."""
    return permutation(range(rank))


def splat_map(results: int) -> Any:
    """Return (d0) -> (0, ...) with that many results."""
    return mlir.affine_map(1, *[AffineConstantExpr(0)] * results)
