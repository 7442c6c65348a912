"""One nest to KTIR: its reductions and stores in order, everything else on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from headrace.frontend.lower.computed import ONE, computed_tile, is_computed
from headrace.frontend.lower.meeting import joined
from headrace.frontend.lower.program import Statement, Unsupported, statements
from headrace.frontend.lower.quasi import Quasi
from headrace.frontend.lower.reductions import write_reduction
from headrace.frontend.lower.scalars import Typed
from headrace.frontend.lower.scan import Scan
from headrace.frontend.lower.tiles import Tile, box_tile, gather_tile, load_tile, store_tile
from headrace.frontend.lower.values import Body, Combiner, Operand, write_generic


class Nest:
    """A nest being written into a kernel (`kernel` is the KernelText it belongs to).

    Where tiles share a dim of it, `rest` is the same nest over what their parts leave of the dim, which knows
    this one as `main`; both have the same results, which have no part in the dim.
    """

    def __init__(self, kernel: Any, scan: Scan, body: Sequence[Statement], main: Nest | None = None) -> None:
        self.kernel, self.scan, self.body, self.main = kernel, scan, body, main
        self.results: dict[str, Operand] = {} if main is None else main.results
        self._definitions: dict[str, Statement] = {} if main is None else main._definitions
        self._dependences: dict[str, frozenset[str]] = {}
        self._structures: dict[str, int] = {}
        for statement in statements(list(body)):
            for name in statement[0] if isinstance(statement[0], tuple) else (statement[0],):
                if name is not None:
                    self._definitions[name] = statement
        has_rest = kernel.rest is not None and kernel.meeting.dim in scan.dims
        self.rest = Nest(kernel.rest, scan, body, self) if has_rest else None

    def run(self) -> None:
        """Write the nest."""
        for statement in self.body:
            match statement[1]:
                case "reduction":
                    write_reduction(self, statement)
                case "store" | "store_reduction":
                    self._store(statement)

    # what bodies ask for

    def definition(self, name: str) -> Statement:
        """The statement that defines a value."""
        if name not in self._definitions:
            raise Unsupported(f"value {name} is not defined in its nest")
        return self._definitions[name]

    def define(self, name: str, op: str, *operands: Any) -> str:
        """A further value of the nest."""
        self._definitions[name] = (name, op, *operands)
        return name

    def type_of(self, name: Any) -> str:
        """The type a value is computed in."""
        found: str = Body(self, self.scan.dims).value(name)[1]
        return found

    def is_defined(self, name: str) -> bool:
        """Whether the nest defines a value of this name."""
        return name in self._definitions

    def size(self, dim: str) -> int:
        """The extent of a dim in this tile."""
        return 1 if dim == ONE else int(self.kernel.size(dim))

    def base(self, dim: str) -> str | None:
        """The SSA name of the first index of a split dim."""
        found: str | None = self.kernel.part.bases.get(dim)
        return found

    def index(self, value: int) -> str:
        """An index constant."""
        return str(self.kernel.writer.index(value))

    def index_value(self, name: str) -> Quasi:
        """The expression of an index-valued name."""
        if name not in self.scan.values:
            raise Unsupported(f"index expression {self.scan.opaque.get(name, name)}")
        return self.scan.values[name]

    @property
    def kept(self) -> tuple[str, ...]:
        """The dims that are not reduced, in loop order."""
        return tuple(d for d in self.scan.dims if d not in self.scan.reduced)

    @cached_property
    def innermost(self) -> frozenset[str]:
        """The dims along which some buffer's neighbours lie."""
        walks = (access.index for access in self.scan.accesses)
        return frozenset(d for index in walks for d in index.variables if index.coefficient(d) == 1)

    def dependences(self, name: str) -> frozenset[str]:
        """The dims a value depends on."""
        if name not in self._dependences:
            self._dependences[name] = self._dependences_of(name)
        return self._dependences[name]

    def _dependences_of(self, name: str) -> frozenset[str]:
        statement = self.definition(name)
        match statement[1]:
            case "load":
                return self._load_dependences(statement)
            case "index_expr" | "value_expr":
                return self.index_value(name).variables
            case "reduction":
                return frozenset(self.kept)
        found: frozenset[str] = frozenset()
        for operand in _names(statement[2:]):
            if operand in self._definitions:
                found |= self.dependences(operand)
        return found

    def _load_dependences(self, statement: Statement) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for variable in self.scan.access(statement).index.variables:
            if variable in self.scan.extents:
                found |= {variable}
            else:
                found |= self.dependences(self.scan.sources[variable][0])
        return found

    def reduced(self, name: str) -> Operand:
        """The tensor of a reduction's result."""
        return self.results[name]

    def load(self, statement: Statement) -> Operand:
        """The tensor a load reads."""
        access = self.scan.access(statement)
        if self.main is not None and self.kernel.meeting.dim not in access.index.variables:
            return self.main.load(statement)
        access_key = (access.buffer, access.index, tuple(sorted(access.box.items())))
        is_indirect = any(v not in self.kernel.group.extents for v in access.index.variables)
        key = (*access_key, self.kernel.epochs.get(access.buffer, 0), self.scan.number if is_indirect else -1)
        if access.buffer in self.kernel.forwarded:
            return self.kernel.forwarded_value(access)  # type: ignore[no-any-return]
        if key not in self.kernel.loads:
            self.kernel.loads[key] = self._load(access, is_indirect)
        found: Operand = self.kernel.loads[key]
        return found

    def padded(self, masked: Statement) -> Operand | None:
        """The tensor of a masked block that is one load under a box: the box in a tensor of the other value.

        None for another block, and for a value the buffer's type does not hold exactly.
        """
        _, _, _, block, result, other = masked
        if len(block) != 1 or block[0][1] != "load" or block[0][0] != result or not _is_small(other):
            return None
        access = self.scan.access(block[0])
        buffer, extents = access.buffer, self.kernel.group.extents
        if access.left or buffer in self.kernel.forwarded:
            return None
        if set(access.box) - access.index.variables or access.index.variables - extents.keys():
            return None
        if is_computed(access, extents, self.kernel.program.layouts[buffer].span):
            return None
        epoch = self.kernel.epochs.get(buffer, 0)
        key = ("padded", buffer, epoch, access.index, tuple(sorted(access.box.items())), other)
        if key not in self.kernel.loads:
            tile = load_tile(self.kernel, box_tile(self.kernel, access), self.kernel.program.dtypes[buffer])
            self.kernel.loads[key] = self.kernel.widened(tile, access, other)
        found: Operand = self.kernel.loads[key]
        return found

    def _load(self, access: Any, is_indirect: bool) -> Operand:
        dtype = self.kernel.program.dtypes[access.buffer]
        if is_computed(access, self.kernel.group.extents, self.kernel.program.layouts[access.buffer].span):
            return load_tile(self.kernel, computed_tile(self.kernel, self, access), dtype)
        if is_indirect:
            return load_tile(self.kernel, gather_tile(self.kernel, self, access), dtype)
        return self.kernel.widened(load_tile(self.kernel, box_tile(self.kernel, access), dtype), access)  # type: ignore[no-any-return]

    def hoist(self, name: str, dims: tuple[str, ...]) -> Operand:
        """The tensor of a value over fewer dims, shared by equal values of the kernel."""
        if self.main is not None and self.kernel.meeting.dim not in dims:
            return self.main.hoist(name, dims)
        key = (self.structure(name), dims)
        if key not in self.kernel.hoisted:
            body = Body(self, dims, root=name)
            value = body.value(name)
            self.kernel.hoisted[key] = write_generic(self.kernel.writer, body, [value], dims, (), self.size)[
                0
            ]
        found: Operand = self.kernel.hoisted[key]
        return found

    def index_tensor(self, name: str, dims: tuple[str, ...], wrap: int | None) -> Operand:
        """An index value as an i64 tensor over dims (of one element without any), negative ones from
        `wrap`.
        """
        body = Body(self, dims or (ONE,))
        value = body.code.cast(body.value(name), "i64")
        if wrap is not None:
            value = body.wrapped(value, wrap)
        return write_generic(self.kernel.writer, body, [value], body.dims, (), self.size)[0]

    def structure(self, name: Any) -> Any:
        """What a value is computed from, as a number that equal values of different nests share."""
        if not isinstance(name, str) or name not in self._definitions:
            return name
        if name not in self._structures:
            numbers: dict[Any, int] = self.kernel.structures
            self._structures[name] = numbers.setdefault(self._structure_of(name), len(numbers))
        return "value", self._structures[name]

    def _structure_of(self, name: str) -> Any:
        statement = self._definitions[name]
        match statement[1]:
            case "load":
                access = self.scan.access(statement)
                local = None if access.index.variables <= set(self.kernel.group.extents) else self.scan.number
                epoch = self.kernel.epochs.get(access.buffer, 0)
                return "load", access.buffer, access.index, tuple(sorted(access.box.items())), epoch, local
            case "index_expr" | "value_expr":
                return "index", self.scan.values.get(name, (self.scan.number, name)), statement[3]
            case "reduction" | "masked" | "indirect":
                return statement[1], self.scan.number, name
        return statement[1], *(self.structure(operand) for operand in statement[2:])

    # writing

    def generic(
        self,
        value: Any,
        dims: Sequence[str],
        reduced: Sequence[str] = (),
        combiner: Combiner | None = None,
        dtype: str | None = None,
    ) -> Operand:
        """A generic that computes one value over dims (rounded to `dtype`), or folds it over `reduced`."""
        body = Body(self, (*dims, *reduced))
        found: Typed = body.value(value)
        if dtype is not None and combiner is None:
            found = body.code.cast(found, dtype)
        if set(reduced) - {d for operand in body.operands for d in operand.dims}:
            # the extents of a fold follow from its operands: one that only counts positions gets one
            terms = write_generic(self.kernel.writer, body, [found], body.dims, (), self.size)[0]
            body = Body(self, body.dims)
            found = body.code.cast(body.take(terms), found[1])
        return write_generic(self.kernel.writer, body, [found], dims, reduced, self.size, combiner)[0]

    def fold(self, value: Any, reduced: Sequence[str], combiner: Combiner) -> Operand:
        """The fold of a value over all of `reduced`, by all tiles that have a part of them."""
        own = self.generic(value, self.kept, reduced, combiner)
        meeting, writer = self.kernel.meeting, self.kernel.writer
        if meeting is None or meeting.dim not in reduced:
            return own
        total: Operand = meeting.combined(writer, own, combiner)
        if self.rest is None:
            return total
        return joined(writer, total, self.rest.generic(value, self.kept, reduced, combiner), combiner)

    def _store(self, statement: Statement) -> None:
        buffer, value = statement[2], statement[4]
        access = self.scan.access(statement)
        if self.rest is not None and self.kernel.meeting.dim in access.index.variables:
            self.rest._store(statement)
        if statement[1] == "store" and statement[5] is not None:
            raise Unsupported(f"a store of mode {statement[5]}")
        if access.box or access.left:
            raise Unsupported(f"a store to {buffer} under a mask")
        kernel, dtype = self.kernel, self.kernel.program.dtypes[buffer]
        is_indirect = any(v not in kernel.group.extents for v in access.index.variables)
        if not access.index.is_affine and not is_indirect:
            raise Unsupported(f"a store to {buffer} with a quasi-affine index")
        if buffer in kernel.program.temps:
            dims = tuple(d for d in self.kept if access.index.coefficient(d))
            if len(dims) != len(self.kept):
                raise Unsupported(f"a temporary {buffer} that does not have every dim of its nest")
            self._forward(buffer, self._typed(value, dims, dtype), access.index)
            return
        if not access.index.is_affine:
            tile = computed_tile(kernel, self, access)
        else:
            tile = gather_tile(kernel, self, access) if is_indirect else box_tile(kernel, access)
        dims = tuple(d for d in tile.dims if d is not None)
        if set(self.kept) - set(dims):
            raise Unsupported(f"a store to {buffer} that several iterations write")
        operand = self._typed(value, dims, dtype)
        self._store_once(operand, tile, access.index)
        kernel.epochs[buffer] = kernel.epochs.get(buffer, 0) + 1
        self._structures.clear()  # a load after the store reads something else
        if is_indirect:
            kernel.forwarded.pop(buffer, None)
        else:
            self._forward(buffer, operand, access.index)

    def _forward(self, buffer: str, operand: Operand, index: Quasi) -> None:
        """Lets later loads of a buffer read the tensor stored to it."""
        self.kernel.forwarded[buffer] = (operand, index)
        if self.kernel.rest is not None and self.kernel.meeting.dim not in index.variables:
            self.kernel.rest.forwarded[buffer] = (operand, index)

    def _store_once(self, operand: Operand, tile: Tile, index: Quasi) -> None:
        """Stores a tile's own part of a shared dim, and on the first tile of its group what all have."""
        meeting, writer = self.kernel.meeting, self.kernel.writer
        is_own = meeting is None or meeting.dim in index.variables and self.main is None
        if not is_own:
            writer.op(f"scf.if {meeting.is_first} {{")
        store_tile(self.kernel, operand, tile)
        if not is_own:
            writer.op("}")

    def _typed(self, value: Any, dims: tuple[str, ...], dtype: str) -> Operand:
        """The tensor of a value over dims in its stored type; a reduction's own result where it is that
        already.
        """
        known = self.results.get(value) if isinstance(value, str) else None
        if known is not None and known.dims == dims and known.dtype == dtype:
            return known
        return self.generic(value, dims, dtype=dtype)


def _is_small(value: Any) -> bool:
    """Whether every type holds a number exactly."""
    return isinstance(value, bool | int | float) and abs(value) <= 128 and value == int(value)


def _names(operands: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for operand in operands:
        if isinstance(operand, str):
            found.append(operand)
        elif isinstance(operand, list | tuple):
            found += _names(operand)
    return found
