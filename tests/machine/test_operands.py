"""What programs ask of device memory, and what sharing equal loads does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.machine.image import Image, Index, Node
from headrace.machine.operands import operands
from headrace.machine.sharing import share_reads
from headrace.machine.timing import time
from headrace.runtime.kernel import load
from tests.machine.samples import image_of, text
from tests.machine.timing_programs import Body, Chip, machine

KERNELS = Path(__file__).resolve().parents[2] / "examples" / "kernels"


def program(name: str, **options: object):
    return load(KERNELS / f"{name}.mlir").compile("spyre", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["vector_add", "softmax", "matmul", "transpose", "broadcast_add"])
def test_distinct_bytes_are_those_of_the_declared_work(name: str) -> None:
    compiled = program(name)
    found = operands(compiled.image, {a.name: 0 for a in compiled.image.arguments})
    assert compiled.work is not None
    read = sum(o.distinct or 0 for o in found if o.side == "read")
    written = sum(o.distinct or 0 for o in found if o.side == "write")
    assert (read, written) == (compiled.work.read_bytes, compiled.work.write_bytes)


def test_operands_of_gathers_are_listed_without_distinct_bytes() -> None:
    compiled = program("embedding")
    found = {o.name: o for o in operands(compiled.image, {a.name: 0 for a in compiled.image.arguments})}
    assert (found["table"].moved, found["table"].distinct) == (found["y"].moved, None)
    assert found["table"].units == compiled.device.cores


def test_operands_whose_address_a_loop_carries_are_followed() -> None:
    found = {o.side: o for o in operands(image_of(text("public_square")), {})}
    assert [found[side].distinct for side in ("read", "write")] == [64 * 64 * 2] * 2


def test_an_operand_that_cores_fetch_separately_is_asked_for_more_often_than_it_is_long() -> None:
    compiled = program("matmul", without=("multicast",))
    values = {a.name: 0 for a in compiled.image.arguments}
    found = {o.name: o for o in operands(compiled.image, values)}
    moved = time(compiled.image, values, compiled.device).bytes["ddr_read"]
    assert found["a"].moved + found["b"].moved == moved
    assert found["a"].distinct == found["b"].distinct == 512 * 512 * 2


def test_sharing_gives_about_the_cycles_of_the_program_compiled_with_multicast() -> None:
    """Compiled for it, a program may also have other tiles: 2 %."""
    apart, together = program("matmul", without=("multicast",)), program("matmul")
    values = {a.name: 0 for a in apart.image.arguments}
    shared, listed = share_reads(apart.image, values, apart.device)
    assert {one.name: one.units for one in listed} == {"a": 8, "b": 4}
    compiled = time(together.image, values, together.device).cycles
    assert time(shared, values, apart.device).cycles == pytest.approx(compiled, rel=0.02)


def test_what_is_shared_already_stays_as_it_is() -> None:
    compiled = program("matmul")
    values = {a.name: 0 for a in compiled.image.arguments}
    image, listed = share_reads(compiled.image, values, compiled.device)
    assert image is compiled.image and listed == ()


def loading(addresses: list[int], tiles: int, size: int, pitch: int) -> Image:
    """Core k loads `tiles` tiles of `size` bytes, `pitch` apart, from `addresses[k]` on."""
    chip = Chip(machine(len(addresses)), len(addresses))

    def loader(b: Body) -> list[Node]:
        from dataclasses import replace

        start = b.table(addresses)
        loop = b.loop(tiles, b.load(size))
        (copy,) = loop.body
        from headrace.machine.index import of

        base = start + of(loop.iv) * pitch + Index()
        return [replace(loop, body=(replace(copy, source=replace(copy.source, base=base)),))]

    chip.program("MNILU", loader)
    return chip.image()


def loading_by(orders: list[list[int]], sizes: list[int] | None = None) -> Image:
    """Core k loads the pieces `orders[k]` of one argument, in that order, three times over."""
    chip = Chip(machine(len(orders), ddr__multicast__max_consumers=4), len(orders))
    for core, order in enumerate(orders):

        def loader(b: Body, order: list[int] = order) -> list[Node]:
            return [b.loop(3, *(b.load(640 if sizes is None else sizes[k], address=640 * k) for k in order))]

        chip.program("MNILU", loader, [core])
    return chip.image()


def test_equal_loads_are_shared_in_whatever_order_the_cores_come_to_them() -> None:
    device = machine(3, ddr__multicast__max_consumers=4)
    alike, mixed = loading_by([[0, 1, 2]] * 3), loading_by([[0, 1, 2], [2, 0, 1], [1, 0, 2]])
    one, two = share_reads(alike, {}, device), share_reads(mixed, {}, device)
    assert [(s.units, s.is_in_order, s.saved_bytes) for s in two[1]] == [(3, False, 2 * 9 * 640)]
    assert sum(s.saved_bytes for s in one[1]) == 2 * 9 * 640 and all(s.is_in_order for s in one[1])
    together = time(two[0], {}, device)
    assert together.cycles == time(one[0], {}, device).cycles < time(mixed, {}, device).cycles
    assert together.bytes["ddr_read"] == 9 * 640


def test_cores_that_read_other_bytes_share_nothing() -> None:
    device = machine(2, ddr__multicast__max_consumers=4)
    image = loading_by([[0, 1, 1], [1, 0, 0]])
    assert share_reads(image, {}, device) == (image, ())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 40).map(lambda k: 64 * k), min_size=1, max_size=4),
    st.integers(1, 6),
    st.sampled_from([64, 128, 192, 640]),
    st.sampled_from([0, 64, 128, 256, 1024]),
)
def test_distinct_bytes_are_a_set_of_bytes(addresses: list[int], tiles: int, size: int, pitch: int) -> None:
    touched = {
        byte
        for start in addresses
        for tile in range(tiles)
        for byte in range(start + tile * pitch, start + tile * pitch + size)
    }
    (found,) = operands(loading(addresses, tiles, size, pitch), {})
    assert (found.distinct, found.moved) == (len(touched), len(addresses) * tiles * size)
