"""What the public texts about spyreop name without saying what it means, and what to write instead."""

from __future__ import annotations

_FUSED = (
    "no public text says what a fused value holds: use spyreop.exx2 and spyreop.layernormscale, "
    "whose mean and squares are values of their own"
)
_DF16 = "no public text says how its infinities and small numbers are coded: public tools write f16 for it"

_UNDEFINED = {
    "spyreop.exx2_fused": _FUSED,
    "spyreop.layernormscale_fused": _FUSED,
    "!spyreop.fp16_fused": _FUSED,
    "!spyreop.df16_fused": _FUSED,
    "!spyreop.fp32_fused": _FUSED,
    "!spyreop.df16": _DF16,
}


def why_undefined(name: str) -> str:
    """The hint for an op's name or a type's text, empty where there is a meaning."""
    return _UNDEFINED.get(name, "")
