"""Tensors as the evaluator sees them: values looked at through slices, permutations and broadcasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.schedule.graph import Axis
from headrace.schedule.model.algebra.number import Num


@dataclass(frozen=True)
class Constant:
    """A scalar known when scheduling: a Python number and its MLIR type."""

    value: float | int
    dtype: str


@dataclass(frozen=True)
class Integer:
    """An integer scalar that may depend on the tile and on loops."""

    value: Num
    dtype: str


def plain_number(scalar: Constant | Integer) -> float | int | None:
    """The number a known scalar is on every tile and in every iteration."""
    return scalar.value if isinstance(scalar, Constant) else scalar.value.fixed


@dataclass(frozen=True)
class Tensor:
    """Element (i, j, ...) is element (axes[0](i, j), axes[1](i, j), ...) of value `source`.

    `axes[k]` = (axis of this tensor or None, offset). Rank 0 is a scalar that only the machine knows.
    """

    shape: tuple[int, ...]
    dtype: str
    source: str
    axes: tuple[tuple[int | None, int], ...]


@dataclass(frozen=True)
class Filled:
    """Every element is one scalar; `fill` None: never written (`tensor.empty`)."""

    shape: tuple[int, ...]
    dtype: str
    fill: Constant | Integer | None


AnyTensor = Tensor | Filled


def whole(name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
    """A value looked at as it is."""
    return Tensor(shape, dtype, name, tuple((k, 0) for k in range(len(shape))))


def is_whole(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether the tensor is its source value (of the given shape), unchanged."""
    return tensor.shape == shape and tensor.axes == tuple((k, 0) for k in range(len(shape)))


def through(tensor: Tensor, walk: Sequence[Axis]) -> tuple[Axis, ...]:
    """Axes of the source value for a nest that walks this tensor's axes by `walk`."""
    return tuple(
        Axis(None, offset) if k is None else Axis(walk[k].dim, walk[k].offset + offset)
        for k, offset in tensor.axes
    )


def select(tensor: AnyTensor, axes: Sequence[int | None], shape: tuple[int, ...]) -> AnyTensor:
    """The tensor of `shape` whose axis j walks axis k of the given one for axes[k] = j; None fixes it at 0.

    Covers permutations, broadcasts (axes that nobody walks) and dropped unit axes.
    """
    if isinstance(tensor, Filled):
        return Filled(shape, tensor.dtype, tensor.fill)
    mapped = tuple((None if k is None else axes[k], offset) for k, offset in tensor.axes)
    return Tensor(shape, tensor.dtype, tensor.source, mapped)


def slice_of(tensor: AnyTensor, offsets: Sequence[int], shape: tuple[int, ...]) -> AnyTensor:
    """The box of `shape` at `offsets` (same rank)."""
    if isinstance(tensor, Filled):
        return Filled(shape, tensor.dtype, tensor.fill)
    axes = tuple((k, offset if k is None else offset + offsets[k]) for k, offset in tensor.axes)
    return Tensor(shape, tensor.dtype, tensor.source, axes)


def squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    """The extents that are not 1."""
    return tuple(n for n in shape if n != 1)


def reshape_units(tensor: AnyTensor, shape: tuple[int, ...]) -> AnyTensor | None:
    """The tensor with unit axes added or dropped; None when the other extents differ."""
    if squeezed(tensor.shape) != squeezed(shape):
        return None
    targets = iter(j for j, n in enumerate(shape) if n != 1)
    return select(tensor, [None if n == 1 else next(targets) for n in tensor.shape], shape)
