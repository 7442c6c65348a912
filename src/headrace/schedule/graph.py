"""The TileGraph: a KTIR module as statements over integer boxes, with everything a tile id decides already
folded.

`model` makes it, `search` and `build` read it. Each class of cores (cores whose tiles do the same up to
constants) has
its own statements; what differs between the cores of a class are numbers, kept as `PerCore`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from headrace.ir.diagnostics import Location


@dataclass(frozen=True)
class PerCore:
    """One integer for each core of the class, in the order of `CoreClass.cores`."""

    values: tuple[int, ...]


Number = int | PerCore


@dataclass(frozen=True)
class Linear:
    """const + the sum of coefficient x loop variable, loop variables being `Loop.name`s around the
    statement.
    """

    const: Number = 0
    terms: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class View:
    """A memory view of KTIR: element (i, j, ...) lives at element `start + i*strides[0] + ...` of the
    argument's memory.

    `arg` is the name of the `index` argument the start address comes from ("" for a constant address);
    `start` is added
    to it, in elements of `dtype`. `space` is "global" or "ct_local".
    """

    arg: str
    start: Linear
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    space: Literal["global", "ct_local"] = "global"
    where: Location = Location()


@dataclass(frozen=True)
class Value:
    """An SSA tensor: shape in elements (static), element type by MLIR name ("f16", "i64", "i1", ...)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    where: Location = Location()


@dataclass(frozen=True)
class Indirect:
    """View dim `view_dim` is addressed by integers stored in memory: coordinate = index[origin + walk over
    value axes].

    `axes[k]` is the value axis that walks dim k of the index view (None: fixed at `origin[k]`).
    """

    view_dim: int
    index: View
    origin: tuple[Linear, ...]
    axes: tuple[int | None, ...]


@dataclass(frozen=True)
class Load:
    """value[a0, a1, ...] = view[...]: view dim d is read at origin[d] + a_k for the k with axes[k] == d.

    A value axis whose `axes` entry is None does not walk the view directly (extent 1, or it walks an index
    view).
    """

    value: str
    view: View
    origin: tuple[Linear, ...]
    axes: tuple[int | None, ...]
    indirect: tuple[Indirect, ...] = ()
    where: Location = Location()


@dataclass(frozen=True)
class Store:
    """view[...] = value[...]: the same geometry as `Load`."""

    value: str
    view: View
    origin: tuple[Linear, ...]
    axes: tuple[int | None, ...]
    indirect: tuple[Indirect, ...] = ()
    where: Location = Location()


@dataclass(frozen=True)
class Dim:
    """An iteration dim of one Compute; names are unique in the graph."""

    name: str
    extent: int
    kind: Literal["parallel", "reduction"]


@dataclass(frozen=True)
class Axis:
    """Coordinate along one value axis: dim + offset, or offset alone when `dim` is None; `moved` by where the
    loop over strips stands, for a strip of a value that holds several.
    """

    dim: str | None
    offset: int = 0
    moved: Linear = Linear()


@dataclass(frozen=True)
class Access:
    """How a Compute touches a value: one `Axis` per axis of the value. A dim that no axis names is a
    broadcast.
    """

    value: str
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Scalar:
    """One scalar op of a body, in SSA order; `args` are positions of earlier entries.

    op "in": `attr` = operand number of `Compute.ins`; "const": `attr` = Python number; "index": `attr` =
    (dim name or
    None, Linear): the integer coordinate dim + Linear (a tile offset), in `dtype`; otherwise an MLIR op
    name such as
    "arith.addf", "math.exp", "arith.cmpf" (`attr` = predicate name), "arith.select", "arith.extf"; or
    "ring.NAME", what other cores have at the same point (`ring.py`).
    """

    op: str
    args: tuple[int, ...]
    dtype: str
    attr: object = None
    where: Location = Location()


