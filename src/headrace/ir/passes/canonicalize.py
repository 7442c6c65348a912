"""One form for what says the same: constants folded, identities gone, known control inlined."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, OpResult
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from headrace.ir.affine import canonical
from headrace.ir.passes.control import simplify
from headrace.ir.passes.dce import dce
from headrace.ir.passes.fold import constant, fold
from headrace.ir.passes.identities import same_as

_COMMUTATIVE = frozenset(
    [
        *(f"arith.{n}" for n in "addi muli andi ori xori maxsi minsi maxui minui".split()),
        *(f"arith.{n}" for n in "addf mulf".split()),
    ]
)


def canonicalize(module: Operation, max_iterations: int = 10) -> int:
    """Rewrites until nothing changes, at most `max_iterations` times; returns the number of rewrites."""
    total = 0
    for _ in range(max_iterations):
        changed = fold(module) + _rewrites(module) + dce(module)
        total += changed
        if not changed:
            break
    return total


def _rewrites(module: Operation) -> int:
    """One round over all ops; ops that a rewrite took away are passed over."""
    changed = 0
    for op in list(module.walk()):
        if op is module or op.parent is None or not _is_within(op, module):
            continue
        changed += _identity(op) or _to_the_right(op) or _subscripts(op) or _composed(op) or simplify(op)
    return changed


def _is_within(op: Operation, module: Operation) -> bool:
    at: Operation | None = op
    while at is not None and at is not module:
        at = at.parent_op()
    return at is module


def _identity(op: Operation) -> bool:
    value = same_as(op)
    if value is None:
        return False
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()
    return True


def _to_the_right(op: Operation) -> bool:
    """Constants are the right operand of a commutative op."""
    if (
        op.name not in _COMMUTATIVE
        or constant(op.operands[0]) is None
        or constant(op.operands[1]) is not None
    ):
        return False
    op.operands = [op.operands[1], op.operands[0]]
    return True


def _subscripts(op: Operation) -> bool:
    """Constants among the subscripts of an access tile move into its map."""
    if op.name != "ktdp.construct_access_tile":
        return False
    amap: AffineMap = op.properties["base_map"].data  # type: ignore[attr-defined]
    indices = list(op.indices)  # type: ignore[attr-defined]
    known = [constant(v) for v in indices]
    if all(n is None for n in known):
        return False
    kept = [v for v, n in zip(indices, known, strict=True) if n is None]
    fresh = _map(amap, known)
    symbols = list(op.symbol_operands)  # type: ignore[attr-defined]
    op.properties["base_map"] = AffineMapAttr(fresh)
    segments = op.properties["operandSegmentSizes"]
    op.properties["operandSegmentSizes"] = type(segments).from_list(  # type: ignore[attr-defined]
        segments.elt_type,
        [1, len(kept), len(symbols)],  # type: ignore[attr-defined]
    )
    op.operands = [op.operands[0], *kept, *symbols]
    return True


def _map(amap: AffineMap, known: list[float | None]) -> AffineMap:
    """The map with constants for the operands that are known and the others renumbered."""
    dims: list[AffineExpr] = []
    symbols: list[AffineExpr] = []
    count = [0, 0]
    for position, number in enumerate(known):
        is_dim = position < amap.num_dims
        target = dims if is_dim else symbols
        if number is not None:
            target.append(AffineConstantExpr(int(number)))
        else:
            at = count[0 if is_dim else 1]
            target.append(AffineDimExpr(at) if is_dim else AffineSymExpr(at))
            count[0 if is_dim else 1] += 1
    results = tuple(canonical(e.replace_dims_and_symbols(dims, symbols)) for e in amap.results)
    return AffineMap(count[0], count[1], results)


def _composed(op: Operation) -> bool:
    """affine.apply of constants among others: they move into the map; of an affine.apply: one map."""
    if op.name != "affine.apply":
        return False
    amap: AffineMap = op.properties["map"].data  # type: ignore[attr-defined]
    known = [constant(v) for v in op.operands]
    if any(n is not None for n in known):
        op.properties["map"] = AffineMapAttr(_map(amap, known))
        op.operands = [v for v, n in zip(op.operands, known, strict=True) if n is None]
        return True
    for k in range(amap.num_dims):
        inner = op.operands[k]
        if isinstance(inner, OpResult) and inner.op.name == "affine.apply":
            return _compose(op, amap, k, inner.op)
    return False


def _compose(op: Operation, amap: AffineMap, k: int, inner: Operation) -> bool:
    """Puts the map of an inner affine.apply in place of dim k; inner symbols are left alone."""
    other: AffineMap = inner.properties["map"].data  # type: ignore[attr-defined]
    if other.num_symbols:
        return False
    before, after = list(op.operands[:k]), list(op.operands[k + 1 :])
    shifted = [AffineDimExpr(k + d) for d in range(other.num_dims)]
    middle = other.results[0].replace_dims_and_symbols(shifted, [])
    rest = [AffineDimExpr(d + other.num_dims - 1) for d in range(k + 1, amap.num_dims)]
    dims = [*(AffineDimExpr(d) for d in range(k)), middle, *rest]
    symbols = [AffineSymExpr(s) for s in range(amap.num_symbols)]
    results = tuple(canonical(e.replace_dims_and_symbols(dims, symbols)) for e in amap.results)
    op.properties["map"] = AffineMapAttr(
        AffineMap(amap.num_dims - 1 + other.num_dims, amap.num_symbols, results)
    )
    op.operands = [*before, *inner.operands, *after]
    return True
