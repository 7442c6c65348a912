"""Programs of the public scheduler: symbols, rendezvous, unmarked loops, toggled buffers, registers."""

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.check import sanitize
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.image import Image
from headrace.numbers.memory import Memory
from tests.machine import samples

X, BIAS, Y = 1 << 16, 1 << 19, 1 << 20
ADDRESSES = (X, BIAS, Y)


def _image(name: str, is_generic: bool = False) -> Image:
    return decode(parse(samples.text(name, is_generic)), device("sample"))


def _scalars(image: Image) -> dict[str, int]:
    return {a.name: v for a, v in zip(image.arguments, ADDRESSES, strict=False)}


def _memory(name: str) -> tuple[Memory, int, np.ndarray]:
    """Device memory with the inputs of a program, and at which byte it must leave what."""
    rng = np.random.default_rng(0)
    memory = Memory(1 << 21)

    def put(address: int, *shape: int) -> np.ndarray:
        x = rng.standard_normal(shape).astype(np.float16)
        memory.bytes[address : address + x.nbytes] = x.reshape(-1).view(np.uint8)
        return x

    match name:
        case "public_column_sum":
            x = put(0, 8, 16, 64)
            total = np.zeros((8, 64), np.float16)
            for k in range(16):
                total = x[:, k] + total
            return memory, 2 * 65536, total
        case "public_square":
            x = put(0, 64, 64)
            return memory, 2 * 8192, x * x
        case _:
            return memory, Y, put(X, 1536, 64) + put(BIAS, 64)


@pytest.mark.parametrize("name", ["public_bias_add", "public_column_sum", "public_square"])
def test_public_programs_give_what_numpy_gives(name: str) -> None:
    _runs(name, is_generic=False)


@pytest.mark.parametrize("name", ["public_bias_add", "public_square"])
def test_their_generic_form_gives_the_same(name: str) -> None:
    _runs(name, is_generic=True)


def _runs(name: str, is_generic: bool) -> None:
    memory, at, want = _memory(name)
    image = _image(name, is_generic)
    execute(image, memory, _scalars(image))
    got = memory.bytes[at : at + want.nbytes].view(np.float16).reshape(want.shape)
    assert (got == want).all()


@pytest.mark.parametrize("name", ["public_bias_add", "public_column_sum", "public_square"])
def test_public_programs_are_clean(name: str) -> None:
    memory, _, _ = _memory(name)
    image = _image(name)
    assert sanitize(image, memory, _scalars(image)) == []


def test_races_of_the_single_buffered_variant_are_found() -> None:
    image = _image("public_bias_add_racy")
    memory, _, _ = _memory("public_bias_add_racy")
    findings = sanitize(image, memory, _scalars(image))
    assert {f.category for f in findings} == {"races"}
    assert any("C0-mnilu writes" in f.message and "read of C0-l1lu-CL0" in f.message for f in findings)


def test_every_form_of_the_snippets_is_decoded() -> None:
    """They name peers that have no program here: there is nothing to run."""
    image = samples.image_of(samples.text("snippets"))
    assert {p.kind for p in image.schedules[0].programs} == {"SFU", "MNILU", "PT"}
