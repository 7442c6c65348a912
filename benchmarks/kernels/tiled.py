"""Kernels of the tests at larger extents: the same small tiles, hundreds of them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "kernels"
TILED: dict[str, dict[str, str]] = {
    "layernorm": {
        "16x128": "4096x128",
        "[16, 128]": "[4096, 128]",
        "sizes: [16]": "sizes: [4096]",
        "memref<16xf32>": "memref<4096xf32>",
        "-d0 + 15 ": "-d0 + 4095 ",
        "grid = [4]": "grid = [1024]",
    },
    "softmax_wide": {
        "8x512": "1024x512",
        "[8, 512]": "[1024, 512]",
        "-d0 + 7 ": "-d0 + 1023 ",
        "grid = [4]": "grid = [512]",
    },
    "rmsnorm_4x1": {
        "8x128": "4096x128",
        "[8, 128]": "[4096, 128]",
        "-d0 + 7 ": "-d0 + 4095 ",
        "grid = [4, 1]": "grid = [2048, 1]",
    },
    "rope_4x2": {
        "8x4x128": "1024x4x128",
        "[8, 4, 128]": "[1024, 4, 128]",
        "8x64": "1024x64",
        "[8, 64]": "[1024, 64]",
        "-d0 + 7 ": "-d0 + 1023 ",
        "grid = [4, 2]": "grid = [4, 256]",
    },
}
"""By kernel name: what its text says and what the larger one says instead."""


def tiled_text(name: str) -> str:
    """The KTIR of kernel `name` (a key of `TILED`) over 1 MiB of f16."""
    text = (FOLDER / f"{name}.mlir").read_text()
    for old, new in TILED[name].items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    return text
