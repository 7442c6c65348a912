"""Known loops and branches: taken branches and single iterations inlined, constant carries dropped."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.passes.fold import constant


def simplify(op: Operation) -> bool:
    """Rewrites an `scf.if` of a constant, or an `scf.for` of no or one iteration; True if it did.

    Loops with attributes are left alone: a scheduler marked them. So are those that count unsigned.
    """
    if op.name == "scf.if":
        return _if(op)
    is_plain = op.name == "scf.for" and not op.attributes and not op.properties
    return is_plain and (_for(op) or _carries(op) or _unused(op))


def _if(op: Operation) -> bool:
    chosen = constant(op.operands[0])
    if chosen is None:
        return False
    region = op.regions[0 if chosen else 1]
    _inline(op, region.blocks[0] if region.blocks else None, ())
    return True


def _for(op: Operation) -> bool:
    bounds = [constant(v) for v in op.operands[:3]]
    if None in bounds:
        return False
    low, high, step = (int(n) for n in bounds if n is not None)
    if step < 1:
        return False
    trips = len(range(low, high, step))
    if trips == 0:
        for result, start in zip(op.results, op.operands[3:], strict=True):
            result.replace_all_uses_with(start)
        _remove(op)
    elif trips == 1:
        _inline(op, op.regions[0].block, (op.operands[0], *op.operands[3:]))
    return trips < 2


def _carries(op: Operation) -> bool:
    """A carried value that every iteration hands on as it is: the start stands for it."""
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    changed = False
    for k, (start, arg) in enumerate(zip(op.operands[3:], block.args[1:], strict=True)):
        is_used = arg.first_use is not None and not (
            arg.has_one_use() and next(iter(arg.uses)).operation is last
        )
        if last.operands[k] is arg and (is_used or op.results[k].first_use is not None):
            op.results[k].replace_all_uses_with(start)
            arg.replace_uses_with_if(start, lambda use: use.operation is not last)
            changed = True
    return changed


def _unused(op: Operation) -> bool:
    """A carried value that only its own next value needs: the loop is written again without it."""
    block = op.regions[0].block
    last = block.last_op
    assert last is not None and op.parent is not None
    dead = [
        k
        for k, arg in enumerate(block.args[1:])
        if op.results[k].first_use is None
        and all(use.operation is last and use.index == k for use in arg.uses)
    ]
    if not dead:
        return False
    kept = [k for k in range(len(op.results)) if k not in dead]
    last.operands = [last.operands[k] for k in kept]
    for k in reversed(dead):
        block.erase_arg(block.args[k + 1])
    fresh = type(op).create(
        operands=[*op.operands[:3], *(op.operands[3 + k] for k in kept)],
        result_types=[op.results[k].type for k in kept],
        regions=[op.detach_region(op.regions[0])],
    )
    fresh.location = op.location
    op.parent.insert_op_before(fresh, op)
    for k, new in zip(kept, fresh.results, strict=True):
        new.name_hint = op.results[k].name_hint
        op.results[k].replace_all_uses_with(new)
    _remove(op)
    return True


def _inline(op: Operation, block: Block | None, arguments: Sequence[SSAValue]) -> None:
    """Puts the ops of a block in place of the op; what it yields replaces the op's results."""
    if block is not None:
        for arg, value in zip(block.args, arguments, strict=True):
            arg.replace_all_uses_with(value)
        last = block.last_op
        assert last is not None and op.parent is not None
        for inner in list(block.ops):
            if inner is not last:
                inner.detach()
                op.parent.insert_op_before(inner, op)
        for result, value in zip(op.results, last.operands, strict=True):
            result.replace_all_uses_with(value)
    _remove(op)


def _remove(op: Operation) -> None:
    op.detach()
    op.erase()
