"""Pointwise operators: shapes, broadcasts, types, corner values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
import torch.nn.functional as F

from .case import Case, bf16, case, f8, f16, f32, f64, i8, i16, i32, i64, modulo, n, quick, r, u8


def chain(x: Any, y: Any) -> Any:
    return ((x * 2 + y).relu() - 1) * torch.sigmoid(y), x - y, x * y


SHAPES = [
    (256,),
    (67, 256),
    (67, 71, 256),
    (7, 12, 32, 64),
    (63, 129),
    (3, 7, 9),
    (3, 7, 9, 32),
    (49, 127),
    (5, 193),
]
ONES = [
    shape
    for rank in (1, 2, 3, 4)
    for shape in [tuple(1 if d == k else (2, 5, 3, 4)[d] for d in range(rank)) for k in range(rank)]
] + [(1, 1, 1, 1), (2, 1, 4, 1)]
BROADCASTS = [
    ((2880,), (1, 11, 2880)),
    ((1, 11, 2880), (1, 11, 1)),
    ((5, 1), (1, 7)),
    ((), (3, 5)),
    ((4, 1, 3), (6, 1)),
]
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 65504.0, -2.5, 2.5, 0.5])
INTEGERS = torch.tensor([0, 1, -1, 7, -7, 100, -128, 127, 3, -3])


def unary(x: Any) -> Any:
    return (
        x.abs(), -x, x.exp(), x.sigmoid(), x.tanh(), x.relu(), x.floor(), x.ceil(), x.trunc(), x.round(),
        x.sign(), x.isnan(), x.isinf(), x.erf(), x.sin(), x.cos(), x.exp2(), x.expm1(), x.square(),
    )  # fmt: skip


def unary_positive(x: Any) -> Any:
    return x.sqrt(), x.rsqrt(), x.log(), x.log2(), x.log10(), x.log1p(), x.reciprocal()


def activations(x: Any) -> Any:
    return (
        F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.mish(x), F.softplus(x), F.softplus(x,
        beta=0.5), F.softplus(x, beta=50), F.leaky_relu(x), F.elu(x), F.hardswish(x), F.hardsigmoid(x),
        F.hardtanh(x),
        F.glu(x[:, 1:]), F.selu(x), F.logsigmoid(x), F.relu6(x), F.celu(x), F.softsign(x), F.tanhshrink(x),
    )  # fmt: skip


def functions(x: Any, y: Any) -> Any:
    inside = x.clamp(-0.875, 0.875)
    return (
        x.tan(), x.sinh(), x.cosh(), inside.asin(), inside.acos(), x.atan(), x.asinh(), (x.abs() + 2).acosh(),
        inside.atanh(), x.erfc(), torch.atan2(x, y), torch.hypot(x, y), torch.copysign(x, y), x.signbit(),
    )  # fmt: skip


def comparisons(x: Any, y: Any) -> Any:
    return x < y, x <= y, x > y, x >= y, x == y, x != y, torch.maximum(x, y), torch.minimum(x, y)


def arithmetic(x: Any, y: Any) -> Any:
    return x + y, x - y, x * y, torch.add(x, y, alpha=3), torch.rsub(x, y)


def division(x: Any, y: Any) -> Any:
    return (
        x / y, x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"),
        torch.div(x, y, rounding_mode="floor"),
    )  # fmt: skip


def bits(x: Any, y: Any) -> Any:
    return x & y, x | y, x ^ y, ~x, x << 1, x >> 1, x.bool(), torch.logical_and(x, y), torch.logical_not(x)


def pairs(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    count = len(values)
    return values.repeat_interleave(count), values.repeat(count)


def every_pair(dtype: torch.dtype) -> list[Any]:
    a, b = pairs(SPECIAL)
    return [lambda: a.to(dtype), lambda: b.to(dtype)]


def whole_pairs(dtype: torch.dtype, no_zero: bool = False) -> list[Any]:
    a, b = pairs(INTEGERS)
    a, b = (x % 256 if dtype == u8 else x for x in (a, b))
    keep = b != 0 if no_zero else torch.ones_like(b, dtype=torch.bool)
    return [lambda: a[keep].to(dtype), lambda: b[keep].to(dtype)]


def permuted(x: Any) -> Any:
    return x + 1, x.t().contiguous(), x.flip(0), x[:, 1:] * 2, x.roll(1, 1), x.reshape(-1)[3:] - 1


def whole_chain(x: Any, y: Any) -> Any:
    return (
        ((x * 2 + y).relu() - 1) // 3,
        x - y,
        torch.where(x > y, x, y),
        x.clamp(-3, 4),
        torch.add(x, y, alpha=2),
    )


FLOATS = {"f32": f32, "f16": f16, "bf16": bf16}
WHOLE = {"i64": i64, "i32": i32}
NARROW = {"i8": i8, "u8": u8, "i16": i16}
ON_NARROW = {"arithmetic": arithmetic, "compare": comparisons, "bits": bits, "division": division}
CONVERTED = {**FLOATS, **WHOLE, "bool": torch.bool}

CASES: dict[str, Case] = {
    **{f"chain {s}": case(chain, r(*s), r(*s), is_quick=s == (3, 7, 9)) for s in SHAPES},
    **{f"chain f16 {s}": case(chain, r(*s, dtype=f16), r(*s, dtype=f16)) for s in SHAPES},
    **{f"whole chain {s}": case(whole_chain, n(9, *s, low=-9), n(9, *s, low=-9)) for s in SHAPES},
    **{f"last dim {m}": case(permuted, modulo(7, m)) for m in (67, 127, 130, 193)},
    **{f"size one {s}": case(chain, r(*s), r(*s)) for s in ONES},
    **{f"broadcast {a} {b}": case(chain, r(*a), r(*b), is_quick=a == (5, 1)) for a, b in BROADCASTS},
    **{f"unary {k}": case(unary, r(5, 67, dtype=d)) for k, d in FLOATS.items()},
    **{f"unary corners {k}": case(unary, SPECIAL.to(d), is_quick=k == "f32") for k, d in FLOATS.items()},
    **{
        f"positive {k}": case(unary_positive, lambda d=d: torch.rand(5, 67).to(d) + 0.1)
        for k, d in FLOATS.items()
    },
    **{
        f"functions {k}": case(functions, r(5, 67, dtype=d), r(5, 67, dtype=d), is_quick=k == "f16")
        for k, d in FLOATS.items()
    },
    "functions of corners": case(
        lambda x, y: (torch.hypot(x, y), torch.copysign(x, y), x.signbit(), torch.atan2(x, y)),
        *every_pair(f32),
    ),
    **{f"activations {k}": case(activations, r(5, 67, dtype=d, scale=3)) for k, d in FLOATS.items()},
    **{
        f"compare corners {k}": case(comparisons, *every_pair(d), is_quick=k == "f32")
        for k, d in FLOATS.items()
    },
    **{
        f"arithmetic corners {k}": case(arithmetic, *every_pair(d), is_quick=k == "f16")
        for k, d in FLOATS.items()
    },
    **{f"division {k}": case(division, r(5, 33, dtype=d), r(5, 33, dtype=d)) for k, d in FLOATS.items()},
    **{
        f"whole arithmetic {k}": case(arithmetic, *whole_pairs(d), is_quick=k == "i32")
        for k, d in WHOLE.items()
    },
    **{f"whole compare {k}": case(comparisons, *whole_pairs(d)) for k, d in WHOLE.items()},
    **{
        f"whole division {k}": case(division, *whole_pairs(d, True), is_quick=k == "i64")
        for k, d in WHOLE.items()
    },
    **{f"bits {k}": case(bits, *whole_pairs(d), is_quick=k == "i32") for k, d in WHOLE.items()},
    **{
        f"narrow {what} {k}": case(
            function,
            *whole_pairs(d, what == "division"),
            is_quick=(what, k) in (("arithmetic", "i8"), ("division", "u8")),
        )
        for what, function in ON_NARROW.items()
        for k, d in NARROW.items()
    },
    "bool": quick(
        lambda x, y: (x & y, x | y, x ^ y, ~x, x == y, x.float() + y, x.long() * 3, x < y, x + y),
        n(2, 40, dtype=torch.bool),
        n(2, 40, dtype=torch.bool),
    ),
    "f64": quick(
        lambda x, y: (x + y, x * 2, x.exp()),
        r(5, dtype=f64),
        r(5, dtype=f64),
        host=("aten.add", "aten.mul", "aten.exp"),
    ),
    **{
        f"convert {a} to {b}": case(
            lambda x, y, to=CONVERTED[b]: (x.to(to), y.to(to)),
            lambda d=CONVERTED[a]: (torch.randn(5, 67) * 4).to(d),
            lambda d=CONVERTED[a]: (torch.randn(3, 128) * 4).to(d),
            is_quick=(a, b) == ("bool", "f16"),
        )
        for a, b in itertools.permutations(CONVERTED, 2)
    },
    **{
        f"convert {a} to {b}": case(
            lambda x, to={**CONVERTED, **NARROW}[b]: x.to(to),
            lambda d={**CONVERTED, **NARROW}[a]: (torch.rand(5, 67) * 100).to(d),
            is_quick=(a, b) == ("u8", "f16"),
        )
        for a, b in itertools.permutations({**CONVERTED, **NARROW}, 2)
        if a in NARROW or b in NARROW
    },
    "fp8 with scales": quick(
        lambda x, w, s: ((x / s).to(f8).float() * s, w.float() * s, x.to(f8).half()),
        r(5, 67, scale=99),
        lambda: torch.randn(5, 67).to(f8),
        lambda: torch.rand(67) + 1,
    ),
    "narrow in wide": quick(
        lambda x, y: ((x + x) // 3, x.sum(1), x.amax(0), x.float() / 255, y.abs().cumsum(0), x + y),
        n(256, 5, 9, dtype=u8),
        n(128, 5, 9, dtype=i8, low=-128),
    ),
    "where": quick(
        lambda x, y: (torch.where(x > y, x, y), torch.where(x > 0, x, 0.0), x.masked_fill(y > 0, -1)),
        r(9, 13),
        r(9, 13),
    ),
    "softplus of more slopes": case(
        lambda x: (F.softplus(x, beta=2), F.softplus(x, beta=0), F.softplus(x, 0.5, 3)), r(5, 67, scale=9)
    ),
    "clamp": case(lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp(max=1)), r(9, 13)),
    "clamp by tensors": case(lambda x, y: (x.clamp(min=y), x.clamp(max=y)), r(9, 13), r(9, 13)),
    "scalars": case(
        lambda x: (x + 1, 2 - x, x * 0.5, 1 / x, x**2, x**3, x**0.5, 2**x, x**-1),
        lambda: torch.rand(9, 13) + 0.5,
    ),
    "aliases": quick(lambda x: (x + x, x * x * x, x - x, x / x), r(9, 13)),
    "lerp and addc": case(
        lambda x, y, z: (
            torch.lerp(x, y, 0.3),
            torch.addcmul(x, y, z, value=2),
            torch.addcdiv(x, y, z.abs() + 1),
        ),
        r(9, 5),
        r(9, 5),
        r(9, 5),
    ),
    "powers": case(lambda x, y: x.abs().pow(y), r(9, 13), r(9, 13)),
    "mixed types": quick(
        lambda x, y, i: (x + y, x * i, y * i, (x > y) * x), r(5, 7), r(5, 7, dtype=f16), n(9, 5, 7)
    ),
    "empty": quick(lambda x, y: (x + y, x.exp() * 2), r(0, 5), r(0, 5)),
    "scalar tensor": case(chain, r(), r()),
    "in place": quick(
        lambda x: (x.clone().add_(1).mul_(2), x.clone().relu_(), x.clone().copy_(x[0])), r(4, 5)
    ),
    "factories": case(
        lambda x: (
            torch.arange(7, device=x.device) + x[0, 0].long() * 0,
            torch.full((3,), 2.0, device=x.device) * x[0, 0],
            torch.zeros_like(x) + x,
            torch.eye(4, device=x.device) + x[:4, :4],
        ),
        r(5, 5),
    ),
    "linspace": case(lambda x: torch.linspace(0, 1, 9, device=x.device) * x[0], r(5)),
}
