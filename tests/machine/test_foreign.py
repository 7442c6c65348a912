"""Programs of the public scheduler: symbols, rendezvous, unmarked loops, toggled buffers."""

import numpy as np

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.check import sanitize
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.image import Image
from headrace.numbers.memory import Memory
from tests.machine import samples

X, BIAS, Y = 1 << 16, 1 << 19, 1 << 20
ADDRESSES = {"arg0": X, "arg1": BIAS, "arg2": Y}


def _image(name: str) -> Image:
    return decode(parse(samples.text(name)), device("sample"))


def _memory() -> tuple[Memory, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1536, 64)).astype(np.float16)
    bias = rng.standard_normal(64).astype(np.float16)
    memory = Memory(1 << 21)
    memory.bytes[X : X + x.nbytes] = x.reshape(-1).view(np.uint8)
    memory.bytes[BIAS : BIAS + bias.nbytes] = bias.view(np.uint8)
    return memory, (x + bias).astype(np.float16)


def test_public_bias_add_runs_with_byte_addresses_as_symbols() -> None:
    memory, want = _memory()
    execute(_image("public_bias_add"), memory, ADDRESSES)
    got = memory.bytes[Y : Y + want.nbytes].view(np.float16).reshape(want.shape)
    assert (got == want).all()


def test_public_bias_add_is_clean() -> None:
    memory, _ = _memory()
    assert sanitize(_image("public_bias_add"), memory, ADDRESSES) == []


def test_races_of_the_single_buffered_variant_are_found() -> None:
    image = _image("public_bias_add_racy")
    scalars = {f"arg{k}": v for k, v in enumerate(ADDRESSES.values())}
    memory, _ = _memory()
    findings = sanitize(image, memory, scalars)
    assert {f.category for f in findings} == {"races"}
    assert any("C0-mnilu writes" in f.message and "read of C0-l1lu-CL0" in f.message for f in findings)
