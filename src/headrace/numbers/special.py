"""Functions NumPy lacks: erf and erfc in f64, relative error below 1e-13, whole arrays at a time.

The rational approximations are those of W. J. Cody, "Rational Chebyshev approximations for the error
function", Math. Comp. 23 (1969), with the coefficients of FreeBSD's msun.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_NEAR = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02)
    + (-5.77027029648944159157e-03, -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02)
    + (5.08130628187576562776e-03, 1.32494738004321644526e-04, -3.96022827877536812320e-06),
)
_MIDDLE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01)
    + (3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02)
    + (-2.16637559486879084300e-03,),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02)
    + (1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_FAR = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01)
    + (-6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02)
    + (-8.12874355063065934246e01, -9.81432934416914548592e00),
    (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02)
    + (6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02)
    + (6.57024977031928170135e00, -6.04244152148580987438e-02),
)
_TAIL = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01)
    + (-1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03)
    + (-4.83519191608651397019e02,),
    (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03)
    + (3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02)
    + (-2.24409524465858183362e01,),
)
_AT_ONE = 8.45062911510467529297e-01


def erf(x: Array) -> Array:
    """The error function of every element, as f64."""
    x = np.asarray(x, np.float64)
    a = np.abs(x)
    out = _near_zero(x)
    middle = a >= 0.84375
    if middle.any():
        out[middle] = np.copysign(1.0 - _erfc_positive(a[middle]), x[middle])
    out[np.isnan(x)] = np.nan
    return out


def erfc(x: Array) -> Array:
    """1 - erf(x) of every element, as f64, without cancellation for large x."""
    x = np.asarray(x, np.float64)
    a = np.abs(x)
    out = np.asarray(1.0 - _near_zero(x))
    beyond = a >= 0.84375
    if beyond.any():
        tail = _erfc_positive(a[beyond])
        out[beyond] = np.where(x[beyond] < 0, 2.0 - tail, tail)
    out[np.isnan(x)] = np.nan
    return out


def _near_zero(x: Array) -> Array:
    """erf for arguments below 0.84375 in magnitude; other elements hold something finite or NaN."""
    small = np.clip(x, -1.0, 1.0)
    return np.asarray(small + small * _ratio(_NEAR, small * small))


def _erfc_positive(a: Array) -> Array:
    """erfc for arguments of at least 0.84375."""
    near: Array = 1.0 - _AT_ONE - _ratio(_MIDDLE, np.minimum(a, 1.25) - 1.0)
    bounded = np.clip(a, 1.25, 28.0)
    s = 1.0 / (bounded * bounded)
    exponent = np.where(bounded < 1 / 0.35, _ratio(_FAR, s), _ratio(_TAIL, s))
    far = np.exp(-bounded * bounded - 0.5625 + exponent) / bounded
    return np.where(a < 1.25, near, np.where(a > 28.0, 0.0, far))


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    """The quotient of two polynomials in x, lowest coefficient first."""
    above, below = (np.polynomial.polynomial.polyval(x, c) for c in coefficients)
    return np.asarray(above / below)