@dataclass(frozen=True)
class Out:
    """One result of a Compute.

    combiner None: value[axes] = body[result]. Otherwise value[axes] = init (+) the combination of
    body[result] over the
    reduction dims, with combiner in {"add", "mul", "max", "min", "or", "and"} (max/min of floats: NaN wins).
    `init` is the name of a value of the same shape, or a number.
    """

    value: str
    axes: tuple[Axis, ...]
    result: int
    combiner: str | None = None
    init: str | float | int | None = None


@dataclass(frozen=True)
class Compute:
    """A perfect nest over `dims` evaluating `body` at every point; pointwise, broadcast, reduction or
    contraction.
    """

    dims: tuple[Dim, ...]
    ins: tuple[Access, ...]
    outs: tuple[Out, ...]
    body: tuple[Scalar, ...]
    contraction: Contraction | None = None
    where: Location = Location()
    source: str = ""


@dataclass(frozen=True)
class Contraction:
    """Present when the Compute is out += lhs x rhs with one product; dim names by role.

    ins[0] is the lhs (batch, m, k), ins[1] the rhs (batch, k, n), in any axis order; casts `extf` of narrow
    operands
    are folded away (narrow contraction, accumulation in outs[0]'s type, f32 for floats).
    """

    batch: tuple[str, ...]
    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]


@dataclass(frozen=True)
class Reshape:
    """`value` is `source` with another shape, same row-major element order."""

    value: str
    source: str
    where: Location = Location()


@dataclass(frozen=True)
class Insert:
    """`value` is `dest` with `source` written at `offsets` (dest None: `fill` everywhere else)."""

    value: str
    source: str
    dest: str | None
    offsets: tuple[int, ...]
    fill: float | int | None = None
    where: Location = Location()


@dataclass(frozen=True)
class Handover:
    """Cores wait for each other: for every (a, b) of `pairs`, core b goes on after core a came here.

    kind "full": b loads from `args` what a stored before; "free": b stores over what a has loaded; "over": b
    stores over what a stored; "pace", without pairs: every core stores at the pace at which it reads. Pairs
    name tiles until tiles are laid on cores. `key` is equal for the tiles that meet here.
    """

    key: str
    kind: Literal["full", "free", "over", "pace"]
    args: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    where: Location = Location()


@dataclass(frozen=True)
class Carried:
    """A loop-carried tensor: `init` before the first iteration, `inner` inside, `yielded` at its end,
    `result` after.
    """

    inner: str
    init: str
    yielded: str
    result: str


@dataclass(frozen=True)
class Loop:
    """A loop that stays a loop: `name` runs start, start+step, ...; `trip` iterations, one after the other.

    `is_parallel` says that no iteration depends on another (rounds of a grid larger than the device,
    author's row loops).
    """

    name: str
    trip: Number
    start: Linear
    step: int
    body: tuple[Statement, ...]
    carried: tuple[Carried, ...] = ()
    is_parallel: bool = False
    where: Location = Location()


Statement = Load | Store | Compute | Reshape | Insert | Loop | Handover


@dataclass(frozen=True)
class Arg:
    """A memory argument of the function: role "in", "out", "inout" or "scratch"; shape and dtype of its
    widest view.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str


@dataclass(frozen=True)
class CoreClass:
    """Cores that run the same statements. `values` holds every tensor the statements name."""

    cores: tuple[int, ...]
    values: dict[str, Value]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class TileGraph:
    """A function, ready to be scheduled on one device.

    `between`: the values that a later kernel of the module reads on the core that computed them, and the
    argument each is stored to. `has_blocks`: whether it has loops over blocks of keys that are, or could
    be, one block of all keys.
    """

    name: str
    grid: tuple[int, ...]
    args: tuple[Arg, ...]
    classes: tuple[CoreClass, ...]
    work: dict[str, int] = field(default_factory=dict)
    between: dict[str, str] = field(default_factory=dict)
    has_blocks: bool = False
