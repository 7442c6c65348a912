"""Index values that follow loop variables: a number and slopes instead of one number an iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NotLinear(Exception):
    """What is no sum of multiples of loop variables decides something or lies in device memory."""


class Unclear:
    """A value that follows loop variables in another way; nothing may depend on it."""

    def __add__(self, other: object) -> Unclear:
        return self

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __add__

    def __neg__(self) -> Unclear:
        return self

    def __eq__(self, other: object) -> bool:
        raise NotLinear

    def __hash__(self) -> int:
        raise NotLinear

    def __lt__(self, other: object) -> bool:
        raise NotLinear

    __le__ = __gt__ = __ge__ = __lt__

    def __int__(self) -> int:
        raise NotLinear

    def __abs__(self) -> int:
        raise NotLinear


UNCLEAR = Unclear()


class Linear:
    """base + the sum over loops of slope * iteration; `counts` are the iterations of every loop named.

    Comparisons and extrema are answered where they come out alike for all iterations.
    """

    def __init__(self, base: int, slopes: Mapping[Any, int], counts: Mapping[Any, int]) -> None:
        self.base, self.counts = base, counts
        self.slopes = {loop: slope for loop, slope in slopes.items() if slope}

    @property
    def least(self) -> int:
        """The smallest value over all iterations."""
        return self.base + sum(min(0, s * (self.counts[k] - 1)) for k, s in self.slopes.items())

    @property
    def most(self) -> int:
        """The largest value over all iterations."""
        return self.base + sum(max(0, s * (self.counts[k] - 1)) for k, s in self.slopes.items())

    def __add__(self, other: Number) -> Number:
        slopes, counts = dict(self.slopes), dict(self.counts)
        if isinstance(other, Linear):
            counts.update(other.counts)
            for loop, slope in other.slopes.items():
                slopes[loop] = slopes.get(loop, 0) + slope
            return plain(Linear(self.base + other.base, slopes, counts))
        if isinstance(other, Unclear):
            return other
        return Linear(self.base + other, slopes, counts)

    __radd__ = __add__

    def __mul__(self, factor: Number) -> Number:
        if not isinstance(factor, int):
            return UNCLEAR
        return plain(Linear(self.base * factor, {k: s * factor for k, s in self.slopes.items()}, self.counts))

    __rmul__ = __mul__

    def __neg__(self) -> Number:
        return self * -1

    def __sub__(self, other: Number) -> Number:
        return self + -1 * other

    def __rsub__(self, other: int) -> Number:
        return -self + other

    def __floordiv__(self, divisor: Number) -> Number:
        """Exact where every step is a multiple of the divisor, or the quotient is always the same."""
        if not isinstance(divisor, int) or divisor <= 0:
            return UNCLEAR
        if all(slope % divisor == 0 for slope in self.slopes.values()):
            slopes = {k: s // divisor for k, s in self.slopes.items()}
            return plain(Linear(self.base // divisor, slopes, self.counts))
        if self.least // divisor == self.most // divisor:
            return self.least // divisor
        return UNCLEAR

    def __mod__(self, divisor: Number) -> Number:
        return self - (self // divisor) * divisor

    def __lt__(self, other: Number) -> bool:
        return _below(self, other, 0)

    def __le__(self, other: Number) -> bool:
        return _below(self, other, 1)

    def __gt__(self, other: Number) -> bool:
        return not _below(self, other, 1)

    def __ge__(self, other: Number) -> bool:
        return not _below(self, other, 0)

    def __eq__(self, other: object) -> bool:
        raise NotLinear

    def __hash__(self) -> int:
        raise NotLinear

    def __truediv__(self, other: object) -> Unclear:
        return UNCLEAR

    __rtruediv__ = __rfloordiv__ = __rmod__ = __truediv__

    def __abs__(self) -> int:
        raise NotLinear


Number = int | Linear | Unclear


def plain(value: Linear) -> Number:
    """The value itself, as an integer if no loop moves it."""
    return value if value.slopes else value.base


def _below(value: Linear, other: Number, reach: int) -> bool:
    """Whether value < other + reach, for all iterations alike."""
    difference = value - other
    if isinstance(difference, Unclear):
        raise NotLinear
    low, high = (
        (difference.least, difference.most) if isinstance(difference, Linear) else (difference, difference)
    )
    if high < reach:
        return True
    if low >= reach:
        return False
    raise NotLinear
