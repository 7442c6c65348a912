"""Ops made in bulk: what `Operation.create` of xDSL does, without what ops of a schedule never have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue, SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef

NOWHERE = UnknownLoc()


def construct(
    kind: Any,
    operands: Sequence[SSAValue],
    results: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    regions: Sequence[Region],
) -> Any:
    """Return a new op without successors, which stands nowhere; nothing is checked, as by `Operation.create`,
    which takes twice the time.
    """
    if not _is_plain(kind):
        return kind.create(
            operands=operands,
            result_types=results,
            properties=properties,
            attributes=attributes,
            regions=regions,
        )
    made: Any = object.__new__(kind)
    own, marks = _defaults(kind)
    made.operands = operands
    made.results = SSAValues([OpResult(one, made, k) for k, one in enumerate(results)])
    made.properties = {**own, **properties}
    made.attributes = {**marks, **attributes}
    made.location = NOWHERE
    made.regions = ()
    for region in regions:
        made.add_region(region)
    return made


@cache
def _is_plain(kind: Any) -> bool:
    """Whether a class makes its ops as all do: some choose another class by what they are given."""
    is_usual = kind.create.__func__ is Operation.create.__func__  # type: ignore[attr-defined]
    return is_usual and kind.__post_init__ is IRDLOperation.__post_init__


@cache
def _defaults(kind: Any) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The properties and attributes an op of a class has if it is not given them."""
    known = kind.get_irdl_definition()
    properties, attributes = (
        {
            name: one.default_value
            for name, one in listed.items()
            if not isinstance(one, OptionalDef) and one.default_value is not None
        }
        for listed in (known.properties, known.attributes)
    )
    return properties, attributes
